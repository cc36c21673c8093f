#!/usr/bin/python3
"""fibhook dump of processes that lie (hostile.c), by its build with the
sanitizers: cases with a known answer, then seeds until the time is up.

usage: hostile.py --build DIR [--seconds N | --seeds N] [--seed FIRST]
                  [--only CASE|SEED]

Whatever the process says, a dump must end within 10 s with status 0 or 1,
print nothing that drives a terminal, touch no other process, and leave the
process untraced and running. Seeds are printed where they fail. The last line
says "N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import ctypes
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 10.0
JOBS = 2
# C0, C1, and what turns text around or is not seen; newlines end lines.
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ufeff\ufff9-\uffff\U000e0000-\U0010ffff]")
# Each line that a dump may print begins so.
LINE = re.compile(
    r"process \d+ \(|worker \d+ +(thread |\(changed)|chaos, seed |counters |"
    r"         ? [a-z_]+=|held up   \d+ times in |fiber \d+  thread -?\d+  \"|"
    r"    #\d+ +0x|    \(|\d+ fibers$|deadlock$|"
    r"    fiber \d+ waits for |\d+ fibers?  (waits? in|running|runnable|ended)|$")
FORMS = [], ["--group"], ["--folded"], ["--json"], ["--lines"]
ENV = dict(os.environ, LC_ALL="C.UTF-8",
           ASAN_OPTIONS="detect_leaks=0:exitcode=99",
           UBSAN_OPTIONS="print_stacktrace=1")


class Wrong(Exception):
    pass


class Skip(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Wrong(why)


class Silent:
    """A file system at @path with one file, whose data never comes."""

    ATTR = struct.Struct("<6Q10I")

    def __init__(self, path):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.path = path.encode()
        os.mkdir(path)
        try:
            self.fd = os.open("/dev/fuse", os.O_RDWR)
        except OSError as e:
            raise Skip(f"/dev/fuse: {e.strerror}") from None
        how = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0"
        if self.libc.mount(b"hostile", self.path, b"fuse", 0, how.encode()):
            os.close(self.fd)
            raise Skip("mount: " + os.strerror(ctypes.get_errno()))
        threading.Thread(target=self.serve, daemon=True).start()

    def answer(self, opcode, node):
        directory = opcode != 1 and node == 1  # else LOOKUP: of the file
        attr = self.ATTR.pack(1 + (not directory), 1 << 20, 0, 0, 0, 0, 0, 0,
                              0, 0o40755 if directory else 0o100644, 1, 0, 0,
                              0, 4096, 0)
        return {1: struct.pack("<4Q2I", 2, 0, 60, 60, 0, 0) + attr,
                3: struct.pack("<Q2I", 60, 0, 0) + attr,
                14: struct.pack("<Q2I", 1, 0, 0),
                26: struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 1, 1, 4096, 1, 1,
                                0, *[0] * 8)}.get(opcode)

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, 1 << 17)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
            if opcode in (2, 15, 36):  # FORGET, READ, INTERRUPT
                continue
            data = self.answer(opcode, node)
            os.write(self.fd, struct.pack(
                "<IiQ", 16 + len(data or b""), 0 if data else -38, unique)
                + (data or b""))

    def end(self):
        """Whoever waits for data, has an error."""
        self.libc.umount2(self.path, 1 | 2)  # MNT_FORCE, MNT_DETACH


class Target:
    """hostile ARGS in a directory of its own, started."""

    def __init__(self, build, *args):
        self.dir = tempfile.mkdtemp(prefix="hostile.")
        self.silent = None
        if args[0] == "served":
            self.silent = Silent(self.dir + "/served")
        self.proc = subprocess.Popen(
            [f"{build}/tests/cli/hostile", *map(str, args)], cwd=self.dir,
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.pid = self.proc.pid
        self.said = self.proc.stdout.readline().decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.silent:
            self.silent.end()
        self.proc.kill()
        self.proc.wait()
        self.proc.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)

    def tasks(self):
        for tid in os.listdir(f"/proc/{self.pid}/task"):
            with open(f"/proc/{self.pid}/task/{tid}/status",
                      errors="replace") as f:
                yield tid, f.read()

    def is_free(self):
        """No thread of it is traced or stopped, or it has ended."""
        try:
            for tid, status in self.tasks():
                if re.search(r"^TracerPid:\t[1-9]|^State:\t[tT]", status,
                             re.M):
                    return False
        except (FileNotFoundError, ProcessLookupError):
            pass
        return True


def dump(build, pid, asan=True, wait=LIMIT + 5, form=()):
    """Status, stdout and stderr of a dump, which must be well-formed."""
    command = [f"{build}/tests/cli/fibhook-asan" if asan else
               f"{build}/fibhook", "dump", "--all", *form, str(pid)]
    begin = time.monotonic()
    try:
        r = subprocess.run(command, env=ENV, stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=wait)
    except subprocess.TimeoutExpired:
        raise Wrong(f"does not end within {wait} s") from None
    took = time.monotonic() - begin
    need(took < LIMIT + 2, f"took {took:.1f} s")
    need(r.returncode in (0, 1), f"status {r.returncode}: "
         + r.stderr.decode(errors="replace")[:3000])
    try:
        out, err = r.stdout.decode(), r.stderr.decode()
    except UnicodeDecodeError as e:
        raise Wrong(f"invalid UTF-8 was printed: {e}") from None
    bad = CONTROLS.search(out + err)
    need(not bad, bad and f"control character {bad.group()!r} in "
         + repr((out + err)[max(0, bad.start() - 60):bad.end() + 20]))
    whole = "--folded" in form or "--json" in form
    if "--json" in form and r.returncode == 0:
        json.loads(out)
    for line in [] if whole else out.split("\n"):
        need(LINE.match(line), f"a line of no kind: {line!r}")
    lines = err.split("\n")[:-1]
    need(len(lines) <= (r.returncode != 0), f"stderr: {err}")
    need(all(x.startswith("fibhook: process ") for x in lines),
         f"stderr: {err}")
    need(r.returncode or whole or re.search(r"^\d+ fibers\n\Z", out, re.M),
         "its last line is missing")
    need("ended by signal" not in err, err)
    return r.returncode, out, err


VERBS = (["status"], ["status", "--json"], ["stats"], ["stats", "--prometheus"],
         ["report", "-t", "0.1"], ["top", "--batch", "-n", "1", "-i", "0.1"],
         ["trace", "-t", "0.1", "-o", "-"])


def look(build, pid, verb):
    """What else reads a process: it ends, and prints nothing but text."""
    r = subprocess.run([f"{build}/tests/cli/fibhook-asan", *verb, str(pid)],
                       env=ENV, stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=3 * LIMIT)  # top takes two samples
    text = (r.stdout + r.stderr).decode(errors="replace")
    need(r.returncode in (0, 1, 3), f"{verb}: status {r.returncode}: "
         + text[:3000])
    bad = CONTROLS.search(text)
    need(not bad, bad and f"{verb}: control character {bad.group()!r} in "
         f"{text[max(0, bad.start() - 40):bad.end() + 40]!r}")
    need("ended by signal" not in text, f"{verb}: {text[-300:]}")
    if ("--json" in verb or "trace" in verb) and r.returncode == 0:
        json.loads(r.stdout)


def check_target(target):
    for _ in range(500):
        if target.is_free():
            return
        time.sleep(0.01)
    raise Wrong("the process was left traced or stopped")


# --- cases with an answer -------------------------------------------------------

def plain(status, out, err):
    need(status == 0 and out.endswith("\n6 fibers\n"), out + err)
    need(len(re.findall(r"#0 .* lie_read\+0x10 \(libfibhook.so\)\n"
                        r"    #1 .* lie_main\+0x10", out)) == 6, out)


def names(status, out, err):
    need(status == 0 and out.endswith("\n6 fibers\n"), out + err)
    need(len(re.findall("^fiber", out, re.M)) == 6, out)
    # each once, where it belongs
    for text in (r'fiber 0  thread \d+  "\\x22\\x1b\[2J\\x0a\\x5cn\\xe2',
                 r'fd \d+ -> /\S+\\x1b\]0;title\\x07\\x1b\[31m\\x0afiber 99  '
                 r'thread 1  \\x22forged',
                 r'socket:\[\d+\] unix @\\x1b\]0;title',
                 r'socket:\[\d+\] \(its name is not certain\)',
                 r' -> /\S*/größer \(deleted\)'):
        need(re.search(text, out), f"{text} is not in:\n{out}")
    need("unix:forged" not in out, out)


def loop(status, out, err):
    need(status == 0 and out.count("given up: its unwind tables") == 6,
         out + err)


def deep(status, out, err):
    need(status == 0 and out.count("    #199 ") == 6, out + err)
    need("    #200 " not in out, out)


def sizes(status, out, err):
    need(status == 0 and out.endswith("\n6 fibers\n"), out + err)


def stuck(status, out, err):
    need("fiber 1 " in out, out + err)


def served(status, out, err):
    need(status == 1 and "given up after 9 s" in err, err)
    need("\nfiber 1 " in out and "\nfiber 2 " not in out, out)


def cut(status, out, err):
    need("6 fibers" in out or status == 1, out + err)


def many(status, out, err):
    need("\nfiber 256 " in out, out[-2000:] + err)


def slow(status, out, err):
    """About 9 s of work: a fast machine comes to the end of it."""
    need(status == 0 or "given up after 9 s" in err, err)
    need("\nfiber 256 " in out and out.endswith("\n"), out[-2000:])


def leaving(status, out, err):
    need(status == 0 or "while it was read" in err or
         "no such process" in err or "has no memory" in err, err)


def victim_tid(status, out, err):
    need(status == 0 and "its worker is no thread of the process" in out,
         out + err)


CASES = {f.__name__: f for f in (slow, served, plain, names, loop, deep, sizes,
                                 stuck, cut, many, leaving, victim_tid)}


def run_case(build, name, victim):
    for asan in (True, False) if name not in ("slow",
                                                       "served") else (False,):
        with Target(build, name, victim.pid) as t:
            if t.said.startswith("skip"):
                raise Skip(t.said[6:].strip())
            need(t.said, "hostile does not start")
            for _ in range(8 if name == "cut" else 1):
                CASES[name](*dump(build, t.pid, asan))
            check_target(t)


def run_seed(build, seed, victim):
    with Target(build, seed, victim.pid) as t:
        need(t.said, "hostile does not start")
        dump(build, t.pid, asan=seed % 4 != 0, form=FORMS[seed % 5])
        look(build, t.pid, VERBS[seed % len(VERBS)])
        check_target(t)


def killed(build, _, victim):
    """However a dump ends, its process goes on."""
    for i in range(60):
        with Target(build, "running", victim.pid) as t:
            p = subprocess.Popen([f"{build}/fibhook", "dump", str(t.pid)],
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
            time.sleep(0.001 + i * 0.002)
            p.send_signal((signal.SIGKILL, signal.SIGINT, signal.SIGTERM)
                          [i % 3])
            p.wait()
            check_target(t)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--seconds", type=float, default=30)
    ap.add_argument("--seeds", type=int)
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--only")
    a = ap.parse_args()
    build = os.path.abspath(a.build)
    os.environ.pop("LD_PRELOAD", None)
    until = time.monotonic() + a.seconds
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    lock = threading.Lock()
    last = a.seed + a.seeds if a.seeds else 1 << 40
    seeds = iter(range(a.seed, last))

    def one(kind, name, run):
        try:
            run(build, name, victim)
            result, why = "passed", ""
        except Skip as e:
            result, why = "skipped", f"skip {kind} {name}: {e}"
        except Wrong as e:
            result, why = "failed", f"FAIL {kind} {name}: {str(e)[:4000]}"
        with lock:
            counts[result] += 1
            if why:
                print(why, flush=True)

    def work():
        while a.seeds or time.monotonic() < until:
            with lock:
                seed = next(seeds, None)
            if seed is None:
                return
            one("seed", seed, run_seed)

    with Target(build, "victim") as victim:
        if a.only and a.only.isdigit():
            one("seed", int(a.only), run_seed)
        elif a.only:
            one("case", a.only, run_case if a.only in CASES else killed)
        else:
            with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
                jobs = [pool.submit(one, "case", name, run_case)
                        for name in CASES]
                jobs.append(pool.submit(one, "case", "killed", killed))
                jobs += [pool.submit(work) for _ in range(JOBS)]
                for job in jobs:
                    job.result()
        if victim.proc.poll() is not None:
            counts["failed"] += 1
            print("FAIL: a process that is not the dumped one was stopped")
    if not a.only:
        print(f"seeds {a.seed} to {next(seeds, last) - 1}")
    print("{passed} passed, {failed} failed, {skipped} skipped"
          .format(**counts))
    return counts["failed"] != 0


if __name__ == "__main__":
    sys.exit(main())
