#!/usr/bin/python3
"""stress-ng --verify: every stressor ends hooked as it does natively.

usage: stressng.py --build DIR [--quick] [--only STRESSOR]...
                   [--workers 1,2,4] [--jobs N]

Two instances of each stressor make a bounded number of operations, natively,
then hooked, lazily and with FIBHOOK_START=eager. The exit status, what
stress-ng calls a failure, and the operations done must be the native run's: a
stressor that soon reached its bound natively must reach it hooked. The last line
says "N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite  # noqa: E402  pylint: disable=wrong-import-position

QUICK = """pthread futex sem sem-sysv mutex clone fork vfork sigq sigsuspend
sigpending sigfd itimer timerfd zombie race-sched""".split()

# Operations of one instance, where 200 take too long or mean too little.
OPS = {
    "pthread": 4000, "futex": 5000, "sem": 5000, "mutex": 4000000, "clone": 500,
    "fork": 500, "vfork": 1000, "sigq": 5000, "sigsuspend": 2000,
    "sigpending": 2000, "sigfd": 2000, "sigrt": 2000, "sigsegv": 500,
    "sigfpe": 500, "itimer": 500, "timer": 2000, "timerfd": 2000,
    "race-sched": 200, "pipe": 5000, "pipeherd": 2000, "sock": 100,
    "sockpair": 1000, "poll": 500, "epoll": 200, "eventfd": 5000,
    "switch": 5000, "yield": 5000, "mq": 2000, "msg": 2000, "exec": 100,
    "spawn": 100, "daemon": 50, "zombie": 200, "sem-sysv": 2000,
    "shm-sysv": 4, "shm": 4, "nanosleep": 500, "sleep": 500, "schedpolicy":
    200, "vforkmany": 50, "forkheavy": 50, "dynlib": 50,
    "session": 100, "sigchld": 500, "sigabrt": 50, "sigtrap": 500,
    "sigpipe": 500, "signest": 200, "sigio": 1000000, "signal": 5000,
    "peterson": 5000, "dekker": 5000, "membarrier": 200, "vm-segv": 50,
    "remap": 20, "userfaultfd": 20, "io-uring": 200, "aio": 200, "aiol": 200,
    "splice": 200, "sendfile": 50, "affinity": 200, "inotify": 4, "procfs": 20, "bad-altstack": 50,
    "cyclic": 500, "hrtimers": 500, "exit-group": 5,
    "kill": 500, "alarm": 4, "wait": 100, "pidfd": 200,
    "ptrace": 200, "seccomp": 50, "unshare": 5, "null": 500,
    "prctl": 50, "getrandom": 500, "flock": 500, "lockf": 500, "lockofd": 500,
    "malloc": 1000, "longjmp": 2000, "context": 500,
    "close": 50, "rename": 200, "udp": 200, "dup": 50, "fifo": 1000,
    "get": 50, "set": 100, "clock": 50, "sockmany": 20,
    "sockfd": 50, "resched": 20, "fanotify": 20, "rseq": 2000, "landlock": 20,
    "usersyscall": 500, "ring-pipe": 50,
    "mmapfork": 2, "dnotify": 5,
    "stackmmap": 20, "pty": 4,
    "sigsuspend":
    1000, "vm-rw": 4, "pkey": 50, "lease": 20, "futex": 2000, "schedpolicy": 50,
}
FULL = list(OPS)
LIMIT = 10      # seconds of stress-ng's own clock for one stressor
QUICK_LIMIT = 2
INSTANCES = 2

# Hooked, and with fibers, these cannot do what they do natively.
KNOWN = {"usersyscall": "PR_SET_SYSCALL_USER_DISPATCH is refused"}


def run(name, workers, opt, eager=False):
    """(status, failures, reached its bound or not), suite.Run"""
    log = os.path.join(opt.logs,
                       f"{name}.{workers or 'native'}{'e' if eager else ''}")
    with tempfile.TemporaryDirectory(prefix="stressng.") as tmp:
        argv = ["stress-ng", f"--{name}", str(INSTANCES), f"--{name}-ops",
                str(OPS.get(name, 200) * INSTANCES), "--verify",
                "--no-rand-seed", "--oomable", "--timeout", str(opt.limit),
                "--metrics-brief", "--temp-path", tmp]
        extra = {"FIBHOOK_START": "eager"} if eager else {}
        got = suite.run(argv, opt.build, workers, 12 * opt.limit, log, tmp, extra)
    fails = sorted({re.sub(r"\d+", "N", x.split("fail:", 1)[1])
                    for x in got.output.splitlines() if "fail:" in x})
    m = re.search(r"metrc:.*\] " + re.escape(name) + r" +(\d+) ", got.output)
    ops = int(m[1]) if m else 0
    bound = OPS.get(name, 200) * INSTANCES
    return (got.status, fails, "all" if ops >= bound else
            "some" if ops else "none"), got


def check(name, opt):
    native, first = run(name, None, opt)
    if native[0] not in (0, 2) or re.search(
            r"(is not implemented|not supported|unknown option|unrecognized)",
            first.output) and native[2] == "none":
        return 0, 0, 1, [f"skip {name}: natively it ends with {native[0]}, "
                         f"after {native[2]} of its operations"]
    passed = failed = 0
    lines = []
    skipped = 0
    for workers, eager in [(w, e) for w in opt.workers for e in (False, True)]:
        if eager and name in KNOWN:
            skipped += 1
            lines.append(f"skip {name} workers={workers} eager, known: "
                         f"{KNOWN[name]}")
            continue
        got, r = run(name, workers, opt, eager)
        label = f"{name} workers={workers}{' eager' if eager else ''}"
        bounded = native[2] == "all" and first.seconds < opt.limit / 4
        if got[:2] == native[:2] and suite.UNHOOKED not in r.output and \
                (got[2] == "all" or not bounded):
            passed += 1
            lines.append(f"ok   {label}: status {got[0]}, {got[2]} operations;"
                         f" {r.seconds:.1f} s, natively {first.seconds:.1f} s")
            continue
        failed += 1
        lines.append(f"FAIL {label}: status {got[0]}, {got[2]} operations, "
                     f"natively {native[0]}, {native[2]}; {r.seconds:.1f} s, "
                     f"natively {first.seconds:.1f} s")
        lines += [f"     {x}" for x in got[1] if x not in native[1]]
        lines += ["     " + x for x in r.output.splitlines() if "fibhook" in x]
        lines += ["     " + x for x in r.dump.splitlines()[:80]]
    return passed, failed, skipped, lines


def main():
    suite.plain_signals()
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--workers")
    ap.add_argument("--jobs", type=int, default=1)
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    opt.workers = (opt.workers or ("2" if opt.quick else "1,2,4")).split(",")
    opt.limit = QUICK_LIMIT if opt.quick else LIMIT
    opt.logs = os.path.join(opt.build, "check", "stressng")
    os.makedirs(opt.logs, exist_ok=True)
    suite.install(["stress-ng"])
    passed = failed = skipped = 0
    names = opt.only or (QUICK if opt.quick else FULL)
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for p, f, s, lines in pool.map(lambda n: check(n, opt), names):
            passed, failed, skipped = passed + p, failed + f, skipped + s
            print("\n".join(lines), flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
