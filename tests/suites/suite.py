"""What the suites share: bounded runs in a session of their own, natively and
hooked, of which no process is left; packages that are missing."""
import os
import shutil
import signal
import subprocess
import time

HOOKED = ("1", "2", "4")
TAG = "FIB_SUITE_RUN"
UNHOOKED = "]: running unhooked: "


class Run:
    """One finished run: status (None after a hang), output, dump of a hang."""

    def __init__(self, status, output, dump, seconds):
        self.status, self.output = status, output
        self.dump, self.seconds = dump, seconds


def install(packages):
    """Packages of Debian that are missing are installed, and named."""
    missing = [p for p in packages if subprocess.run(
        ["dpkg-query", "-W", "-f", "${Status}", p], check=False,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ).stdout.strip() != b"install ok installed"]
    if not missing:
        return
    print("installing: " + " ".join(missing), flush=True)
    env = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for argv in (["apt-get", "-qq", "update"],
                 ["apt-get", "-qq", "install", "-y",
                  "--no-install-recommends"] + missing):
        subprocess.run(argv, check=False, env=env, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def environment(build, workers, extra=None):
    """The caller's, without our variables; hooked if workers is given."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FIBHOOK_") and k not in
           ("LD_PRELOAD", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    if workers:
        env["LD_PRELOAD"] = os.path.join(build, "libfibhook.so")
        env["FIBHOOK_WORKERS"] = workers
    env["LC_ALL"] = "C.UTF-8"
    env.update(extra or {})
    return env


def tagged(tag):
    """Processes that a run has left, wherever they went."""
    want = f"{TAG}={tag}".encode()
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as f:
                if want in f.read().split(b"\0"):
                    yield int(name)
        except OSError:
            continue


def end_all(tag):
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        left = list(tagged(tag))
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.01)


def dump_of(build, pid):
    try:
        r = subprocess.run([os.path.join(build, "fibhook"), "dump", str(pid)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=20, check=False)
        return f"-- {pid}\n" + r.stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired) as e:
        return f"-- {pid}: {e}\n"


def run(argv, build, workers, limit, log, cwd, extra=None):
    """Run argv for at most limit seconds; what it says goes to the file log."""
    tag = f"{os.getpid()}-{time.monotonic_ns()}"
    env = environment(build, workers, extra)
    env[TAG] = tag
    env["_"] = shutil.which(argv[0]) or argv[0]  # as a shell says it
    t0, dump = time.monotonic(), ""
    with open(log, "w+b") as out:
        p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out,
                             stderr=subprocess.STDOUT, env=env, cwd=cwd,
                             start_new_session=True)
        try:
            status = p.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
            if workers:
                dump = "".join(dump_of(build, q) for q in sorted(tagged(tag)))
        end_all(tag)
        p.wait()
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
    return Run(status, text, dump, time.monotonic() - t0)


def plain_signals():
    """A shell without job control starts us with these ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
