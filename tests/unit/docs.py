#!/usr/bin/env python3
"""Names of files and functions in the documentation and in comments exist.

usage: docs.py            one line for each that does not
       docs.py --planted  is what is planted found?

In a page: `folder/file.c`, `folder/`, `file.c`, `fib_name()` and links to files.
In a comment of a source: folder/file.c, and file.c at a colon or a full stop.
What is written in capitals stands for something else; ELSEWHERE are other
projects' files.
"""
import fnmatch
import os
import re
import subprocess
import sys

ENDS = r"(?:c|cc|h|S|def|py|sh|mk|ld|map|pml|sed)"
TICKED = re.compile(r"`([^`\n]+)`")
FILE = re.compile(r"^[\w./*-]*[\w*]\.%s$" % ENDS)
FOLDER = re.compile(r"^[\w.-]+(?:/[\w.*-]+)*/$")
CALL = re.compile(r"^(fib_\w+)\(\)$")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
COMMENT = re.compile(r"/\*.*?\*/", re.S)
NAMED = re.compile(r"(?<![\w./*<-])((?:[\w-]+/)*[\w-]+\.(?:c|S|def))\b(?!\.)")
ELSEWHERE = re.compile(r"^(kernel|fs|mm|net|ipc|nptl|sysdeps|elf|arch|drivers|security|io_uring)/")


def tracked():
    """The project's files; what is built lies in build/, where there is no git."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=True)
        return out.stdout.decode().split()
    except (OSError, subprocess.CalledProcessError):
        return [os.path.join(top, f)[2:]
                for top, _, files in os.walk(".") for f in files
                if not top.startswith(("./build", "./.git"))]


class Tree:
    def __init__(self, files, text_of):
        self.files = set(files)
        self.names = {f.rsplit("/", 1)[-1] for f in files}
        self.folders = {f[:i] for f in files
                        for i in range(len(f)) if f[i] == "/"}
        self.words = set()
        for f in files:
            if re.search(r"\.(c|cc|h|S|def|map)$", f):
                self.words |= set(re.findall(r"\bfib_\w+", text_of(f)))

    def has(self, name, base):
        """@name as it stands, or as seen from the folder @base."""
        for n in (name, base + name):
            parts = []
            for p in n.split("/"):
                if p == ".." and parts:
                    parts.pop()
                elif p not in ("", "."):
                    parts.append(p)
            n = "/".join(parts)
            if n in self.files or n in self.folders or \
               ("*" in n and fnmatch.filter(self.files, n)):
                return True
        return "/" not in name and (name in self.names or "*" in name and
                                    bool(fnmatch.filter(self.names, name)))


def placeholder(name):
    return bool(re.search(r"[A-Z]{3}|<", name.rsplit(".", 1)[0]))


def in_page(tree, path, text):
    base = path.rsplit("/", 1)[0] + "/" if "/" in path else ""
    for line, row in enumerate(text.split("\n"), 1):
        if row.startswith("    "):
            continue
        for name in TICKED.findall(row):
            call = CALL.match(name)
            if call:
                bad = call.group(1) not in tree.words
            elif FILE.match(name) or FOLDER.match(name):
                top = name.split("/")[0]
                bad = not tree.has(name.rstrip("/"), base) and \
                    ("/" not in name or top in tree.folders)
            else:
                bad = False
            if bad and not placeholder(name):
                yield "%s:%d: there is no %s" % (path, line, name)
        for name in LINK.findall(row):
            if not tree.has(name, base):
                yield "%s:%d: there is no %s" % (path, line, name)


def in_comments(tree, path, text):
    base = path.rsplit("/", 1)[0] + "/"
    for m in COMMENT.finditer(text):
        for n in NAMED.finditer(m.group()):
            name = n.group(1)
            if ELSEWHERE.match(name) and not tree.has(name, base):
                continue
            if not tree.has(name, base) and not placeholder(name):
                at = text.count("\n", 0, m.start() + n.start()) + 1
                yield "%s:%d: there is no %s" % (path, at, name)


def examine(tree, pages):
    for path, text in pages:
        yield from (in_page if path.endswith(".md") else in_comments)(
            tree, path, text)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


PLANTED = ["`runtime/nowhere.c`", "`nowhere.c`", "`runtime/nowhere/`",
           "`fib_nowhere()`", "[x](../nowhere.md)", "`hooks/*/nowhere.h`"]
CLEAN = ["`runtime/sched.c`", "`sched.c`", "`hooks/`", "`fib_park()`",
         "[x](../README.md)", "`hooks/*/*.h`", "`/proc/self/maps`",
         "`fib_sys_NAME()`", "`tests/hooks/FAMILY/NAME.c`", "`errno.h > 0`",
         "    `nowhere.c`"]


def planted(tree):
    out = []
    for t in PLANTED:
        if not list(in_page(tree, "docs/x.md", t)):
            out.append("not found: " + t)
    for t in CLEAN:
        out += list(in_page(tree, "docs/x.md", t))
    if not list(in_comments(tree, "runtime/x.c", "/* nowhere.c: */")):
        out.append("not found in a comment")
    out += in_comments(tree, "runtime/x.c", "/* kernel/nowhere.c, sched.c */")
    return out


def main():
    files = tracked()
    tree = Tree(files, read)
    if sys.argv[1:] == ["--planted"]:
        wrong = planted(tree)
    else:
        wrong = list(examine(tree, [
            (f, read(f)) for f in files
            if f.endswith(".md") and not f.startswith("CHANGELOG") or
            re.match(r"(runtime|hooks|libfib|preload|cli)/.*\.[chS]$", f)]))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
