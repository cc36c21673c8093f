#!/usr/bin/env python3
"""Arguments of system calls, fuzzed: the kernel is the oracle.

usage: args.py --build BUILD [--seed N] [--cases N | --seconds S]
               [--workers 1,2] [--case N]

Runs BUILD/tests/fuzz/args (see args.c) natively and hooked, and compares its
lines. A case that differs is run again by itself, with a longer limit, before
it counts: one that differs natively from run to run is named and not counted.
With --cases a seed always means the same cases; --seconds is for how long they
are begun. The seed is printed; "--seed N --case M" runs one case again.
The last line says "N passed, N failed".
"""
import argparse
import concurrent.futures
import os
import random
import subprocess
import sys
import time

CHUNK = 100
LIMIT_MS = 500
AGAIN_MS = 4000


def run(opt, workers, first, count, limit_ms=LIMIT_MS):
    """The lines of @count cases by their numbers; @workers None: natively."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FIBHOOK_") and k != "LD_PRELOAD"}
    if workers:
        env["LD_PRELOAD"] = os.path.join(opt.build, "libfibhook.so")
        env["FIBHOOK_WORKERS"] = workers.rstrip("e")
        if workers.endswith("e"):
            env["FIBHOOK_START"] = "eager"
    argv = [os.path.join(opt.build, "tests/fuzz/args"), str(opt.seed),
            str(first), str(count), "1", str(limit_ms)]
    try:
        r = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=60 + count * limit_ms / 1000, check=False)
        text = r.stdout.decode("utf-8", "replace")
        if r.returncode:
            text += f"-1 the program ended with {r.returncode}\n"
    except subprocess.TimeoutExpired:
        text = "-1 the program did not end\n"
    lines = {}
    for line in text.splitlines():
        number, _, rest = line.partition(" ")
        lines[int(number) if number.lstrip("-").isdigit() else -1] = rest
    return lines


def chunk(opt, first, count):
    native = run(opt, None, first, count)
    return native, [(w, run(opt, w, first, count)) for w in opt.workers]


def really(opt, number, workers):
    """What differs when the case is run by itself: lines, or None."""
    want = {run(opt, None, number, 1, AGAIN_MS).get(number)
            for _ in range(3)}
    if len(want) > 1:
        return "unsteady", want
    got = [run(opt, workers, number, 1, AGAIN_MS) for _ in range(2)]
    bad = [g.get(number) or str(g) for g in got if g.get(number) not in want]
    return ("differs", [want.pop(), bad[0]]) if bad else (None, None)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--seed", type=int,
                    default=random.SystemRandom().randrange(1 << 31))
    ap.add_argument("--cases", type=int)
    ap.add_argument("--seconds", type=float, default=40)
    ap.add_argument("--workers", default="1,2e")
    ap.add_argument("--case", type=int)
    ap.add_argument("--jobs", type=int, default=4)
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    opt.workers = opt.workers.split(",")
    prog = os.path.join(opt.build, "tests/fuzz/args")
    print(f"seed {opt.seed}")
    for line in subprocess.run([prog, "--left-out"], check=True,
                               stdout=subprocess.PIPE).stdout.splitlines():
        print("not tried:", line.decode())
    if opt.case is not None:
        for w in [None] + opt.workers:
            print(w or "native",
                  run(opt, w, opt.case, 1, AGAIN_MS).get(opt.case))
        return 0
    end = time.monotonic() + opt.seconds
    passed = failed = first = 0

    def more():
        if opt.cases is not None:
            return first < opt.cases
        return time.monotonic() < end

    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        running = set()
        while running or more():
            while len(running) < opt.jobs and more():
                running.add(pool.submit(chunk, opt, first, CHUNK))
                first += CHUNK
            done, running = concurrent.futures.wait(
                running, return_when=concurrent.futures.FIRST_COMPLETED)
            for f in done:
                native, hooked = f.result()
                for workers, lines in hooked:
                    for number in sorted(native.keys() | lines.keys()):
                        if native.get(number) == lines.get(number):
                            passed += 1
                            continue
                        what, texts = really(opt, number, workers)
                        if what == "differs":
                            failed += 1
                            print(f"FAIL case {number} [{workers}]\n"
                                  f"    native {texts[0]}\n"
                                  f"    hooked {texts[1]}", flush=True)
                        elif what:
                            print(f"unsteady natively: case {number}: "
                                  f"{texts}", flush=True)
                        else:
                            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
