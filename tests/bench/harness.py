"""Programs that are started, measured in turn and ended, for bench.py.

A part is a table: rows, each with values of several modes, one for each round.
The modes take turns within a round, and each is first in some round, since what
ran before leaves its mark. What a part has not measured, it says why.
"""
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Skip(Exception):
    """What cannot be measured here, and why."""


class Part:
    """name, title and modes of a table; ratios: pairs of modes."""

    def __init__(self, name, title, modes, ratios, note=""):
        self.name, self.title, self.note = name, title, note
        self.modes, self.ratios = list(modes), list(ratios)
        self.rows, self.skipped = [], []

    def row(self, name, unit, values, better="less"):
        """values: {mode: [one for each round]}; better: less, more or none"""
        self.rows.append({"name": name, "unit": unit, "better": better,
                          "values": {m: v for m, v in values.items() if v}})

    def skip(self, what, why):
        self.skipped.append({"what": what, "why": str(why)})
        say("%s: %s: skipped: %s" % (self.name, what, why))


class Bench:
    """What is the same for all parts: folders, rounds, and the time."""

    def __init__(self, build, out, rounds, seconds, limit, quick, few=False,
                 before=None):
        self.build, self.out, self.few = build, out, few
        self.rounds, self.seconds, self.quick = rounds, seconds, quick
        self.preload, self.before = build + "/libfibhook.so", before
        self.fibhook = build + "/fibhook"
        self.end = time.monotonic() + limit if limit else None
        self.children = set()
        self.work = os.path.join(out, "work")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)

    def some(self, what):
        """All of list @what; or the first alone, to see that it can be measured."""
        return what[:1] if self.few else what

    def check_time(self):
        if self.end and time.monotonic() > self.end:
            raise Skip("the time of this run was over")

    def left(self, most):
        """A limit for one program: never past the end by much."""
        if not self.end:
            return most
        return max(20, min(most, self.end + 20 - time.monotonic()))

    def env(self, mode, **more):
        e = {k: v for k, v in os.environ.items()
             if not k.startswith("FIBHOOK_") and k != "LD_PRELOAD"}
        if mode in ("hooked", "before"):
            e["LD_PRELOAD"] = self.preload if mode == "hooked" else self.before
        e.update(more)
        return e

    def run(self, argv, mode="unhooked", cpus=None, most=120, **more):
        """What a program has written; cpus: a set, None: all"""
        p = self.start(argv, mode, cpus, **more)
        try:
            out, err = p.communicate(timeout=self.left(most))
        except subprocess.TimeoutExpired:
            self.kill(p)
            raise Skip("%s did not end in time" % os.path.basename(argv[0]))
        self.children.discard(p)
        if p.returncode == 3:
            raise Skip(err.strip().split("\n")[-1] or "not offered")
        if p.returncode:
            last = (err.strip().split("\n")[-1] or "nothing is said")[-200:]
            raise Skip("%s: status %d: %s" %
                       (os.path.basename(argv[0]), p.returncode,
                        last.replace(self.out, "").replace(ROOT, "")))
        return out

    def start(self, argv, mode="unhooked", cpus=None, err=subprocess.PIPE,
              **more):
        def pin():
            if cpus:
                os.sched_setaffinity(0, cpus)
        p = subprocess.Popen(argv, env=self.env(mode, **more), text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=err, preexec_fn=pin, cwd=self.work,
                             start_new_session=True)
        self.children.add(p)
        return p

    def kill(self, p):
        self.children.discard(p)
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()

    def end_all(self):
        for p in list(self.children):
            self.kill(p)
        shutil.rmtree(self.work, ignore_errors=True)


class Server:
    """A server that prints "listening on PORT", ended by SIGTERM."""

    def __init__(self, bench, argv, mode, cpus, **more):
        self.bench = bench
        self.p = bench.start(argv, mode, cpus, err=subprocess.DEVNULL, **more)
        line = self.p.stdout.readline()
        if not line.startswith("listening on "):
            status = self.p.wait()
            bench.children.discard(self.p)
            raise Skip("%s does not listen here: status %d" %
                       (os.path.basename(argv[0]), status))
        self.port, self.pid = line.split()[-1], self.p.pid

    def stop(self):
        self.p.terminate()
        try:
            self.p.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.bench.kill(self.p)
        self.bench.children.discard(self.p)


def say(text):
    print(text, file=sys.stderr, flush=True)


def named(text):
    """NAME=VALUE ... as a dict of numbers"""
    return {k: float(v) for k, v in re.findall(r"(\w+)=([-0-9.]+)", text)}


def turns(modes, rounds):
    """(round, mode) for each slice"""
    for r in range(rounds):
        n = r % len(modes)
        for m in modes[n:] + modes[:n]:
            yield r, m


def median(values):
    return statistics.median(values) if values else None


def spread(values):
    """From the lowest to the highest, of the median."""
    m = median(values)
    return (max(values) - min(values)) / m if m and len(values) > 1 else None


def ratio(row, a, b):
    """The median of the rounds' ratios."""
    x, y = row["values"].get(a), row["values"].get(b)
    if not x or not y:
        return None
    q = [i / j for i, j in zip(x, y) if j]
    return median(q)


def can_count():
    try:
        r = subprocess.run(["perf", "stat", "-e", "raw_syscalls:sys_enter",
                            "true"], capture_output=True, text=True)
    except FileNotFoundError:
        return False
    return r.returncode == 0 and "<not" not in r.stderr


def perf_count(path):
    m = re.search(r"^(\d+),.*raw_syscalls", open(path).read(), re.M)
    return int(m.group(1)) if m else None


def dump(path, what):
    with open(path + ".new", "w") as f:
        json.dump(what, f, indent=1)
        f.write("\n")
    os.rename(path + ".new", path)
