#!/usr/bin/env python3
"""A load for servers that no tool of Debian's speaks to: see servers.py.

usage: load.py socks CLIENTS REQUESTS BACKEND_PORT
       load.py memcached CLIENTS REQUESTS

To $HOST and $PORT. socks: a connection through the proxy to an HTTP server, one
page, and the end. memcached: a get of what was set. Each client is a process of
its own, and begins when all are there. Prints NAME=VALUE, as fibhook bench reads
them; a wrong answer ends it with status 1.
"""
import multiprocessing
import os
import socket
import struct
import sys
import time

TO = (os.environ["HOST"], int(os.environ["PORT"]))


def read_to(s, end):
    got = b""
    while not got.endswith(end):
        data = s.recv(65536)
        if not data:
            break
        got += data
    return got


def socks(n, port):
    for _ in range(n):
        t = time.perf_counter()
        with socket.create_connection(TO, 30) as s:
            s.sendall(b"\5\1\0")
            if s.recv(2) != b"\5\0":
                raise ValueError("SOCKS is refused")
            s.sendall(b"\5\1\0\1\x7f\0\0\1" + struct.pack(">H", port))
            if s.recv(10)[:2] != b"\5\0":
                raise ValueError("the connection is refused")
            s.sendall(b"GET / HTTP/1.0\r\n\r\n")
            got = read_to(s, b"never")
            if b" 200 OK" not in got[:20] or not got.endswith(b"x" * 100):
                raise ValueError("a wrong answer")
        yield time.perf_counter() - t


def memcached(n):
    with socket.create_connection(TO, 30) as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = b"k%d" % os.getpid()
        s.sendall(b"set %s 0 0 5\r\nhello\r\n" % key)
        if read_to(s, b"\r\n") != b"STORED\r\n":
            raise ValueError("it does not store")
        want = b"VALUE %s 0 5\r\nhello\r\nEND\r\n" % key
        for _ in range(n):
            t = time.perf_counter()
            s.sendall(b"get %s\r\n" % key)
            if read_to(s, b"END\r\n") != want:
                raise ValueError("a wrong answer")
            yield time.perf_counter() - t


def client(kind, args, ready, results):
    ready.wait()
    try:
        results.put(list({"socks": socks, "memcached": memcached}[kind](*args)))
    except (OSError, ValueError) as e:
        results.put(str(e))


def main():
    kind, clients, requests, *rest = sys.argv[1:]
    clients = int(clients)
    args = [int(requests) // clients] + [int(x) for x in rest]
    ready, results = multiprocessing.Barrier(clients + 1), multiprocessing.Queue()
    all_ = [multiprocessing.Process(target=client,
                                    args=(kind, args, ready, results))
            for _ in range(clients)]
    for p in all_:
        p.start()
    ready.wait()
    begin = time.perf_counter()
    times = []
    for _ in all_:
        got = results.get(timeout=60)
        if isinstance(got, str):
            print(got, file=sys.stderr)
            for p in all_:
                p.kill()
            return 1
        times += got
    took = time.perf_counter() - begin
    for p in all_:
        p.join()
    times.sort()
    print("requests=%d seconds=%.6f p50_us=%.1f p99_us=%.1f errors=0" %
          (len(times), took, times[len(times) // 2] * 1e6,
           times[len(times) * 99 // 100] * 1e6))
    return 0


if __name__ == "__main__":
    sys.exit(main())
