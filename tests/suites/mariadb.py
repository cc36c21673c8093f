#!/usr/bin/python3
"""MariaDB with a thread for each connection, hooked.

usage: mariadb.py --build DIR [--runs N] [--workers 2] [--clients N] [--quick]

Each run: a data directory of its own, the server on a unix socket and on
127.0.0.1, mysqlslap with many clients at once on both, the server's kernel
threads counted meanwhile, a clean shutdown, and after a second, native start
the same rows and the same checksums. A native run comes first. The last line
says "N passed, N failed, N skipped".
"""
import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite  # noqa: E402  pylint: disable=wrong-import-position

SERVER = "/usr/sbin/mariadbd"
PATIENCE = 120
# Threads of the server that live in calls without a row (io_uring, aio) or
# that the monitor may add for a while.
SPARE_THREADS = 24


class Failure(Exception):
    pass


class Server:
    """One data directory, and the server that runs on it."""

    def __init__(self, tmp, build):
        self.tmp, self.build = tmp, build
        self.data = os.path.join(tmp, "data")
        self.sock = os.path.join(tmp, "sock")
        self.log = os.path.join(tmp, "error.log")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.proc, self.most, self.watching = None, 0, False

    def install(self):
        r = subprocess.run(
            ["mariadb-install-db", "--no-defaults", "--user=root",
             f"--datadir={self.data}", "--auth-root-authentication-method="
             "normal", "--skip-test-db"],
            env=suite.environment(self.build, None), check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=PATIENCE)
        if r.returncode:
            raise Failure("mariadb-install-db: " +
                          r.stdout.decode("utf-8", "replace")[-2000:])

    def start(self, workers):
        argv = [SERVER, "--no-defaults", "--user=root",
                f"--datadir={self.data}", f"--socket={self.sock}",
                f"--port={self.port}", "--bind-address=127.0.0.1",
                f"--pid-file={self.tmp}/pid", f"--log-error={self.log}",
                "--thread-handling=one-thread-per-connection",
                "--thread-cache-size=16", "--max-connections=600",
                "--innodb-buffer-pool-size=64M", "--skip-name-resolve",
                "--innodb-flush-log-at-trx-commit=2", "--query-cache-type=1"]
        env = suite.environment(self.build, workers)
        with open(os.path.join(self.tmp, "stdout"), "ab") as out:
            self.proc = subprocess.Popen(argv, env=env, cwd=self.tmp,
                                         stdin=subprocess.DEVNULL, stdout=out,
                                         stderr=out, start_new_session=True)
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.proc.poll() is not None:
                raise Failure(f"the server ended with {self.proc.returncode}")
            try:
                with socket.socket(socket.AF_UNIX) as s:
                    s.connect(self.sock)
                return
            except OSError:
                time.sleep(0.05)
        raise Failure("the server does not listen")

    def sql(self, text):
        r = subprocess.run(["mariadb", "--no-defaults", "-uroot", "-N", "-B",
                            f"-S{self.sock}"], input=text.encode(),
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           env=suite.environment(self.build, None),
                           timeout=PATIENCE, check=False)
        said = r.stdout.decode("utf-8", "replace")
        if r.returncode:
            raise Failure("SQL: " + said)
        return said

    def threads(self):
        return len(os.listdir(f"/proc/{self.proc.pid}/task"))

    def watch(self):
        while self.watching:
            try:
                self.most = max(self.most, self.threads())
            except OSError:
                return
            time.sleep(0.02)

    def slap(self, clients, queries, tcp, extra):
        where = ["-h127.0.0.1", f"-P{self.port}", "--protocol=tcp"] if tcp \
            else [f"-S{self.sock}"]
        r = subprocess.run(["mysqlslap", "--no-defaults", "-uroot"] + where +
                           [f"--concurrency={clients}",
                            f"--number-of-queries={queries}",
                            "--create-schema=slap", "--no-drop"] + extra,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False,
                           env=suite.environment(self.build, None),
                           timeout=PATIENCE)
        if r.returncode:
            raise Failure("mysqlslap: " +
                          r.stdout.decode("utf-8", "replace")[-2000:])

    def stop(self):
        self.proc.send_signal(signal.SIGTERM)
        try:
            status = self.proc.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired as e:
            raise Failure("SIGTERM does not end the server") from e
        with open(self.log, encoding="utf-8", errors="replace") as f:
            said = f.read()
        if status != 0:
            raise Failure(f"the server ended with {status}")
        if "Shutdown complete" not in said.splitlines()[-1]:
            raise Failure("the log does not end with a complete shutdown")

    def end(self):
        if self.proc and self.proc.poll() is None:
            os.killpg(self.proc.pid, signal.SIGKILL)
            self.proc.wait()


def load(server, clients, rounds):
    """Rows whose number is known, made by many clients at once."""
    server.sql("CREATE DATABASE slap; USE slap; CREATE TABLE slap.t (id INT PRIMARY KEY "
               "AUTO_INCREMENT, a INT, b VARCHAR(60)) ENGINE=InnoDB;"
               "CREATE TABLE slap.c (k INT PRIMARY KEY, n INT) ENGINE=InnoDB;"
               "INSERT INTO slap.c SELECT seq, 0 FROM seq_1_to_8;"
               "CREATE TABLE slap.m (id INT PRIMARY KEY AUTO_INCREMENT, "
               "a INT) ENGINE=Aria;")
    n = clients * rounds
    for tcp in (False, True):
        server.slap(clients, n, tcp, [
            "--query=INSERT INTO slap.t (a, b) VALUES (CONNECTION_ID(), "
            "REPEAT('x', 1 + CONNECTION_ID() % 50))"])
        server.slap(clients, n, tcp, [
            "--query=UPDATE slap.c SET n = n + 1 WHERE k = 1 + "
            "CONNECTION_ID() % 8"])
        server.slap(clients, n // 2, tcp, [
            "--query=INSERT INTO slap.m (a) VALUES (CONNECTION_ID())"])
        server.slap(clients, n // 2, tcp, [
            "--query=SELECT COUNT(*), SUM(a) FROM slap.t WHERE id < 100"])
    want = [str(2 * n), str(2 * n), str(2 * (n // 2))]
    have = server.sql("SELECT COUNT(*) FROM slap.t; SELECT SUM(n) FROM slap.c;"
                      "SELECT COUNT(*) FROM slap.m").split()
    if have != want:
        raise Failure(f"rows {have}, wanted {want}")


CHECKSUM = "CHECKSUM TABLE slap.t, slap.c, slap.m EXTENDED;"


def one_run(opt, workers):
    """The most kernel threads seen, and the seconds of the load."""
    with tempfile.TemporaryDirectory(prefix="mariadb.") as tmp:
        server = Server(tmp, opt.build)
        try:
            server.install()
            server.start(workers)
            before = server.threads()
            server.watching = True
            watcher = threading.Thread(target=server.watch)
            watcher.start()
            t0 = time.monotonic()
            try:
                load(server, opt.clients, opt.rounds)
            finally:
                server.watching = False
                watcher.join()
            took = time.monotonic() - t0
            sums = server.sql(CHECKSUM)
            server.stop()
            server.start(None)
            if server.sql(CHECKSUM) != sums:
                raise Failure("other checksums after the restart")
            bad = [x for x in server.sql(
                "CHECK TABLE slap.t, slap.c, slap.m EXTENDED;").splitlines()
                if not x.endswith("OK")]
            if bad:
                raise Failure("\n".join(bad))
            server.stop()
            return before, server.most, took
        except (Failure, subprocess.TimeoutExpired, OSError) as e:
            dump = ""
            if server.proc and server.proc.poll() is None and workers:
                dump = suite.dump_of(opt.build, server.proc.pid)
            tail = ""
            for name in (server.log, os.path.join(tmp, "stdout")):
                if os.path.exists(name):
                    with open(name, encoding="utf-8", errors="replace") as f:
                        tail += "".join(f.readlines()[-30:])
            raise Failure("\n     ".join(
                [str(e)] + dump.splitlines()[:200] + tail.splitlines())) from e
        finally:
            server.end()


def main():
    suite.plain_signals()
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--runs", type=int, default=10)
    ap.add_argument("--workers", default="2")
    ap.add_argument("--clients", type=int, default=200)
    ap.add_argument("--rounds", type=int, default=10)
    ap.add_argument("--quick", action="store_true")
    opt = ap.parse_args()
    if opt.quick:
        opt.runs, opt.clients, opt.rounds = 1, 50, 2
    opt.build = os.path.abspath(opt.build)
    suite.install(["mariadb-server", "mariadb-client"])
    if not os.access(SERVER, os.X_OK):
        print("skip: mariadb-server cannot be installed\n0 passed, 0 failed, "
              "1 skipped")
        return 1
    passed = failed = 0
    before, most, took = one_run(opt, None)
    print(f"     natively: {before} kernel threads, {most} with "
          f"{opt.clients} clients, load {took:.1f} s", flush=True)
    for workers in opt.workers.split(","):
        for turn in range(opt.runs):
            try:
                b, m, t = one_run(opt, workers)
                limit = int(workers) + SPARE_THREADS
                if m > limit:
                    raise Failure(f"{m} kernel threads, at most {limit}")
                passed += 1
                print(f"ok   workers={workers} run {turn + 1}: {b} kernel "
                      f"threads, at most {m} with {opt.clients} clients, "
                      f"load {t:.1f} s", flush=True)
            except Failure as e:
                failed += 1
                print(f"FAIL workers={workers} run {turn + 1}: {e}",
                      flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
