"""The parts of make bench that need no server from a package: see bench.py."""
import os
import subprocess
import sys
import time
from harness import (ROOT, Part, Server, Skip, can_count, named, perf_count,
                     say, turns)

sys.path.insert(0, ROOT + "/tests/counts")
HU = ("hooked", "unhooked")
HE = ("hooked", "epoll")
HR = ("hooked", "uring")
HB = ("hooked", "before")
SERVERS = ["hooked", "unhooked", "epoll", "uring"]


# --- an echo server -----------------------------------------------------------

def servers(b, part, cpus):
    """One of each mode, that live as long as the part."""
    own = {"epoll": b.build + "/bench/epoll_echo",
           "uring": b.build + "/bench/uring_echo"}
    got = {}
    for mode in part.modes:
        try:
            argv = [own.get(mode, b.build + "/demo/echo"), "0"]
            if not os.path.exists(argv[0]):
                raise Skip("liburing-dev was not there when it was built")
            got[mode] = Server(b, argv, mode, cpus)
        except Skip as why:
            part.skip(mode, why)
    return got


def load(b, server, conns, cpus, extra=(), seconds=None):
    out = b.run([b.build + "/demo/load", "-c", str(conns), "-t",
                 str(seconds or b.seconds), "-w", "0.1", "-P", str(server.pid),
                 *extra, server.port], cpus=cpus)
    return named(out)


def calls(b, server, conns, cpus):
    """System calls a request: two runs that differ in their requests alone."""
    got = []
    for requests in 4000, 16000:
        out = b.work + "/perf"
        text = b.run(["perf", "stat", "-x,", "-o", out, "-e",
                      "raw_syscalls:sys_enter", "-p", str(server.pid), "--",
                      b.build + "/demo/load", "-c", str(conns), "-w", "0",
                      "-r", str(requests), server.port], cpus=cpus)
        got.append((perf_count(out), named(text)["requests"]))
    (a, m), (c, n) = got
    return (c - a) / (n - m)


def echo_rows(b, part, alive, conns, cpus):
    keys = [("cpu_us", "CPU a request", "us", "less"),
            ("rps", "requests", "/s", "more"),
            ("p99_us", "p99", "us", "less")]
    if conns > 1:
        keys += [("jain", "Jain's index", "", "more"),
                 ("starved", "without an answer", "conns", "none")]
    if conns >= 1000:
        keys += [("first_ms", "all have a first answer", "ms", "less"),
                 ("threads", "kernel threads", "", "none")]
    got = {k[0]: {m: [] for m in alive} for k in keys}
    # Long enough for each connection to be served some times.
    seconds = max(b.seconds, conns / 4000)
    for _, mode in turns(list(alive), b.rounds):
        b.check_time()
        said = load(b, alive[mode], conns, cpus, seconds=seconds)
        for k in got:
            got[k][mode].append(said[k])
    for key, title, unit, better in keys:
        part.row("%d: %s" % (conns, title), unit, got[key], better)


def churn(b, part, alive, cpus):
    say("%s: churn" % part.name)
    got = {m: [] for m in alive}
    try:
        for _, mode in turns(list(alive), b.rounds):
            b.check_time()
            got[mode].append(load(b, alive[mode], 50, cpus, ("-m", "churn"),
                                  max(b.seconds, 0.3))["cpu_us"])
        part.row("50, a connection for each request: CPU", "us", got)
    except Skip as why:
        part.skip("a connection for each request", why)


def count_calls(b, part, alive, cpus):
    say("%s: system calls" % part.name)
    if not can_count():
        part.skip("system calls", "perf may not count them here")
        return
    for conns in 1, 16, 100, 1000:
        b.check_time()
        part.row("%d: system calls a request" % conns, "",
                 {m: [calls(b, s, conns, cpus)] for m, s in alive.items()})


def echo(b, name, title, cpus):
    part = Part(name, title, SERVERS, [HU, HE, HR])
    alive = servers(b, part, cpus)
    try:
        for conns in (1, 16, 100, 1000, 9000):
            say("%s: %d connections" % (name, conns))
            try:
                echo_rows(b, part, alive, conns, cpus)
            except Skip as why:
                part.skip("%d connections" % conns, why)
        if len(cpus) == 1:
            churn(b, part, alive, cpus)
            count_calls(b, part, alive, cpus)
    except Skip as why:
        part.skip("the rest", why)
    finally:
        for s in alive.values():
            s.stop()
    return part


def echo1(b):
    return echo(b, "echo", "An echo server, 64 bytes a request; server and "
                "client share CPU 0", {0})


def echo2(b):
    if os.cpu_count() < 2:
        raise Skip("one CPU only")
    return echo(b, "echo2", "An echo server, 64 bytes a request; server and "
                "client on CPUs 0 and 1", {0, 1})


# --- threads --------------------------------------------------------------------

MICRO = (("create", "create and join"), ("spawn", "the same, 1000 at a time"),
         ("detach", "create, detached"), ("pipe", "pass by two pipes"),
         ("socketpair", "pass by a socketpair"),
         ("stdio", "pass by stdio over it"),
         ("pairs", "32 pairs by socketpairs"), ("cond", "pass by a condition"),
         ("sem", "pass by semaphores"), ("yield", "yield, 2 threads"),
         ("yield1000", "yield, 1000 threads"),
         ("mutex", "a mutex, 64 threads, no work"),
         ("mutexwork", "the same, with work"),
         ("sleepers", "1000 sleepers of 1 ms"))


def thread_rows(b, part, cpus):
    for key, title in MICRO:
        say("%s: %s" % (part.name, key))
        got = {m: [] for m in part.modes}
        try:
            for _, mode in turns(part.modes, b.rounds):
                b.check_time()
                got[mode].append(float(b.run(
                    [b.build + "/bench/micro", key, str(b.seconds)], mode,
                    cpus)))
            part.row(title, "/s", got, "more")
        except Skip as why:
            part.skip(title, why)


def threads(b, name, cpus):
    part = Part(name, "Operations of threads a second, on CPU%s" %
                (" 0" if len(cpus) == 1 else "s 0 and 1"),
                HU, [HU])
    thread_rows(b, part, cpus)
    return part


def threads1(b):
    return threads(b, "threads", {0})


def threads2(b):
    if os.cpu_count() < 2:
        raise Skip("one CPU only")
    return threads(b, "threads2", {0, 1})


def before(b):
    """The library beside an earlier one: has anything become slower?"""
    if not b.before:
        raise Skip("no other library was named")
    part = Part("before", "The library beside an earlier one: an echo server, "
                "and operations of threads, on CPU 0", HB, [HB])
    alive = servers(b, part, {0})
    try:
        for conns in (1, 16, 100, 1000):
            say("before: %d connections" % conns)
            echo_rows(b, part, alive, conns, {0})
        churn(b, part, alive, {0})
    except Skip as why:
        part.skip("the rest of echo", why)
    finally:
        for s in alive.values():
            s.stop()
    thread_rows(b, part, {0})
    return part


def workers(b):
    modes = ["two", "one"]
    part = Part("workers", "Fibers on one worker and on two, both CPUs: "
                "operations a second", modes, [("two", "one")])
    for key, title in (("pairs", "32 pairs by socketpairs"),
                       ("socketpair", "one pair"), ("sem", "semaphores")):
        say("workers: %s" % key)
        got = {m: [] for m in modes}
        try:
            for _, mode in turns(modes, b.rounds):
                b.check_time()
                got[mode].append(float(b.run(
                    [b.build + "/bench/micro", key, str(b.seconds)], "hooked",
                    FIBHOOK_WORKERS="2" if mode == "two" else "1")))
            part.row(title, "/s", got, "more")
        except Skip as why:
            part.skip(title, why)
    return part


def scale(b):
    part = Part("scale", "Threads that wait on a semaphore each, every second "
                "one with a limit; on all CPUs", HU, [HU],
                "While they wait, two further threads hand a turn to and fro.")
    keys = (("create_us", "create, until it waits", "us"),
            ("park_us", "a wait and its end, of two others", "us"),
            ("timed_us", "the same with a limit", "us"),
            ("wake_us", "woken, ended and joined", "us"),
            ("kb", "memory", "kB"))
    for n in 1000, 10000, 100000, 1000000:
        say("scale: %d threads" % n)
        got = {k[0]: {m: [] for m in HU} for k in keys}
        rounds = b.rounds if n <= 10000 else 1
        try:
            for _, mode in turns(list(HU), rounds):
                b.check_time()
                if mode == "unhooked" and n > 10000:
                    continue
                said = named(b.run([b.build + "/bench/scale", str(n)], mode,
                                   most=240))
                for k in got:
                    got[k][mode].append(said[k])
            for key, title, unit in keys:
                part.row("%d: %s" % (n, title), unit, got[key])
        except Skip as why:
            part.skip("%d threads" % n, why)
    part.skip("more than 10000 threads unhooked",
              "the kernel's limits of threads and mappings")
    return part


# --- memory, start, counts -------------------------------------------------------

def memory(b):
    """Of the process, by what it has with few and with many."""
    few, many = 100, 2100
    part = Part("memory", "Memory of an idle connection", SERVERS, [HU],
                "Resident memory, page tables and 16 kB of stack for each "
                "kernel thread; the kernel's sockets are the same for all. "
                "From %d to %d connections, of a fresh server each." %
                (few, many))
    got = {m: [] for m in SERVERS}
    try:
        for _ in range(min(b.rounds, 3)):
            b.check_time()
            alive = servers(b, part, None)
            for mode, s in alive.items():
                kb = []
                for n in few, many:
                    said = load(b, s, n, None, ("-m", "idle"), 0.2)
                    kb.append(said["rss_kb"] + said["pte_kb"] +
                              16 * said["threads"])
                got[mode].append((kb[1] - kb[0]) / (many - few))
                s.stop()
        part.row("an idle connection", "kB", got)
    except Skip as why:
        part.skip("an idle connection", why)
    return part


def start(b):
    part = Part("start", "Start to end of a program: the least wall time", HU,
                [HU])
    python = ("import threading\nt = threading.Thread(target=int)\n"
              "t.start()\nt.join()")
    for title, argv in (
            ("true", ["/bin/true"]),
            ("a program with one thread", [b.build + "/tests/counts/birth",
                                           "1", "1"]),
            ("python3 with one thread", ["/usr/bin/python3", "-c", python])):
        say("start: %s" % title)
        got = {m: [] for m in HU}
        try:
            for _ in range(b.rounds):
                b.check_time()
                for mode in HU:
                    times = []
                    for _ in range(20):
                        t = time.perf_counter()
                        pid = os.posix_spawn(argv[0], argv, b.env(mode))
                        if os.waitpid(pid, 0)[1]:
                            raise Skip("it fails")
                        times.append(time.perf_counter() - t)
                    got[mode].append(min(times) * 1e3)
            part.row(title, "ms", got)
        except (OSError, Skip) as why:
            part.skip(title, why)
    return part


def counts(b):
    import count
    part = Part("counts", "System calls: exact on any machine, and tests in "
                "make check-counts", HU, [HU],
                "One worker. A trip is there and back between two threads.")
    count.wrap.perf = can_count()
    out = b.work + "/count"
    native = {"FIBHOOK_DISABLE": "1"}
    hooked = {"LD_PRELOAD": b.preload, "FIBHOOK_WORKERS": "1"}

    def both(title, fn, *args):
        b.check_time()
        part.row(title, "", {"hooked": [fn(b.build, out, hooked, *args)],
                             "unhooked": [fn(b.build, out, native, *args)]})
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        for kind, how in b.some(count.CASES):
            say("counts: %s, %s" % (kind, how))
            for pairs in count.MORE:
                both("trip, %s, %s, %d pair%s" % (kind, how, pairs,
                                                  "s" * (pairs > 1)),
                     count.trip, kind, how, pairs)
        for n in b.some(count.CHAT):
            both("demo/chat, %d connections, a request" % n, count.chat, n)
        for case in b.some(count.LOOPS):
            both("event loop, %s, %d loops, %d connections, a message" % case,
                 count.loop, *case)
        for case in b.some(count.BIRTHS):
            both("a thread that waits, %d at a time" % case[0], count.births,
                 *case)
    except (Skip, RuntimeError, FileNotFoundError) as why:
        part.skip("the rest", why)
    finally:
        os.sched_setaffinity(0, before)
    return part


# --- what it costs to be watched ---------------------------------------------------

def watched(b):
    """CPU of a server that is traced, or looked at by top, beside one that is not."""
    modes = ["alone", "traced", "top", "stats"]
    part = Part("watched", "A hooked echo server under 100 connections, watched "
                "from CPU 1: CPU a request", modes,
                [(m, "alone") for m in modes[1:]],
                "Server and load on CPU 0. Long slices: the tools need a "
                "part of a second to begin.")
    seconds = max(b.seconds, 0.5)
    rounds = max(b.rounds, 5)
    got = {m: [] for m in modes}
    s = Server(b, [b.build + "/demo/echo", "0"], "hooked", {0},
               FIBHOOK_WORKERS="1")
    tool = {"traced": ["trace", str(s.pid), "-t", "100", "-o",
                       b.work + "/trace.json"],
            "top": ["top", str(s.pid), "--batch", "-i", "1", "-n", "1000"],
            "stats": ["stats", str(s.pid), "--every", "1"]}
    try:
        for r, mode in turns(modes, rounds):
            b.check_time()
            say("watched: round %d, %s" % (r + 1, mode))
            watcher = None
            if mode in tool:
                watcher = subprocess.Popen(
                    [b.fibhook] + tool[mode], stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, preexec_fn=lambda:
                    os.sched_setaffinity(0, {os.cpu_count() - 1}))
            try:
                said = named(b.run(
                    [b.build + "/demo/load", "-c", "100", "-t", str(seconds),
                     "-w", "0.4", "-P", str(s.pid), s.port], cpus={0}))
            finally:
                if watcher:
                    if watcher.poll() is not None:
                        raise Skip("fibhook %s ended early" % mode)
                    watcher.kill()
                    watcher.wait()
            got[mode].append(said["cpu_us"])
        part.row("CPU a request", "us", got)
    except Skip as why:
        part.skip("the rest", why)
    finally:
        s.stop()
    return part


# --- where a request's time goes ---------------------------------------------------

SMALL_NS = 25


def profile(b, mode, program):
    """ns of CPU a request, by (object, function), and in all"""
    s = Server(b, [program, "0"], mode, {0}, FIBHOOK_WORKERS="1")
    data = b.work + "/perf.data"
    try:
        said = named(b.run(["perf", "record", "-q", "-e", "cpu-clock", "-F",
                            "4000", "-p", str(s.pid), "-o", data, "--",
                            b.build + "/demo/load", "-c", "100", "-w", "0",
                            "-t", str(max(3, 10 * b.seconds)), "-P",
                            str(s.pid), s.port], cpus={0}))
    except FileNotFoundError as none:
        raise Skip("perf is not installed") from none
    finally:
        s.stop()
    text = b.run(["perf", "report", "-i", data, "--stdio", "-g", "none", "-F",
                  "overhead,dso,symbol", "-t", ";"])
    got = {}
    for line in text.split("\n"):
        cells = [c.strip() for c in line.split(";")]
        if len(cells) >= 3 and cells[0].endswith("%"):
            key = cells[1], cells[2].split("] ")[-1]
            got[key] = (got.get(key, 0) +
                        float(cells[0][:-1]) / 100 * said["cpu_us"] * 1e3)
    return got, said["cpu_us"] * 1e3


def path(b):
    modes = ["hooked", "epoll"]
    part = Part("path", "Where the CPU time of a request goes: an echo server, "
                "100 connections, one worker, on CPU 0", modes, [],
                "By perf's samples (`perf record -e cpu-clock`). Functions of "
                "the library with less than %d ns are summed up." % SMALL_NS)
    try:
        got = {"hooked": profile(b, "hooked", b.build + "/demo/echo"),
               "epoll": profile(b, "epoll", b.build + "/bench/epoll_echo")}
    except Skip as why:
        part.skip("all of it", why)
        return part
    rows, rest = {}, 0
    for mode in modes:
        for (dso, symbol), ns in got[mode][0].items():
            if dso == "libfibhook.so" and ns < SMALL_NS:
                rest += ns
                continue
            name = ("libfibhook: " + symbol if dso == "libfibhook.so" else
                    "the kernel" if "kernel" in dso else "the program, libc")
            row = rows.setdefault(name, dict.fromkeys(modes, 0))
            row[mode] += ns
    rows["libfibhook: the rest"] = {"hooked": rest, "epoll": 0}
    for name, row in sorted(rows.items(), key=lambda r: -r[1]["hooked"]):
        part.row(name, "ns", {m: [v] for m, v in row.items() if v}, "none")
    part.row("in all", "ns", {m: [got[m][1]] for m in modes}, "none")
    return part


# --- libfib beside others ------------------------------------------------------------

LIBRARIES = ["fib", "fib, threads", "boost", "pth", "st", "uv"]
ROWS = ("latency", "throughput", "switch", "resume", "create", "timer",
        "timed_wait", "channel", "across")


def libfib(b):
    part = Part("library", "libfib beside Boost.Fiber, GNU Pth, State Threads "
                "and libuv: CPU time an operation, on CPU 0", LIBRARIES,
                [("fib", m) for m in LIBRARIES[2:]],
                "\"fib, threads\": in a process with a second thread. "
                "tests/bench/libfib/bench.h says what the rows are.")
    there = [m for m in LIBRARIES
             if os.path.exists(b.build + "/bench/libfib/" + m.split(",")[0])]
    for m in LIBRARIES:
        if m not in there:
            part.skip(m, "its package was not there when it was built")
    for key in ROWS:
        say("library: %s" % key)
        got = {m: [] for m in there}
        for _, mode in turns(there, b.rounds):
            try:
                b.check_time()
                argv = [b.build + "/bench/libfib/" + mode.split(",")[0], key,
                        str(min(b.seconds, 0.1))]
                got[mode].append(float(b.run(
                    argv + ["thread"] * (mode == "fib, threads"), cpus={0})))
            except Skip as why:
                if str(why) != "not offered":
                    part.skip(key, why)
        part.row(key.replace("_", " "), "ns", got)
    return part
