"""Plays scripts by tests/fuzz/io/play, compares, and shrinks what differs."""
import itertools
import os
import random
import re
import subprocess

SLOW = 3
HOLD, HOLD_HOOKED = 5, 25
NATIVE_TRIES = 40
MAKERS = ("pair", "tcp", "udppair", "udp", "tcplisten", "unixlisten", "tcpsock",
          "unixsock", "pipe", "fifo", "pty", "ptsopen", "eventfd", "timerfd",
          "signalfd", "memfd", "epoll", "mqueue", "raw", "inotify", "fanotify",
          "pidfd", "accept", "accept4", "mptcp", "udplost", "unixdgram",
          "seqlisten", "seqsock", "recvfd", "tcp6", "unixconn", "udp6pair",
          "netlink", "device", "reopened", "getfd")


class Player:
    """The program, and the library that it is hooked with."""

    def __init__(self, build, hooked=None, chaos=None):
        """@chaos: its points, for hooked plays; each has another seed."""
        self.chaos = chaos
        self.turn = itertools.cycle(sorted(os.sched_getaffinity(0)))
        self.prog = os.path.join(build, "tests/fuzz/io/play")
        self.hooked = hooked or os.path.join(build, "libfibhook.so")

    def play(self, steps, variant=None, want=None, hold=None, stuck=1000,
             order=None, one_cpu=False):
        """(status, lines); @variant "2e": hooked, 2 workers, eagerly.
        @one_cpu: all actors on one, another one each time (spawn.c)."""
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("FIBHOOK_") and k != "LD_PRELOAD"}
        argv = [self.prog, "--stuck", str(stuck), "--hold",
                str(hold or (HOLD_HOOKED if variant else HOLD))]
        if variant:
            env["FIBHOOK_WORKERS"] = variant.rstrip("e")
            if variant.endswith("e"):
                env["FIBHOOK_START"] = "eager"
            argv += ["--hooked", self.hooked]
            if self.chaos:
                env["FIBHOOK_CHAOS"] = \
                    f"{random.randrange(1, 1 << 30)}:{self.chaos}"
        if order:
            argv += ["--order", ",".join(map(str, order))]
        if one_cpu:
            argv += ["--cpu", str(next(self.turn))]
        text = "\n".join(steps) + "\n"
        if want is not None:
            text += "--\n" + "\n".join(want) + "\n"
        try:
            r = subprocess.run(argv, env=env, input=text.encode(),
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=120,
                               check=False)
        except subprocess.TimeoutExpired:
            return -1, ["0\tthe play did not end"]
        return r.returncode, r.stdout.decode("utf-8", "replace").splitlines()


def same_until(a, b):
    n = 0
    while n < len(a) and n < len(b) and a[n] == b[n]:
        n += 1
    return n


class Difference:
    def __init__(self, steps, variant, want, got, one_cpu=False):
        self.steps, self.variant, self.one_cpu = steps, variant, one_cpu
        self.want, self.got = want, got
        self.phase = same_until(want, got)

    def lines(self):
        n = self.phase
        return ((self.want[n:n + 1] or ["-"])[0],
                (self.got[n:n + 1] or ["-"])[0])

    def in_sigio_alone(self):
        """Two CPUs may race for that: look at it on one."""
        a, b = (without_sigio(self.steps, line) for line in self.lines())
        return not self.one_cpu and a == b

    def signature(self):
        """What kind: the call, and what came of it natively and hooked."""
        a, b = (dict(x.split(" = ", 1) if " = " in x else (x, x)
                     for x in line.split("\t")[1:]) for line in self.lines())
        for k in sorted(a.keys() | b.keys(),
                        key=lambda k: (not k.isdigit(), k.zfill(3))):
            if a.get(k) == b.get(k):
                continue
            what = re.sub(r"\d+", "", k).strip() or "?"
            if k.isdigit() and int(k) < len(self.steps):
                what = call_of(self.steps, int(k))
            return (f"{what}: {shape(a.get(k))} -> {shape(b.get(k))}")
        return f"? {a} {b}"


def without_sigio(steps, line):
    """Whoever sends data wakes who waits for it, and looks then whether to send a
    SIGIO: not if somebody waits, but that one may have it by then and be gone
    (sock_def_readable(), sk_wake_async() and sk_wait_data() of net/core/sock.c).
    The same goes for room, and for what F_SETSIG has it send. On one CPU it does not
    run in between."""
    names = ["IO"] + [s.split()[3] for s in steps if s.split()[1] == "setsig"]
    return [x for x in line.split("\t")
            if not any(f" had SIG{name}" in x for name in names)]


def call_of(steps, k):
    """The call of step @k, its flags, and what made the file it is for."""
    w = [x for x in steps[k].split() if x != "sub"]
    flags = [x for x in w[2:] if x.isalpha() and len(x) > 1]
    made = next((s.split() for s in reversed(steps[:k])
                 if len(w) > 2 and w[2].split(":")[0] in s.split()[2:4] and
                 s.split()[1] in MAKERS), None)
    what = [made[1]] + [x for x in made[2:] if x.isalpha() and len(x) > 1] \
        if made else []
    return " ".join([w[1]] + flags + (["of"] + what if what else []))


def shape(result):
    if result is None:
        return "blocks" if result is None else result
    w = result.split()
    return " ".join(w[:2]) if w[:1] == ["-1"] else \
        ("done" if w and w[0].isdigit() else w[0] if w else "nothing")


def natively(player, steps, holds=(HOLD, 12), one_cpu=False):
    """What comes of @steps in every native run: (lines, why not all)."""
    status, want = player.play(steps, hold=holds[0], one_cpu=one_cpu)
    if status:
        return [], f"natively status {status} {want[-1:]}"
    for hold in holds[1:]:
        status, again = player.play(steps, want=want, hold=hold,
                                    one_cpu=one_cpu)
        if status:
            return [], f"natively status {status} {again[-1:]}"
        n = same_until(want, again)
        if n < len(want):
            want = want[:n]
    # A call that waits for a lock of the kernel's, as a pipe's that a splice() has: here
    # that one waits elsewhere.
    for n, line in enumerate(want):
        if "never at rest" in line:
            return want[:n], None
    return want, None


def hooked(player, steps, variant, want, one_cpu=False, **how):
    """None if as natively, "slow", or the Difference."""
    if not want:
        return None
    status, got = player.play(steps, variant, want, one_cpu=one_cpu, **how)
    if status == SLOW:
        return "slow"
    if got[:len(want)] == want:
        return None
    return Difference(steps, variant, want, got, one_cpu)


def confirm(player, found):
    """Is it there again? The runs in which it is, of how many; 0, 0 where the
    native runs do not agree on the phase after all."""
    want = found.want[:found.phase + 1]
    for hold in (30, 8, 60):
        status, again = player.play(found.steps, want=want, hold=hold,
                                    one_cpu=found.one_cpu)
        if status or again[:len(want)] != want:
            return 0, 0
    bad = runs = 0
    while runs < 3 or (0 < bad < 2 and runs < 12) or (bad == 0 and runs < 8):
        again = hooked(player, found.steps, found.variant, want,
                       found.one_cpu, hold=40)
        runs += 1
        bad += isinstance(again, Difference)
    # What comes hooked may come natively as well, though seldom: of two who wait
    # for a TCP socket the kernel wakes both, and who is the faster has the data.
    # And on one CPU whoever was woken first is.
    for i in range(NATIVE_TRIES if bad else 0):
        status, again = player.play(found.steps, want=want,
                                    hold=(8, 30, 12)[i % 3],
                                    one_cpu=found.one_cpu or i % 4 == 3)
        if not status and again[:len(want)] != want:
            return 0, 0
    return bad, runs


def without(steps, first, count):
    """@steps without some; what they are waited for by goes as well."""
    gone = set(range(first, first + count))
    for i, s in enumerate(steps):
        w = s.split()
        if w[1] in ("await", "until") and int(w[2]) in gone:
            gone.add(i)
    out, number = [], {}
    for i, s in enumerate(steps):
        if i in gone:
            continue
        number[i] = len(out)
        w = s.split()
        if w[1] in ("await", "until"):
            w[2] = str(number[int(w[2])])
        out.append(" ".join(w))
    return out


def simpler(step):
    """Simpler forms of one step."""
    w = step.split()
    for i in range(len(w) - 1, 1, -1):
        if len(w[i]) > 1 and not w[i][0].isdigit() and ":" not in w[i] and \
           w[1] not in ("action", "mask", "opt", "await", "until", "killchild"):
            yield " ".join(w[:i] + w[i + 1:])
        if w[i].isdigit() and w[1] not in ("await", "until", "fork", "tkill",
                                             "mode"):
            for n in ("1", "3", "10", "300000"):
                if len(n) < len(w[i]) or (len(n) == len(w[i]) and n < w[i]):
                    yield " ".join(w[:i] + [n] + w[i + 1:])
    if w[0] not in "*01567" and w[1] != "epwait":
        yield " ".join(["1"] + w[1:])


def shrink(player, found, tries=150):
    """The Difference with fewer steps, of the same kind."""
    kind = found.signature()

    def differs(steps):
        nonlocal tries
        tries -= 1
        want, _ = natively(player, steps, one_cpu=found.one_cpu)
        d = hooked(player, steps, found.variant, want, found.one_cpu,
                   stuck=400)
        return d if isinstance(d, Difference) and d.signature() == kind \
            else None

    best = differs(found.steps[:found.phase + 1]) or found
    size = max(1, len(best.steps) // 2)
    while size and tries > 0:
        at, any_gone = len(best.steps) - size, False
        while at >= 0 and tries > 0:
            steps = without(best.steps, at, size)
            d = differs(steps) if steps else None
            if d:
                best, any_gone = d, True
                at = min(at, len(best.steps)) - 1
            else:
                at -= size
        if not any_gone or size > 1:
            size //= 2
    for at in range(len(best.steps)):
        for step in simpler(best.steps[at]):
            if tries <= 0:
                break
            d = differs(best.steps[:at] + [step] + best.steps[at + 1:])
            if d:
                best = d
                break
    return best


def readable(found):
    """The script with what came of each step, natively and hooked."""
    out = []
    for i, step in enumerate(found.steps[:found.phase + 1]):
        out.append(f"    {i:2} {step}")
    a, b = found.lines()
    for name, line in (("natively", a), ("hooked", b)):
        said = "; ".join(line.split("\t")[1:]) or "nothing happens"
        out.append(f"    {name}: {said}")
    return "\n".join(out)
