#!/usr/bin/env python3
"""Is the body of each row of hooks.def in the file that stands above the row?

usage: rows.py               one line for each that is not
       rows.py --planted     does it find what is planted?

A comment with nothing but a file's name, from hooks/ on, is over the rows whose
bodies are there: long fib_sys_NAME(...), at the beginning of a line.
"""
import re
import sys


def wrong(table, read):
    file, bodies = None, ""
    for n, line in enumerate(table.splitlines(), 1):
        if m := re.match(r"/\* (\S+\.c) \*/$", line):
            file, bodies = m[1], read(m[1])
        if m := re.match(r"FIB_HOOK[0-6]\((\w+)", line):
            if not re.search(rf"^long fib_sys_{m[1]}\(", bodies, re.M):
                yield f"hooks/hooks.def:{n}: {m[1]} is not in {file}"


def read(file):
    try:
        with open("hooks/" + file, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


def main():
    with open("hooks/hooks.def", encoding="utf-8") as f:
        table = f.read()
    if sys.argv[1:] != ["--planted"]:
        print(*wrong(table, read), sep="\n", end="")
        return
    for plant in ("/* io/none.c */\nFIB_HOOK1(close, int, fd, 0)\n",
                  "/* time/time.c */\nFIB_HOOK1(close, int, fd, 0)\n",
                  "FIB_HOOK1(close, int, fd, 0)\n"):
        if not list(wrong(plant, read)):
            print("not found:", plant)


main()
