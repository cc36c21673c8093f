#!/usr/bin/python3
"""What the library costs a program that needs none of it.

usage: startup.py FIBHOOK LIBFIBHOOK

Starts /bin/true alone, with the library preloaded, and through the command, in
turns. The least time of each is what it costs: all else is the machine's, which may
be slow for all of some rounds; so where it is too much, there are more of them. Where
/bin/true alone takes more than half a millisecond, a call or a page fault costs more as
well, and the bounds are as many times as high.
"""
import os
import sys
import time

ROUNDS, TIMES = 200, 5
ALONE_MS, PRELOAD_MS, COMMAND_MS = 0.5, 0.5, 1.0


def least(times):
    return min(times) * 1e3


def play(ways, times):
    for _ in range(ROUNDS):
        for name, (args, env) in ways.items():
            t0 = time.perf_counter()
            pid = os.posix_spawn(args[0], args, env)
            _, status = os.waitpid(pid, 0)
            times[name].append(time.perf_counter() - t0)
            if status:
                sys.exit(f"{name}: status {status:#x}")


def main():
    fibhook, lib = sys.argv[1:]
    plain = {"PATH": os.environ["PATH"]}
    preload = dict(plain, LD_PRELOAD=lib)
    ways = {
        "alone": (["/bin/true"], plain),
        "preloaded": (["/bin/true"], preload),
        "command": ([fibhook, "/bin/true"], plain),
    }
    times = {name: [] for name in ways}
    for _ in range(TIMES):
        play(ways, times)
        alone = least(times["alone"])
        more = {name: least(times[name]) - alone for name in ways}
        slow = max(1, alone / ALONE_MS)
        fine = (more["preloaded"] < PRELOAD_MS * slow and
                more["command"] < COMMAND_MS * slow)
        if fine:
            break
    print(f"true {alone:.2f} ms, preloaded {more['preloaded']:+.2f} ms, "
          f"through fibhook {more['command']:+.2f} ms")
    sys.exit(not fine)


main()
