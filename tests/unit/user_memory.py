#!/usr/bin/env python3
"""Finds plain accesses to memory that the program named.

usage: user_memory.py FILE...      one line for each: FILE:LINE: what
       user_memory.py --planted    does it find what is planted?

The pointers that a hook's body gets are the program's, and may lead anywhere:
runtime/fault.h has the functions that may follow them. This follows such a
pointer from the parameters of fib_sys_*() through assignments, casts and calls
of functions in the same files, and reports where it is dereferenced, or given
to something that does: memcpy() and its like, atomics.

It reads C as it is written here: a function begins and ends in column 0. Numbers
are not followed, but for (T *)a[n] in a function with "long a[6]"; nor are
members of structures, but for MEMBERS.
"""
import re
import sys

# Members that hold pointers of the program's.
MEMBERS = ("uaddr", "requeue_to", "clear_tid", "robust_head", "msg_iov",
           "iov_base", "msg_name", "msg_control")
TOUCH = ("memcpy memmove memset memcmp fib_load fib_store fib_cas fib_xchg "
         "fib_add fib_sub fib_or fib_and atomic_compare_exchange_strong "
         "atomic_compare_exchange_strong_explicit").split()
# Parameters that are the program's, in functions that are not called by a body.
ROOTS = {"robust_death": ["word"], "robust_fetch": ["at"]}
# Checked by other means where they stand, with the reason.
ALLOWED = {
    ("fetch_args", "user"): "made sure of by the kernel just before: readable()",
}

DEF = re.compile(r"^(?!static const|struct |#|typedef|enum )"
                 r"[a-z_][\w \t*]*?[ *\n](\w+)\(([^;{]*?)\)\n\{", re.M)
WORD = r"[A-Za-z_]\w*"


def strip(text):
    """Comments, strings and directives as blanks of the same length."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m.group())
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"', blank, text)
    return re.sub(r"^[ \t]*#([^\n]*\\\n)*[^\n]*", blank, text, flags=re.M)


def split_args(text):
    out, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            out.append(text[start:i])
            start = i + 1
    return out + [text[start:]]


def closing(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return len(text)


class Function:
    def __init__(self, path, name, params, body, line):
        self.path, self.name, self.body, self.line = path, name, body, line
        self.params = [p.strip() for p in split_args(params)]
        self.names = [(re.findall(WORD, re.sub(r"\[[^]]*\]", "", p)) or [""])[-1]
                      for p in self.params]
        self.longs = {n for n, p in zip(self.names, self.params)
                      if re.search(r"\blong (\*|\w+\[6\])", p)}
        self.tainted = set()

    def is_pointer(self, i):
        p = self.params[i]
        return ("*" in p and "(*" not in p) or p.startswith("uintptr_t ")


def functions(path, text):
    text = strip(text)
    for m in DEF.finditer(text):
        end = text.find("\n}", m.end())
        yield Function(path, m.group(1), m.group(2), text[m.end():end],
                       text.count("\n", 0, m.end()) + 1)


def value_of(f, expr):
    """Is the value of @expr a pointer of the program's?"""
    expr = expr.strip()
    # What is called answers for itself; what is dereferenced is reported.
    while True:
        shorter = re.sub(r"\b(?!sizeof\b)%s\s*\([^()]*\)" % WORD, " 0 ", expr)
        shorter = re.sub(r"sizeof\s*\([^()]*\)", "0", shorter)
        if shorter == expr:
            break
        expr = shorter
    for m in re.finditer(r"\*\s*\)\s*(%s)\s*\[" % WORD, expr):
        if m.group(1) in f.longs:
            return True
    if re.search(r"(->|\.)(%s)\b(?!\s*(->|\[|\.))" % "|".join(MEMBERS), expr):
        return True
    if "?" in expr:
        parts = re.split(r"[?:]", expr)[1:]
    elif re.search(r"[<>=!]=|&&|\|\||[<>!]|^\s*\(\s*(unsigned|int|uint32_t)\s*\)",
                   expr.replace("->", "..")):
        return False
    else:
        parts = [expr]
    for part in parts:
        for m in re.finditer(r"(?<![\w.>])(%s)\b(\s*(?:->|\[))?" % WORD, part):
            if m.group(1) in f.tainted and \
               (not m.group(2) or "&" in part[:m.start()]):
                return True
    return False


def pointers_in(f):
    return set(re.findall(r"(?:[\w)]\s*\*+\s*(?:const )?|\buintptr_t )"
                          r"(%s)\s*(?=[=;,])" % WORD,
                          f.body)) | \
        {n for i, n in enumerate(f.names) if f.is_pointer(i)}


def spread(f, table):
    """Taints what is assigned and passed; did anything change?"""
    changed, pointers = False, pointers_in(f)
    for m in re.finditer(r"(?<![.>\w])(%s)\s*=(?!=)\s*" % WORD, f.body):
        rest = f.body[m.end():]
        depth = 0
        for i, c in enumerate(rest):
            depth += (c in "([{") - (c in ")]}")
            if depth < 0 or (c in ";," and depth == 0):
                break
        name = m.group(1)
        if name in pointers and name not in f.tainted and \
           value_of(f, rest[:i]):
            f.tainted.add(name)
            changed = True
    for m in re.finditer(r"\b(%s)\(" % WORD, f.body):
        g = table.get((f.path, m.group(1))) or table.get(m.group(1))
        if not g:
            continue
        end = closing(f.body, m.end() - 1)
        for i, arg in enumerate(split_args(f.body[m.end():end])):
            if i < len(g.names) and g.is_pointer(i) and \
               g.names[i] not in g.tainted and value_of(f, arg):
                g.tainted.add(g.names[i])
                changed = True
    return changed


def accesses(f):
    """(offset, text) of each dereference."""
    body = f.body
    names = "|".join(sorted(map(re.escape, f.tainted)) or ["(?!)"])
    what = r"(?:(?<![\w.>])(?:%s)\b|%s(?:->|\.)(?:%s)\b)" % (
        names, WORD, "|".join(MEMBERS))
    casted = r"\(\([^()]*\*\)\s*%s\)" % what
    for m in re.finditer(r"(%s|%s)\s*(?:->|\[)" % (casted, what), body):
        before = body[:m.start()].rstrip("( \t\n")
        inner = body[m.start():m.end() + 60]
        if before.endswith("&") and not before.endswith("&&"):
            # &p->a[i].b is an address; &p->a->b has followed a pointer
            if not re.match(r"[^;,)]*?->[^;,)]*?->", inner):
                continue
        if re.search(r"sizeof\s*\(\s*\**$", body[:m.start()]):
            continue
        yield m.start(), m.group()
    for m in re.finditer(r"\*\s?(?:\([^()]*\*\)\s*)?(%s)(?!\s*(?:->|\[))" % what,
                         body):
        before = body[:m.start()].rstrip()
        space = body[len(before):m.start()]
        if (re.search(r"(?:^|[=(,!&|{;?:+<>~-]|\breturn)$", before) or
                (before.endswith(")") and "\n" in space)) and \
           not re.search(r"sizeof\s*\($", before) and \
           not re.search(r"\b(?:const|struct \w+|\w+_t|void|int|char|long)$",
                         before):
            yield m.start(), m.group()
    for m in re.finditer(r"\b(%s)\(" % "|".join(TOUCH), body):
        end = closing(body, m.end() - 1)
        for arg in split_args(body[m.end():end])[:2]:
            if value_of(f, re.sub(r"^\s*\(_Atomic[^()]*\)", "", arg)) and \
               not re.match(r"\s*&%s->" % WORD, arg) and \
               not re.match(r"\s*\**\(?\s*(?:unsigned|long|int)", arg) and \
               re.search(r"%s" % what, arg):
                yield m.start(), body[m.start():end + 1]
                break


def examine(sources):
    """[(path, line, text)] for {path: text}."""
    table, every = {}, []
    for path, text in sources.items():
        for f in functions(path, text):
            every.append(f)
            table[(path, f.name)] = f
            table.setdefault(f.name, f)
            if f.name.startswith("fib_sys_"):
                f.tainted = {n for i, n in enumerate(f.names)
                             if f.is_pointer(i)}
            f.tainted |= set(ROOTS.get(f.name, []))
    while any([spread(f, table) for f in every]):
        pass
    found = set()
    for f in every:
        f.tainted -= {v for n, v in ALLOWED if n == f.name}
        for at, text in accesses(f):
            line = f.line + f.body.count("\n", 0, at)
            found.add((f.path, line, f"{f.name}: {' '.join(text.split())}"))
    return sorted(found)


PLANTED = [
    "return *buf;", "return buf->x;", "return ((struct s *)buf)->x;",
    "long v = buf[2];\n\n\treturn v;", "memcpy(own, buf, 8);\n\treturn 0;",
    "memset(buf, 0, 8);\n\treturn 0;", "return helper(buf);",
    "struct s *p = buf;\n\n\treturn p->x;", "buf->x = 3;\n\treturn 0;",
    "return fib_load((_Atomic int *)buf, relaxed);",
    "char *p = (char *)buf + 8;\n\n\t*p = 0;\n\treturn 0;",
    "return deep(1, n ? buf : 0);", "if (n)\n\t\t*(int *)buf = 0;\n\treturn 0;",
    "return !*buf;", "return &buf->next->x == 0;",
    "return f->clear_tid[0];", "*f->clear_tid = 0;\n\treturn 0;",
]
CLEAN = [
    "return fib_copy(own, buf, sizeof(*buf));",
    "struct s v;\n\n\tif (fib_copy(&v, buf, sizeof(v)))\n\t\treturn -1;\n"
    "\treturn v.x;",
    "return fib_raw(1, buf, n * 8);", "return fib_copy(own, &buf->x, 4);",
    "return fib_peek32(&buf[3].len, own);", "return buf ? 0 : -1;",
    "long a[6] = { (long)buf, n };\n\n\treturn a[0] + a[1];",
    "for (int i = 0; i < n; i++)\n\t\tif (fib_copy(own, &buf[i], 8))\n"
    "\t\t\treturn 1;\n\treturn 0;",
]
AROUND = """static long helper(struct s *p)
{
	return p->x;
}

static long deep(int k, void *p)
{
	return helper((struct s *)p + k);
}

static long by(const long a[6])
{
	struct s *p = (struct s *)a[2];

	return p->x;
}

long fib_sys_try(struct s *buf, int n)
{
	%s
}
"""


def planted():
    def found(text):
        return {x[2] for x in examine({"x.c": AROUND % text})}

    always = found("return 0;") # in by(), whoever calls it
    bad = ["by()"] if len(always) != 1 else []
    bad += [t for t in PLANTED if not found(t) - always]
    bad += [t for t in CLEAN if found(t) - always]
    for t in bad:
        print("wrong about:", " ".join(t.split()))
    return bad


def main():
    if sys.argv[1:] == ["--planted"]:
        return 1 if planted() else 0
    sources = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            sources[path] = f.read()
    found = examine(sources)
    for path, line, text in found:
        print(f"{path}:{line}: {text}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
