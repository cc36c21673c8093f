#!/usr/bin/python3
"""Runs behaviour programs: natively first, then hooked, with the same result.

usage: behave.py --build DIR [--jobs N] [--only PREFIX]... [--native]
                 [--repeat K] [--chaos SEED] [--library DIR] [--old] [--list]

A program is DIR/tests/hooks/FAMILY/NAME, its source tests/hooks/FAMILY/NAME.c
or .cc. Directives in the source's first comment:

  t-case: ARGS [=> signal NAME | => exit N]   one case per line; without any,
                                              one case without arguments
  t-expect: signal NAME | exit N              what every case must end with
  t-single                                    creates no thread, so no fiber
  t-no-stats: WHY                             leaves without writing counters
  t-not-eager: WHY                            no run with FIBHOOK_START=eager
  t-chaos-but POINT,...: WHY                  under chaos without these points,
                                              which take away what it looks at
  t-known: WHY                                a limit that is documented: runs
                                              natively, and is skipped hooked

The kernel is the oracle: stdout, stderr and the way the process ended must be
those of the native run. With --chaos the hooked runs have FIBHOOK_CHAOS=SEED,
which is named where one fails; SEED:POINT,... has these points alone. With --library the library (and the command) is
not DIR's of --build. With --old, on an older system, what does not pass
natively is skipped. The last line says "N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import itertools
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

TIMEOUT = float(os.environ.get("T_TIMEOUT", "20"))
print_lock = threading.Lock()


class Case:
    def __init__(self, program, source, args, expect, flags, known, but):
        self.known, self.but = known, but
        self.program, self.args = program, args
        self.expect, self.flags = expect, flags
        stem = os.path.splitext(source)[0].split("tests/hooks/", 1)[1]
        self.name = stem + (" " + " ".join(args) if args else "")


def parse_expect(text, source):
    m = re.fullmatch(r"signal (\w+)", text)
    if m:
        return -int(getattr(signal, "SIG" + m.group(1)))
    m = re.fullmatch(r"exit (\d+)", text)
    if not m:
        sys.exit(f"{source}: cannot read expectation '{text}'")
    return int(m.group(1))


def cases_of(source, build):
    with open(source, encoding="utf-8") as f:
        head = f.read(6000)
    if head.startswith("/*"):
        head = head.split("*/", 1)[0]
    else:
        head = "\n".join(itertools.takewhile(lambda x: x.startswith("//"),
                                             head.splitlines()))
    default, cases, flags, known, but = 0, [], set(), "", []
    for line in head.splitlines():
        line = line.strip(" /*\t")
        if line.startswith("t-expect:"):
            default = parse_expect(line.split(":", 1)[1].strip(), source)
        elif line.startswith("t-case:"):
            cases.append(line.split(":", 1)[1].strip())
        elif re.match(r"t-(single|no-stats|not-eager)\b", line):
            flags.add(line.split(":")[0])
        elif line.startswith("t-known:"):
            flags.add("t-known")
            known = line.split(":", 1)[1].strip()
        elif line.startswith("t-chaos-but "):
            but += line.split(":", 1)[0].split(" ", 1)[1].split(",")
        elif line.startswith("t-"):
            sys.exit(f"{source}: unknown directive '{line}'")
    stem = os.path.splitext(source)[0]
    program = os.path.join(build, stem)
    out = []
    for text in cases or [""]:
        args, _, want = text.partition("=>")
        expect = parse_expect(want.strip(), source) if want else default
        out.append(Case(program, source, shlex.split(args), expect, flags,
                        known, but))
    return out


def describe(code):
    if code is None:
        return f"no end after {TIMEOUT:g} s"
    if code < 0:
        try:
            return "signal " + signal.Signals(-code).name[3:]
        except ValueError:
            return f"signal {-code}"
    return f"exit {code}"


class Result:
    def __init__(self, code, out, err, dump=""):
        self.code, self.out, self.err, self.dump = code, out, err, dump


def dump_of(library, pid):
    tool = os.path.join(os.path.dirname(library), "fibhook")
    if not os.access(tool, os.X_OK):
        return ""
    try:
        r = subprocess.run([tool, "dump", str(pid)], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           timeout=10, check=False)
        return r.stdout.decode("utf-8", "replace")
    except (subprocess.TimeoutExpired, OSError) as e:
        return f"fibhook dump: {e}\n"


def wait(p, seconds):
    """As p.wait(seconds), which looks less and less often: the wait of most runs."""
    if hasattr(os, "pidfd_open"):
        fd = os.pidfd_open(p.pid)
        try:
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            poll.poll(seconds * 1000)
        finally:
            os.close(fd)
        seconds = 0.001
    return p.wait(seconds)


def run(case, env):
    """One run in its own session, so that its children end with it."""
    full = {k: v for k, v in os.environ.items()
            if not k.startswith("FIBHOOK_") and k != "LD_PRELOAD"}
    full.update(env)
    full["LC_ALL"] = "C"
    if "LD_PRELOAD" in env:
        full["T_HOOKED"] = "1"
    dump = ""
    with tempfile.TemporaryDirectory(prefix="behave.") as tmp, \
         tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        full["T_TMP"] = tmp
        # argv[0] is relative: messages and transcripts name no directory.
        p = subprocess.Popen([case.program] + case.args,
                             stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                             env=full, cwd=tmp, start_new_session=True)
        try:
            code = wait(p, TIMEOUT)
        except subprocess.TimeoutExpired:
            code = None
            if "LD_PRELOAD" in env:
                dump = dump_of(env["LD_PRELOAD"], p.pid)
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
        out.seek(0)
        err.seek(0)
        return Result(code, out.read().decode("utf-8", "replace"),
                      err.read().decode("utf-8", "replace"), dump)


def chaos_of(case, chaos):
    """The points that are named, else all that the program can stand."""
    if not chaos or ":" in chaos or not case.but:
        return chaos
    return f"{chaos}:-{','.join(case.but)}"


def variants(case, chaos):
    yield "workers=1", {"FIBHOOK_WORKERS": "1"}
    yield "workers=2", {"FIBHOOK_WORKERS": "2"}
    yield "workers=4", {"FIBHOOK_WORKERS": "4"}
    if chaos:
        yield "workers=8", {"FIBHOOK_WORKERS": "8"}
    if "t-not-eager" not in case.flags:
        yield "eager", {"FIBHOOK_WORKERS": "2", "FIBHOOK_START": "eager"}


def difference(want, got):
    lines = []
    if want.code != got.code:
        lines.append(f"    ended with {describe(got.code)}, "
                     f"natively {describe(want.code)}")
    for name, a, b in (("stdout", want.out, got.out),
                       ("stderr", want.err, got.err)):
        if a == b:
            continue
        al, bl = a.splitlines(), b.splitlines()
        i = 0
        while i < len(al) and i < len(bl) and al[i] == bl[i]:
            i += 1
        lines.append(f"    {name} differs from line {i + 1} on:")
        lines += [f"      native: {x}" for x in al[i:i + 5]]
        lines += [f"      hooked: {x}" for x in bl[i:i + 12]]
    if got.dump:
        lines += ["    dump:"] + ["      " + x
                                  for x in got.dump.splitlines()[:200]]
    return lines


def fibers_in(path):
    """The counter fibers_created, None where no counters were written."""
    try:
        with open(path, encoding="ascii") as f:
            for line in f:
                w = line.split()
                if len(w) == 2 and w[0] == "fibers_created":
                    return int(w[1])
    except FileNotFoundError:
        return None
    return None


def check(case, opt):
    """(passed, failed, skipped, lines to print)"""
    t0 = time.monotonic()
    native = run(case, {})
    if native.code == 77:
        why = native.out.strip().splitlines()
        why = why[-1] if why else "no reason given"
        return 0, 0, 1, [f"skip {case.name}: {why}"]
    if native.code != case.expect and opt.old:
        return 0, 0, 1, [f"skip {case.name}: {describe(native.code)} natively: "
                         + (native.err.strip().splitlines() or ["?"])[-1]]
    if native.code != case.expect:
        return 0, 1, 0, [f"FAIL {case.name} [native]: "
                         f"{describe(native.code)}, expected "
                         f"{describe(case.expect)}"] + \
            ["    " + x for x in native.err.splitlines()[:20]]
    if "t-known" in case.flags and not opt.native:
        return 1, 0, 1, [f"skip {case.name} hooked, known: {case.known}"]
    if opt.native:
        return 1, 0, 0, [f"ok   {case.name} [native] "
                         f"{time.monotonic() - t0:.2f}s"]
    passed, failed, lines = 0, 0, []
    so = os.path.join(opt.hooked, "libfibhook.so")
    chaos = chaos_of(case, opt.chaos)
    for label, env in variants(case, chaos):
        env = dict(env, LD_PRELOAD=so)
        if chaos:
            env["FIBHOOK_CHAOS"] = chaos
            label += f", chaos {chaos}"
        for turn in range(opt.repeat):
            with tempfile.TemporaryDirectory(prefix="behave.") as tmp:
                stats = os.path.join(tmp, "stats")
                counted = label.startswith("workers=2") and turn == 0 and not (
                    case.flags & {"t-single", "t-no-stats"}) and \
                    case.expect >= 0
                if counted:
                    env["FIBHOOK_STATS"] = stats
                else:
                    env.pop("FIBHOOK_STATS", None)
                got = run(case, env)
                diff = difference(native, got)
                if counted and not diff:
                    n = fibers_in(stats)
                    if not n:
                        diff.append("    not hooked: fibers_created is "
                                    + ("missing" if n is None else "0"))
            if diff:
                failed += 1
                turns = f", turn {turn + 1}" if opt.repeat > 1 else ""
                lines.append(f"FAIL {case.name} [{label}{turns}]")
                lines += diff
                if got.code is None:
                    break
            else:
                passed += 1
    if not failed:
        lines = [f"ok   {case.name} {time.monotonic() - t0:.2f}s"]
    return passed, failed, 0, lines


def main():
    # A shell without job control, or nohup, starts us with these ignored: not so ours.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    # They wait, mostly.
    ap.add_argument("--jobs", type=int, default=1 + (os.cpu_count() or 1))
    ap.add_argument("--repeat", type=int, default=1)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--chaos", metavar="SEED")
    ap.add_argument("--library", metavar="DIR", dest="hooked")
    ap.add_argument("--native", action="store_true")
    ap.add_argument("--old", action="store_true")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("sources", nargs="+")
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    opt.hooked = os.path.abspath(opt.hooked or opt.build)
    cases = [c for s in sorted(opt.sources) for c in cases_of(s, opt.build)]
    if opt.only:
        cases = [c for c in cases
                 if any(c.name.startswith(o) for o in opt.only)]
    if opt.list:
        for c in cases:
            print(c.name)
        return 0
    passed = failed = skipped = 0
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for p, f, s, lines in pool.map(lambda c: check(c, opt), cases):
            passed, failed, skipped = passed + p, failed + f, skipped + s
            print("\n".join(lines), flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
