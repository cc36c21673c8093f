#!/usr/bin/env python3
"""The laws of the layers, read off the objects and the sources.

    layers.py [--root DIR] [--build DIR] [--planted]

    cli        libfib   preload            an arrow goes down, never up:
     |  \\         |        |               who is above includes the headers of
     |   \\        |      hooks            who is below and calls its functions
     |    \\       |        |
   shared  `---- runtime ---'

Between files of one layer everything is allowed, but for hooks/, whose families
have an order of their own (FAMILIES), and in which no more than three files call
each other in a circle (a call and its assembly). What runtime/ must ask upward goes through the seam
(runtime/host.h): headers in the folder host/ of whoever is built, found by include
path. What these name runtime/ may use, and their inline functions call what they
like; and one table of calls, TABLE, which the top of a build defines for those
below it.

The command is no layer above the library: it reads it from outside. It may
include what tells the layout of what it reads (READ), and links nothing of it.

What knows a machine is in arch/ of its folder: nowhere else is there an assembly
statement or a register's name, and no path names the architecture.

There is no exemption. One line for each finding: where, what, which law.
--planted: what is planted against each law, in a copy, must be found.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

LAYERS = {
    "shared": (),
    "runtime": ("shared",),
    "hooks": ("runtime", "shared"),
    "preload": ("hooks", "runtime", "shared"),
    "libfib": ("runtime", "shared"),
    "cli": ("shared",),
}
# What is built together, and from where: folder of objects, layers, suffixes.
BUILDS = {
    "preload": (("core", ("runtime", "hooks"), ".c"),
                ("core", ("runtime", "hooks", "preload"), ".S"),
                ("host", ("preload", "shared"), ".c")),
    "libfib": (("lib", ("runtime", "libfib"), ".c"),
               ("lib", ("runtime",), ".S")),
    "cli": (("host", ("cli", "shared"), ".c"),),
}
TABLE = "fib_host"
SEAM = re.compile(r"/host/fib_host_\w+\.h$")
READ = ("runtime/symtab.h", "runtime/sched.h", "runtime/fiber.h",
        "runtime/cputime.h", "runtime/trace.h", "runtime/compat.h", "runtime/stats.def",
        "runtime/seen.h", "runtime/seen.def",
        "ctx_arch.h", "scan_arch.h", "hooks/hooks.def")
# From the top. A family is a folder or a file; those in one line are equals, and
# may call each other as long as there is no circle.
FAMILIES = (
    ("hooks/dispatch", "hooks/start"),
    ("hooks/process",),
    ("hooks/time",),
    ("hooks/thread",),
    ("hooks/io", "hooks/futex", "hooks/memory", "hooks/sigcalls"),
    ("hooks/fd",),
    ("hooks/wait",),
    ("hooks/signal", "hooks/report"),
    ("hooks/core", "hooks/arch"),
)

CIRCLE = 3

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*")', re.S)
MACHINE = (
    (re.compile(r'^(?!.*\)\s*__asm__).*\b(?:__)?asm(?:__)?\b(?!.*\(""\))', re.M),
     "an assembly statement"),
    (re.compile(r'(?:->|\.)(?:r(?:ax|bx|cx|dx|si|di|bp|sp|ip|8|9|1[0-5])|eflags)\b'
                r'|\bREG_(?:R[A-Z0-9]+|EFL)\b'), "a register"),
    (re.compile(r'\b__x86_64__\b|\b__builtin_ia32|<cpuid\.h>|<\w*intrin\.h>'
                r'|\bARCH_[GS]ET_[FG]S\b'), "an architecture"),
    (re.compile(r'arch/x86_64'), "the path of an architecture"),
)


def strip(text):
    """Without comments, lines kept."""
    return COMMENT.sub(lambda m: m.group(1) or "\n" * m.group(0).count("\n"),
                       text)


class House:
    def __init__(self, root, build):
        self.root, self.build = root, os.path.abspath(build)
        self.files = {}
        self.names = {}  # of objects that were read
        for top in LAYERS:
            for where, _, names in os.walk(os.path.join(root, top)):
                for n in names:
                    if n.endswith((".c", ".h", ".S", ".def")):
                        path = os.path.join(where, n)
                        with open(path) as f:
                            text = f.read()
                        self.files[os.path.relpath(path, root)] = text
        self.by_name = collections.defaultdict(list)
        for f in self.files:
            if "/arch/" in f or "/host/" in f:
                self.by_name[os.path.basename(f)].append(f)

    def resolve(self, inc, src):
        """The files that an include may mean: more than one at the seam."""
        near = os.path.normpath(os.path.join(os.path.dirname(src), inc))
        for path in (near, os.path.normpath(inc)):
            if path in self.files:
                return [path]
        return self.by_name.get(inc, [])

    def includes(self):
        for src, text in sorted(self.files.items()):
            for m in INCLUDE.finditer(text):
                yield src, m.group(1), text.count("\n", 0, m.start()) + 1

    def symbols(self, build):
        """({object's source: its undefined}, {symbol: sources that define it})"""
        objects = {}
        for folder, tops, ext in BUILDS[build]:
            for f in self.files:
                o = os.path.join(self.build, folder, f[:-2] + ".o")
                if f.split("/")[0] in tops and f.endswith(ext) and \
                        os.path.exists(o):
                    objects[o] = f
        undefined = collections.defaultdict(set)
        defined = collections.defaultdict(set)
        self.read(o for o in objects if o not in self.names)
        for o, src in objects.items():
            for name, kind in self.names[o]:
                if kind in "Uwv":
                    undefined[src].add(name)
                elif kind.isupper():
                    defined[name].add(src)
        return undefined, defined

    def read(self, objects):
        objects = sorted(objects)
        if not objects:
            return
        self.names.update((o, []) for o in objects)
        out = subprocess.run(["nm", "-A", "-f", "posix"] + objects,
                             stdout=subprocess.PIPE, text=True).stdout
        for line in out.splitlines():
            o, rest = line.split(": ", 1)
            self.names[o].append(rest.split()[:2])


def layer(path):
    return path.split("/")[0]


def below(a, b):
    return layer(a) == layer(b) or layer(b) in LAYERS[layer(a)]


def rank(path):
    """Of a file of hooks/: 0 is the top; None: of no family."""
    for i, families in enumerate(FAMILIES):
        for f in families:
            if path.startswith((f + "/", f + ".")):
                return i
    return None


def words(text):
    return set(re.findall(r"\w+", strip(text)))


def seam_names(house):
    """What runtime/ may use of what lies above, by what is in the sources.

    ({layer: names in its side of the seam}, {layer: names in headers that these
    include}); the latter are for the inline functions of the seam alone.
    """
    here = collections.defaultdict(set)
    behind = collections.defaultdict(set)
    for f in filter(SEAM.search, house.files):
        here[layer(f)] |= words(house.files[f])
        todo, seen = [f], set()
        while todo:
            g = todo.pop()
            if g in seen or layer(g) != layer(f):
                continue
            seen.add(g)
            behind[layer(f)] |= words(house.files[g])
            for m in INCLUDE.finditer(house.files[g]):
                todo += house.resolve(m.group(1), g)
    return here, behind


def check_includes(house):
    for src, inc, line in house.includes():
        at = "%s:%d includes %s" % (src, line, inc)
        for to in house.resolve(inc, src):
            if layer(src) == "cli" and layer(to) not in ("cli", "shared"):
                if inc not in READ:
                    yield "cli reads", at
            elif layer(src) == "runtime" and SEAM.search(to):
                pass
            elif not below(src, to):
                yield "layers", at
        if not house.resolve(inc, src) and "/" in inc:
            yield "layers", at + ", which is nowhere"


def check_symbols(house):
    seen, (here, behind) = set(), seam_names(house)
    engine = set()  # what runtime/ itself names
    for f, text in house.files.items():
        if layer(f) == "runtime":
            engine |= words(text)

    def by_seam(name, to):
        return name == TABLE or any(
            name in here[layer(t)] or
            name in behind[layer(t)] and name not in engine for t in to)

    for build in BUILDS:
        undefined, defined = house.symbols(build)
        if len(undefined) < 5:
            yield "objects", "%s: only %d objects" % (build, len(undefined))
        for src, names in sorted(undefined.items()):
            for name in sorted(names):
                to = defined.get(name)
                if not to or any(below(src, t) for t in to):
                    continue
                if layer(src) in ("runtime", "hooks") and by_seam(name, to):
                    continue
                what = "%s uses %s of %s" % (src, name, min(to))
                if what not in seen:
                    seen.add(what)
                    yield "layers", what


def graph(house, build, top):
    undefined, defined = house.symbols(build)
    g = {f: {} for f in house.files if f.startswith(top + "/") and
         f.endswith((".c", ".S"))}
    for src, names in undefined.items():
        for name in names:
            for to in defined.get(name, ()):
                if src in g and to in g and to != src:
                    g[src].setdefault(to, name)
    return g


def circles(g):
    """Sets of files each of which leads to each other: Tarjan's, largest first."""
    index, low, stack, on, out = {}, {}, [], set(), []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        on.add(v)
        for w in g[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in on:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            members = []
            while not members or members[-1] != v:
                members.append(stack.pop())
                on.discard(members[-1])
            if len(members) > 1:
                out.append(sorted(members))

    sys.setrecursionlimit(10000)
    for v in sorted(g):
        if v not in index:
            visit(v)
    return sorted(out, key=len, reverse=True)


def check_families(house):
    for f in sorted(house.files):
        if layer(f) == "hooks" and f.endswith((".c", ".S")) and \
                rank(f) is None:
            yield "families", "%s is of no family" % f
    g = graph(house, "preload", "hooks")
    for src in sorted(g):
        for to, name in sorted(g[src].items()):
            a, b = rank(src), rank(to)
            if a is not None and b is not None and a > b:
                yield "families", "%s uses %s of %s" % (src, name, to)
    for members in circles(g):
        if len(members) > CIRCLE:
            yield "circles", "%d files call each other: %s" % (
                len(members), " ".join(members))


def check_machine(house):
    for f, text in sorted(house.files.items()):
        if "/arch/" in f or f.endswith(".def"):
            continue
        for n, line in enumerate(strip(text).splitlines(), 1):
            for what, says in MACHINE:
                if what.search(line):
                    yield "machine", "%s:%d names %s: %s" % (
                        f, n, says, line.strip())


def check(house):
    found = collections.defaultdict(list)
    for part in (check_includes, check_symbols, check_families, check_machine):
        for law, what in part(house):
            found[law].append(what)
    return found


LAWS = {
    "layers": "preload -> hooks -> runtime, libfib -> runtime, never upward",
    "cli reads": "the command includes only shared/ and what READ names",
    "families": "families of hooks/ call downward only, see FAMILIES",
    "circles": "at most %d files of hooks/ call each other in a circle" % CIRCLE,
    "machine": "what knows a machine is in arch/",
    "objects": "the laws are read off the objects: make",
}


def report(found):
    bad = False
    for law, what in sorted(found.items()):
        bad = True
        print("against: %s" % LAWS[law])
        for w in what:
            print("  " + w)
    return bad


# --- what is planted must be found ------------------------------------------

# law, file, what is added, what the finding must tell. A name alone is a call,
# from an object of its own; the rest is text at the end of a source.
PLANTS = (
    ("layers", "runtime/timer.c", '#include "hooks/core/hook.h"',
     "runtime/timer.c"),
    ("layers", "runtime/timer.h", '#include "libfib/lib.h"', "runtime/timer.h"),
    ("layers", "hooks/dispatch.c", '#include "preload/preload.h"',
     "hooks/dispatch.c"),
    ("layers", "hooks/dispatch.c", '#include "runtime/gone.h"', "nowhere"),
    ("layers", "libfib/wait.c", '#include "hooks/core/hook.h"',
     "libfib/wait.c"),
    ("layers", "shared/text.c", '#include "runtime/base.h"', "shared/text.c"),
    ("cli reads", "cli/cli.c", '#include "runtime/iom.h"', "cli/cli.c"),
    ("cli reads", "cli/cli.c", '#include "preload/preload.h"', "cli/cli.c"),
    ("layers", "runtime/planted.c", "fib_hook_call", "uses fib_hook_call"),
    ("layers", "hooks/planted.c", "fib_options_read", "uses fib_options_read"),
    ("layers", "runtime/arch/x86_64/planted.S", "fib_dispatch",
     "uses fib_dispatch"),
    ("families", "hooks/planted.c", "fib_copy", "is of no family"),
    ("families", "hooks/core/planted.c", "fib_hook_call", "uses fib_hook_call"),
    ("machine", "hooks/dispatch.c", '__asm__("nop");', "hooks/dispatch.c"),
    ("machine", "hooks/dispatch.c", "r->rax = 0;", "hooks/dispatch.c"),
    ("machine", "runtime/timer.c", '#include "runtime/arch/x86_64/raw_arch.h"',
     "runtime/timer.c"),
)
CIRCLE_OF = ["hooks/core/planted%d.c" % i for i in range(CIRCLE + 1)]


def plant_object(house, path, calls, defines):
    """An object that defines one name and calls another."""
    folder = "core"
    o = os.path.join(house.build, folder, path[:-2] + ".o")
    os.makedirs(os.path.dirname(o), exist_ok=True)
    house.files[path] = "void %s(void);\n" % calls
    text = "void %s(void);\nvoid %s(void);\nvoid %s(void) { %s(); }\n" % (
        calls, defines, defines, calls)
    subprocess.run([os.environ.get("CC", "cc"), "-c", "-x", "c", "-", "-o", o],
                   input=text.encode(), check=True)


def planted(house):
    """What was not found."""
    missed = []
    clean = {law: set(what) for law, what in check(house).items()}

    def expect(law, tell, plant):
        news = [w for w in check(house).get(law, ())
                if w not in clean.get(law, ())]
        if not any(tell in w for w in news):
            missed.append("not found: %s" % (plant,))

    with tempfile.TemporaryDirectory() as tmp:
        house.build = shutil.copytree(
            house.build, os.path.join(tmp, "build"), copy_function=os.symlink,
            ignore=lambda d, names: [n for n in names if n not in BUILDING and
                                     d == house.build])
        for law, path, what, tell in PLANTS:
            old = house.files.get(path)
            if what.isidentifier():
                plant_object(house, path, what, "fib_planted")
            else:
                house.files[path] = (old or "") + "\n" + what + "\n"
            expect(law, tell, (law, path, what))
            if old is None:
                del house.files[path]
            else:
                house.files[path] = old
        for i, path in enumerate(CIRCLE_OF):
            plant_object(house, path, "fib_planted%d" % i,
                         "fib_planted%d" % ((i + 1) % len(CIRCLE_OF)))
        expect("circles", CIRCLE_OF[0], CIRCLE_OF)
    return missed


BUILDING = {folder for parts in BUILDS.values() for folder, _, _ in parts}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--root", default=".")
    p.add_argument("--build", default="build")
    p.add_argument("--planted", action="store_true")
    a = p.parse_args()
    house = House(a.root, a.build)
    if a.planted:
        missed = planted(house)
        print("\n".join(missed), end="\n" if missed else "")
        return bool(missed)
    return report(check(house))


if __name__ == "__main__":
    sys.exit(main())
