#!/usr/bin/env python3
"""System calls a round trip between two threads, natively and hooked.

usage: count.py BUILD

Counts do not depend on how busy the machine is, but for what the library's
monitor asks each few milliseconds, and for waits that last. Two runs of trip that
differ in their rounds alone are subtracted: starts and ends do not count. The
counter is perf's where it may be used, else strace's. Last line "N passed, N
failed".
"""
import os
import re
import subprocess
import sys
import tempfile

# Natively 4, and one epoll_wait a hop where nobody else has something to do.
MORE = {1: 2.2, 50: 0.4}
TRIPS = 8000
CASES = [(kind, how) for kind in ("pipe", "pair", "tcp")
         for how in ("plain", "early", "duped", "stdio", "gone", "alive",
                     "flags", "early_flags")]
CASES += [("pair", "timed"), ("tcp", "timed")]


def run(argv, env, out):
    perf = ["perf", "stat", "-x,", "-o", out, "-e", "raw_syscalls:sys_enter"]
    strace = ["strace", "-f", "-qq", "-c", "-o", out]
    wrap = perf if run.perf else strace
    e = ["env"] + ["%s=%s" % kv for kv in env.items()]
    r = subprocess.run(wrap + e + argv, capture_output=True, text=True,
                       timeout=120)
    text = open(out).read()
    if run.perf:
        m = re.search(r"^(\d+),.*raw_syscalls", text, re.M)
    else:
        m = re.search(r"^100\.00\s+\S+\s+\S+\s+(\d+)", text, re.M)
    if r.returncode or not m:
        raise RuntimeError("%s: %s %s" % (argv, r.stderr, text[:300]))
    return int(m.group(1))


def can_perf():
    r = subprocess.run(["perf", "stat", "-e", "raw_syscalls:sys_enter", "true"],
                       capture_output=True, text=True)
    return r.returncode == 0 and "<not" not in r.stderr


def trip(build, out, env, kind, how, pairs):
    n = [TRIPS // pairs // 4, TRIPS // pairs]
    argv = [build + "/tests/counts/trip", kind, how, str(pairs)]
    a, b = (run(argv + [str(x)], env, out) for x in n)
    return (b - a) / ((n[1] - n[0]) * pairs)


def main():
    build = os.path.abspath(sys.argv[1])
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    try:
        run.perf = can_perf()
    except FileNotFoundError:
        run.perf = False
    print("counted by", "perf" if run.perf else "strace")
    hooked = {"LD_PRELOAD": build + "/libfibhook.so", "FIBHOOK_WORKERS": "1"}
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        out = tmp + "/count"
        for kind, how in CASES:
            for pairs, more in MORE.items():
                native = trip(build, out, {"FIBHOOK_DISABLE": "1"}, kind, how,
                              pairs)
                got = trip(build, out, hooked, kind, how, pairs)
                ok = 3.9 < native and got <= native + more
                bad += not ok
                print("%-4s %s %s, %d pairs: native %.2f, hooked %.2f" %
                      ("ok" if ok else "FAIL", kind, how, pairs, native, got))
    print("%d passed, %d failed" % (len(CASES) * len(MORE) - bad, bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
