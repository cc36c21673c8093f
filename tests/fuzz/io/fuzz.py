#!/usr/bin/env python3
"""Programs of descriptor calls, drawn at random: the kernel is the oracle.

usage: fuzz.py --build BUILD [--seed N] [--seconds S | --scripts N]
               [--variants 1,2e,4] [--library FILE] [--script N] [--out DIR]
               [--chaos POINTS] [--replay FILE...]

Draws scripts (gen.py), plays each natively, twice, and hooked (player.py), and
compares what came of every step. Where the native runs differ, only what comes
before is compared. What differs is played again before it counts, shrunk, and
printed with both outcomes (steps that race: races.py); --out keeps the small scripts, one of each kind.
Scripts are the same for a seed; --script N plays one and shows it.
--replay plays files first, as the ones in corpus/, on 1, 2 and 4 workers, lazily
and eagerly. A line "# open: WHY" in one is for a difference that is known: it is
named, and not counted as failed while it is there; nor is what shrinks to the
same difference of the same calls. A line "# one CPU: WHY" has all its plays on
one CPU: what the kernel itself races for on two, wake-up first. --scripts 0 plays
the files alone.
--chaos: hooked plays have FIBHOOK_CHAOS with these points, each with another seed.
The last line says "N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import os
import random
import sys
import threading
import time

import gen
import player as pl
import races
from documented import documented

ALL = ["1", "2", "4", "1e", "2e", "4e"]


class Fuzz:
    def __init__(self, opt):
        self.opt = opt
        self.player = pl.Player(opt.build, opt.hooked, opt.chaos)
        self.lock = threading.Lock()
        self.kinds = {}
        self.passed = self.failed = self.slow = self.cut = self.seldom = 0
        self.native_bad = self.skipped = self.raced = 0
        self.open, self.known = {}, {}

    def say(self, *text):
        with self.lock:
            print(*text, flush=True)

    def one(self, number):
        steps = gen.script(self.opt.seed, number)
        if races.first_of(steps) is not None:
            self.race(number, steps)
            return
        want, why = pl.natively(self.player, steps)
        if why:
            self.native_bad += 1
            if self.opt.verbose:
                self.say(f"script {number}: {why}")
            return
        self.cut += len(want) < len(steps)
        variants = self.opt.variants
        if not self.opt.fixed: # lazily and eagerly in turns
            variants = [v + "e" * (number % 2) for v in variants]
        for variant in variants:
            d = pl.hooked(self.player, steps, variant, want)
            if isinstance(d, pl.Difference) and d.in_sigio_alone():
                on_one, _ = pl.natively(self.player, steps, one_cpu=True)
                d = pl.hooked(self.player, steps, variant, on_one, True)
            if d == "slow":
                self.slow += 1
            elif d is None:
                self.passed += 1
            else:
                self.found(number, d)
                break

    def race(self, number, steps):
        fine = races.allowed(self.player, steps, 3)
        if not fine:
            self.native_bad += 1
            return
        self.raced += 1
        for variant in self.opt.variants:
            lines = races.odd(self.player, steps, variant, fine, 2)
            race = lines and races.Race(steps, variant, fine, lines[0])
            bad, runs = races.really(self.player, race) if race else (0, 0)
            if bad < 2:
                self.passed += 1
                self.seldom += bad
                continue
            small = races.shrink(self.player, race)
            # It has had few tries natively.
            if small is not race and races.really(self.player, small)[0] >= 2:
                race = small
            if documented(race):
                why = documented(race)
                self.known[why] = self.known.get(why, 0) + 1
                return
            self.failed += 1
            self.say(f"FAIL script {number} of seed {self.opt.seed} "
                     f"[{variant}]: {race.signature()} ({bad} of {runs})\n"
                     + races.readable(race))
            return

    def found(self, number, d):
        kind = d.signature()
        with self.lock:
            seen = self.kinds.setdefault(kind, [0, 0])
            if seen[1] or seen[0] >= self.opt.each:
                # One like it has been shown, or there are too many to look at.
                seen[0] += 1
                self.failed += 1
                return
            seen[0] += 1
        bad, runs = pl.confirm(self.player, d)
        where = f"script {number} of seed {self.opt.seed} [{d.variant}]"
        if bad < 2:
            with self.lock:
                seen[0] -= 1
            self.seldom += runs > 0
            self.say(f"not again: {where}: {kind} ({bad} of {runs})\n"
                     + (pl.readable(d) if runs else "    natively neither"))
            return
        small = pl.shrink(self.player, d)
        # What is left may be a race of the kernel's, in which this was not one.
        if pl.confirm(self.player, small)[0] >= 2:
            d = small
        why = self.open.get(gist(d)) or documented(d)
        if why:
            self.known[why] = self.known.get(why, 0) + 1
            return
        self.failed += 1
        seen[1] = 1
        self.say(f"FAIL {where}: {kind} ({bad} of {runs})\n" + pl.readable(d))
        if self.opt.out:
            os.makedirs(self.opt.out, exist_ok=True)
            name = f"{kind.split(':')[0].replace(' ', '_')}-{number}.io"
            with open(os.path.join(self.opt.out, name), "w",
                      encoding="ascii") as f:
                a, b = pl.readable(d).splitlines()[-2:]
                f.write(f"# {kind} [{d.variant}]\n# {a.strip()}\n"
                        f"# {b.strip()}\n" + "\n".join(d.steps) + "\n")

    def run(self):
        opt, first = self.opt, 0
        end = time.monotonic() + opt.seconds

        def more():
            if opt.scripts is not None:
                return first < opt.scripts
            return time.monotonic() < end

        with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
            running = set()
            while running or more():
                while len(running) < opt.jobs and more():
                    running.add(pool.submit(self.one, first))
                    first += 1
                done, running = concurrent.futures.wait(
                    running, return_when=concurrent.futures.FIRST_COMPLETED)
                for f in done:
                    f.result()
        print(f"{first} scripts, {self.raced} of them races, "
              f"{self.cut} compared in part, "
              f"{self.native_bad} not played natively, {self.slow} plays too "
              f"slow for their time limits, {self.seldom} seen once")
        for kind, (n, bad) in sorted(self.kinds.items(), key=lambda x: -x[1][0]):
            if bad:
                print(f"    {n:4} {kind}")
        for why, n in sorted(self.known.items()):
            print(f"    {n:4} open: {why}")
            self.skipped += n


def read(path):
    with open(path, encoding="ascii") as f:
        lines = f.read().splitlines()
    known = [x.split(":", 1)[1].strip() for x in lines
             if x.startswith("# open:")]
    return [x for x in lines if x and x[0] != "#"], known, \
        any(x.startswith("# one CPU:") for x in lines)


def gist(d):
    """What is the same for two differences of one cause, as far as can be told."""
    kinds = (("make", [x for x in pl.MAKERS if x[:6] != "accept"] + ["dup"]),
             ("accept", ("accept", "accept4")),
             ("read", ("read", "readv", "preadv2", "recv", "recvmsg",
                       "recvfrom", "recvmmsg", "read8")),
             ("write", ("write", "writev", "pwritev2", "send", "sendmsg",
                        "sendmmsg", "sendto", "sendfd", "write8")))
    alike = {call: kind for kind, all_of in kinds for call in all_of}
    return (d.signature().split(":", 1)[1],
            frozenset(alike.get(s.split()[1], s.split()[1])
                      for s in d.steps[:d.phase + 1]))


def replay(fuzz, paths, jobs):
    player = fuzz.player

    def one(path):
        steps, known, one_cpu = read(path)
        for _ in range(3):
            want, why = pl.natively(player, steps, (5, 12, 30), one_cpu)
            if not why and len(want) == len(steps):
                break
        else:
            return path, known, "natively not the same each time", []
        found = []
        for variant in ALL:
            d = "slow"
            for _ in range(3):
                if d == "slow":
                    d = pl.hooked(player, steps, variant, want, one_cpu)
            if d == "slow":
                return path, known, "too slow for its time limits", []
            if d and (known or pl.confirm(player, d)[0] >= 1):
                found.append(d)
            if found and known:
                break
        return path, known, None, found

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, known, why, found in pool.map(one, paths):
            name = os.path.basename(path)
            if why:
                fuzz.skipped += 1
                print(f"skip {name}: {why}")
            elif not found:
                fuzz.passed += 1
                print(f"ok   {name}" + (": no longer open" if known else ""))
            elif known:
                fuzz.skipped += 1
                print(f"skip {name}: open: {known[0]}")
                for d in found:
                    fuzz.open[gist(d)] = known[0]
            else:
                fuzz.failed += 1
                print(f"FAIL {name}")
                for d in found:
                    print(f"  [{d.variant}] {d.signature()}\n"
                          + pl.readable(d), flush=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--library", dest="hooked")
    ap.add_argument("--seed", type=int,
                    default=random.SystemRandom().randrange(1 << 31))
    ap.add_argument("--scripts", type=int)
    ap.add_argument("--seconds", type=float, default=100)
    ap.add_argument("--variants", default="")
    ap.add_argument("--script", type=int)
    ap.add_argument("--chaos")
    ap.add_argument("--each", type=int, default=20,
                    help="how many of one kind are shrunk, while all are open")
    ap.add_argument("--jobs", type=int, default=8)
    ap.add_argument("--out")
    ap.add_argument("--verbose", action="store_true")
    ap.add_argument("--replay", nargs="+", default=[])
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    opt.fixed = bool(opt.variants)
    opt.variants = opt.variants.split(",") if opt.variants else ["1", "2", "4"]
    print(f"seed {opt.seed}")
    fuzz = Fuzz(opt)
    if opt.script is None:
        replay(fuzz, opt.replay, opt.jobs)
        if opt.scripts != 0:
            fuzz.run()
        print(f"{fuzz.passed} passed, {fuzz.failed} failed, "
              f"{fuzz.skipped + fuzz.slow} skipped")
        return 1 if fuzz.failed or not fuzz.passed else 0
    steps = gen.script(opt.seed, opt.script)
    for variant in [None] + opt.variants:
        status, lines = fuzz.player.play(steps, variant)
        print(variant or "natively", status)
        for i, x in enumerate(lines):
            print(f"  {steps[i]:36}", "; ".join(x.split("\t")[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
