#!/usr/bin/python3
"""Programs that sandbox themselves, or are started in a sandbox, hooked.

usage: sandbox.py --build DIR [--only NAME]...

Each runs natively first; what it answers, and how it ends, must be the same on
two workers, started lazily and eagerly. Only loopback is used, and the clock is
not touched. The last line says "N passed, N failed, N skipped".
"""
import argparse
import ftplib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HOST = "127.0.0.1"
PATIENCE = 10.0

# What systemd's @system-service leaves out, and a few to spare.
NOT_A_SERVICE = ",".join("""
    reboot kexec_load kexec_file_load swapon swapoff mount umount2 pivot_root
    init_module finit_module delete_module settimeofday clock_settime
    clock_adjtime adjtimex acct bpf perf_event_open ptrace process_vm_readv
    process_vm_writev iopl ioperm vhangup quotactl userfaultfd
    """.split())
NETWORK = ",".join("""
    accept accept4 bind connect getpeername getsockname getsockopt listen
    recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto setsockopt shutdown
    socket
    """.split())

# Threads, pipes, sockets, a child; and what it may do.
PLAY = """
import os, socket, subprocess, threading
a, b = socket.socketpair()
r, w = os.pipe()
def echo():
    while True:
        data = os.read(r, 100)
        if not data:
            break
        os.write(b.fileno(), data)
    os.close(b.detach())
t = [threading.Thread(target=echo) for _ in range(1)]
u = [threading.Thread(target=lambda: os.read(a.fileno(), 0)) for _ in range(8)]
for x in t + u: x.start()
for i in range(50):
    os.write(w, b'%d.' % i)
    got = b''
    while not got.endswith(b'.'):
        got += os.read(a.fileno(), 100)
    assert got == b'%d.' % i, got
os.close(w)
for x in t + u: x.join()
for line in open('/proc/self/status'):
    if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp', 'Uid', 'Gid')):
        print(line.rstrip())
print(subprocess.run(['/bin/echo', 'a child'], capture_output=True).stdout)
print('played')
"""


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def need(*names):
    for name in names:
        if not shutil.which(name) and not os.access(name, os.X_OK):
            raise Skip(f"{name} is not installed")


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def free_port():
    with socket.socket() as s:
        s.bind((HOST, 0))
        return s.getsockname()[1]


def write(tmp, name, text, mode=0o644):
    path = os.path.join(tmp, name)
    with open(path, "w", encoding="ascii") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def run(argv, **more):
    """Status, stdout and stderr of a command that ends by itself."""
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=PATIENCE * 2, text=True, check=False, **more)
    return f"status {p.returncode}\n{p.stdout}{p.stderr}"


class Server:
    """A server, until the end of the block; its status is in .status."""

    def __init__(self, argv, tmp, ready):
        self.argv, self.tmp, self.ready = argv, tmp, ready
        self.status = None

    def __enter__(self):
        self.log = open(os.path.join(self.tmp, "log"), "w+b")
        self.p = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL,
                                  stdout=self.log, stderr=self.log,
                                  cwd=self.tmp, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while not self.ready():
            if self.p.poll() is not None or time.monotonic() > end:
                self.fail("is not ready")
            time.sleep(0.02)
        return self

    def fail(self, what):
        self.log.seek(0)
        raise Failure(f"{what}, status {self.p.poll()}: " +
                      self.log.read().decode("utf-8", "replace")[-1500:])

    def __exit__(self, kind, error, _):
        self.p.send_signal(signal.SIGTERM)
        try:
            self.status = self.p.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            kind = kind or Failure
        try:
            os.killpg(self.p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.p.wait()
        if error:
            self.fail(repr(error))
        if kind:
            self.fail("SIGTERM does not end it")


def listens(port):
    def ready():
        try:
            socket.create_connection((HOST, port), timeout=1).close()
        except OSError:
            return False
        return True
    return ready


def sshd(tmp, hook):
    """Privilege separation, and a seccomp sandbox before the key is known."""
    need_root()
    need("/usr/sbin/sshd", "ssh", "ssh-keygen")
    port = free_port()
    os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
    for key in "host", "user":
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f",
                        os.path.join(tmp, key)], check=True)
    shutil.copy(os.path.join(tmp, "user.pub"), os.path.join(tmp, "keys"))
    os.chmod(os.path.join(tmp, "keys"), 0o600)
    conf = write(tmp, "sshd_config", f"""\
ListenAddress {HOST}:{port}
HostKey {tmp}/host
PidFile none
AuthorizedKeysFile {tmp}/keys
StrictModes no
UsePAM no
PermitRootLogin yes
PasswordAuthentication no
LogLevel ERROR
""")
    said = []
    with Server(hook + ["/usr/sbin/sshd", "-D", "-e", "-f", conf], tmp,
                listens(port)) as s:
        for command in "echo hello; exit 3", "seq 20000 | tail -1":
            said.append(run(
                ["ssh", "-F", "none", "-p", str(port), "-i", f"{tmp}/user",
                 "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR",
                 "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes",
                 f"root@{HOST}", command]))
    if "hello" not in said[0]:
        s.fail(said[0])
    return said + [s.status]


def vsftpd(tmp, hook):
    """Chroots, and a user without rights (its seccomp filter is older than
    glibc 2.36, and ends it natively)."""
    need_root()
    need("/usr/sbin/vsftpd")
    port = free_port()
    os.makedirs("/run/vsftpd/empty", exist_ok=True)
    os.mkdir(f"{tmp}/files")
    write(f"{tmp}/files", "big", "".join(f"{i}\n" for i in range(50000)))
    os.chmod(tmp, 0o755)
    os.chmod(f"{tmp}/files", 0o755)
    conf = write(tmp, "vsftpd.conf", f"""\
listen=YES
listen_address={HOST}
listen_port={port}
background=NO
anonymous_enable=YES
no_anon_password=YES
anon_root={tmp}/files
secure_chroot_dir=/run/vsftpd/empty
seccomp_sandbox=NO
isolate_network=NO
xferlog_enable=NO
""")
    with Server(hook + ["/usr/sbin/vsftpd", conf], tmp, listens(port)) as s:
        with ftplib.FTP() as ftp:
            got = []
            ftp.connect(HOST, port, timeout=PATIENCE)
            ftp.login()
            ftp.retrbinary("RETR big", got.append)
            names = ftp.nlst()
    return [names, hash(b"".join(got)), len(b"".join(got)), s.status]


def chronyd(tmp, hook):
    """Threads and a seccomp filter; -x leaves the clock alone."""
    need_root()
    need("chronyd", "chronyc")
    os.chmod(tmp, 0o755)
    os.mkdir(f"{tmp}/run", 0o750)
    shutil.chown(f"{tmp}/run", "_chrony", "_chrony")
    sock = f"{tmp}/run/chronyd.sock"
    conf = write(tmp, "chrony.conf", f"""\
port 0
cmdport 0
bindcmdaddress {sock}
pidfile {tmp}/run/pid
local stratum 10
server localhost port {free_port()} iburst
""")
    with Server(hook + ["chronyd", "-x", "-d", "-u", "_chrony", "-F", "2",
                        "-L", "2", "-f", conf], tmp,
                lambda: os.path.exists(sock)) as s:
        # A thread resolves the name; then the source is not unknown any more.
        end = time.monotonic() + PATIENCE
        while True:
            said = run(["chronyc", "-h", sock, "-c", "activity"])
            if said.endswith(",0\n") or time.monotonic() > end:
                break
            time.sleep(0.02)
    return [said, s.status]


def nginx(tmp, hook):
    """A master that keeps its rights, and workers that give them up."""
    need_root()
    need("nginx")
    port = free_port()
    os.chmod(tmp, 0o755)
    write(tmp, "page", "x" * 100000)
    conf = write(tmp, "nginx.conf", f"""\
daemon off;
user www-data;
worker_processes 2;
pid {tmp}/pid;
error_log {tmp}/error.log;
events {{ worker_connections 64; }}
http {{
    access_log off;
    client_body_temp_path {tmp}/b; proxy_temp_path {tmp}/p;
    fastcgi_temp_path {tmp}/f; uwsgi_temp_path {tmp}/u;
    scgi_temp_path {tmp}/s;
    server {{ listen {HOST}:{port}; root {tmp}; }}
}}
""")
    with Server(hook + ["nginx", "-c", conf, "-e", f"{tmp}/error.log"], tmp,
                listens(port)) as s:
        got = [urllib.request.urlopen(f"http://{HOST}:{port}/page",
                                      timeout=PATIENCE).read()
               for _ in range(20)]
    return [len(x) for x in got] + [s.status]


PYTHON = ["/usr/bin/python3", "-c", PLAY]
SHORT = ["/usr/bin/python3", "-c", """
import os, threading
t = threading.Thread(target=print, args=("played",))
t.start()
t.join()
os.listdir("/proc/self/fd")
"""]


def inside(*prefix):
    """Sandbox outside, fibhook within; and the other way round."""
    def play(tmp, hook):
        need(prefix[0], PYTHON[0])
        said = [run(list(prefix) + hook + PYTHON)]
        if "--preload" not in prefix:
            said.append(run(hook + list(prefix) + PYTHON))
        for text in said:
            if "played" not in text:
                raise Failure(text)
        return said
    return play


def filtered(action, calls):
    def play(tmp, hook):
        need(PYTHON[0])
        need(FILTER)
        said = run([FILTER, action, calls] + hook + PYTHON)
        if "played" not in said:
            raise Failure(said)
        return [said]
    return play


def documented():
    """The calls in the rows of docs/SECURITY.md: needed, used, and all."""
    here = os.path.dirname(os.path.abspath(__file__))
    rows = {}
    with open(os.path.join(here, "../../docs/SECURITY.md"),
              encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.split("|")]
            if len(cells) == 4 and cells[2].startswith("`"):
                rows[cells[1].split(",")[0]] = set(cells[2].strip("`").split())
    return rows["needed"], rows["used"], set().union(*rows.values())


def traced(tmp, env):
    """The calls that it makes, in all its threads and children."""
    log = os.path.join(tmp, "calls")
    said = run(["strace", "-f", "-qq", "-o", log] + PYTHON, env=env)
    if "played" not in said:
        raise Failure(said)
    with open(log, encoding="utf-8", errors="replace") as f:
        return set(re.findall(r"^\d+ +([a-z]\w+)\(", f.read(), re.M))


def listed(tmp, hook):
    """What the library calls is what the page lists. With just that allowed, and
    what the program calls natively, it runs hooked, though all else kills; and
    so it does with what may be denied denied."""
    need("strace", PYTHON[0], FILTER)
    if not hook:
        return "as the page says"
    env = dict(os.environ, FIBHOOK_WORKERS="2",
               FIBHOOK_START="eager" if "--eager" in hook else "lazy",
               LD_PRELOAD=os.path.join(os.path.dirname(hook[0]),
                                       "libfibhook.so"))
    needed, used, every = documented()
    natively = traced(tmp, os.environ) | {"rt_sigreturn", "exit"}
    unknown = traced(tmp, env) - natively - every
    if unknown:
        raise Failure("not in docs/SECURITY.md: " + " ".join(sorted(unknown)))
    stats = os.path.join(tmp, "stats")
    env["FIBHOOK_STATS"] = stats
    for action, allowed in (("kill", natively | needed | used),
                            ("EPERM", natively | needed)):
        said = run([FILTER, action, "only", ",".join(sorted(allowed))] +
                   PYTHON, env=env)
        if "played" not in said or "fibhook[" in said:
            raise Failure(f"under the list, else {action}: {said}")
        with open(stats, encoding="ascii") as f:
            if "fibers_created 0\n" in f.read():
                raise Failure(f"under the list, else {action}: not hooked")
        os.unlink(stats)
    # Where one is missing, it is that which kills nobody.
    for call in sorted((needed | used) - natively):
        allowed = (natively | needed | used) - {call}
        said = run([FILTER, "kill", "only", ",".join(sorted(allowed))] + SHORT,
                   env=env)
        if said.startswith("status -") or "played" not in said:
            raise Failure(f"without {call}: {said}")
    return "as the page says"


FILTER = ""
AS_USER = ["--reuid=65534", "--regid=65534", "--clear-groups"]


def tests():
    yield "sshd", sshd
    yield "vsftpd", vsftpd
    yield "chronyd", chronyd
    yield "nginx", nginx
    yield "bwrap", inside("bwrap", "--bind", "/", "/", "--dev", "/dev",
                          "--proc", "/proc", "--unshare-all", "--new-session",
                          "--die-with-parent")
    yield "setpriv-no-new-privs", inside("setpriv", "--no-new-privs")
    yield "setpriv-caps", inside("setpriv", "--bounding-set=-all",
                                 "--inh-caps=-all", "--no-new-privs")
    yield "setpriv-nobody", inside("setpriv", *AS_USER)
    yield "capsh", inside("capsh", "--drop=cap_sys_admin,cap_net_raw",
                          "--shell=/usr/bin/env", "--")
    yield "system-service-kill", filtered("kill", NOT_A_SERVICE)
    yield "system-service-errno", filtered("EPERM", NOT_A_SERVICE)
    yield "no-network", filtered("EPERM", NETWORK)
    yield "listed", listed
    yield "old-kernel", filtered("ENOSYS", "epoll_pwait2,preadv2,pwritev2,"
                                 "clone3,rseq,close_range,openat2,statx")


def check(name, test, build):
    """(passed, failed, skipped)"""
    hook = [os.path.join(build, "fibhook"), "--workers", "2", "--log", "none"]
    ways = {"natively": [], "lazily": hook + ["--"],
            "eagerly": hook + ["--eager", "--"]}
    want, passed, failed = None, 0, 0
    for way, prefix in ways.items():
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sandbox.") as tmp:
            try:
                got = test(tmp, prefix)
            except Skip as e:
                print(f"skip {name}: {e}", flush=True)
                return 0, 0, 1
            except (Failure, OSError, ftplib.Error, EOFError,
                    subprocess.SubprocessError) as e:
                got = f"{type(e).__name__}: {e}"
                if way == "natively":
                    print(f"skip {name}: not here natively: {got}", flush=True)
                    return 0, 0, 1
        if want is None:
            want = got
        elif got == want:
            passed += 1
            print(f"ok   {name} {way} {time.monotonic() - start:.1f}s",
                  flush=True)
        else:
            failed += 1
            print(f"FAIL {name} {way}\n      natively: {want}\n"
                  f"      hooked:   {got}", flush=True)
    return passed, failed, 0


def main():
    global FILTER
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--only", action="append", default=[])
    opt = ap.parse_args()
    build = os.path.abspath(opt.build)
    FILTER = os.path.join(build, "tests/support/filter")
    for name in list(os.environ):
        if name.startswith("FIBHOOK_") or name == "LD_PRELOAD":
            del os.environ[name]
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    total = [0, 0, 0]
    for name, test in tests():
        if opt.only and not any(name.startswith(o) for o in opt.only):
            continue
        for i, n in enumerate(check(name, test, build)):
            total[i] += n
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not sum(total) else 0


if __name__ == "__main__":
    sys.exit(main())
