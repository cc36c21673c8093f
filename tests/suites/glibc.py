"""glibc's tests, built out of tree against the libc of this machine.

The source comes from Debian's package glibc-source, which has Debian's patches
applied. What glibc's own make would know of a test (its flags, arguments, environment, the
modules it needs) is read from glibc's makefiles. Nothing of glibc is kept in
the project: tests/suites/include/ has stand-ins for the few internal headers
without which a test or its support library does not compile.
"""
import concurrent.futures
import os
import re
import shlex
import shutil
import subprocess
import sys

TARBALLS = "/usr/src/glibc"
MALLOC_DEBUG = "/lib/x86_64-linux-gnu/libc_malloc_debug.so.0"

# Group: the directories it is taken from, and which of their tests touch
# threads, processes, signals or time.
GROUPS = {
    "nptl": (["nptl", "sysdeps/pthread", "sysdeps/nptl"], r""),
    "rt": (["rt", "sysdeps/pthread"], r""),
    "signal": (["signal"], r""),
    "linux": (["sysdeps/unix/sysv/linux",
               "sysdeps/unix/sysv/linux/x86_64"], r""),
    "socket": (["socket"], r""),
    "posix": (["posix"], r"exec|spawn|[fF]ork|wait|sleep|nice|sched|cancel|"
                         r"errno|system"),
    "stdlib": (["stdlib"], r"exit|system|context|arc4random-[ft]|dlclose|"
                           r"tls|getrandom"),
    "time": (["time"], r"clock|itimer"),
    "misc": (["misc"], r"select|atomic|preadv|ioctl|syslog|once"),
    "io": (["io"], r"lock|close|fcntl|copy_file"),
    "malloc": (["malloc"], r"thread|fork|cancel|tcache"),
    "resolv": (["resolv"], r"thread|multi|basic"),
    "dirent": (["dirent"], r""),
    "libio": (["libio"], r"popen|thread|lock|mt|cancel|fork|atime|fflush"),
    "debug": (["debug"], r"longjmp|backtrace"),
    "setjmp": (["setjmp"], r""),
    "sysvipc": (["sysvipc"], r""),
    "resource": (["resource"], r""),
    "termios": (["termios"], r""),
    "dlfcn": (["dlfcn"], r""),
    "inet": (["inet"], r"thread|check_pf|getni|ether"),
    "login": (["login"], r"grant|pty"),
    "x86": (["sysdeps/x86_64", "sysdeps/x86", "sysdeps/x86_64/nptl",
             "sysdeps/x86/nptl"], r"tls|jmp|context|xsave|sigaltstack"),
    "elf": (["elf"], r"thr|tls|single_threaded|dl_find_object$|-fork"),
}

CFLAGS = ["-O2", "-g", "-fPIC", "-w", "-D_GNU_SOURCE=1",
          "-DTIMEOUTFACTOR=1", "-pthread"]
# What old sources were written in, and gcc 14 takes for errors.
CFLAGS += ["-Wno-error=" + w for w in (
    "implicit-function-declaration", "implicit-int", "int-conversion",
    "incompatible-pointer-types")]
# Of the support library: needs internals, and is for 32-bit machines.
LEFT_OUT = {"support_path_support_time64"}
QUOTED = ["nptl", "sysdeps/pthread", "time", "sysdeps/unix/sysv/linux",
          "sysdeps/generic", "rt", "posix"]
# Internal headers that include/prefix.h stands for.
STANDINS = ["atomic.h", "shlib-compat.h", "allocate_once.h", "config.h",
            "internal-signals.h", "pthreadP.h", "sysdep.h"]
C_STD = ["-std=gnu11", "-fgnu89-inline"]
CXX_STD = ["-std=gnu++11"]
LIBS = ["-lrt", "-ldl", "-lm", "-lresolv", "-lanl"]


def run(cmd, **kw):
    return subprocess.run(cmd, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, **kw)


def fetch(build):
    """The source below build; the package is installed if missing."""
    if not os.path.isdir(TARBALLS):
        run(["apt-get", "install", "-y", "glibc-source"])
    tars = [f for f in os.listdir(TARBALLS) if f.endswith(".tar.xz")] \
        if os.path.isdir(TARBALLS) else []
    if not tars:
        return None
    src = os.path.join(build, tars[0][:-len(".tar.xz")])
    if os.path.isdir(src):
        return src
    tmp = src + ".tmp"
    shutil.rmtree(tmp, ignore_errors=True)
    os.makedirs(tmp)
    r = run(["tar", "-xJf", os.path.join(TARBALLS, tars[0]), "-C", tmp,
             "--strip-components=1"])
    if r.returncode:
        sys.exit("cannot unpack glibc-source: " + r.stdout)
    os.rename(tmp, src)
    return src


def versions():
    """Package versions of the libc that runs, and of the source."""
    return [run(["dpkg-query", "-W", "-f", "${Version}", p]).stdout
            for p in ("libc6:amd64", "glibc-source")]


class Makefiles:
    """What glibc's makefiles say, as far as it can be said line by line."""

    def __init__(self, src, dirs):
        self.names, self.static = set(), set()
        self.container = set()
        self.var, self.needs = {}, {}
        for d in dirs:
            path = os.path.join(src, d, "Makefile")
            if os.path.exists(path):
                with open(path, encoding="utf-8") as f:
                    self.read(f.read())

    def read(self, text):
        text = re.sub(r"\\\n", " ", text)
        text = re.sub(r"\$\(addprefix ([\w-]+),([^)]*)\)",
                      lambda m: " ".join(m.group(1) + w
                                         for w in m.group(2).split()), text)
        for line in text.splitlines():
            line = line.split("#", 1)[0]
            m = re.match(r"\s*(x?tests[\w-]*)\s*[:+]?=(.*)", line)
            if m:
                words = {w for w in m.group(2).split()
                         if re.fullmatch(r"[\w-]+", w)}
                self.names |= words
                if "static" in m.group(1):
                    self.static |= words
                if "container" in m.group(1):
                    self.container |= words
                continue
            m = re.match(r"((?:CFLAGS|LDFLAGS|LDLIBS)-[\w.-]+|[\w-]+-"
                         r"(?:ARGS|ENV))\s*[:+]?=\s*(.*)", line)
            if m:
                old = self.var.get(m.group(1), "")
                self.var[m.group(1)] = (old + " " + m.group(2)).strip()
                continue
            m = re.match(r"\$\(objpfx\)([\w-]+)(?:\.out|\.so)?:(.*)", line)
            if m:
                self.needs.setdefault(m.group(1), []).extend(
                    n for n in re.findall(r"\$\(objpfx\)([\w-]+\.(?:so|o))",
                                          m.group(2)) if n[:3] != "lib" and
                    n != "ld.so")

    def get(self, kind, name, program, objdir):
        """A variable's words, with what the tests use of make expanded."""
        text = self.var.get(f"{kind}-{name}" if kind[0] != "-"
                            else name + kind, "")
        for a, b in (("$(host-test-program-cmd)", program),
                     ("$(objpfx)", objdir + "/"),
                     ("$(common-objpfx)/malloc/libc_malloc_debug.so",
                      MALLOC_DEBUG),
                     ("$(common-objpfx)malloc/libc_malloc_debug.so",
                      MALLOC_DEBUG),
                     ("$(objpfx)libc_malloc_debug.so", MALLOC_DEBUG),
                     ("$(LDFLAGS-rdynamic)", "-rdynamic"),
                     ("$(stack-align-test-flags)", ""),
                     ("$(tst-cancel7-ARGS)", f'--command "exec {program}"'),
                     ("$(LDLIBS-tst-cancel24)", "-lstdc++")):
            text = text.replace(a, b)
        return re.sub(r"\$\([^)]*\)", "", text)


class Test:
    def __init__(self, group, name, source):
        self.group, self.name, self.source = group, name, source
        self.full = f"{group}/{name}"
        self.why = None      # why it was not built
        self.program = None
        self.args, self.env = [], {}
        self.timeout = 20


def timeout_of(path, depth=0):
    """Seconds until the test's own driver ends it, 20 if it does not say."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    m = re.search(r"^\s*#\s*define\s+TIMEOUT\s+\(?(\d+)", text, re.M)
    if m:
        return int(m.group(1))
    m = re.search(r'^#include "([\w.-]+\.c)"', text, re.M)
    if m and depth < 3 and "skeleton" not in m.group(1):
        inner = os.path.join(os.path.dirname(path), m.group(1))
        if os.path.exists(inner):
            return timeout_of(inner, depth + 1)
    return 20


class Builder:
    def __init__(self, src, build, jobs, other=False):
        self.src, self.build, self.jobs = src, build, jobs
        self.other = other  # a release that the stand-ins were not written for
        self.include = os.path.join(os.path.dirname(
            os.path.abspath(__file__)), "include")
        self.shim = os.path.join(build, "shim")
        os.makedirs(self.shim, exist_ok=True)
        links = {d: d for d in ("support", "malloc", "sysdeps", "rt", "posix",
                                "stdlib", "io", "nptl", "debug", "setjmp",
                                "test-skeleton.c")}
        for h in ("intprops.h", "scratch_buffer.h", "array_length.h",
                  "libc-diag.h"):
            links[h] = "include/" + h
        for h in ("sysdeps/x86_64/stackinfo.h", "include/libc-pointer-arith.h",
                  "include/dso_handle.h",
                  "sysdeps/generic/tst-stack-align.h",
                  "sysdeps/unix/sysv/linux/mremap-failure.h",
                  "sysdeps/unix/sysv/linux/socket-constants-time64.h",
                  "sysdeps/unix/sysv/linux/arch-fd_to_filename.h",
                  "sysdeps/nptl/internaltypes.h"):
            links[os.path.basename(h)] = h
        for name, target in links.items():
            at = os.path.join(self.shim, name)
            if not os.path.islink(at):
                os.symlink(os.path.join(src, target), at)
        for h in STANDINS:
            with open(os.path.join(self.shim, h), "w", encoding="ascii") as f:
                f.write("/* prefix.h has what is needed of it */\n")
        self.prefix = os.path.join(self.include, "prefix.h")
        self.flags = CFLAGS + ["-I", self.shim, "-include", self.prefix]
        self.make = {}

    def compile(self, source, out, extra, cwd=None):
        # As glibc's make does it: in the directory, and the overrides after.
        extra = [x for d in QUOTED for x in
                 ("-iquote", os.path.join(self.src, d))] + extra
        std = CXX_STD if source.endswith(".cc") else C_STD
        cc = "g++" if source.endswith(".cc") else "gcc"
        if os.path.exists(out) and os.path.getmtime(out) > max(
                map(os.path.getmtime, (source, self.prefix))):
            return None
        r = run([cc] + std + self.flags + extra + ["-c", source, "-o", out],
                cwd=cwd)
        if r.returncode == 0:
            return None
        m = re.search(r"(?:fatal )?error: (.*)", r.stdout)
        return m.group(1) if m else r.stdout[-200:]

    def support(self):
        """glibc's support library."""
        lib = os.path.join(self.build, "libsupport.a")
        if os.path.exists(lib):
            return lib
        objs = os.path.join(self.build, "support")
        os.makedirs(objs, exist_ok=True)
        base = os.path.join(self.src, "support")
        with open(os.path.join(base, "Makefile"), encoding="utf-8") as f:
            text = re.sub(r"\\\n", " ", f.read())
        m = re.search(r"^libsupport-routines = (.*)$", text, re.M)
        names = [n for n in re.findall(r"[\w-]+", m.group(1))
                 if os.path.exists(os.path.join(base, n + ".c"))]
        paths = [f'-D{n}_PATH="{v}"' for n, v in (
            ("SRCDIR", self.src), ("OBJDIR", self.build),
            ("OBJDIR_ELF_LDSO", "/lib64/ld-linux-x86-64.so.2"),
            ("INSTDIR", "/usr"), ("LIBDIR", "/usr/lib"),
            ("BINDIR", "/usr/bin"), ("SBINDIR", "/usr/sbin"),
            ("ROOTSBINDIR", "/sbin"),
            ("COMPLOCALEDIR", "/usr/lib/locale"),
            ("SYSCONFDIR", "/etc"), ("ROOT", "/"),
            ("SLIBDIR", "/lib"), ("LOCALE", "/usr/lib/locale"))]
        paths += ['-DSYSCONFDIR_PATH="/etc"', "-DCOMPLOCALEDIR_PATH="
                  '"/usr/lib/locale"']

        def one(name):
            out = os.path.join(objs, name + ".o")
            return name, out, self.compile(
                os.path.join(base, name + ".c"), out,
                ["-I", base, "-fexceptions"] +
                (paths if name == "support_paths" else []))
        good = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for name, out, why in pool.map(one, names):
                if not why:
                    good.append(out)
                elif name not in LEFT_OUT and not self.other:
                    sys.exit(f"glibc's support/{name}.c: {why}")
        r = run(["ar", "rcs", lib + ".tmp"] + good)
        if r.returncode:
            sys.exit(r.stdout)
        os.rename(lib + ".tmp", lib)
        return lib

    def tests(self):
        """All tests of all groups, built or with the reason why not."""
        out, seen = [], set()
        for group, (dirs, pattern) in GROUPS.items():
            mk = Makefiles(self.src, dirs)
            self.make[group] = mk
            for name in sorted(mk.names):
                source = self.find(dirs, name)
                if not source or source in seen or \
                   not re.search(pattern, name):
                    continue
                seen.add(source)
                t = Test(group, name, source)
                t.timeout = timeout_of(source)
                if name in mk.static or name.endswith("-static"):
                    t.why = "linked statically: ld.so loads no library into it"
                elif name in mk.container:
                    t.why = "runs in a root directory of glibc's own making"
                elif name.endswith("-time64"):
                    t.why = "the same program on a 64-bit machine"
                out.append(t)
        return out

    def find(self, dirs, name):
        for d in dirs:
            for ext in (".c", ".cc"):
                p = os.path.join(self.src, d, name + ext)
                if os.path.exists(p):
                    return p
        return None

    def module(self, t, mk, objdir, so):
        """A module that test @t loads or is linked with; why not, or None."""
        name, kind = so.rsplit(".", 1)
        source = self.find(GROUPS[t.group][0], name)
        if not source:
            return f"no source of {so}"
        obj = os.path.join(objdir, name + (".os" if kind == "so" else ".o"))
        why = self.compile(source, obj,
                           mk.get("CFLAGS", name + ".c", "", objdir).split())
        if why or kind == "o":
            return why
        deps = [os.path.join(objdir, d) for d in mk.needs.get(name, [])
                if d.endswith(".so")]
        for d in mk.needs.get(name, []):
            why = why or self.module(t, mk, objdir, d)
        if why:
            return f"{so}: {why}"
        r = run(["gcc", "-shared", "-o", os.path.join(objdir, so), obj] +
                mk.get("LDFLAGS", so, "", objdir).split() + deps +
                [os.path.join(self.build, "libsupport.a"), "-pthread",
                 f"-Wl,-rpath,{objdir}"])
        return None if r.returncode == 0 else r.stdout[-200:]

    def make_test(self, t):
        mk = self.make[t.group]
        objdir = os.path.join(self.build, t.group)
        os.makedirs(objdir, exist_ok=True)
        t.program = os.path.join(objdir, t.name)
        for word in mk.get("-ENV", t.name, t.program, objdir).split():
            k, _, v = word.partition("=")
            t.env[k] = v
        t.args = mk.get("-ARGS", t.name, t.program, objdir)
        if t.why:
            return
        # Which of its modules are linked and which are loaded, only the
        # link can tell: those named for the program itself are linked.
        needs = mk.needs.get(t.name, [])
        if t.full == "nptl/tst-stack4":
            needs = ["tst-stack4mod.so"]
        for n in needs:
            t.why = t.why or self.module(t, mk, objdir, n)
        obj = t.program + ".o"
        ext = os.path.splitext(t.source)[1]
        flags = shlex.split(mk.get("CFLAGS", t.name + ext, t.program, objdir))
        flags += mk.get("CFLAGS", t.name + ".o", t.program, objdir).split()
        t.why = t.why or self.compile(t.source, obj, flags)
        if t.why:
            return
        linked = [os.path.join(objdir, n) for n in self.linked(t, needs)]
        stamp = t.program
        if os.path.exists(stamp) and \
           os.path.getmtime(stamp) > os.path.getmtime(obj):
            return
        r = run(["g++" if ext == ".cc" else "gcc", "-o", t.program, obj,
                 "-pthread", f"-Wl,-rpath,{objdir}"] +
                mk.get("LDFLAGS", t.name, t.program, objdir).split() +
                linked + [os.path.join(self.build, "libsupport.a")] +
                mk.get("LDLIBS", t.name, t.program, objdir).split() + LIBS)
        if t.full == "nptl/tst-stack4":  # its makefile copies the module
            for i in range(400):
                at = os.path.join(objdir, f"tst-stack4mod-{i//20}-{i%20}.so")
                if not os.path.exists(at):
                    os.link(os.path.join(objdir, "tst-stack4mod.so"), at)
        if r.returncode:
            m = re.search(r"undefined reference to .*", r.stdout)
            t.why = m.group(0) if m else r.stdout[-200:]

    def linked(self, t, needs):
        """Of @needs, what the makefile names for the program, not its run."""
        direct = []
        for d in GROUPS[t.group][0]:
            path = os.path.join(self.src, d, "Makefile")
            if not os.path.exists(path):
                continue
            with open(path, encoding="utf-8") as f:
                text = re.sub(r"\\\n", " ", f.read())
            for m in re.finditer(r"^\$\(objpfx\)" + re.escape(t.name) +
                                 r":(.*)$", text, re.M):
                direct += re.findall(r"\$\(objpfx\)([\w-]+\.(?:so|o))",
                                     m.group(1))
        return [n for n in needs if n in direct]
