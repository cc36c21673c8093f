#!/usr/bin/env python3
"""What a hooked process may write: no code, and no pointer to a function that
the library calls; in the process and in a fork child that has started anew.

usage: readonly.py BUILD. The last line is "N passed, N failed".
"""
import bisect
import os
import re
import struct
import subprocess
import sys

build = sys.argv[1]
lib = os.path.realpath(f"{build}/libfibhook.so")

# Data of the program's or of the moment, in which such values may be.
MUTABLE = {
    "fib_sites": "addresses in text: where sites are",
    "fib_ranges": "the same",
    "fib_sig_act": "the program's handlers",
    "fib_symtab": "where fibers held workers up",
    "ours": "numbers of descriptors",
}

PROGRAM = """
import os, sys, threading
def work(): os.write(1, b"%d\\n" % os.getpid()); sys.stdin.read()
t = threading.Thread(target=lambda: None); t.start(); t.join()
pid = os.fork()
t = threading.Thread(target=work); t.start(); t.join()
if pid: os.waitpid(pid, 0)
"""

passed = failed = 0


def check(name, bad):
    global passed, failed
    if bad:
        failed += 1
        print(f"FAIL {name}: {bad}")
    else:
        passed += 1


def symbols(path, *flags):
    """(address, kind, name), in order."""
    out = subprocess.run(["nm", "-n", *flags, path], capture_output=True,
                         text=True).stdout
    return [(int(a, 16), k, n.split("@")[0]) for a, k, n in
            re.findall(r"^([0-9a-f]+) (\w) (\S+)$", out, re.M)]


def maps(pid):
    for line in open(f"/proc/{pid}/maps"):
        f = line.split(None, 5)
        lo, hi = (int(x, 16) for x in f[0].split("-"))
        yield lo, hi, f[1], f[5].strip() if len(f) > 5 else ""


def base_of(pid, path):
    return min(lo for lo, _, _, name in maps(pid) if name == path)


def look(what, pid):
    all_maps = list(maps(pid))
    check(f"{what}: writable and executable",
          [m for m in all_maps if "wx" in m[2]])
    base = base_of(pid, lib)
    ours = symbols(lib)
    functions = {base + a for a, k, _ in ours if k in "tT"}
    for path in {name for _, _, _, name in all_maps}:
        if re.search(r"/(libc|libpthread)[-.]", path):
            at = base_of(pid, path)
            functions |= {at + a for a, k, _ in symbols(path, "-D")
                          if k in "tTiWw"}
    data = [(base + a, n) for a, k, n in ours if k in "dDbB"]
    end = base + ours[-1][0]
    bad = set()
    with open(f"/proc/{pid}/mem", "rb") as mem:
        for lo, hi, perms, name in all_maps:
            if "w" not in perms or not base <= lo < end:
                continue
            mem.seek(lo)
            words = struct.unpack(f"<{(hi - lo) // 8}Q", mem.read(hi - lo))
            for i, w in enumerate(words):
                if w in functions:
                    k = bisect.bisect(data, (lo + 8 * i, "~")) - 1
                    bad.add(re.sub(r"\..*", "", data[k][1]))
    check(f"{what}: pointers to functions", bad - set(MUTABLE))
    for sym in ("real_read", "fib_libc", "fib_options", "vdso_clock",
                "fib_host"):
        at = [base + a for a, _, n in ours if n == sym]
        perms = [m[2] for m in all_maps if at and m[0] <= at[0] < m[1]]
        check(f"{what}: {sym}", perms if perms != ["r--p"] else None)


p = subprocess.Popen([f"{build}/fibhook", "--workers", "2", "--",
                      sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, text=True)
pids = {int(p.stdout.readline()), int(p.stdout.readline())}
for pid in pids:
    look("parent" if pid == p.pid else "fork child", pid)
p.stdin.close()
check("status", p.wait())
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
