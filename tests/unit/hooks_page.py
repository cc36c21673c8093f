#!/usr/bin/env python3
"""docs/HOOKS.md, made from hooks/hooks.def and preload/symbols.def.

usage: hooks_page.py            one line for each thing that is wrong
       hooks_page.py --write    writes the page
       hooks_page.py --planted  is what is planted found?

Each row of hooks.def belongs to a comment that begins with a colon: how the
calls wait, what the kernel makes itself, what differs, with | in between.
"""
import re
import sys

DEF, SYMBOLS, PAGE = "hooks/hooks.def", "preload/symbols.def", "docs/HOOKS.md"
WORDS = {
    "never": "it waits for nothing",
    "event": "it is tried without blocking; the fiber parks until an edge of the "
             "descriptor, and tries again",
    "poll": "the fiber parks until poll says that there is something; then the "
            "call is made as the program asked for it",
    "kernel": "the kernel makes it as the program asked for it, on the fiber's "
              "kernel thread, and another one takes over what else there is to run",
    "line": "of the fibers that wait for the same thing one is in the kernel, and "
            "the others park behind it: [In line](COMPATIBILITY.md#in-line)",
    "ring": "it is tried without blocking; the fiber parks until io_uring tells that "
            "there is something, and tries again",
    "time": "the fiber parks until a time",
    "word": "the fiber parks in the table of futexes, until it is woken",
    "signal": "the fiber parks until a signal comes for it",
}
HEAD = """# Calls that have a hook

Made from `hooks/hooks.def` by `tests/unit/hooks_page.py --write`; the lint compares them. A call that is not here
goes to the kernel as it is ([what that means](COMPATIBILITY.md#calls-that-hold-a-kernel-thread)).

Each call has two doors, which lead to one body: the exported symbols of the second column, and every `syscall`
instruction that has been rewritten, as all of libc's are. What they do is the same.

How it waits, when it has to:

"""


def rows_of(text):
    """[(file, name, flags, note)]; a note is a list of three, or None."""
    file = note = None
    out = []
    for m in re.finditer(r"^/\* (\S+\.c) \*/$|^/\*: ((?:[^*]|\*(?!/))*?)\s*\*/$"
                         r"|^FIB_HOOK[0-6]\((\w+)(.*)\)$", text, re.M):
        if m[1]:
            file, note = m[1], None
        elif m[2]:
            note = [" ".join(x.split()) for x in m[2].split("|")]
        else:
            out.append((file, m[3], m[4], note))
    return out


def symbols_of(text):
    """The exported functions of each call, by the call's name."""
    out = {}
    for name, call in re.findall(r"^FIB_CALL\d\([^,]+, (\w+), (\w+)", text,
                                 re.M):
        out.setdefault(call, []).append(name)
    for name in re.findall(r"^FIB_REAL\([^,]+, (\w+)", text, re.M):
        out.setdefault(name, []).append(name)
    return out


def examine(rows):
    for file, name, _, note in rows:
        if note is None:
            yield f"{DEF}: {name} has no note (/*: how | kernel | differs */)"
        elif len(note) != 3 or not all(note):
            yield f"{DEF}: the note of {name} has not three parts"
        else:
            for w in note[0].split(", "):
                if w not in WORDS:
                    yield f"{DEF}: {name} waits how? {w}"


def page(rows, symbols):
    lines = [HEAD.rstrip("\n"), "", "| word | |", "|---|---|"]
    lines += [f"| {w} | {why} |" for w, why in WORDS.items()]
    lines += ["", "Again: the call is repeated after a handler with SA_RESTART, "
              "as signal(7) says."]
    last = None
    for file, name, rest, (how, kernel, differs) in rows:
        if file != last:
            lines += ["", f"## `hooks/{file}`", "",
                      "| call | symbols | waits | again | the kernel makes "
                      "itself | differs |", "|---|---|---|---|---|---|"]
            last = file
        own = symbols.get(name) or symbols.get(name.rstrip("0123456789"), [])
        lines.append(f"| `{name}` | {', '.join(f'`{x}`' for x in own) or '-'} "
                     f"| {how} | {'yes' if 'FIB_RESTART' in rest else '-'} "
                     f"| {kernel} | {differs} |")
    return "\n".join(lines) + "\n"


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError:
        return ""


def planted(text, symbols):
    bad = []
    for plant in ("/* x.c */\nFIB_HOOK1(x, int, fd, 0)\n",
                  "/* x.c */\n/*: never | - */\nFIB_HOOK1(x, int, fd, 0)\n",
                  "/* x.c */\n/*: sometimes | - | - */\n"
                  "FIB_HOOK1(x, int, fd, 0)\n"):
        if not list(examine(rows_of(text + plant))):
            bad.append("not found: " + plant)
    one = "/* x.c */\n/*: never | - | - */\nFIB_HOOK1(x, int, fd, 0)\n"
    if page(rows_of(text + one), symbols) == page(rows_of(text), symbols):
        bad.append("a row more makes no other page")
    return bad


def main():
    text, symbols = read(DEF), symbols_of(read(SYMBOLS))
    if sys.argv[1:] == ["--planted"]:
        wrong = planted(text, symbols)
    else:
        rows = rows_of(text)
        wrong = list(examine(rows))
        if not wrong and sys.argv[1:] == ["--write"]:
            with open(PAGE, "w", encoding="utf-8") as f:
                f.write(page(rows, symbols))
        elif not wrong and page(rows, symbols) != read(PAGE):
            wrong = [f"{PAGE} is not as {DEF}: tests/unit/hooks_page.py --write"]
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
