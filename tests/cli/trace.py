#!/usr/bin/python3
"""Is a file of fibhook trace consistent?

usage: trace.py FILE WORKERS        prints what there is of each kind
       trace.py on|off PID LIBRARY OFFSETS    waits until it is traced, or not
"""
import json
import re
import subprocess
import sys
import time

EPSILON = 0.0025  # three decimals


def wait(on, pid, library, offsets):
    """By the word of the exported table that says so."""
    at = int(re.search(r"^(\w+) .*fib_symtab$", subprocess.run(
        ["nm", "-D", library], capture_output=True, text=True,
        check=True).stdout, re.M)[1], 16)
    at += int(re.search(r"^trace.on (\d+)$", subprocess.run(
        [offsets], capture_output=True, text=True, check=True).stdout,
        re.M)[1])
    for line in open(f"/proc/{pid}/maps"):
        if line.rstrip().endswith(library):
            at += int(line.split("-")[0], 16)
            break
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as mem:
        while True:  # its ticks are counted while something runs
            mem.seek(at)
            if (mem.read(4) != b"\0\0\0\0") == on:
                return
            time.sleep(0.05)


def contiguous(rows, gaps):
    """No slice of a row begins before the one before it has ended."""
    for row, slices in rows.items():
        end = None
        for e in sorted(slices, key=lambda e: (e["ts"], e["ts"] + e["dur"])):
            if end is not None:
                assert e["ts"] >= end - EPSILON, (row, e, end)
                assert gaps or e["ts"] <= end + EPSILON, (row, e, end)
            end = e["ts"] + e["dur"]


def consistent(path, workers):
    with open(path) as f:
        trace = json.load(f)
    other = trace["otherData"]
    events = trace["traceEvents"]
    end = other["seconds"] * 1e6
    fibers, ran, kinds = {}, {}, {}
    for e in events:
        kinds[e["cat"]] = kinds.get(e["cat"], 0) + 1
        if e["ph"] == "M":
            continue
        assert -EPSILON <= e["ts"] <= end + 1000, e
        if e["pid"] == 2:
            assert 1 <= e["tid"] <= workers, e
        if e["ph"] != "X":
            continue
        if e["pid"] == 2:
            ran.setdefault(e["tid"], []).append(e)
        elif e["cat"] != "block":
            fibers.setdefault(e["tid"], []).append(e)
    contiguous(fibers, False)
    contiguous(ran, True)
    for row in ran.values():  # as they were written
        ends = [e["ts"] + e["dur"] for e in row]
        assert all(b >= a - EPSILON for a, b in zip(ends, ends[1:])), "order"
    waits = 0
    for row in fibers.values():
        for e, then in zip(row, row[1:]):
            if e["cat"] in ("queued", "run"):
                continue
            waits += 1
            # each park has a wake-up, after which the fiber is queued
            assert e["args"].get("woken_by", "?") != "?", e
            assert then["cat"] == "queued", (e, then)
    named = {e["tid"] for e in events if e.get("name") == "thread_name" and
             e["pid"] == 1}
    assert named == set(fibers), "names"
    kinds["waits"] = waits
    kinds["rows"] = len(fibers)
    kinds["workers"] = len(ran)
    print(json.dumps(kinds))


if sys.argv[1] in ("on", "off"):
    wait(sys.argv[1] == "on", *sys.argv[2:5])
else:
    consistent(sys.argv[1], int(sys.argv[2]))
