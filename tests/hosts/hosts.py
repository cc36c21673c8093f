#!/usr/bin/python3
"""Old, odd and hardened hosts: behaviour programs where something is missing.

usage: hosts.py --build DIR [--full] [--only ROW]... [--markdown]

A row of DENIED is a system call that fails by a seccomp filter, with ENOSYS as on
an old kernel and with EPERM as in a sandbox; a row of HOSTS is a command that
makes another condition and runs the program (under.py: those that no tool makes); a
row of BESIDE is another library that
is preloaded, before or behind; a row of TOOLS is a tool that the program runs
under, or a sanitizer that it is built with. Under it each program runs natively, and
then hooked on two workers: what it prints and how it ends must be the same.
The row says whether the library runs there, or leaves the program unhooked with
one line that says why. Programs that do not pass natively there are skipped.

Without --full, a few programs, and one of the two errors in turn. --markdown
prints the tables that docs/COMPATIBILITY.md has to have. The last line says
"N passed, N failed, N skipped".
"""
import argparse
import concurrent.futures
import glob
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import behave  # noqa: E402
import under  # noqa: E402

FEW = "thread/cond net/relay signal/sigwait cxx/cancel_unwind".split()
MORE = FEW + """thread/sem thread/cancel_state thread/create_join poll/ppoll
    process/fork_thread time/timer_thread io/aio io/pty futex/requeue""".split()

UNHOOKED = "a seccomp filter denies %s"


class Row:
    """One condition; @says is None where the library runs under it."""

    def __init__(self, name, command, then, says=None, unfit=None):
        self.name, self.under, self.then, self.says = name, command, then, says
        self.missing = command and not shutil.which(command[0]) and "not installed"
        self.natively = True  # under it as well
        self.programs = None  # instead of FEW
        self.ends = None  # so, instead of as it must
        self.soak = False  # not without --full
        self.hooks = None  # instead of LD_PRELOAD alone: by whether hooked
        self.drop = None  # lines of its output that are not the program's
        self.flags = None  # the program is built with these
        self.workers = 2
        self.unfit = unfit or {}  # programs, and why they are not run


# A call and what the library does without it; "!": it does not run.
DENIED = [line.strip().split(None, 1) for line in """
    epoll_pwait2       sleeps end on whole milliseconds (`epoll_wait`)
    clone3             glibc makes threads with `clone`, which is hooked as well
    close_range        no thread gets a descriptor table of its own; as natively
    rseq               glibc has none, and there is none to give back
    process_vm_readv   calls that hold a kernel thread are told of without their callers
    memfd_create       text that cannot be written in place stays: then unhooked
    membarrier         other CPUs are taken to see new text at once, as they do
    getrandom          thread ids begin with the same number in each process
    sched_getaffinity  one worker, if none are asked for
    prlimit64          the soft limit on descriptors is not raised while the library starts
    dup3               no number is kept for when descriptors run out
    kcmp               what is known of numbers that may be one file is asked anew
    set_robust_list    nothing: robust lists of fibers are the library's
    readlink           a look at `/proc/self/fd` shows descriptors of the library
    preadv2            files that are no sockets are polled first
    pwritev2           files that are no sockets are polled first
    io_uring_setup     `connect`, waits for children, and all waits on memory shared between processes, hold a kernel thread; `accept` is polled first
    io_uring_enter     `connect`, waits for children, and all waits on memory shared between processes, hold a kernel thread; `accept` is polled first
    statx              nothing: it is not used
    pidfd_open         nothing: it is not used
    pidfd_getfd        nothing: it is not used
    futex_waitv        nothing: it is not used
    process_vm_writev  nothing: it is not used
    timerfd_create     nothing: it is not used
    openat2            nothing: it is not used
    mremap             nothing: it is not used
    setitimer          nothing: it is not used
    accept4            nothing: it is not used
    sendmmsg           nothing: it is not used
    epoll_create1      !
    epoll_ctl          !
    eventfd2           !
    madvise            !
    signalfd4          !
    tgkill             !
    rt_tgsigqueueinfo  !
    sigaltstack        !
    fcntl              !
    prctl              !
    pwrite64           !
    """.strip().splitlines()]

NO_PROC = "mount -t tmpfs none /proc && exec \"$@\""
ALL_FDS = "ulimit -n $(ulimit -Hn) && exec \"$@\""
NO_DEV = "mount -t tmpfs none /dev && exec \"$@\""
AUDIT = "/usr/lib/x86_64-linux-gnu/audit/sotruss-lib.so"
NEW_NET = "ip link set lo up && exec \"$@\""
READ_ONLY = "mount --bind /tmp /tmp && mount -o remount,ro,bind / && exec \"$@\""



def made(name, how, then, says=None, **fields):
    """A condition of under.py's."""
    row = Row(name, [sys.executable, os.path.join(HERE, "under.py"), how], then, says)
    row.missing = under.why_not(how)
    for field, value in fields.items():
        setattr(row, field, value)
    return row


HOSTS = [
    Row("one CPU", ["taskset", "-c", "0"], "as always"),
    Row("1024 workers", ["env", "FIBHOOK_WORKERS=1024"],
        "kernel threads are made when there is work for them"),
    Row("fixed addresses", ["setarch", "-R"], "as always"),
    Row("addresses from below", ["setarch", "-L"], "as always"),
    Row("READ_IMPLIES_EXEC", ["setarch", "-X"], "as always"),
    Row("stack 64 KiB", ["prlimit", "--stack=65536"], "thread stacks are as small"),
    Row("stack unlimited", ["prlimit", "--stack=unlimited"], "as always"),
    Row("64 descriptors", ["prlimit", "--nofile=64:64"], "",
        "too few descriptors"),
    Row("128 descriptors", ["prlimit", "--nofile=128:"], "the library's own lie above the soft limit"),
    Row("all descriptors of the hard limit", ["sh", "-c", ALL_FDS, "sh"], "as always"),
    Row("2 GB of addresses (RLIMIT_AS)", ["prlimit", "--as=2147483648"], "as always"),
    Row("core size 0", ["prlimit", "--core=0"], "as always"),
    Row("no locked memory", ["prlimit", "--memlock=0"], "as always"),
    Row("no_new_privs", ["setpriv", "--no-new-privs"], "as always"),
    Row("no capabilities", ["setpriv", "--inh-caps=-all", "--bounding-set=-all",
                            "--no-new-privs"], "as always"),
    Row("user namespace", ["unshare", "-Ur"], "as always"),
    Row("pid namespace", ["unshare", "-pf", "--mount-proc"], "as always"),
    Row("network namespace", ["unshare", "-n", "sh", "-c", NEW_NET, "sh"], "as always"),
    Row("time namespace", ["unshare", "-T", "--monotonic", "86400", "--boottime", "86400"],
        "as always"),
    Row("no /dev", ["unshare", "-m", "sh", "-c", NO_DEV, "sh"], "as always"),
    Row("LD_BIND_NOW", ["env", "LD_BIND_NOW=1"], "as always"),
    Row("LD_AUDIT", ["env", "LD_AUDIT=" + AUDIT, "SOTRUSS_OUTNAME=/dev/null"], "as always",
        unfit={"cxx/cancel_unwind": "natively it aborts"}),
    Row("GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0",
        ["env", "GLIBC_TUNABLES=glibc.pthread.stack_cache_size=0"], "as always"),
    Row("no /proc", ["unshare", "-m", "sh", "-c", NO_PROC, "sh"], "", "/proc"),
    Row("read-only root", ["unshare", "-m", "sh", "-c", READ_ONLY, "sh"], "as always"),
    made("no FSGSBASE", "no-fsgsbase", "as always; each switch is a system call"),
    made("no memory that becomes executable (PR_SET_MDWE)", "mdwe", "as always"),
    made("transparent huge pages never", "no-thp", "as always"),
    made("transparent huge pages always", "thp", "as always; stacks of threads have none",
         soak=True),
    made("4 threads (cgroup, pids)", "pids=4",
         "2000 threads of the program; as many run on kernel threads as there may be",
         natively=False, programs=["thread/alive_2000"]),
    made("32 MB of memory (cgroup)", "memory=32M", "as always"),
    made("16 MB of memory, and more is used (cgroup)", "memory=16M",
         "killed, as natively", programs=["thread/alive_2000"], ends=-9),
]

# As always, as well; with --full.
RARE = [
    ("addresses below 3 GB", ["setarch", "-3"]),
    ("page 0 mapped", ["setarch", "-Z"]),
    ("STICKY_TIMEOUTS, SHORT_INODE, UNAME26", ["setarch", "-TI", "--uname-2.6"]),
    *((f"GLIBC_TUNABLES={t}", ["env", "GLIBC_TUNABLES=" + t]) for t in (
        "glibc.pthread.rseq=0", "glibc.cpu.hwcaps=-AVX2,-AVX512F,-ERMS,-XSAVEC",
        "glibc.malloc.hugetlb=1", "glibc.malloc.tcache_count=0",
        "glibc.rtld.optional_static_tls=0", "glibc.pthread.mutex_spin_count=0")),
]

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
BESIDE = """libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4
    libeatmydata.so faketime/libfaketimeMT.so.1 torsocks/libtorsocks.so
    """.split()


def beside(so):
    """Two rows for each: its place is before the library's, then behind."""
    for name in BESIDE:
        path = os.path.join(LIBRARIES, name)
        for order, preload in (("before", f"{path}:{so}"),
                               ("behind", f"{so}:{path}")):
            row = Row(f"{os.path.basename(name)} {order}", None, "")
            row.hooks = {False: ["env", "LD_PRELOAD=" + path],
                         True: ["env", "LD_PRELOAD=" + preload]}
            row.missing = not os.path.exists(path) and "not installed"
            if "faketime" in name:  # a wait until a time that is no time
                row.unfit["thread/cond"] = "natively it waits for ever"
            yield row


# A tool, the lines that are its own, and how the library fares.
TOOLS = [
    ("strace -f -o /dev/null", None, "hooked"),
    ("ltrace -f -o /dev/null", None, "hooked, on one worker: it knows returns by kernel "
     "thread, and a thread that returns on another one than it has called on crashes"),
    ("perf record -q -o /dev/null", None, "hooked"),
    ("gdb -q -nx -batch -return-child-result -ex 'set print thread-events off' "
     "-ex run --args", r"(?m)^(\[|Using host libthread_db|\s*$).*\n", "hooked"),
    ("rr record -n", None, "not tried: it needs hardware performance counters"),
    ("valgrind -q", None, "unhooked: it does not see text that changes"),
]
SANITIZERS = [
    ("-fsanitize=thread", None, "hooked"),
    ("-fsanitize=address -static-libasan", None, "hooked"),
    ("-fsanitize=address", "libasan.so.8",
     "hooked, if libasan is preloaded before the library"),
]


def tools(so):
    for command, drop, then in TOOLS:
        row = Row(f"under {command.split()[0]}", shlex.split(command), then)
        row.programs, row.drop = ["thread/once"], drop
        row.says = "valgrind" if then.startswith("unhooked") else None
        row.workers = 1 if "one worker" in then else 2
        traces = "_RR_TRACE_DIR=" + os.path.join(os.path.dirname(so), "tests/hosts/rr")
        row.hooks = {False: ["env", traces], True: ["env", traces]}
        yield row
    for flags, first, then in SANITIZERS:
        row = Row(f"built with {flags}", ["env"], then)
        row.programs, row.flags = ["thread/sem"], flags.split()
        if first:
            row.hooks = {False: [], True: ["env", f"LD_PRELOAD={first}:{so}"]}
        yield row
    row = Row("two copies of the library", None, "the last one runs the program")
    other = os.path.join(os.path.dirname(so), "tests/hosts/other.so")
    os.makedirs(os.path.dirname(other), exist_ok=True)
    shutil.copyfile(so, other)
    row.hooks = {False: ["env"], True: ["env", f"LD_PRELOAD={other}:{so}"]}
    row.programs = ["thread/sem", "signal/sigwait"]
    yield row


def preloaded_by_file(so):
    """/etc/ld.so.preload names it, and not the environment."""
    row = Row("/etc/ld.so.preload", None, "hooked, as all programs there")
    script = ("mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w && mount -t overlay "
              "none -o lowerdir=/etc,upperdir=/mnt/u,workdir=/mnt/w /etc && %s "
              "exec env -u LD_PRELOAD \"$@\"")
    enter = ["unshare", "-m", "sh", "-c"]
    row.hooks = {False: [*enter, script % "", "sh"],
                 True: [*enter, script % f"echo {so} >/etc/ld.so.preload;", "sh"]}
    row.programs = ["thread/sem", "signal/sigwait"]
    return row


def rows(tool, full, so):
    errors = itertools.cycle(("ENOSYS", "EPERM"))
    for call, then in DENIED:
        for error in ("ENOSYS", "EPERM") if full else (next(errors),):
            yield Row(f"{call}: {error}", [tool, error, call], then,
                      UNHOOKED % call if then == "!" else None)
    yield from (row for row in HOSTS if full or not row.soak)
    if full:
        yield from (Row(name, command, "as always") for name, command in RARE)
    yield from beside(so)
    yield from tools(so)
    yield preloaded_by_file(so)


def run(row, case, env):
    hooked = "LD_PRELOAD" in env
    if not hooked and not row.natively:
        return behave.run(case, env)
    command = (row.hooks[hooked] if row.hooks else []) + (row.under or [])
    again = behave.Case(command[0], case.source, command[1:] + [case.program] +
                        case.args, case.expect, case.flags, case.known, case.but)
    got = behave.run(again, env)
    if row.drop:
        got.out = re.sub(row.drop, "", got.out)
    return got


def built(row, case, build):
    """The program with the row's flags; what is there already is taken."""
    out = os.path.join(build, "tests/hosts", re.sub(r"\W+", "_", row.name + case.name))
    if not os.path.exists(out) or os.path.getmtime(out) < os.path.getmtime(case.source):
        os.makedirs(os.path.dirname(out), exist_ok=True)
        subprocess.run([os.environ.get("CC", "gcc"), "-std=gnu11", "-O1", "-g", "-pthread",
                        "-D_GNU_SOURCE", "-Itests/support", *row.flags, case.source,
                        "-o", out], check=True)
    again = behave.Case(out, case.source, case.args, case.expect, case.flags, case.known, case.but)
    again.source = case.source
    return again


def verdict(row, case, so):
    """None, or what is wrong; and the reason for a skip."""
    if case.name in row.unfit:
        return None, row.unfit[case.name]
    native = run(row, case, {})
    if native.code != (case.expect if row.ends is None else row.ends):
        why = (native.out + native.err).strip().splitlines() or ["?"]
        return None, f"{behave.describe(native.code)} natively: {why[-1]}"
    with tempfile.TemporaryDirectory(prefix="hosts.") as tmp:
        stats = os.path.join(tmp, "stats")
        got = run(row, case, {"LD_PRELOAD": so, "FIBHOOK_WORKERS": str(row.workers),
                              "FIBHOOK_STATS": stats})
        fibers = behave.fibers_in(stats)
    lines = got.err.splitlines(keepends=True)
    said = [x for x in lines if "running unhooked" in x]
    got.err = "".join(x for x in lines if x not in said)
    wrong = behave.difference(native, got)
    if row.ends is None and row.says is None and (not fibers or said):
        wrong.append(f"    not hooked: {fibers} fibers; {''.join(said)}")
    if row.says is not None and (fibers or len(said) != 1 or row.says not in said[0]):
        wrong.append(f"    {fibers} fibers, and it says {''.join(said)!r}")
    return wrong, None


def check(row, cases, pool, so):
    passed = failed = skipped = 0
    for case, (wrong, why) in zip(cases, pool.map(
            lambda c: verdict(row, c, so), cases)):
        if why:
            skipped += 1
            print(f"skip {row.name}: {case.name}: {why}")
        elif wrong:
            failed += 1
            print(f"FAIL {row.name}: {case.name}", *wrong, sep="\n")
        else:
            passed += 1
    if not failed and not skipped:
        print(f"ok   {row.name}")
    sys.stdout.flush()
    return passed, failed, skipped


def markdown():
    out = ["| a system call that fails | then |", "|---|---|"]
    for then, calls in itertools.groupby(DENIED, lambda d: d[1]):
        names = ", ".join(f"`{call}`" for call, _ in calls)
        if then == "!":
            then = "the program runs unhooked, and says which"
        out.append(f"| {names} | {then} |")
    out += ["", "| a host with | then |", "|---|---|"]
    for row in HOSTS:
        out.append(f"| {row.name} | {row.then or 'unhooked, and says so'} |")
    out += [f"| {name} | as always |" for name, _ in RARE]
    out += ["", "| a program | then |", "|---|---|"]
    out += [f"| under `{command.split()[0]}` | {then} |" for command, _, then in TOOLS]
    out += [f"| built with `{flags}` | {then} |" for flags, _, then in SANITIZERS]
    return "\n".join(out) + "\n"


def case_of(name, build):
    source = glob.glob(f"tests/hooks/{name}.c*")[0]
    case = behave.cases_of(source, build)[0]
    case.source = source
    return case


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    ap.add_argument("--full", action="store_true")
    ap.add_argument("--only", action="append", default=[])
    ap.add_argument("--markdown", action="store_true")
    opt = ap.parse_args()
    if opt.markdown:
        print(markdown(), end="")
        return 0
    build = os.path.abspath(opt.build)
    so = os.path.join(build, "libfibhook.so")
    cases = [case_of(name, build) for name in (MORE if opt.full else FEW)]
    with open("docs/COMPATIBILITY.md", encoding="utf-8") as f:
        documented = markdown() in f.read()
    print("ok   the tables" if documented else
          "FAIL docs/COMPATIBILITY.md has other tables than --markdown prints")
    total = [documented, not documented, 0]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row in rows(os.path.join(build, "tests/support/filter"),
                        opt.full, so):
            if opt.only and not any(row.name.startswith(o) for o in opt.only):
                continue
            if row.missing:
                print(f"skip {row.name}: {row.missing}")
                total[2] += 1
                continue
            mine = [case_of(p, build) for p in row.programs or []] or cases
            if row.flags:
                mine = [built(row, case, build) for case in mine]
            if row.says and not opt.full:
                mine = mine[:2]  # they run as natively, and are told why
            total = [a + b for a, b in zip(total, check(row, mine, pool, so))]
    print("%d passed, %d failed, %d skipped" % tuple(total))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
