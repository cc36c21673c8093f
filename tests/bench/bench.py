#!/usr/bin/env python3
"""Figures beside their baselines, from one interleaved run.

usage: bench.py [--rounds N] [--seconds S] [--quick] [--limit MINUTES]
                [--publish] [--few] [--out FOLDER] [--before LIBRARY] [PART...]

    echo, echo2        an echo server with a thread for each connection, hooked and
                       not, beside hand-written ones over epoll and io_uring: CPU,
                       requests, latency, fairness, churn, system calls
    threads, threads2  small operations of threads; the 2: on two CPUs
    workers            one worker and two
    scale              1000 to a million threads at once: create, wait, wake, memory
    memory             an idle connection
    start              short programs
    counts             system calls of round trips, requests and threads
    path               where the CPU time of a request goes, by function
    servers, loops     servers of the demo and of packages, by fibhook bench
    library            libfib beside other libraries
    before             the library beside an earlier one, which --before names
    watched            what fibhook trace, top and stats cost the process

Without parts all are run but that one. --rounds: of each slice, default 5; --seconds: of a
slice, default 0.3. --quick: 3 rounds of 0.2 s, and an end after 12 minutes: what is not
measured by then is said to be skipped. --few: of the long lists of rows the first alone.
In BUILD/bench, or --out: report.md, report.json, plots, and a folder for each server.
--publish: the report goes into docs/PERFORMANCE.md as well. Progress is on stderr. B: the
build folder.
"""
import argparse
import os
import platform
import signal
import subprocess
import sys
import time
import harness
import parts
import report
import servers
from harness import ROOT, Part, Skip, say

# In this order: when time is short, it is the last ones that are skipped.
PARTS = {
    "echo": parts.echo1, "threads": parts.threads1, "memory": parts.memory,
    "start": parts.start, "path": parts.path, "servers": servers.servers, "loops": servers.loops,
    "echo2": parts.echo2, "threads2": parts.threads2,
    "workers": parts.workers, "library": parts.libfib,
    "before": parts.before, "watched": parts.watched, "counts": parts.counts, "scale": parts.scale,
}


def options():
    p = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1])
    p.add_argument("--rounds", type=int)
    p.add_argument("--seconds", type=float)
    p.add_argument("--limit", type=float)
    p.add_argument("--quick", action="store_true")
    p.add_argument("--publish", action="store_true")
    p.add_argument("--few", action="store_true")
    p.add_argument("--out")
    p.add_argument("--before")
    p.add_argument("parts", nargs="*")
    o = p.parse_args()
    o.rounds = o.rounds or (3 if o.quick else 5)
    o.seconds = o.seconds or (0.2 if o.quick else 0.3)
    o.limit = o.limit or (12 if o.quick else 0)
    for name in o.parts:
        if name not in PARTS:
            p.error("no such part: " + name)
    if not 1 <= o.rounds <= 100 or not 0.01 <= o.seconds <= 60:
        p.error("1 to 100 rounds, of 0.01 to 60 s")
    return o


def machine(command, o):
    """What a reader has to know of the machine."""
    cpu = "unknown CPU"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True,
                         text=True).stdout.strip()
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 30
    version = open(ROOT + "/VERSION").read().strip()
    return {
        "command": "`%s`, libfibhook %s" % (command, version),
        "when": time.strftime("%Y-%m-%d"),
        "what": "%s, %d CPUs%s, %d GB, Linux %s, glibc %s, gcc %s" %
        (cpu, os.cpu_count(),
         " of a virtual machine" if " hypervisor " in open("/proc/cpuinfo").read()
         else "", memory, platform.release().split("-")[0],
         platform.libc_ver()[1], gcc),
        "load": "%.1f" % os.getloadavg()[0],
        "rounds": o.rounds, "seconds": o.seconds,
    }


def main():
    o = options()
    build = os.path.abspath(os.path.join(ROOT, os.environ.get("B", "build")))
    out = os.path.abspath(o.out or build + "/bench")
    name = "make bench" + ("-report" if o.publish and o.quick else "")
    info = machine(os.environ.get("BENCH_COMMAND", name), o)
    b = harness.Bench(build, out, o.rounds, o.seconds, o.limit * 60, o.quick,
                      o.few, o.before and os.path.abspath(o.before))
    begin = time.monotonic()
    done = []

    def stop(*_):
        sys.exit(130)
    signal.signal(signal.SIGTERM, stop)
    try:
        for part in [p for p in PARTS
                     if p in (o.parts or set(PARTS) - {"before"})]:
            try:
                b.check_time()
                done.append(PARTS[part](b))
            except Skip as why:
                done.append(Part(part, part, [], []))
                done[-1].skip("all of it", why)
            say("%s: done after %d s" % (part, time.monotonic() - begin))
            info["took"] = time.monotonic() - begin
            # After each: an interrupted run leaves what it has.
            report.write(done, info, out)
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        b.end_all()
    with open(out + "/report.md") as f:
        print(f.read())
    if o.publish:
        report.publish(done, info, out, ROOT)


if __name__ == "__main__":
    main()
