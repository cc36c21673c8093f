#!/usr/bin/python3
"""Programs with threads that do their work and end: the same output hooked.

usage: programs.py --build DIR [--quick] [--only NAME]... [--workers 1,2,4]

Each command runs natively, then hooked, lazily and with FIBHOOK_START=eager.
Its status must be the native one, and so must its output where it is the same
in every run; a command that creates threads must have created fibers. The last
line says "N passed, N failed, N skipped".
"""
import argparse
import hashlib
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import suite  # noqa: E402  pylint: disable=wrong-import-position

LIMIT = 120
SQL = ("create table t(a,b); with recursive c(x) as (select 1 union all select"
       " x+1 from c where x<100000) insert into t select x, x*7919%100003 from"
       " c; create index i on t(b); select count(*),sum(a) from t where b>500;"
       " select a from t order by b,a limit 3;")

# name, package, whether the output is the same in every run, command
PROGRAMS = [
    ("pigz", "pigz", True, "pigz -nc -p4 data"),
    ("pbzip2", "pbzip2", True, "pbzip2 -kc -p4 data"),
    ("lbzip2", "lbzip2", True, "lbzip2 -kc -n4 data"),
    ("plzip", "plzip", True, "plzip -kc -n4 -1 data"),
    ("xz", "xz-utils", True, "xz -kc -1 -T4 --block-size=200000 data"),
    ("zstd", "zstd", True, "zstd -qc -T4 data"),
    ("sqlite3", "sqlite3", True,
     f"sqlite3 :memory: 'pragma threads=4' '{SQL}'"),
    ("fio", "fio", False, "fio --name=a --directory=. --size=2M --numjobs=4 "
     "--thread --ioengine=posixaio --rw=randwrite --verify=crc32c"),
    ("hackbench-sockets", "rt-tests", False, "hackbench -T -g 2 -l 50"),
    ("hackbench-pipes", "rt-tests", False, "hackbench -T -p -g 2 -l 50"),
    ("cyclictest", "rt-tests", False, "cyclictest -q -t4 -l 100 -i 2000"),
    ("signaltest", "rt-tests", False, "signaltest -q -t 4 -l 100"),
    ("ptsematest", "rt-tests", False, "ptsematest -q -l 50 -i 1000"),
    ("sigwaittest", "rt-tests", False, "sigwaittest -q -l 50 -i 1000 -t 2"),
    ("svsematest", "rt-tests", False, "/usr/bin/svsematest -q -l 50 -i 1000"),
    ("pmqtest", "rt-tests", False, "pmqtest -q -l 50 -i 1000"),
    ("sysbench-threads", "sysbench", False,
     "sysbench threads --threads=32 --time=1 run"),
    ("sysbench-mutex", "sysbench", False,
     "sysbench mutex --threads=16 --mutex-num=4 --mutex-locks=300 run"),
]
QUICK = ["pbzip2", "zstd", "hackbench-sockets", "signaltest"]


def fibers(path):
    try:
        with open(path, encoding="ascii") as f:
            return sum(int(x.split()[1]) for x in f
                       if x.startswith("fibers_created "))
    except OSError:
        return 0


def run(build, command, same, workers, start):
    """((status, digest of the output), fibers, suite.Run)"""
    with tempfile.TemporaryDirectory(prefix="programs.") as tmp:
        with open(os.path.join(tmp, "data"), "wb") as f:
            f.write(b"".join(hashlib.sha256(b"%d" % (i // 3)).digest()
                             for i in range(60000)))
        stats = os.path.join(tmp, "stats")
        extra = {"FIBHOOK_START": start, "FIBHOOK_STATS": stats} \
            if workers else {}
        got = suite.run(["sh", "-c", f"{command} >out"], build, workers, LIMIT,
                        os.path.join(tmp, "log"), tmp, extra)
        with open(os.path.join(tmp, "out"), "rb") as f:
            digest = hashlib.sha256(f.read()).hexdigest() if same else ""
        return (got.status, digest), fibers(stats), got


def check(build, program, workers):
    name, _, same, command = program
    native, _, first = run(build, command, same, None, None)
    if native[0] != 0:
        print(f"FAIL {name} [native]: status {native[0]}\n{first.output}",
              flush=True)
        return 0, 1
    passed = failed = 0
    for w, start in [(w, s) for w in workers for s in ("lazy", "eager")]:
        got, n, r = run(build, command, same, w, start)
        why = []
        if got[0] != native[0]:
            why.append(f"ended with {got[0]}, natively {native[0]}")
        if got[1] != native[1]:
            why.append("another output")
        if not n or suite.UNHOOKED in r.output:
            why.append("no fiber was created")
        passed, failed = passed + (not why), failed + bool(why)
        print(f"{'FAIL' if why else 'ok  '} {name} workers={w} {start}: "
              f"{n} fibers, {r.seconds:.1f} s, natively {first.seconds:.1f} s"
              f"{'; ' + ', '.join(why) if why else ''}", flush=True)
        if why:
            print("\n".join("     " + x for x in
                            (r.output + r.dump).splitlines()[-100:]))
    return passed, failed


def main():
    suite.plain_signals()
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", required=True)
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--quick", action="store_true")
    ap.add_argument("--workers")
    opt = ap.parse_args()
    opt.build = os.path.abspath(opt.build)
    workers = (opt.workers or ("2" if opt.quick else "1,2,4")).split(",")
    names = opt.only or (QUICK if opt.quick else [p[0] for p in PROGRAMS])
    chosen = [p for p in PROGRAMS if p[0] in names]
    suite.install(sorted({p[1] for p in chosen}))
    passed = failed = skipped = 0
    for program in chosen:
        if not shutil.which(program[3].split()[0]):
            print(f"skip {program[0]}: it cannot be installed", flush=True)
            skipped += 1
            continue
        p, f = check(opt.build, program, workers)
        passed, failed = passed + p, failed + f
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
