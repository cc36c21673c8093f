#!/usr/bin/python3
"""glibc's own tests of threads, signals, processes and time, run hooked.

usage: nptl.py --build DIR [--only PREFIX]... [--workers N]... [--jobs N]
               [--quick] [--repeat K] [--chaos SEED] [--list] [--docs FILE]
               [--other]

Each test is built by glibc.py and runs natively first. What passes natively
must end with the same exit status under LD_PRELOAD=libfibhook.so, with 1, 2
and 4 workers, and, if it is a quick one, with FIBHOOK_START=eager as well. What
is not built, or does not pass natively, is skipped with the reason.

nptl.list, beside this script, has one test a line:

  quick NAME           part of `make check` (--quick)
  never NAME: WHY      is not run at all
  known NAME: WHY      a limit that is documented: --docs writes it into the
                       table of docs/TESTED.md, the run shows that it
                       is still one

--other is for a glibc that list and stand-ins were not written for: what they name
and it does not have is left out, and what of its support library does not compile.

--workers 0 is the run with FIBHOOK_START=eager; --chaos runs with
FIBHOOK_CHAOS=SEED, SEED+1, ... for the turns of --repeat. The last line says "N passed, N
failed, N skipped": a run of a test with one setting counts as one.
"""
import argparse
import concurrent.futures
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import glibc   # noqa: E402
import behave  # noqa: E402

MARK = "<!-- suites/nptl.list: {} -->"
FACTOR = 2  # of the time limit that a test sets itself, on a busy machine
SLACK = 10  # seconds after that


class Lists:
    def __init__(self, path):
        self.quick, self.never, self.known = set(), {}, {}
        with open(path, encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                line = line.split("#", 1)[0].strip()
                if not line:
                    continue
                kind, _, rest = line.partition(" ")
                name, _, why = rest.partition(":")
                name, why = name.strip(), why.strip()
                if kind == "quick" and not why:
                    self.quick.add(name)
                elif kind in ("never", "known") and why:
                    getattr(self, kind)[name] = why
                else:
                    sys.exit(f"{path}:{n}: cannot read '{line}'")


class Result:
    def __init__(self, code, out, seconds, fibers, dump):
        self.code, self.out, self.seconds = code, out, seconds
        self.fibers, self.dump = fibers, dump


def session_pids(leader):
    """The processes of a session, by /proc."""
    out = []
    for p in os.listdir("/proc"):
        if not p.isdigit():
            continue
        try:
            with open(f"/proc/{p}/stat", encoding="ascii",
                      errors="replace") as f:
                words = f.read().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if words[3] == str(leader):
            out.append(int(p))
    return out


def run(t, opt, env):
    """One run, in a session and a directory of its own."""
    objdir = os.path.dirname(t.program)
    full = {k: v for k, v in os.environ.items()
            if not k.startswith("FIBHOOK_") and k != "LD_PRELOAD"}
    full.update({"LC_ALL": "C", "LD_LIBRARY_PATH": objdir,
                 "TIMEOUTFACTOR": str(FACTOR)})
    full.update(t.env)
    if "LD_PRELOAD" in env and "LD_PRELOAD" in t.env:
        env = dict(env, LD_PRELOAD=env["LD_PRELOAD"] + ":" +
                   t.env["LD_PRELOAD"])
    full.update(env)
    dump, t0, limit = "", time.monotonic(), t.timeout * FACTOR
    with tempfile.TemporaryDirectory(prefix="nptl.") as tmp, \
         tempfile.TemporaryFile() as out:
        stats = os.path.join(tmp, "stats")
        with open(os.path.join(tmp, "Makefile"), "w", encoding="ascii") as f:
            f.write("# some tests read this file of their directory\n")
        if "LD_PRELOAD" in env:
            full["FIBHOOK_STATS"] = stats
        p = subprocess.Popen([t.program] + shlex.split(t.args), stdout=out,
                             stderr=out, stdin=subprocess.DEVNULL, env=full,
                             cwd=tmp, start_new_session=True)
        code = None
        try:
            # The test's driver ends the test at its limit: look before that.
            code = p.wait(timeout=limit * 0.8)
        except subprocess.TimeoutExpired:
            if "LD_PRELOAD" in env:
                dump = "".join(behave.dump_of(opt.build, q)
                               for q in session_pids(p.pid))
            try:
                code = p.wait(timeout=limit * 0.2 + SLACK)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
        out.seek(0)
        text = out.read().decode("utf-8", "replace")
        fibers = behave.fibers_in(stats) or 0
    return Result(code, text, time.monotonic() - t0, fibers, dump)


def describe(r):
    return behave.describe(r.code) if r.code is not None else \
        f"no end after {r.seconds:.0f} s"


def variants(t, opt):
    for n in opt.workers:
        if n:
            yield f"workers={n}", {"FIBHOOK_WORKERS": str(n)}
        elif t.full in opt.lists.quick:
            yield "eager", {"FIBHOOK_WORKERS": "2", "FIBHOOK_START": "eager"}


def tail(text, n=12):
    return ["    | " + x for x in text.splitlines()[-n:]]


def hooked(t, opt, native):
    """(passed, failed, ran on fibers, lines)"""
    passed = failed = fibers = 0
    lines = []
    so = os.path.join(opt.build, "libfibhook.so")
    for label, env in variants(t, opt):
        for turn in range(opt.repeat):
            if opt.chaos is not None:
                env["FIBHOOK_CHAOS"] = str(opt.chaos + turn)
            got = run(t, opt, dict(env, LD_PRELOAD=so))
            fibers = max(fibers, got.fibers)
            if got.code == native.code:
                passed += 1
                continue
            failed += 1
            what = describe(got)
            seed = "" if opt.chaos is None else \
                f", chaos {opt.chaos + turn}"
            lines.append(f"FAIL {t.full} [{label}, turn {turn + 1}{seed}] "
                         f"{got.seconds:.1f}s: {what}, natively "
                         f"{behave.describe(native.code)}")
            lines += tail(got.out)
            lines += ["    " + x for x in got.dump.splitlines()[:150]]
    return passed, failed, fibers, lines


def check(t, opt):
    """(passed, failed, skipped, ran on fibers, lines)"""
    why = opt.lists.never.get(t.full)
    if why:
        return 0, 0, 1, 0, [f"skip {t.full}, never run: {why}"]
    if t.why:
        ours = t.full in opt.lists.quick or t.full in opt.lists.known
        return 0, int(ours), int(not ours), 0, [
            f"{'FAIL' if ours else 'skip'} {t.full}, not built: "
                            f"{t.why.strip().splitlines()[-1]}"]
    native = run(t, opt, {})
    if native.code != 0:
        last = (native.out.strip().splitlines() or ["no reason given"])[-1]
        what = "unsupported" if native.code == 77 else "fails"
        return 0, 0, 1, 0, [f"skip {t.full}, natively {what} "
                            f"({describe(native)}): {last}"]
    if opt.native:
        return 1, 0, 0, 0, [f"ok   {t.full} [native] {native.seconds:.2f}s"]
    known = opt.lists.known.get(t.full)
    p, f, fibers, lines = hooked(t, opt, native)
    if known:
        note = "" if f else ", though it passed in this run"
        return 1, 0, 1, 0, [f"skip {t.full}, known{note}: {known}"]
    if not f:
        mark = "" if fibers else ", no fiber"
        lines = [f"ok   {t.full} {native.seconds:.2f}s{mark}"]
    return p, f, 0, 1 if fibers else 0, lines


def write_docs(path, lists):
    """The table of known limits, between its two marks in @path."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    begin, end = MARK.format("begin"), MARK.format("end")
    if begin not in text or end not in text:
        sys.exit(f"{path} has no marks '{begin}'")
    rows = ["| test | why |", "|---|---|"] if lists.known else \
        ["None."]
    rows += [f"| `{n}` | {w} |" for n, w in sorted(lists.known.items())]
    head, rest = text.split(begin, 1)
    with open(path, "w", encoding="utf-8") as f:
        f.write(head + begin + "\n" + "\n".join(rows) + "\n" + end +
                rest.split(end, 1)[1])


def options():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--workers", type=int, action="append", default=[])
    ap.add_argument("--repeat", type=int, default=1)
    ap.add_argument("--chaos", type=int)
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--native", action="store_true")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--other", action="store_true")
    ap.add_argument("--docs")
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    opt.lists = Lists(os.path.join(HERE, "nptl.list"))
    opt.workers = opt.workers or [1, 2, 4, 0]
    return opt


def select(opt, tests):
    names = {t.full for t in tests}
    for n in [*opt.lists.quick, *opt.lists.never, *opt.lists.known]:
        if n not in names and not opt.other:
            sys.exit(f"nptl.list: glibc has no test {n}")
    if opt.quick:
        tests = [t for t in tests if t.full in opt.lists.quick]
    if opt.only:
        tests = [t for t in tests
                 if any(t.full.startswith(o) for o in opt.only)]
    return tests


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    opt = options()
    if opt.docs:
        write_docs(opt.docs, opt.lists)
        return 0
    work = os.path.join(opt.build, "suites")
    os.makedirs(work, exist_ok=True)
    src = glibc.fetch(work)
    if not src:
        print("skip: no package glibc-source, and it cannot be installed")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    libc, source = glibc.versions()
    if libc != source:
        print(f"note: libc6 is {libc}, glibc-source is {source}")
    builder = glibc.Builder(src, os.path.join(work, "glibc"), opt.jobs,
                              opt.other)
    builder.support()
    tests = select(opt, builder.tests())
    if opt.list:
        print("\n".join(t.full for t in tests))
        return 0
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        list(pool.map(builder.make_test, tests))
    passed = failed = skipped = fibers = 0
    t0 = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(opt.jobs) as pool:
        for p, f, s, n, lines in pool.map(lambda t: check(t, opt), tests):
            passed, failed, skipped = passed + p, failed + f, skipped + s
            fibers += n
            print("\n".join(lines), flush=True)
    print(f"{len(tests)} tests, {fibers} of them ran on fibers, "
          f"{time.monotonic() - t0:.0f} s")
    if not (fibers or opt.native or opt.only) and passed:
        print("FAIL: not one test ran on fibers")
        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
