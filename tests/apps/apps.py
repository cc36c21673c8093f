#!/usr/bin/python3
"""Real programs, hooked: 200 connections or 1000 held open, with traffic on all.

usage: apps.py --build DIR [--only NAME]... [--runs K] [--workers 1,2,4] [--old]

Each program runs natively first: the way it ends on SIGTERM is the oracle.
Hooked, through fibhook, the same bytes must come back, a program with a
thread per connection must have no more than 4 kernel threads in a call that
waits, and no more than one for four connections in all, an idle one must use
no more processor time, and SIGTERM must end it as natively. With --old, on
another system, a program that does not run natively is skipped. The last line
says "N passed, N failed, N skipped".
"""
import argparse
import os
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

CONNECTIONS = 200
ROUNDS = 4
HOST = "127.0.0.1"
PATIENCE = 20.0
MAY_WAIT = 4                # kernel threads, in a call


class Failure(Exception):
    pass


def free_port():
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def payload(conn, turn):
    """Bytes that differ for each connection and round."""
    n = 1 + (conn * 131 + turn * 977) % 6000
    seed = b"%d/%d:" % (conn, turn)
    return (seed * (n // len(seed) + 1))[:n]


class Backend:
    """What the proxies connect to: an echo server with threads."""

    def __init__(self):
        self.listener = socket.create_server((HOST, 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            conn, _ = self.listener.accept()
            threading.Thread(target=self.echo, args=(conn,),
                             daemon=True).start()

    @staticmethod
    def echo(conn):
        with conn:
            try:
                while True:
                    data = conn.recv(65536)
                    if not data:
                        break
                    conn.sendall(data)
            except OSError:
                pass


def recv_exactly(s, n):
    parts = []
    while n:
        data = s.recv(min(n, 65536))
        if not data:
            raise Failure(f"connection ended, {n} bytes missing")
        parts.append(data)
        n -= len(data)
    return b"".join(parts)


def recv_until(s, end):
    data = b""
    while not data.endswith(end):
        c = s.recv(1)
        if not c:
            raise Failure(f"connection ended after {data!r}")
        data += c
    return data


class App:
    """One program: how to start it, and one round of traffic on it."""
    name = ""
    threaded = True         # a thread per connection, so threads are counted
    connections = CONNECTIONS
    build = ""
    stop = signal.SIGTERM

    def __init__(self, tmp, backend):
        self.tmp, self.backend = tmp, backend
        self.port = free_port()

    def binary(self):
        raise NotImplementedError

    def argv(self):
        raise NotImplementedError

    def dial(self):
        s = socket.create_connection((HOST, self.port), timeout=PATIENCE)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def open(self):
        """A connection, ready for send()."""
        return self.dial()

    def send(self, s, conn, turn):
        s.sendall(payload(conn, turn))

    def receive(self, s, conn, turn):
        want = payload(conn, turn)
        if recv_exactly(s, len(want)) != want:
            raise Failure(f"wrong bytes on connection {conn}")

    def kernel_threads(self, pid):
        """At rest: those that wait in a call, and all. Where a thread computes, or a
        busy machine keeps it in a call, a spare comes and stays, and is idle from then
        on. That it rests can only be looked for again, of another process."""
        quiet, end = 0, time.monotonic() + PATIENCE
        while True:
            states = [state_of(pid, tid)
                      for tid in os.listdir(f"/proc/{pid}/task")]
            quiet = 0 if RUNS in states else quiet + 1
            if quiet == 3 or time.monotonic() > end:
                return states.count(WAITS), len(states)
            time.sleep(0.05)  # between two looks: nothing tells of another's rest

    def write(self, name, text):
        path = os.path.join(self.tmp, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path


class Microsocks(App):
    name = "microsocks"

    def binary(self):
        return shutil.which("microsocks")

    def argv(self):
        return [self.binary(), "-i", HOST, "-p", str(self.port)]

    def open(self):
        s = self.dial()
        s.sendall(b"\5\1\0")
        if recv_exactly(s, 2) != b"\5\0":
            raise Failure("SOCKS greeting refused")
        s.sendall(b"\5\1\0\1" + socket.inet_aton(HOST) +
                  self.backend.port.to_bytes(2, "big"))
        if recv_exactly(s, 10)[:2] != b"\5\0":
            raise Failure("SOCKS request refused")
        return s


class Tinyproxy(App):
    name = "tinyproxy"

    def binary(self):
        return shutil.which("tinyproxy")

    def argv(self):
        conf = self.write("tinyproxy.conf", f"""\
Port {self.port}
Listen {HOST}
Timeout 600
MaxClients 1000
LogLevel Critical
ConnectPort {self.backend.port}
""")
        return [self.binary(), "-d", "-c", conf]

    def open(self):
        s = self.dial()
        s.sendall(b"CONNECT %s:%d HTTP/1.0\r\n\r\n"
                  % (HOST.encode(), self.backend.port))
        head = recv_until(s, b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise Failure(f"CONNECT refused: {head!r}")
        return s


class Stunnel(App):
    name = "stunnel4"

    def __init__(self, tmp, backend):
        super().__init__(tmp, backend)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    def binary(self):
        return shutil.which("stunnel4")

    def argv(self):
        pem = os.path.join(self.tmp, "stunnel.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048",
                        "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-keyout", pem + ".key", "-out", pem],
                       check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        conf = self.write("stunnel.conf", f"""\
foreground = yes
pid =
debug = err
syslog = no
[echo]
accept = {HOST}:{self.port}
connect = {HOST}:{self.backend.port}
cert = {pem}
key = {pem}.key
""")
        return [self.binary(), conf]

    def open(self):
        s = self.dial()
        return self.context.wrap_socket(s)


class PythonHttp(App):
    """http.server with HTTP/1.1, so that connections are kept."""
    name = "python3-http.server"

    def binary(self):
        return "/usr/bin/python3"

    def argv(self):
        root = os.path.join(self.tmp, "www")
        os.mkdir(root)
        for turn in range(ROUNDS):
            for conn in range(CONNECTIONS):
                with open(os.path.join(root, f"{conn}.{turn}"), "wb") as f:
                    f.write(payload(conn, turn))
        return [self.binary(), "-m", "http.server", "--protocol", "HTTP/1.1",
                "--bind", HOST, "--directory", root, str(self.port)]

    def open(self):
        """It listens for five: who comes as the sixth would try again after a second."""
        s = self.dial()
        s.sendall(b"HEAD /0.0 HTTP/1.1\r\nHost: x\r\n\r\n")
        recv_until(s, b"\r\n\r\n")
        return s

    def send(self, s, conn, turn):
        s.sendall(f"GET /{conn}.{turn} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def receive(self, s, conn, turn):
        head = recv_until(s, b"\r\n\r\n")
        want = payload(conn, turn)
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise Failure(f"answer {head!r}")
        if f"Content-Length: {len(want)}\r\n".encode() not in head:
            raise Failure(f"wrong length in {head!r}")
        if recv_exactly(s, len(want)) != want:
            raise Failure(f"wrong bytes on connection {conn}")


class PythonHttpInt(PythonHttp):
    """SIGINT is an exception in Python's main thread."""
    name = "python3-interrupted"
    stop = signal.SIGINT


class Memcached(App):
    """Four threads with an event loop each."""
    name = "memcached"
    threaded = False

    def binary(self):
        return shutil.which("memcached")

    def argv(self):
        return [self.binary(), "-l", HOST, "-p", str(self.port), "-U", "0",
                "-t", "4", "-c", "1024", "-u",
                "root" if os.geteuid() == 0 else str(os.geteuid())]

    def send(self, s, conn, turn):
        data = payload(conn, turn)
        s.sendall(b"set k%d 0 0 %d\r\n%s\r\nget k%d\r\n"
                  % (conn, len(data), data, conn))

    def receive(self, s, conn, turn):
        data = payload(conn, turn)
        want = (b"STORED\r\nVALUE k%d 0 %d\r\n%s\r\nEND\r\n"
                % (conn, len(data), data))
        if recv_exactly(s, len(want)) != want:
            raise Failure(f"wrong bytes on connection {conn}")


class Redis(App):
    """One event loop, threads for reading and writing, and for the rest."""
    name = "redis-server"
    threaded = False

    def binary(self):
        # redis-tools has the program under another name; that package
        # starts no service of its own.
        return shutil.which("redis-server") or shutil.which("redis-check-rdb")

    def argv(self):
        link = os.path.join(self.tmp, "redis-server")
        if not os.path.lexists(link):
            os.symlink(self.binary(), link)
        return [link, "--port", str(self.port), "--bind", HOST, "--save", "",
                "--appendonly", "no", "--io-threads", "2",
                "--io-threads-do-reads", "yes", "--dir", self.tmp,
                "--loglevel", "warning"]

    def send(self, s, conn, turn):
        data = payload(conn, turn)
        s.sendall(b"*3\r\n$3\r\nSET\r\n$5\r\nk%04d\r\n$%d\r\n%s\r\n"
                  b"*2\r\n$3\r\nGET\r\n$5\r\nk%04d\r\n"
                  % (conn, len(data), data, conn))

    def receive(self, s, conn, turn):
        data = payload(conn, turn)
        want = b"+OK\r\n$%d\r\n%s\r\n" % (len(data), data)
        if recv_exactly(s, len(want)) != want:
            raise Failure(f"wrong bytes on connection {conn}")


class Files(App):
    """demo/files, and slow clients: 1000 threads wait in sendfile()."""
    name = "files"
    connections = 1000
    size = 400000           # more than the buffers of both ends hold

    def binary(self):
        return os.path.join(self.build, "demo/files")

    def argv(self):
        self.bodies = [os.urandom(self.size) for _ in range(8)]
        for i, body in enumerate(self.bodies):
            with open(os.path.join(self.tmp, f"file{i}"), "wb") as f:
                f.write(body)
        return [self.binary(), str(self.port), self.tmp]

    def open(self):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1024)
        s.settimeout(PATIENCE)
        s.connect((HOST, self.port))
        return s

    def send(self, s, conn, turn):
        if turn == 0:
            s.sendall(f"GET /file{conn % 8} HTTP/1.0\r\n\r\n".encode())

    def receive(self, s, conn, turn):
        """The head and a little at first."""
        at = [0, 1000, 40000, 80000, self.size]
        want = self.bodies[conn % 8][at[turn]:at[turn + 1]]
        if turn == 0:
            want = (f"HTTP/1.0 200 OK\r\nContent-Length: {self.size}\r\n\r\n"
                    .encode() + want)
        if recv_exactly(s, len(want)) != want:
            raise Failure(f"wrong bytes on connection {conn}")
        if turn == ROUNDS - 1 and s.recv(1):
            raise Failure(f"more than the file on connection {conn}")


APPS = [Microsocks, Tinyproxy, Stunnel, PythonHttp, PythonHttpInt, Memcached,
        Redis, Files]


IDLE, WAITS, RUNS = range(3)


def state_of(pid, tid):
    """Idle is who is in futex(), epoll_wait() or epoll_pwait2(), or gone by now."""
    try:
        with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as f:
            call = f.read().split()[0]
    except OSError:
        return IDLE
    if call == "running":
        return RUNS
    return IDLE if call in ("202", "232", "441") else WAITS


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def dump_of(build, pid):
    try:
        r = subprocess.run([os.path.join(build, "fibhook"), "dump", str(pid)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=20, check=False)
        return r.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"fibhook dump: {e}"


def wait_ready(app, proc):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if proc.poll() is not None:
            raise Failure(f"ended at once with status {proc.returncode}")
        try:
            socket.create_connection((HOST, app.port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.02)
    raise Failure("does not listen")


def idle_ticks(pid):
    """Processor time in half a second without traffic: the best of three,
    since some programs spin a while after the last request."""
    best = None
    for _ in range(3):
        before = cpu_ticks(pid)
        time.sleep(0.5)
        used = cpu_ticks(pid) - before
        best = used if best is None else min(best, used)
        if best == 0:
            break
    return best


def load(app, pid):
    """The connections, the most kernel threads seen while all were open, those in
    a call and all, and what the program used while they were idle."""
    conns, seen = [], []
    try:
        for _ in range(app.connections):
            conns.append(app.open())
        for turn in range(ROUNDS):
            for i, s in enumerate(conns):
                app.send(s, i, turn)
            seen.append(app.kernel_threads(pid))
            for i, s in enumerate(conns):
                app.receive(s, i, turn)
            seen.append(app.kernel_threads(pid))
        idle = idle_ticks(pid)
    except (TimeoutError, ssl.SSLError, OSError) as e:
        for s in conns:
            s.close()
        raise Failure(f"{len(conns)} connections open: {e!r}") from e
    return conns, [max(n) for n in zip(*seen)], idle


def run(cls, backend, build, workers, may_idle=None):
    """(exit status, most kernel threads in a call, and in all, idle ticks); raises Failure
    with the reason."""
    with tempfile.TemporaryDirectory(prefix="apps.") as tmp:
        app = cls(tmp, backend)
        argv = app.argv()
        if workers:
            argv = [os.path.join(build, "fibhook"), "--workers", str(workers),
                    "--"] + argv
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("FIBHOOK_") and k != "LD_PRELOAD"}
        with open(os.path.join(tmp, "log"), "w+b") as log:
            proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL,
                                    stdout=log, stderr=log, cwd=tmp, env=env,
                                    start_new_session=True)
            conns = []
            try:
                wait_ready(app, proc)
                conns, (waiting, most), idle = load(app, proc.pid)
                if may_idle is not None and idle > may_idle + 2:
                    raise Failure(f"idle, it used {idle * 10} ms of 500, "
                                  f"natively {may_idle * 10}")
                proc.send_signal(app.stop)
                try:
                    status = proc.wait(timeout=PATIENCE)
                except subprocess.TimeoutExpired as e:
                    raise Failure(f"signal {app.stop} does not end it") from e
                return status, waiting, most, idle
            except Failure as e:
                detail = ""
                if proc.poll() is None and workers:
                    detail = dump_of(build, proc.pid)
                elif proc.poll() is not None:
                    detail = f"it has ended with status {proc.returncode}\n"
                log.seek(0)
                said = log.read().decode("utf-8", "replace").splitlines()
                raise Failure("\n      ".join(
                    [str(e)] + detail.splitlines()[:120] +
                    ["it said: " + x for x in said[-15:]])) from e
            finally:
                for s in conns:
                    s.close()
                try:
                    os.killpg(proc.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                proc.wait()


def check_app(cls, backend, opt):
    """(passed, failed, skipped)"""
    passed = failed = 0
    try:
        native, threads, _, idle = run(cls, backend, opt.build, 0)
    except Failure as e:
        print(f"{'skip' if opt.old else 'FAIL'} {cls.name} [native]: {e}", flush=True)
        return 0, int(not opt.old), int(opt.old)
    if cls.threaded and threads < cls.connections:
        print(f"FAIL {cls.name} [native]: {threads} kernel threads only, "
              f"the connections were not held", flush=True)
        return 0, 1, 0
    print(f"     {cls.name} natively: status {native}, {threads} kernel "
          f"threads", flush=True)
    for workers in opt.workers:
        bad, most = 0, 0
        for turn in range(opt.runs):
            try:
                status, waiting, threads, _ = run(cls, backend, opt.build,
                                                  workers, idle)
                most = max(most, threads)
                if status != native:
                    raise Failure(f"ended with status {status}, natively "
                                  f"{native}")
                if cls.threaded and (waiting > MAY_WAIT or
                                     threads > cls.connections // 4):
                    raise Failure(f"{waiting} of {threads} kernel threads wait")
                passed += 1
            except Failure as e:
                bad += 1
                print(f"FAIL {cls.name} [workers={workers}, run {turn + 1}]: "
                      f"{e}", flush=True)
        failed += bad
        if not bad:
            print(f"ok   {cls.name} workers={workers}: {opt.runs} run(s), "
                  f"at most {most} kernel threads", flush=True)
    return passed, failed, 0


def main():
    # A shell without job control starts us with these ignored: not so ours.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--runs", type=int, default=1)
    ap.add_argument("--workers", default="1,2,4")
    ap.add_argument("--old", action="store_true")
    opt = ap.parse_args()
    App.build = opt.build = os.path.abspath(opt.build)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < 4096 <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, hard))
    opt.workers = [int(w) for w in opt.workers.split(",")]
    backend = Backend()
    passed = failed = skipped = 0
    for cls in APPS:
        if opt.only and not any(cls.name.startswith(o) for o in opt.only):
            continue
        with tempfile.TemporaryDirectory() as tmp:
            found = cls(tmp, backend).binary()
        if not found or not os.access(found, os.X_OK):
            print(f"skip {cls.name}: it is not installed", flush=True)
            skipped += 1
            continue
        p, f, s = check_app(cls, backend, opt)
        passed, failed, skipped = passed + p, failed + f, skipped + s
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
