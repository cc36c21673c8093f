"""Scripts for tests/fuzz/io/play, drawn from a seed.

A script is a list of lines, the steps of ops_*.c and direct.c. The generator
knows kinds of files, and which calls mean something for them; it does not know
what comes of a step. The shape is that of most faults that were ever found: files
in some odd state, calls that may block, events that end them or that do not, and
questions about what is left.
"""
import random

import byways
import corners
import crowds
import outskirts
from scenes import SOCKETS, Scenes

SMALL = [0, 1, 2, 3, 4, 5, 8, 10, 100]
LARGE = [4096, 5000, 65536, 70000, 300000, 1 << 20]
LIMIT = "400ms"
CORNERS = 0.3 # of the scripts
BYWAYS = 0.35
OUTSKIRTS = 0.35
CROWDS = 0.25
RECV_FLAGS = [""] * 8 + ["waitall"] * 5 + [
    "peek", "dontwait", "oob", "trunc", "waitall peek", "waitall dontwait",
    "peek oob", "errqueue", "cmsgcloexec"]
SEND_FLAGS = [""] * 8 + ["nosignal", "nosignal", "dontwait", "oob", "more",
                         "eor", "oob nosignal"]


class File:
    def __init__(self, name, kind, peer=None, end=None):
        self.name, self.kind, self.peer, self.end = name, kind, peer, end


class Script(Scenes, corners.Corners, byways.Byways, outskirts.Outskirts,
             crowds.Crowds):
    def __init__(self, rng):
        self.rng = rng
        self.steps, self.files, self.timed = [], [], rng.random() < 0.12
        self.signals = rng.random() < 0.35
        self.awaited = []
        self.children = []
        self.bulk = rng.random() < 0.3

    # -- drawing
    def below(self, p):
        return self.rng.random() < p

    def pick(self, *of):
        return self.rng.choice(of[0] if len(of) == 1 else of)

    def size(self):
        if self.bulk and self.below(0.4):
            return self.pick(LARGE)
        return self.pick(SMALL)

    def add(self, actor, text):
        self.steps.append(f"{actor} {' '.join(text.split())}")
        return len(self.steps) - 1

    def letter(self):
        taken = {f.name for f in self.files}
        return next((c for c in "abcdefghijklmnopqrstuvwxyz"
                     if c not in taken), "z")

    def new(self, kind, peer=None, end=None):
        f = File(self.letter(), kind, peer, end)
        self.files.append(f)
        return f

    def two(self, kind, ends=(None, None)):
        a = self.new(kind, end=ends[0])
        b = self.new(kind, a, end=ends[1])
        a.peer = b
        return a, b

    def some(self, *kinds):
        fits = [f for f in self.files if not kinds or f.kind in kinds]
        return self.pick(fits) if fits else None

    def actor(self):
        if self.children and self.below(0.3):
            return self.pick(self.children)
        return self.pick(0, 1, 1, 1, 2, 2, 2, 3, 3, 4)

    def limit(self, p=0.3):
        """A time limit for poll and its like: none, at once, or some."""
        if self.timed and self.below(0.5):
            return LIMIT
        return "0ms" if self.below(p) else ""

    # -- files
    def make(self):
        kind = self.pick(
            ["unix"] * 8 + ["tcp"] * 8 + ["dgram"] * 4 + ["seqpacket"] * 3 +
            ["udppair"] * 2 + ["udp"] + ["pipe"] * 7 + ["pty"] * 6 +
            ["eventfd"] * 4 + ["listen"] * 5 + ["fifo"] * 3 + ["timerfd"] +
            ["signalfd"] + ["memfd"] + ["crowded"] * 4 + ["locks"] * 2)
        getattr(self, "make_" + kind, lambda: self.make_pair(kind))()

    def make_pair(self, kind):
        a, b = self.two(kind)
        self.add(0, {"tcp": f"tcp {a.name} {b.name}",
                     "udppair": f"udppair {a.name} {b.name}",
                     "unix": f"pair {a.name} {b.name} stream"}.get(
                         kind, f"pair {a.name} {b.name} {kind}"))

    def make_udp(self):
        self.add(0, f"udp {self.new('udp').name}")

    def make_pipe(self):
        a, b = self.two("pipe", ("r", "w"))
        self.add(0, f"pipe {a.name} {b.name} "
                 + ("packet" if self.below(0.1) else ""))

    def make_pty(self):
        a, b = self.two("pty", ("master", "slave"))
        self.add(0, f"pty {a.name} {b.name} "
                 + ("raw" if self.below(0.5) else ""))
        if self.below(0.5):
            vtime = "4 " + LIMIT if self.timed and self.below(0.5) else "0"
            self.add(0, f"mode {b.name} {self.pick(0, 0, 1, 2, 5)} {vtime}")
        if self.below(0.25):
            c = self.new("pty", a, "slave")
            self.add(0, f"ptsopen {a.name} {c.name} {self.pick('r', 'w', 'rw')}")

    def make_eventfd(self):
        f = self.new("eventfd")
        self.add(0, f"eventfd {f.name} {self.pick(0, 0, 1, 3, 10)} "
                 + ("sem" if self.below(0.3) else ""))
        if self.below(0.4):
            self.add(0, f"write8 {f.name} {self.pick(-2, -3, -8)}")

    def make_listen(self):
        kind = self.pick("tcp", "unix")
        f = self.new("listen")
        f.end = kind
        self.add(0, f"{kind}listen {f.name} {self.pick(0, 1, 5)}")
        for _ in range(self.pick(1, 2)):
            s = self.new("sock", f, kind)
            self.add(0, f"{kind}sock {s.name}")

    def make_crowded(self):
        self.make_listen()
        f = [x for x in self.files if x.kind == "listen"][-1]
        self.steps = [s.replace(f"listen {f.name} 5", f"listen {f.name} 0")
                      .replace(f"listen {f.name} 1", f"listen {f.name} 0")
                      for s in self.steps]
        self.add(0, f"crowd {f.name}")

    def make_fifo(self):
        a, b = self.two("pipe", ("r", "w"))
        how = self.pick("rw", "nonblock", "block", "reader")
        if how == "rw":
            self.add(0, f"fifo {a.name} rw")
            self.add(0, f"fifo {b.name} w")
        elif how == "nonblock":
            self.add(0, f"fifo {a.name} r nonblock")
            self.add(0, f"fifo {b.name} w")
            self.add(0, f"nonblock {a.name} 0")
        elif how == "reader":
            self.add(0, f"fifo {a.name} r nonblock")
            self.add(0, f"nonblock {a.name} 0")
        else:
            self.add(1, f"fifo {a.name} r")
            self.add(2, f"fifo {b.name} w")

    def make_timerfd(self):
        f = self.new("timerfd")
        self.add(0, f"timerfd {f.name}")
        if self.timed:
            self.add(0, f"timerset {f.name} {LIMIT}")

    def make_signalfd(self):
        f = self.new("signalfd")
        if self.below(0.8):
            for k in range(5):
                self.add(k, "mask block USR2")
        self.add(0, f"signalfd {f.name} USR2")

    def make_memfd(self):
        self.add(0, f"memfd {self.new('memfd').name} "
                 f"{self.pick(0, 10, 5000, 1 << 20)}")

    def make_locks(self):
        """One file, opened twice; one has it."""
        a, b = self.two("locks")
        self.add(0, f"memfd {a.name} 1")
        self.add(0, f"reopen {a.name} {b.name}")
        self.add(0, self.pick("flock {} ex", "flock {} sh", "lock {} ex ofd",
                              "lock {} sh ofd").format(a.name))

    # -- states
    def state(self):
        f = self.some()
        n = f.name
        if f.kind in SOCKETS:
            o = self.pick(["rcvlowat"] * 3 + ["oobinline", "peekoff", "passcred",
                          "timeo", "timeo", "negative", "fill", "fill", "data",
                          "data", "data", "nonblock", "shutdown", "reset",
                          "urgent", "rights", "buffers"])
            if o in ("rcvlowat", "peekoff"):
                self.add(0, f"opt {n} {o} {self.pick(1, 2, 5, 10)}")
            elif o in ("oobinline", "passcred"):
                self.add(0, f"opt {n} {o} 1")
            elif o == "timeo" and self.timed:
                self.add(0, f"opt {n} {self.pick('rcv', 'snd')}timeo {LIMIT}")
            elif o == "negative":
                self.add(0, f"opt {n} {self.pick('rcv', 'snd')}timeo -1")
            elif o == "fill":
                self.add(0, f"fill {n}")
            elif o == "reset":
                self.add(0, f"opt {n} reset")
            elif o == "urgent":
                self.add(0, f"send {n} {self.pick(1, 3)} oob")
            elif o == "rights" and f.kind in ("unix", "dgram", "seqpacket"):
                self.add(0, f"sendfd {n} {self.pick(1, 4)} {self.some().name}")
            elif o == "buffers":
                self.add(0, f"opt {n} {self.pick('snd', 'rcv')}buf 4096")
            elif o == "nonblock":
                self.add(0, f"nonblock {n} 1")
            elif o == "shutdown":
                self.add(0, f"shutdown {n} {self.pick('rd', 'wr', 'rdwr')}")
            else:
                self.add(0, f"send {n} {self.pick(1, 3, 10)}")
        elif f.kind in ("pipe", "pty"):
            o = self.pick("fill", "data", "nonblock", "close")
            if o == "fill":
                self.add(0, f"fill {n}")
            elif o == "data":
                self.add(0, f"write {n} {self.pick(1, 3, 10)}")
            elif o == "nonblock":
                self.add(0, f"nonblock {n} 1")
            elif self.below(0.4):
                self.add(0, f"close {n}")
        elif f.kind == "listen" and self.below(0.3):
            self.add(0, f"nonblock {n} 1")
        elif f.kind == "listen" and self.timed:
            self.add(0, f"opt {n} rcvtimeo {LIMIT}")
        elif f.kind == "sock" and self.timed:
            self.add(0, f"opt {n} sndtimeo {LIMIT}")

    # -- calls
    def read(self, f):
        n, size = f.name, self.size()
        if f.kind == "eventfd" or f.kind == "timerfd":
            return f"read8 {n}" if self.below(0.9) else f"read {n} 4"
        if f.kind == "signalfd":
            return f"read {n} {self.pick(128, 128, 10)}"
        if f.kind == "listen":
            return self.pick(f"accept {n} {self.letter()}",
                             f"accept {n} {self.letter()}",
                             f"accept4 {n} {self.letter()} nonblock",
                             f"accept4 {n} {self.letter()} badflags")
        if f.kind in SOCKETS and self.below(0.75):
            call = self.pick(["recv"] * 4 + ["recvmsg"] * 2 +
                             ["recvfrom", "recvmmsg"])
            if call == "recvmmsg":
                return (f"recvmmsg {n} {self.pick(1, 2, 3)} {self.pick(3, 8)} "
                        f"{self.pick('', 'waitforone', 'dontwait')} "
                        f"{self.pick('', '', 'fault2')} "
                        + (LIMIT if self.timed and self.below(0.3) else ""))
            return f"{call} {n} {size} {self.pick(RECV_FLAGS)}"
        if f.kind == "locks":
            return self.pick(f"flock {n} {self.pick('ex', 'sh', 'un')}",
                             f"lock {n} {self.pick('ex', 'sh', 'un')} ofd",
                             f"flock {n} ex nowait")
        call = self.pick("read", "read", "read", "readv", "preadv2")
        return f"{call} {n} {size} " + (
            "nowait" if call == "preadv2" and self.below(0.2) else "")

    def write(self, f):
        n, size = f.name, self.size()
        if f.kind == "locks":
            return self.read(f)
        if f.kind == "eventfd":
            return self.pick(f"write8 {n} {self.pick(0, 1, 2, 5, -1, -2, -6)}",
                             f"write8 {n} {self.pick(1, 3, -2)}",
                             f"write {n} {self.pick(4, 8, 9)}")
        if f.kind == "sock":
            return self.connect()
        if f.kind == "udp":
            return f"sendto {n} {n} {size}"
        if f.kind in SOCKETS and self.below(0.7):
            call = self.pick(["send"] * 3 + ["sendmsg", "sendmmsg", "sendfd"])
            if call == "sendfd":
                if f.kind in ("unix", "dgram", "seqpacket"):
                    return (f"sendfd {n} {self.pick(1, 4)} {self.some().name} "
                            + self.pick(SEND_FLAGS))
                call = "send"
            if call == "sendmmsg":
                return (f"sendmmsg {n} {self.pick(1, 2, 3)} {size} "
                        f"{self.pick('', 'nosignal', 'dontwait')} "
                        + self.pick("", "", "fault2"))
            return f"{call} {n} {size} {self.pick(SEND_FLAGS)}"
        call = self.pick("write", "write", "write", "writev", "pwritev2")
        return f"{call} {n} {size}"

    def connect(self):
        s, to = self.some("sock"), self.some("listen")
        if not s or not to:
            return self.wait()
        if s.end == "tcp" and self.below(0.2):
            return f"sendto {s.name} {to.name} {self.pick(1, 5)} fastopen"
        return f"connect {s.name} {to.name}"

    def opens(self):
        return self.pick("", "", "opens USR1") if self.signals else ""

    def wait(self):
        call = self.pick("poll", "poll", "ppoll", "select", "pselect")
        what = " ".join(
            f"{f.name}:" + self.pick("in", "in", "out", "in,out", "pri",
                                     "in,rdhup")
            for f in self.rng.sample(self.files,
                                     min(len(self.files), self.pick(1, 1, 2))))
        return (f"{call} {what} {self.limit()} "
                + (self.opens() if call[0] == "p" and call != "poll" else ""))

    def transfer(self):
        to, frm = self.some(*SOCKETS, "pipe"), self.some("memfd")
        pipe, other = self.some("pipe"), self.some("pipe", *SOCKETS)
        n = self.pick(5, 5000, 1 << 20)
        if to and frm and self.below(0.6):
            return f"sendfile {to.name} {frm.name} {n}"
        if pipe and other:
            a, b = self.pick((pipe, other), (other, pipe))
            call = self.pick("splice", "splice", "tee", "vmsplice")
            if call == "vmsplice":
                return f"vmsplice {pipe.name} {self.pick(3, 70000)}"
            return f"{call} {a.name} {b.name} {n}"
        if to:
            m = self.new("memfd")
            self.add(0, f"memfd {m.name} {self.pick(5000, 1 << 20)}")
            return f"sendfile {to.name} {m.name} {n}"
        return self.wait()

    def call(self):
        """Something that may block."""
        f = self.some()
        kind = self.pick(["read"] * 8 + ["write"] * 6 + ["wait"] * 3 +
                         ["transfer"] * 2 + ["connect"] + ["other"])
        if kind == "other":
            return self.other()
        if kind == "connect" or (f.kind == "sock" and self.below(0.6)):
            return self.connect()
        if kind == "read":
            return self.read(f)
        if kind == "write":
            return self.write(f)
        return self.wait() if kind == "wait" else self.transfer()

    def other(self):
        """Waits for something that is no file."""
        if self.children and self.below(0.6):
            return (f"wait {self.pick(self.children)} "
                    + self.pick("", "", "nohang", "untraced", "nothread", "any"))
        if self.signals:
            return self.pick("sigwait USR1", "sigsuspend USR1",
                             "sigwait USR2 " + self.limit())
        return "sleep " + (LIMIT if self.timed else "0ms")

    def epoll(self):
        e = self.new("epoll")
        self.add(0, f"epoll {e.name}")
        for f in self.rng.sample(self.files, min(3, len(self.files))):
            if f is not e and f.kind != "memfd":
                self.add(0, f"epadd {e.name} {f.name} "
                         + self.pick("in", "in et", "out et", "in oneshot",
                                     "in excl", "in out", "pri", "in rdhup"))
        self.files.remove(e)
        for k in self.rng.sample(range(1, 5), self.pick(1, 2)):
            self.add(k, f"{self.pick('epwait', 'eppwait', 'eppwait2')} {e.name} "
                     f"{self.pick(1, 4)} {self.limit(0.1)} "
                     + (self.opens() if self.steps[-1].find("epp") > 0 else ""))

    def event(self):
        f = self.some()
        n, k = f.name, self.actor()
        kinds = ["close"] * 4 + ["dup2", "nonblock", "nonblock", "dup"]
        if self.children and self.below(0.3):
            return self.pick((self.children[0], "exit 3"),
                             ("*", f"killchild {self.children[0]} KILL"),
                             ("*", f"killchild {self.children[0]} STOP"))
        if f.kind in SOCKETS:
            kinds += ["shutdown"] * 5 + ["reset", "disconnect", "opt"]
        if f.kind == "sock":
            kinds += ["shutdown", "disconnect", "disconnect"]
        if f.kind in SOCKETS + ("pipe", "pty"):
            kinds += ["sink"] * 3
        what = self.pick(kinds)
        if what == "shutdown":
            return k, f"shutdown {n} {self.pick('rd', 'wr', 'rdwr', 'rdwr')}"
        if what == "dup2":
            return k, f"dup2 {self.some().name} {n}"
        if what == "dup":
            return k, f"dup {n} {self.new(f.kind, f.peer, f.end).name}"
        if what == "nonblock":
            return k, f"nonblock {n} {self.pick(0, 1, 1)}"
        if what == "reset":
            self.add(k, f"opt {n} reset")
            return k, f"close {n}"
        if what == "opt":
            return k, f"opt {n} rcvlowat {self.pick(1, 3, 10)}"
        if what == "sink":
            return "*", f"sink {self.pick(0, 3, 4)} {n}"
        return k, f"{what} {n}"

    def signal(self):
        return self.pick(
            (self.actor() % 5, f"tkill {self.pick(1, 1, 2, 3)} USR1"),
            (4, f"tkill {self.pick(1, 2)} USR1"),
            (4, "kill USR1"), ("*", "kill USR1"),
            (self.actor(), f"mask {self.pick('block', 'unblock')} USR1"),
            (self.actor(), "pending USR1"),
            ("*", "kill USR2"))

    def child(self):
        k = self.pick(5, 6)
        if k in self.children:
            return
        self.add(self.pick(0, 3, 4), f"fork {k}"
                 + (" pdeath" if self.below(0.1) else ""))
        self.children.append(k)

    def probe(self):
        f = self.some()
        n = f.name
        if f.kind in SOCKETS + ("sock",):
            return self.pick(f"soerror {n}", f"soerror {n}", f"unread {n}",
                             f"peer {n}", f"recv {n} 8 dontwait",
                             f"send {n} 1 dontwait nosignal",
                             f"poll {n}:in,out,rdhup 0ms", f"atmark {n}")
        if f.kind in ("pipe", "pty"):
            return self.pick(f"unread {n}", f"flags {n}",
                             f"poll {n}:in,out 0ms", f"preadv2 {n} 8 nowait")
        return self.pick(f"poll {n}:in,out 0ms", f"flags {n}")

    # -- the whole
    def draw(self):
        if self.below(0.05):
            self.background()
            return self.steps
        if self.below(0.03):
            self.masked()
            return self.steps
        if not self.timed and self.below(0.4):
            self.situation()
            return self.steps
        for _ in range(self.pick(1, 1, 1, 2, 2, 3)):
            self.make()
        if self.signals:
            self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
            if self.below(0.3):
                self.add(1, "mask block USR1")
            f = self.some(*SOCKETS)
            if f and self.below(0.1):
                self.add(0, "action IO plain")
                self.add(self.pick(0, 1), f"owner {f.name} process")
        if self.below(0.12):
            self.child()
        for _ in range(self.pick(0, 0, 1, 1, 2, 3)):
            self.state()
        if self.below(0.12):
            self.epoll()
        if self.below(0.03):
            self.add(4, "table 30")
        for _ in range(self.pick(2, 3, 4, 5, 6)):
            if self.timed and self.below(0.7):
                k = self.add(self.pick(1, 2), self.call())
                if self.below(0.3):
                    self.add(self.pick(3, 4), self.write(self.some()))
                if self.signals and self.below(0.3):
                    self.add(4, f"tkill {self.steps[k][0]} USR1")
                if self.below(0.15):
                    self.add("*", "stop")
                    self.add("*", "cont")
                self.add("*", f"await {k}")
                continue
            what = self.rng.random()
            if what < 0.45:
                self.add(self.actor(), self.call())
            elif what < 0.6:
                f = self.some()
                self.add(self.actor(), self.write(f.peer or f))
            elif what < 0.85:
                self.add(*self.event())
            elif what < 0.93 and self.signals:
                self.add(*self.signal())
            elif what < 0.95:
                self.add("*", "stop")
                self.add("*", "cont")
            elif what < 0.96:
                self.child()
            else:
                self.add(self.actor(), self.probe())
        if not self.timed and self.below(0.2):
            self.race()
            return self.steps
        for _ in range(self.pick(1, 2, 3)):
            self.add(self.pick(0, 3, 4), self.probe())
        return self.steps


def script(seed, number):
    """Script @number of @seed: its lines."""
    for scene in ("queues", "watched"):
        rng = random.Random(f"{seed}/{number}/{scene}")
        if rng.random() < 0.06:
            one = Script(rng)
            getattr(one, scene)()
            return one.steps
    rng = random.Random(f"{seed}/{number}/crowds")
    if rng.random() < CROWDS:
        one = Script(rng)
        one.crowd()
        return one.steps
    rng = random.Random(f"{seed}/{number}/outskirts")
    if rng.random() < OUTSKIRTS:
        one = Script(rng)
        one.outskirt()
        return one.steps
    rng = random.Random(f"{seed}/{number}/byways")
    if rng.random() < BYWAYS:
        one = Script(rng)
        one.byway()
        return one.steps
    rng = random.Random(f"{seed}/{number}/corners")
    if rng.random() < CORNERS:
        one = Script(rng)
        one.corner()
    else:
        one = Script(random.Random(f"{seed}/{number}"))
        one.draw()
    one.otherwise(0.08)
    return one.steps
