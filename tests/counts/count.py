#!/usr/bin/env python3
"""System calls a round trip between two threads, a request of a server, and
a thread's life, natively and hooked.

usage: count.py BUILD

Counts do not depend on how busy the machine is, but for what the library's
monitor asks each few milliseconds, for waits that last, and for what idle workers
do; these only add, so that the least of some runs is what a thing costs. Two runs that
differ in their rounds alone are subtracted: starts and ends do not count. The
counter is perf's where it may be used, else strace's. Last line "N passed, N
failed".
"""
import ctypes
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile

RUNS = 9

getauxval = ctypes.CDLL(None).getauxval
getauxval.argtypes, getauxval.restype = [ctypes.c_ulong], ctypes.c_ulong
AT_HWCAP2, HWCAP2_FSGSBASE, ARCH_PRCTL = 26, 2, 158

# Natively 4. Who has written wakes who waits by the number that the other end knows;
# else there is one epoll_wait a hop, where nobody else has something to do. A read of what
# was written, and no more, does not show that nothing is left, but mostly nothing is, and
# that is asked of many at a time (hooks/fd/peer.c, runtime/doubt.h).
HOME_MORE = {1: 0.4, 50: 0.4}
MORE = {1: 2.2, 50: 0.4}
# A FIFO tells of nobody's other end, and the first reads, in the kernel, hold workers up.
FIFO_MORE = {1: 2.6, 50: 0.8}
# Of a terminal it is asked whose it is before it is read, whether who writes may before that, and
# each side whether it has room; and of further ones than a few in which mode they are.
PTY_MORE = {1: 5.2, 50: 5.8}
# Whose thread has a kernel thread to itself asks with it alone: a poll that says what has
# come, and one that asks whether more has, where natively a read does both.
OWN_MORE = {1: 2.2, 50: 2.6}
# Where one of the two has that, the other one is told by epoll alone. TCP is read for nothing
# by who was told more often.
ONE_OWN_MORE = {1: 1.6, 50: 1.4}
ONE_OWN_TCP_MORE = {1: 2.2, 50: 1.4}
# Who waits for a message does so in the kernel, behind others who do, if there are any:
# which queue it is, is asked once.
QUEUE_MORE = {1: 0.4, 50: 1.0}
# In all: natively eight calls where it finds nothing each time, and mostly it does.
GLANCE_CALLS = {1: 10.4, 50: 8.5}
TRIPS = 8000
LIFE = 3.0
BIRTHS = [(1, 100, 4100), (50, 10, 90), (1200, 2, 5)]
CASES = [(kind, how) for kind in ("pipe", "pair", "tcp")
         for how in ("plain", "early", "duped", "stdio", "gone", "alive",
                     "flags", "early_flags", "handled")]
CASES += [("pair", "timed"), ("tcp", "timed")]
CASES += [(kind, "whole") for kind in ("pipe", "pair", "tcp", "udp", "event")]
CASES += [(kind, how) for kind in ("pipe", "pair", "tcp")
          for how in ("record", "poll_record")]
CASES += [(kind, how) for kind in ("pair", "tcp")
          for how in ("waitall", "head", "vector", "message", "poll", "select",
                      "glance")]
CASES += [(kind, how) for kind in ("pipe", "pair", "tcp", "udp") for how in ("now", "now_record")
          if (kind, how) != ("udp", "now_record")]
CASES += [("pair", "control"), ("udp", "control"), ("pair", "peek"), ("tcp", "peek")]
CASES += [("udp", "plain"), ("udp", "handled"), ("fifo", "plain"), ("fifo", "poll"), ("pty", "plain")]
CASES += [("local", how) for how in ("plain", "whole", "poll", "select")]
CASES += [(kind, "duped_whole") for kind in ("pipe", "pair", "dgram")]
CASES += [("pipe", "vector"), ("pipe", "poll"), ("queue", "prio")]
CASES += [(kind, how) for kind in ("pipe", "pair", "tcp") for how in ("forked", "nice",
                                                                   "one_forked", "one_nice")]
# demo/chat under demo/load: connections, and the requests of the two runs.
CHAT = (16, 100)
REQUESTS = (4000, 16000)
CHAT_RATIO = 1.1
# A busy server: the least of Jain's index of its connections' answers; their kind, how many, rounds.
FAIR = ((0.97, "tcp", 1000, 20), (0.97, "stream", 1000, 20), (0.97, "packet", 1000, 20),
        (0.93, "packet", 20, 500), (0.93, "tcp", 20, 500, "record"),
        (0.93, "stream", 20, 500, "record"), (0.93, "tcp", 5, 2000, "record"))
# The same where four are asked ahead and the client has a processor of its own.
AHEAD = ((0.6, "packet", 20, 500, 4),)
# The median of so many runs: it goes by how client and server keep pace. (Of tcp 5, one run
# of nine is below its bound on a machine where a system call takes 1.2 us.)
FAIR_RUNS = 5
# Event loops: how they wait and read, loops, connections of each. Natively a message is
# some 5 calls, the client's among them; a wait that is not the kernel's would be
# one or two more.
LOOPS = (("wait", 1, 1), ("wait", 1, 16), ("timed", 1, 1), ("wait", 4, 4),
         ("once", 1, 1), ("once", 1, 16), ("whole", 1, 1), ("poll", 1, 1), ("poll", 1, 16),
         ("select", 1, 1))
MESSAGES = (4000, 16000)
LOOP_MORE = 0.3
# A thread that lives in accept(), without and with a thread for each connection, whose
# life saves calls: what may be above native. The client's calls are counted as well.
ACCEPTS = {"close": 1, "serve": 0, "poll": 0, "select": 0, "peek": 0,
           "relay": 0}
# Where two workers relay, the backend's answer comes sooner or later than the thread has
# registered what it polls, and a run keeps to one of both for long: 25 to 34 of native 30
# in 300 runs, half of them above 30.
RELAY_MORE = 3
CONNECTIONS = (300, 1100)
# Several that live there: each has to have waited LOOP_WAITS times first. A run is off by
# 150 calls either way.
ACCEPTORS = (2, 16)
CROWDED = (2000, 6000)
# Several that wait for what they have accepted to be read as well, so that they park
# on: what may be above native, by the number of workers. Each connection is told
# before its accept() whether it is the last, and the next one waits without a look.
ANSWERERS = (2, 16)
ANSWER_MORE = {1: 8.5, 2: 9.7}
# Threads that connect and close: the server's calls are counted as well.
CALLERS = (("plain", 1), ("plain", 8), ("forked", 2))
CONNECT_MORE = 0.2
# The same who send a request and read the answer, which is not tried for before it is waited
# for; by the number of workers. A name is asked whose it is where another one connects as well.
ASKERS = (("ask", 16), ("local", 16))
ASK_MORE = {"ask": {1: 2.4, 2: 3.8}, "local": {1: 3.4, 2: 4.0}}
# The library's own pages, libc's that it writes, those that it reads; and calls. A program that
# never has a thread touches few: what ld.so relocates, and what the constructor runs and writes.
START_FAULTS = 205
START_CALLS = 260
THREADLESS_FAULTS = 16

# Beside two for each that was missed.
SPARES = 8

# What is asked of a device, and of an eventfd with a handler, one of each; reads that are not
# to wait, and messages, two a call; what is relayed by splice (where it was less than was
# asked for, whether SIGPIPE came beside it), and spilled into a pipe; a sleep and a poll of a
# thread that has made a child; polls of nothing, and selects; files; a folder (of which it
# is asked once whether it is in /proc, where no disk says so), and a file there (before it is
# read, whether it waits); a poll and a select with a mask (what came before that opens is
# asked); an action, twice; a signal to the own process, one to another thread and back, two
# looks for one, and a timer's: calls of a round. How many more: before an action is changed it
# is asked what has come by then; what the kernel sends the monitor's thread finds, which wakes
# the worker, and is told when the next one is awaited.
OFTEN = {"device": 0, "event": 0, "empty": 0, "several": 0, "relay": 1, "spill": 0,
         "sleep": 0, "nothing": 0, "none_of": 0, "file": 0, "asked": 0, "memory": 0,
         "folder": 1, "own": 1, "masked": 2, "action": 2, "kill": 0, "sigwait": 0, "glimpse": 0, "alarm": 16.2}
OFTEN_ROUNDS = (200, 2200)
OFTEN_MORE = 0.1
# A sleep, where two workers could wake for it: one does, and the monitor looks at times.
NAP_MORE = 0.5
# A sleep in which all sleep: the worker's own, who wakes the monitor, and that one's ticks until
# it sleeps again. So where an event loop waits, and where a thread waits in the kernel meanwhile.
# Who waits for a datagram's receiver is looked at, the more seldom the longer; he is not woken.
# Who waits for his own socket, which another process may shut, is, and counts as one who waits
# for as long.
DOZES, DOZE_MORE = (5, 45), {"doze": 4.3, "lull": 7.5, "beside": 5, "awaits": 5, "opens": 5,
                           "clogged": 24, "jammed": 90}
# Who is to have a signal is not looked for among thousands each time: 9 to 13 times as much it was.
CROWD = 4
# What is reset in a child is copied: page faults of a fork and its child. And calls more: the
# child closes what is the library's, in one, and gives its signals back; and SIGCHLD is taken.
FORKS, FORK_FAULTS, FORK_CALLS = 100, 15, 13
SPAWN_CALLS = 11

# Two threads of which one runs at a time: calls a turn, where other workers are
# idle. To wake one each time is 0.2 at least.
HOPS = ("sem", "cond", "futex")
HOP_ROUNDS = (2000, 42000)
HOP_CALLS = 0.13
# Those that have a kernel thread each sleep and wake as natively, but for what the monitor
# asks at each tick: more a turn than natively. (A wait told it each time, 2 to 7.)
NICE_MORE = 0.3
# Where they yield, one worker asks the kernel who else wants its processor: each 16th
# time it was 0.06, natively it is 1.
YIELD_CALLS = 0.03
# Without FSGSBASE a switch takes microseconds: what the monitor, the worker that
# watches, and one that yields ask each so many of these is more a turn (0.2 to 0.8, 0.08
# and, of FIFOs, 2.5 where an empty call takes 1.2 us); and who waits for a message of a
# queue is overtaken more often before it waits in the kernel (1.8 to 3.6 more).
SLOW, SLOW_MORE, SLOW_QUEUE_MORE = 6, 0.2, 1.5

# Threads that take turns, calls of one that never waits, and the rounds of the
# others meanwhile: it has 32 calls a turn, and beside them one for each of those.
TURNS = ((8, 3200, 60, 110), (1000, 20000, 17, 60))


def wrap(argv, env, out):
    """@argv, whose system calls are counted in file @out: by perf or strace, and
    where a switch is an arch_prctl (bases) without these."""
    perf = ["perf", "stat", "-x,", "-o", out, "-e", "raw_syscalls:sys_enter"]
    strace = ["strace", "-f", "-qq", "-c", "-o", out]
    if wrap.bases:
        perf += ["--filter", f"id != {ARCH_PRCTL}"]
        strace += ["-e", "trace=!arch_prctl"]
    e = ["env"] + ["%s=%s" % kv for kv in env.items()]
    return (perf if wrap.perf else strace) + e + argv


wrap.bases = not getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE


def more_than_native(kind, how):
    """What a round trip may have, by the number of pairs that make some."""
    few = {"fifo": FIFO_MORE, "pty": PTY_MORE}.get(kind)
    if few:
        return {n: most + SLOW_MORE * wrap.bases for n, most in few.items()}
    most = {"prio": QUEUE_MORE, "glance": GLANCE_CALLS, "forked": OWN_MORE,
            "nice": OWN_MORE}.get(how)
    if how.startswith("one_"):
        return ONE_OWN_TCP_MORE if kind == "tcp" else ONE_OWN_MORE
    if how == "prio" and wrap.bases:
        return {n: most[n] + SLOW_QUEUE_MORE for n in most}
    if most:
        return most
    away = how.startswith("duped") and kind != "tcp" or kind == "local"
    return MORE if away else HOME_MORE


def counted(out):
    text = open(out).read()
    if wrap.perf:
        m = re.search(r"^(\d+),.*raw_syscalls", text, re.M)
    else:
        m = re.search(r"^100\.00\s+\S+\s+\S+\s+(\d+)", text, re.M)
    if not m:
        raise RuntimeError("no count: " + text[:300])
    return int(m.group(1))


def run(argv, env, out):
    r = subprocess.run(wrap(argv, env, out), capture_output=True, text=True,
                       timeout=120)
    if r.returncode:
        raise RuntimeError("%s: %s" % (argv, r.stderr))
    return counted(out)


def difference(count, rounds, units, most=None):
    """Calls a unit, of which the more of @rounds have @units more. While that is
    above @most, both are counted again: a call that waits for a processor once in a
    while is made in another way, as a connect() that has held its worker up, so that
    a single count has up to 0.3 a unit more."""
    few, many = (count(n) for n in rounds)
    for _ in range(RUNS - 1):
        if most is None or many - few <= most * units:
            break
        few, many = (min(was, count(n)) for was, n in zip((few, many), rounds))
    return (many - few) / units


def can_perf():
    r = subprocess.run(["perf", "stat", "-e", "raw_syscalls:sys_enter", "true"],
                       capture_output=True, text=True)
    return r.returncode == 0 and "<not" not in r.stderr


def trip(build, out, env, kind, how, pairs, most=None):
    n = [TRIPS // pairs // 4, TRIPS // pairs]
    argv = [build + "/tests/counts/trip", kind, how, str(pairs)]
    return difference(lambda x: run(argv + [str(x)], env, out), n,
                      (n[1] - n[0]) * pairs, most)


def serve(build, out, env, conns, requests):
    """demo/chat: its calls, and the requests that it has answered."""
    argv = ["sh", "-c", "echo $$; exec \"$0\" 0", build + "/demo/chat"]
    p = subprocess.Popen(wrap(argv, env, out), stdout=subprocess.PIPE,
                         text=True)
    pid, port = (p.stdout.readline().split()[-1] for _ in range(2))
    load = [build + "/demo/load", "-m", "chat", "-c", str(conns), "-w", "0",
            "-r", str(requests), port]
    try:
        r = subprocess.run(load, capture_output=True, text=True, timeout=120)
    finally:
        os.kill(int(pid), signal.SIGTERM)
        p.wait(timeout=30)
    if r.returncode or p.returncode:
        raise RuntimeError("chat: %s" % r.stderr)
    return counted(out), int(re.search(r"requests=(\d+)", r.stdout).group(1))


def chat(build, out, env, conns):
    (a, m), (b, n) = (serve(build, out, env, conns, r) for r in REQUESTS)
    return (b - a) / (n - m)


def fairness(build, hooked, case, cpus):
    """Jain's index of a run on the processors @cpus; 0: it has failed."""
    r = subprocess.run([build + "/tests/counts/fair"] + [str(a) for a in case],
                       env=dict(os.environ, **hooked), capture_output=True,
                       text=True, timeout=120,
                       preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    m = re.fullmatch(r"jain=([\d.]+)\n", r.stdout)
    if r.returncode or not m:
        print("fair: status %d: %s" % (r.returncode, r.stdout + r.stderr))
        return 0.0
    return float(m.group(1))


VERDICTS = []


def verdict(ok):
    """The first word of a line that tells of a case, which counts by it."""
    VERDICTS.append(bool(ok))
    return "ok" if ok else "FAIL"


def check_fair(build, hooked, cpus):
    """Connections are answered in turn."""
    for rows, on in ((FAIR, {min(cpus)}), (AHEAD, cpus)):
        for least, *case in rows:
            jain = statistics.median(fairness(build, hooked, case, on)
                                     for _ in range(FAIR_RUNS))
            print("%-4s fair, %s: %.4f" % (verdict(jain >= least),
                                           " ".join(str(a) for a in case), jain))


def check_starved(build, out, hooked, cpus):
    """Who has lost the processor is no reason for spares beside the one that is missed."""
    for workers in "2", "4":
        stats = "%s.%s" % (out, workers)
        subprocess.run([build + "/tests/counts/starved"],
                       env=dict(os.environ, **dict(hooked, FIBHOOK_WORKERS=workers,
                                                   FIBHOOK_STATS=stats)),
                       check=True, timeout=120,
                       preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        with open(stats) as f:
            n = dict(line.split() for line in f if not line.startswith("#"))
        held, spares = int(n["held_up"]), int(n["spares"])
        ok = spares <= 2 * held + SPARES
        print("%-4s starved, %s workers: %d held up, %d spares" %
              (verdict(ok), workers, held, spares))


def births(build, out, env, width, few, many, most=None):
    argv = [build + "/tests/counts/birth", str(width)]
    return difference(lambda n: run(argv + [str(n)], env, out), (few, many),
                      (many - few) * width, most)


def check_births(build, out, hooked):
    """A life costs three calls at most."""
    for width, few, many in BIRTHS:
        native = births(build, out, {"FIBHOOK_DISABLE": "1"}, width, few, many)
        for workers in "1", "2":
            env = dict(hooked, FIBHOOK_WORKERS=workers)
            got = births(build, out, env, width, few, many, LIFE)
            ok = native > LIFE and got <= LIFE
            print("%-4s threads, %d at a time, %s workers: native %.2f, "
                  "hooked %.2f" % (verdict(ok), width, workers,
                                   native, got))


def check_turns(build, hooked):
    """What one that never waits gets."""
    for threads, calls, least, most in TURNS:
        r = subprocess.run([build + "/tests/counts/turn", str(threads),
                            str(calls)], env=dict(os.environ, **hooked),
                           capture_output=True, text=True, timeout=120)
        m = re.fullmatch(r"rounds=(\d+)-(\d+)\n", r.stdout)
        ok = (m and r.returncode == 0 and int(m.group(1)) <= most and
              int(m.group(2)) >= least)
        print("%-4s turn, %d threads, %d calls: %s" %
              (verdict(ok), threads, calls,
               (r.stdout + r.stderr).strip()))


def loop(build, out, env, how, loops, conns, most=None):
    each = loops * conns
    argv = [build + "/tests/counts/loop", how, str(loops), str(conns)]
    n = [m // each for m in MESSAGES]
    return difference(lambda x: run(argv + [str(x)], env, out), n,
                      (n[1] - n[0]) * each, most)


def check_looks(build, hooked):
    """A loop that never has to wait gets a kernel thread as well."""
    more = [subprocess.run([build + "/tests/counts/loop", "looks"],
                           env=dict(os.environ, **env), capture_output=True,
                           text=True, timeout=60).stdout.strip()
            for env in ({"FIBHOOK_DISABLE": "1"}, hooked)]
    ok = more == ["more=0", "more=1"]
    print("%-4s a loop that looks: native %s, hooked %s" %
          (verdict(ok), more[0], more[1]))


def accept(build, out, env, how, threads=1, most=None):
    argv = [build + "/tests/counts/accept", how, str(threads)]
    rounds = CONNECTIONS if threads == 1 else CROWDED
    return difference(lambda n: run(argv + [str(n)], env, out), rounds,
                      rounds[1] - rounds[0], most)


def check_accepts(build, out, hooked):
    cases = [(how, 1, more) for how, more in ACCEPTS.items()]
    cases += [("close", threads, 1) for threads in ACCEPTORS]
    for how, threads, more in cases:
        native = accept(build, out, {"FIBHOOK_DISABLE": "1"}, how, threads)
        for workers in "1", "2":
            env = dict(hooked, FIBHOOK_WORKERS=workers)
            most = native + more
            if (how, workers) == ("relay", "2"):
                most += RELAY_MORE
            got = accept(build, out, env, how, threads, most)
            ok = 5 < native and got <= most
            print("%-4s accept, %s, %d threads, %s workers: native %.2f, "
                  "hooked %.2f" % (verdict(ok), how, threads,
                                   workers, native, got))


def has_uring(build):
    r = subprocess.run([build + "/tests/counts/connect"], capture_output=True,
                       text=True)
    if r.returncode == 3:
        print("skip connect, and accept that answers:", r.stdout.strip())
    return r.returncode != 3


def check_answers(build, out, hooked):
    """Of them that park, with io_uring."""
    for threads in ANSWERERS:
        native = accept(build, out, {"FIBHOOK_DISABLE": "1"}, "answer", threads)
        for workers, more in ANSWER_MORE.items():
            env = dict(hooked, FIBHOOK_WORKERS=str(workers))
            got = accept(build, out, env, "answer", threads, native + more)
            ok = 9 < native and got <= native + more
            print("%-4s accept, answer, %d threads, %d workers: native %.2f, "
                  "hooked %.2f" % (verdict(ok), threads, workers,
                                   native, got))


def connect(build, out, env, how, threads, most=None):
    argv = [build + "/tests/counts/connect", how, str(threads)]
    return difference(lambda n: run(argv + [str(n // threads)], env, out),
                      CONNECTIONS, CONNECTIONS[1] - CONNECTIONS[0], most)


def check_connects(build, out, hooked):
    for case in CALLERS + ASKERS:
        native = connect(build, out, {"FIBHOOK_DISABLE": "1"}, *case)
        for workers in 1, 2:
            env = dict(hooked, FIBHOOK_WORKERS=str(workers))
            most = native + ASK_MORE.get(case[0], {}).get(workers, CONNECT_MORE)
            got = connect(build, out, env, *case, most)
            ok = 5 < native and got <= most
            print("%-4s connect, %s, %d threads, %s workers: native %.2f, "
                  "hooked %.2f" % ((verdict(ok),) + case +
                                   (workers, native, got)))


def hop(build, out, env, how, most, more=()):
    argv = [build + "/tests/counts/hop", how]
    return difference(lambda n: run(argv + [str(n), *more], env, out), HOP_ROUNDS,
                      2 * (HOP_ROUNDS[1] - HOP_ROUNDS[0]), most)


def check_hops(build, out, hooked):
    """Idle workers are left alone."""
    cases = [(how, workers, HOP_CALLS) for how in HOPS for workers in "24"]
    for how, workers, most in cases + [("yield", "1", YIELD_CALLS)]:
        env = dict(hooked, FIBHOOK_WORKERS=workers)
        most *= SLOW if wrap.bases else 1
        got = hop(build, out, env, how, most)
        ok = got <= most
        print("%-4s turns by %s, %s workers: %.3f" %
              (verdict(ok), how, workers, got))


def check_nice(build, out, hooked):
    for how in HOPS:
        native = hop(build, out, {"FIBHOOK_DISABLE": "1"}, how, None, ("nice",))
        got = hop(build, out, dict(hooked, FIBHOOK_WORKERS="2"), how,
                  native + NICE_MORE, ("nice",))
        ok = 1 < native and got <= native + NICE_MORE
        print("%-4s turns by %s, of nice threads: native %.2f, hooked %.2f" %
              (verdict(ok), how, native, got))


def faults(argv, env):
    """Page faults of a program, without its exec."""
    pid = os.posix_spawn(argv[0], argv, dict(os.environ, **env))
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise RuntimeError("%s: %x" % (argv[0], status))
    return usage.ru_minflt


def check_start(build, out, hooked):
    """What a start asks of the kernel, and touches: memory that is zeroed or
    copied for it."""
    def calls(env):
        """The least: a tick of the monitor's, or a futex call, is one more."""
        return min(run([build + "/tests/counts/birth", "1", "1"], env, out)
                   for _ in range(RUNS))

    def threadless(env):
        """The least: where the text lies decides which pages of it come at once."""
        return min(faults(["/bin/true"], env) for _ in range(RUNS))

    one = [build + "/tests/counts/birth", "1", "1"]
    disabled = {"FIBHOOK_DISABLE": "1"}
    for what, count, without, most in (
            ("page faults", lambda env: faults(one, env), disabled, START_FAULTS),
            ("page faults without a thread", threadless, {}, THREADLESS_FAULTS),
            ("system calls", calls, disabled, START_CALLS)):
        native, got = count(without), count(hooked)
        ok = 0 < native and got <= native + most
        print("%-4s start, %s: native %d, hooked %d" %
              (verdict(ok), what, native, got))


def often(build, out, env, how, most=None):
    argv = [build + "/tests/counts/often", how]
    return difference(lambda n: run(argv + [str(n)], env, out), OFTEN_ROUNDS,
                      OFTEN_ROUNDS[1] - OFTEN_ROUNDS[0], most)


def doze(build, out, env, how, most=None):
    argv = [build + "/tests/counts/often", how]
    return difference(lambda n: run(argv + [str(n)], env, out), DOZES,
                      DOZES[1] - DOZES[0], most)


def crowd(build, env):
    r = subprocess.run([build + "/tests/counts/often", "crowd", "200"],
                       env=dict(os.environ, **env), capture_output=True, text=True,
                       check=True, timeout=60)
    return float(r.stdout)


def fork_faults(build, env):
    r = subprocess.run([build + "/tests/counts/often", "fork", str(FORKS)],
                       env=dict(os.environ, **env), capture_output=True, text=True,
                       check=True, timeout=60)
    return int(r.stdout)


def fork_calls(build, out, env, how, most=None):
    argv = [build + "/tests/counts/often", how]
    return difference(lambda n: run(argv + [str(n)], env, out), (FORKS, 3 * FORKS),
                      2 * FORKS, most)


def judge(how, native, got, more, least):
    """Tells whether it is not too many, nor natively so few that nothing was counted."""
    ok = least < native and got <= native + more
    print("%-4s %s: native %.2f, hooked %.2f" %
          (verdict(ok), how, native, got))


def check_often(build, out, hooked):
    disabled = {"FIBHOOK_DISABLE": "1"}
    for how, more in OFTEN.items():
        native = often(build, out, disabled, how)
        got = often(build, out, hooked, how, native + more + OFTEN_MORE)
        judge(how, native, got, more + OFTEN_MORE, 1.9)
    native = often(build, out, disabled, "nap")
    got = often(build, out, dict(hooked, FIBHOOK_WORKERS="2"), "nap", native + NAP_MORE)
    judge("nap", native, got, NAP_MORE, 0.9)
    for how, more in DOZE_MORE.items():
        native = doze(build, out, disabled, how)
        got = doze(build, out, hooked, how, native + more)
        judge(how, native, got, more, 0.9)
    native, got = (crowd(build, env) for env in (disabled, hooked))
    ok = got <= CROWD
    print("%-4s crowd, times of few: native %.1f, hooked %.1f" %
          (verdict(ok), native, got))
    native, got = (fork_faults(build, env) for env in (disabled, hooked))
    ok = 0 < native and got <= native + FORK_FAULTS
    print("%-4s fork, page faults: native %d, hooked %d" %
          (verdict(ok), native, got))
    for how, more in ("fork", FORK_CALLS), ("spawn", SPAWN_CALLS):
        native = fork_calls(build, out, disabled, how)
        got = fork_calls(build, out, hooked, how, native + more)
        judge(how + ", calls", native, got, more, 3.9)


def main():
    build = os.path.abspath(sys.argv[1])
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    try:
        wrap.perf = can_perf()
    except FileNotFoundError:
        wrap.perf = False
    print("counted by", "perf" if wrap.perf else "strace")
    if wrap.bases:
        print("arch_prctl is not counted: without FSGSBASE each switch is one")
    hooked = {"LD_PRELOAD": build + "/libfibhook.so", "FIBHOOK_WORKERS": "1"}
    with tempfile.TemporaryDirectory() as tmp:
        out = tmp + "/count"
        for kind, how in CASES:
            for pairs, more in more_than_native(kind, how).items():
                native = trip(build, out, {"FIBHOOK_DISABLE": "1"}, kind, how,
                              pairs)
                most = more if how == "glance" else native + more
                got = trip(build, out, hooked, kind, how, pairs, most)
                ok = 3.9 < native and got <= most
                print("%-4s %s %s, %d pairs: native %.2f, hooked %.2f" %
                      (verdict(ok), kind, how, pairs, native, got))
        for conns in CHAT:
            native = chat(build, out, {"FIBHOOK_DISABLE": "1"}, conns)
            got = chat(build, out, hooked, conns)
            ok = 2 < native and got <= native * CHAT_RATIO
            print("%-4s chat, %d connections: native %.2f, hooked %.2f" %
                  (verdict(ok), conns, native, got))
        for case in LOOPS:
            native = loop(build, out, {"FIBHOOK_DISABLE": "1"}, *case)
            got = loop(build, out, hooked, *case, native + LOOP_MORE)
            ok = 4 < native and got <= native + LOOP_MORE
            print("%-4s loop %s, %d loops, %d connections each: "
                  "native %.2f, hooked %.2f" %
                  ((verdict(ok),) + case + (native, got)))
        check_births(build, out, hooked)
        check_turns(build, hooked)
        check_accepts(build, out, hooked)
        if has_uring(build):
            check_answers(build, out, hooked)
            check_connects(build, out, hooked)
        check_hops(build, out, hooked)
        check_nice(build, out, hooked)
        check_looks(build, hooked)
        check_start(build, out, hooked)
        check_often(build, out, hooked)
        check_fair(build, hooked, cpus)
        check_starved(build, out, hooked, cpus)
    print("%d passed, %d failed" % (VERDICTS.count(True), VERDICTS.count(False)))
    return not all(VERDICTS)


if __name__ == "__main__":
    sys.exit(main())
