#!/usr/bin/env python3
"""The house in figures.

    house.py [--root DIR] [--build DIR] [TOP...]

TOP are the folders of code. How is measured what:
    circles     files of which each leads to each other: by calls, as the symbols
                of the objects have it; by includes, with a.c and a.h as one
    functions   lines between the brace that opens a function in column 1 and the
                one that closes it, blank ones and comments included
    code        lines that are neither blank nor comment
"""
import argparse
import collections
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import layers

LONG_FUNCTION, LONG_FILE = 50, 600


def read(root, tops):
    files = {}
    for top in tops:
        for where, _, names in os.walk(os.path.join(root, top)):
            for n in names:
                if n.endswith((".c", ".h", ".S", ".def", ".py")):
                    path = os.path.join(where, n)
                    with open(path) as f:
                        files[os.path.relpath(path, root)] = f.read()
    return files


def functions(text):
    """(name, lines of the body) of each function of C as it is formatted here."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line != "{" or not i or lines[i - 1].endswith(("=", "\\")):
            continue
        end = next((j for j in range(i, len(lines)) if lines[j] == "}"), None)
        if end is None:
            continue
        head = ""
        for back in range(i - 1, max(i - 8, -1), -1):
            head = lines[back] + " " + head
            if lines[back][:1] not in (" ", "\t", ""):
                break
        name = re.search(r"(\w+)\s*\(", head)
        yield name.group(1) if name else "?", end - i - 1


def module(path):
    return os.path.splitext(path)[0]


def include_graph(files):
    g = {module(f): {} for f in files if not f.endswith(".py")}
    names = collections.defaultdict(list)
    for f in files:
        names[os.path.basename(f)].append(f)
    for f, text in files.items():
        for m in layers.INCLUDE.finditer(text):
            inc = os.path.normpath(m.group(1))
            near = os.path.normpath(os.path.join(os.path.dirname(f), inc))
            for to in ([inc] if inc in files else
                       [near] if near in files else
                       names[inc] if "/" not in inc else []):
                if module(to) != module(f):
                    g[module(f)][module(to)] = inc
    return g


def call_graph(root, build, folders, files):
    g = {f: {} for f in files if f.endswith((".c", ".S"))}
    undefined, defined = {}, collections.defaultdict(set)
    for folder in folders:
        for f in g:
            o = os.path.join(root, build, folder, os.path.splitext(f)[0] + ".o")
            if os.path.exists(o):
                undefined.setdefault(f, set())
                out = subprocess.run(["nm", "-f", "posix", o], text=True,
                                     stdout=subprocess.PIPE).stdout
                for line in out.splitlines():
                    name, kind = line.split()[:2]
                    if kind in "Uwv":
                        undefined[f].add(name)
                    elif kind.isupper():
                        defined[name].add(f)
    for f, uses in undefined.items():
        for name in uses:
            for to in defined.get(name, ()):
                if to != f:
                    g[f][to] = name
    return g


def show_circles(what, g):
    found = layers.circles(g)
    print("%-44s %s" % ("largest circle by %s" % what,
                        len(found[0]) if found else "none"))
    by_top = {}
    for members in found:
        by_top.setdefault(members[0].split("/")[0], members)
    for top, members in sorted(by_top.items()):
        print("    %-40s %d%s" % (
            top, len(members), "" if len(members) > 5 else
            "   " + " ".join(members)))


def exported(root, build, lib):
    path = os.path.join(root, build, lib)
    out = subprocess.run(["nm", "-D", "--defined-only", path], text=True,
                         stdout=subprocess.PIPE).stdout
    return sum(1 for line in out.splitlines() if line.split()[-2] != "A")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--root", default=".")
    p.add_argument("--build", default="build")
    p.add_argument("top", nargs="*", default=sorted(layers.LAYERS))
    a = p.parse_args()
    files = read(a.root, a.top)
    c = {f: t for f, t in files.items() if f.endswith((".c", ".h"))}

    count = collections.Counter()
    for f, text in c.items():
        count["%s, .%s" % (f.split("/")[0], f[-1])] += len(
            re.findall(r"^\s*#\s*(?:el)?if.*\bFIB_PRELOAD\b", text, re.M))
    print("%-44s %d" % ("#if ... FIB_PRELOAD", sum(count.values())))
    for what, n in sorted(count.items()):
        if n:
            print("    %-40s %d" % (what, n))

    for what, folders in (("calls, the preload", ("core", "host")),
                          ("calls, libfib", ("lib",))):
        show_circles(what, call_graph(a.root, a.build, folders, files))
    show_circles("includes", include_graph(files))

    bodies = sorted(((n, f, name) for f, t in c.items() if f.endswith(".c")
                     for name, n in functions(t)), reverse=True)
    print("%-44s %d" % ("functions", len(bodies)))
    print("    %-40s %.1f" % ("mean of lines",
                              sum(b[0] for b in bodies) / len(bodies)))
    long = [b for b in bodies if b[0] > LONG_FUNCTION]
    print("    %-40s %d" % ("above %d lines" % LONG_FUNCTION, len(long)))
    for n, f, name in long:
        print("        %4d %s, %s()" % (n, f, name))

    long = sorted(((t.count("\n"), f) for f, t in files.items()
                   if t.count("\n") > LONG_FILE), reverse=True)
    print("%-44s %d" % ("files above %d lines" % LONG_FILE, len(long)))
    for n, f in long:
        print("        %4d %s" % (n, f))

    code = collections.Counter()
    for f, text in files.items():
        parts = f.split("/")
        folder = "/".join(parts[:-1][:2])
        code[folder] += sum(1 for l in layers.strip(text).splitlines()
                            if l.strip())
        code[" all"] += sum(1 for l in layers.strip(text).splitlines()
                            if l.strip())
    print("lines of code")
    for folder, n in sorted(code.items()):
        print("    %-40s %d" % (folder.strip(), n))

    print("exported names")
    for lib in ("libfibhook.so", "libfib.so"):
        print("    %-40s %d" % (lib, exported(a.root, a.build, lib)))


if __name__ == "__main__":
    main()
