"""Servers from packages and of the demo, measured by fibhook bench: see bench.py."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from harness import ROOT, Part, Server, Skip, say

HU = ("hooked", "unhooked")
FIGURES = (("requests_per_second", "requests", "/s", "more"),
           ("p99_us", "p99", "us", "less"),
           ("cpu_us_per_request", "CPU a request", "us", "less"),
           ("system_calls_per_request", "system calls a request", "", "less"),
           ("kernel_threads", "kernel threads", "", "less"),
           ("resident_kb", "memory, resident", "kB", "less"))


def free_port():
    """One that no client is given in the meantime."""
    for port in range(20000 + os.getpid() % 5000, 30000):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise Skip("no free port")


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            raise Skip("%s is not installed" % p)
    return shutil.which(programs[0])


def bench(b, part, name, argv, *options, load=None):
    b.check_time()
    say("%s: %s" % (part.name, name))
    out = os.path.join(b.out, re.sub("[ /]+", "-", name).replace(",", ""))
    cmd = [b.fibhook, "bench", "--rounds", str(b.rounds), "--seconds",
           str(b.seconds), "-o", out, *options]
    if load:
        cmd += ["--load", load]
    b.run(cmd + ["--"] + argv, most=300)
    with open(out + "/bench.json") as f:
        report = json.load(f)
    figures = {f["name"]: f for f in report["figures"]}
    for key, title, unit, better in FIGURES:
        got = {m: [x for x in figures[key][m]["rounds"] if x is not None]
               for m in HU}
        part.row("%s: %s" % (name, title), unit, got, better)


def write(b, name, text):
    path = os.path.join(b.work, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def backend(b):
    """An nginx that is the same for all, with one page."""
    need("nginx")
    port = free_port()
    os.makedirs(b.work + "/site", exist_ok=True)
    write(b, "site/index.html", "x" * 100)
    conf = nginx_conf(b, "backend.conf", port, 1, "off")
    p = b.start(["nginx", "-p", b.work, "-c", conf, "-e", "stderr"],
                err=subprocess.DEVNULL)
    for _ in range(100):
        with socket.socket() as s:
            if not s.connect_ex(("127.0.0.1", port)):
                return p, port
        time.sleep(0.05)
    b.kill(p)
    raise Skip("nginx does not listen")


def nginx_conf(b, name, port, processes, threads):
    return write(b, name, """\
daemon off; master_process %s; worker_processes %d; pid %s.pid; user root;
events { worker_connections 2048; }
http { access_log off; client_body_temp_path t1; proxy_temp_path t2;
  fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5; aio %s;
  keepalive_requests 1000000;
  server { listen 127.0.0.1:%d; root %s/site; } }
""" % ("off" if processes == 1 else "on", processes, b.work + "/" + name,
       threads, port, b.work))


# --- a thread for each connection ------------------------------------------------

def demo(b, part, name, conns):
    kind = "chat" if name == "chat" else "echo"
    extra = []
    behind = None
    if name == "relay":
        behind = Server(b, [b.build + "/bench/epoll_echo", "0"], "epoll", None)
        extra = ["127.0.0.1", behind.port]
    try:
        bench(b, part, "demo/%s, %d connections" % (name, conns),
              [b.build + "/demo/" + name, "0", *extra],
              load="%s/demo/load -m %s -c %d -t %g -w 0.1 $PORT" %
              (b.build, kind, conns, b.seconds))
    finally:
        if behind:
            behind.stop()


def http_server(b, part, conns):
    os.makedirs(b.work + "/site", exist_ok=True)
    write(b, "site/index.html", "hello\n")
    bench(b, part, "python3 -m http.server, %d connections" % conns,
          ["/usr/bin/python3", "-m", "http.server", "--bind", "127.0.0.1",
           "--directory", b.work + "/site", "0"], "--connections", str(conns))


def tinyproxy(b, part):
    path = need("tinyproxy", "ab")
    p, port = backend(b)
    conf = write(b, "tinyproxy.conf", "Port %d\nListen 127.0.0.1\n"
                 "MaxClients 1000\nTimeout 60\nLogLevel Critical\n"
                 % free_port())
    try:
        bench(b, part, "tinyproxy, 50 connections", [path, "-d", "-c", conf],
              load="ab -q -c 50 -n 1000 -X $HOST:$PORT "
              "http://127.0.0.1:%d/" % port)
    finally:
        b.kill(p)


def microsocks(b, part):
    path = need("microsocks")
    p, port = backend(b)
    try:
        bench(b, part, "microsocks, 8 clients",
              [path, "-i", "127.0.0.1", "-p", str(free_port())],
              load="%s %s/tests/bench/load.py socks 8 400 %d" %
              (sys.executable, ROOT, port))
    finally:
        b.kill(p)


def stunnel(b, part):
    path = need("stunnel4", "openssl", "ab")
    p, port = backend(b)
    pem = b.work + "/stunnel.pem"
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048",
                        "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-keyout", pem + ".key", "-out", pem], check=True,
                       stdin=subprocess.DEVNULL, capture_output=True)
        conf = write(b, "stunnel.conf", "foreground = yes\npid =\n"
                     "debug = err\nsyslog = no\n[http]\naccept = 127.0.0.1:%d"
                     "\nconnect = 127.0.0.1:%d\ncert = %s\nkey = %s.key\n" %
                     (free_port(), port, pem, pem))
        bench(b, part, "stunnel4, 50 connections", [path, conf],
              load="ab -q -k -c 50 -n 3000 https://127.0.0.1:$PORT/")
    finally:
        b.kill(p)


def microhttpd(b, part):
    path = b.build + "/bench/mhd"
    if not os.path.exists(path):
        raise Skip("libmicrohttpd-dev was not there when it was built")
    bench(b, part, "libmicrohttpd, 100 connections", [path, "0"],
          "--connections", "100")


def mariadb(b, part, clients):
    path = need("mariadbd", "mysqlslap", "mariadb-install-db")
    data = b.work + "/db"
    root = ["--user=root"] if os.geteuid() == 0 else []
    if not os.path.exists(data):
        b.run(["mariadb-install-db", "--no-defaults", "--datadir=" + data,
               "--auth-root-authentication-method=normal", "--skip-test-db",
               "--tmpdir=" + b.work] + root)
    bench(b, part, "mariadbd, %d clients" % clients,
          [path, "--no-defaults", "--tmpdir=" + b.work, "--datadir=" + data,
           "--socket=%s/db.sock" % b.work, "--port=%d" % free_port(),
           "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=16M",
           "--max-connections=600", "--back-log=600"] + root,
          load="mysqlslap --no-defaults -h 127.0.0.1 -P $PORT -u root "
          "--create-schema=mysql --concurrency=%d --iterations=1 "
          "--number-of-queries=8000 --query='select 1'" % clients)


def servers(b):
    part = Part("servers", "Servers with a thread for each connection, on all "
                "CPUs (fibhook bench)", HU, [HU],
                "Where the load makes a fixed number of requests, p99 is its "
                "own figure, or is not told. Each has a page with plots in "
                "the folder of its name.")
    todo = [("echo", demo, "echo", 100), ("chat", demo, "chat", 100),
            ("relay", demo, "relay", 100), ("tinyproxy", tinyproxy),
            ("microsocks", microsocks), ("stunnel4", stunnel),
            ("libmicrohttpd", microhttpd),
            ("http.server, 16", http_server, 16),
            ("http.server, 100", http_server, 100),
            ("mariadbd, 16", mariadb, 16), ("mariadbd, 100", mariadb, 100),
            ("mariadbd, 500", mariadb, 500)]
    return run_all(b, part, todo)


# --- event loops -------------------------------------------------------------------

def nginx(b, part, processes, threads):
    path = need("nginx")
    os.makedirs(b.work + "/site", exist_ok=True)
    write(b, "site/index.html", "hello\n")
    conf = nginx_conf(b, "nginx.conf", free_port(), processes, threads)
    bench(b, part, "nginx, %d process%s%s" %
          (processes, "es" * (processes > 1),
           ", a pool of threads" * (threads != "off")),
          [path, "-p", b.work, "-c", conf, "-e", "stderr"])


def redis(b, part):
    path = need("redis-server", "redis-benchmark")
    bench(b, part, "redis", [path, "--port", str(free_port()), "--save", "",
                             "--bind", "127.0.0.1"],
          load="redis-benchmark -p $PORT -n 20000 -c 50 -t get")


def memcached(b, part):
    path = need("memcached")
    bench(b, part, "memcached, 4 threads",
          [path, "-l", "127.0.0.1", "-p", str(free_port()), "-U", "0", "-t",
           "4", "-u", "root"],
          load="%s %s/tests/bench/load.py memcached 8 8000" %
          (sys.executable, ROOT))


def haproxy(b, part):
    path = need("haproxy")
    p, port = backend(b)
    conf = write(b, "haproxy.cfg", "global\n  nbthread 2\ndefaults\n"
                 "  mode http\n  timeout connect 5s\n  timeout client 50s\n"
                 "  timeout server 50s\nfrontend f\n  bind 127.0.0.1:%d\n"
                 "  default_backend n\nbackend n\n  server s 127.0.0.1:%d\n" %
                 (free_port(), port))
    try:
        bench(b, part, "haproxy, 2 threads", [path, "-db", "-f", conf])
    finally:
        b.kill(p)


def node(b, part):
    path = need("node")
    js = write(b, "server.js", "require('http').createServer((q, s) => "
               "s.end('hello\\n')).listen(%d, '127.0.0.1')\n" % free_port())
    bench(b, part, "node", [path, js])


def loops(b):
    part = Part("loops", "Event loops, on all CPUs (fibhook bench)", HU, [HU],
                "They gain nothing, and should lose nothing.")
    todo = [("nginx", nginx, 1, "off"), ("nginx, threads", nginx, 1, "threads"),
            ("redis", redis), ("memcached", memcached), ("haproxy", haproxy),
            ("node", node)]
    return run_all(b, part, todo)


def run_all(b, part, todo):
    for name, fn, *args in todo:
        try:
            fn(b, part, *args)
        except Skip as why:
            part.skip(name, why)
    return part
