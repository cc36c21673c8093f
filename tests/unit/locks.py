#!/usr/bin/env python3
"""The table of locks: runtime/lock.def against the sources and docs/LOCKS.md.

usage: locks.py            one line for each that is wrong
       locks.py --write    writes the table of docs/LOCKS.md
       locks.py --planted  is what is planted found?

Each lock that is declared has a row, each row a lock, and each rank is given
somewhere. The runs of a build with FIB_LOCK_RANKS find out about the order.
"""
import glob
import re
import sys

DEF, DOC = "runtime/lock.def", "docs/LOCKS.md"
BEGIN, END = "<!-- made from %s -->" % DEF, "<!-- end -->"
ROW = re.compile(r'^FIB_RANK\((\w+), "([^"]*)", "([^"]*)"\)$', re.M)
LOCK = re.compile(r"^(\t*)(?:static )?struct fib_lock (\w+)[ ;=]", re.M)
GIVEN = re.compile(r"\b(?:FIB_LOCK|fib_lock_init|fib_lock_bare)"
                   r"\((?:[^;]*?, )?([A-Z_]+)\)")


def holder(text, at):
    """The name of the struct that is open at @at, with a dot."""
    named = re.findall(r"^(?:static )?struct (\w*) ?\{", text[:at], re.M)
    after = re.search(r"^\}(?: (\w+))?", text[at:], re.M)
    return (named[-1] or (after and after.group(1)) or "?") + "."


def declared(path, text):
    for m in LOCK.finditer(text):
        yield "%s: %s%s" % (path, holder(text, m.start()) if m.group(1)
                            else "", m.group(2))


def examine(rows, sources, page):
    """The complaints about [(name, where, guards)], {path: text}, the page."""
    where = {r[1] for r in rows}
    found, given, bare = set(), set(), set()
    for path, text in sources.items():
        found |= set(declared(path, text))
        given |= set(GIVEN.findall(text))
        bare |= set(re.findall(r"fib_lock_bare\([^;]*?, ([A-Z_]+)\)", text))
    out = ["%s has no row in %s" % (x, DEF) for x in sorted(found - where)]
    out += ["%s: there is no %s" % (DEF, r[1]) for r in rows
            if r[1] not in found and r[0] not in bare]
    out += ["%s: no lock is given the rank %s" % (DEF, r[0])
            for r in rows if r[0] not in given]
    if table(rows) not in page:
        out.append("%s is not as %s: locks.py --write" % (DOC, DEF))
    return out


def table(rows):
    lines = [BEGIN, "| rank | name | where | what it guards |",
             "|---|---|---|---|"]
    for n, (name, where, guards) in enumerate(rows, 1):
        path, lock = where.split(": ")
        lines.append("| %d | `%s` | `%s`, `%s` | %s |" %
                     (n, name, path, lock, guards))
    return "\n".join(lines + [END])


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


PLANTED = "struct fib_x {\n\tint a;\n\tstruct fib_lock lock;\n};\n"


def planted(rows, sources, page):
    def more(complaints):
        return len(complaints) - len(examine(rows, sources, page))

    bad = []
    if more(examine(rows, dict(sources, **{"runtime/x.h": PLANTED}),
                    page)) != 1:
        bad.append("a lock without a row was not found")
    if more(examine(rows + [("X", "runtime/x.h: fib_x.lock", "")], sources,
                    page)) != 3:
        bad.append("a row without a lock was not found")
    if more(examine(rows[1:] + rows[:1], sources, page)) != 1:
        bad.append("a page with another order was not found")
    return bad


def main():
    rows = ROW.findall(read(DEF))
    sources = {p: read(p) for d in ("runtime", "hooks", "libfib", "preload")
               for p in glob.glob(d + "/**/*.[ch]", recursive=True)}
    page = read(DOC)
    if sys.argv[1:] == ["--write"]:
        with open(DOC, "w", encoding="utf-8") as f:
            f.write(page[:page.index(BEGIN)] + table(rows) +
                    page[page.index(END) + len(END):])
        return 0
    wrong = (planted if sys.argv[1:] == ["--planted"] else examine)(
        rows, sources, page)
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
