#!/usr/bin/python3
"""fibhook dump --core of files that lie, by its build with the sanitizers.

usage: core.py FIBHOOK CORE SEEDS [FIRST]

Some bytes of the core are changed at a time, where its headers, notes and the
table of fibers lie. Whatever is there then, the dump ends with status 0 or 1, and
with one line on stderr where it is 1. Seeds are printed where they fail.
"""
import os
import random
import struct
import subprocess
import sys

ENV = dict(os.environ, LC_ALL="C.UTF-8",
           ASAN_OPTIONS="detect_leaks=0:exitcode=99",
           UBSAN_OPTIONS="print_stacktrace=1")
MAGIC = struct.pack("<Q", 0x6b6f6f6862696602)
ODD = [0, 1, 0x7f, 0xff, 0xffff, 0xffffffff, 1 << 31, 1 << 63, (1 << 64) - 1,
       4096, 1 << 40, 0x7fffffffffff]


def places(core):
    """Ranges worth a change: the headers, the notes, the table."""
    data = open(core, "rb").read()
    phoff, = struct.unpack_from("<Q", data, 32)
    phnum, = struct.unpack_from("<H", data, 56)
    yield 16, 48
    yield phoff, 56 * phnum
    for i in range(phnum):
        kind, _, offset, _, _, size = struct.unpack_from(
            "<IIQQQQ", data, phoff + 56 * i)
        if kind == 4:
            yield offset, size
    table = data.find(MAGIC)
    yield table, 400


def one(fibhook, core, f, ranges, seed):
    rnd = random.Random(seed)
    saved = []
    for _ in range(rnd.choice([1, 1, 2, 8])):
        at, size = rnd.choice(ranges)
        at += rnd.randrange(max(1, size - 8)) & ~3
        n = rnd.choice([1, 4, 8])
        f.seek(at)
        saved.append((at, f.read(n)))
        val = rnd.choice(ODD + [rnd.getrandbits(64)])
        f.seek(at)
        f.write(struct.pack("<Q", val)[:n])
    f.flush()
    form = rnd.choice([[], ["--json"], ["--group"], ["--folded"]])
    r = subprocess.run([fibhook, "dump", *form, "--core", core], env=ENV,
                       stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=20)
    for at, old in reversed(saved):
        f.seek(at)
        f.write(old)
    f.flush()
    err = r.stderr.decode(errors="replace")
    lines = err.splitlines()
    if r.returncode not in (0, 1) or "ended by signal" in err or \
       any(not x.startswith("fibhook: core ") for x in lines) or \
       (r.returncode == 1 and not lines):
        print(f"FAIL seed {seed}: status {r.returncode}: {err[:3000]}")
        return False
    return True


def main():
    fibhook, core, seeds = sys.argv[1:4]
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    ranges = list(places(core))
    with open(core, "r+b", buffering=0) as f:
        bad = sum(not one(fibhook, core, f, ranges, s)
                  for s in range(first, first + int(seeds)))
    print(f"{int(seeds) - bad} of {seeds} cores are read as they should be")
    sys.exit(bad != 0)


main()
