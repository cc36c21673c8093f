"""Situations with what programs use now and then, drawn at random, for the scripts of
gen.py: other kinds of files, other programs begun, options, requests that the kernel
works off."""

NAMES = ("signalled", "listened", "devices", "replaced", "told", "masks", "options",
         "asked", "leased", "positions", "marked", "timers", "watches", "faults",
         "parents")

# What a line that makes files may be as well, of the same use.
OTHERS = {"tcp": ("tcp6",), "pair stream": ("unixconn",), "udppair": ("udp6pair",),
          "fork": ("spawn",), "pair dgram": ("netlink",)}

OPTIONS = [f"{name} {n}" for name, values in (
    ("rcvlowat", (1, 2, 4, 10)), ("peekoff", (0, 1, 2, -1)), ("oobinline", (0, 1)),
    ("passcred", (0, 1)), ("cork", (0, 1)), ("recverr", (0, 1)), ("timestamp", (1,)),
    ("passrights", (0, 1)), ("pktinfo", (1,)), ("quickack", (0, 1)),
    ("notsent", (1, 5000)), ("tcpinq", (1,)), ("keepalive", (1,)),
    ("busypoll", (50,)), ("zerocopy", (1,)), ("inq", (1,)), ("passpidfd", (1,)),
    ("passsec", (1,)), ("rxqovfl", (1,)), ("recvttl", (1,)), ("gro", (1,)),
    ("gso", (2,)), ("sndbuf", (4096, 100000)), ("rcvbuf", (4096, 100000)),
    ("rcvtimeo", (-1, 0)), ("sndtimeo", (-1, 0)), ("usertimeout", (1000,)),
    ("linger", (0,))) for n in values]


class Byways:
    """More of what gen.Script has; the rest is there."""

    def byway(self):
        getattr(self, self.pick(NAMES))()
        how = self.rng.random()
        if how < 0.12:
            self.cancelled()
        elif how < 0.25:
            self.raced()
        elif how < 0.32:
            self.stopped()
        self.otherwise(0.3)

    def otherwise(self, p):
        """Now and then what makes a file makes one of another kind for the same."""
        for i, step in enumerate(self.steps):
            k, call, *rest = step.split()
            kind = " ".join([call] + rest[2:3] * (call == "pair"))
            if kind in OTHERS and self.below(p):
                self.steps[i] = " ".join([k, self.pick(OTHERS[kind])] + (
                    rest[:2] if call in ("tcp", "pair", "udppair") else rest[:1]))

    def stopped(self):
        """The process is stopped, and goes on."""
        if self.timed or any(s.split()[0].endswith("+") for s in self.steps):
            return
        at = self.rng.randint(len(self.steps) // 2, len(self.steps))
        self.steps[at:at] = ["* stop", "* cont"]

    def stream(self, *more):
        """A pair of some kind: whom to read from, whom to write to."""
        r, w = self.pair_of("unix", "tcp", "pipe", *more)
        if r.kind == "pipe" and r.end == "w":
            r, w = w, r
        return r, w

    def waiters(self, calls, most=3):
        for k in (1, 2, 3)[:self.pick(range(1, most + 1))]:
            self.add(k, self.pick(calls))

    def events(self, what, most=3):
        for _ in range(self.pick(range(1, most + 1))):
            self.add(self.pick(0, 0, 4), self.pick(what))
            self.interrupt()

    # -- who is shown a signal
    def signalled(self):
        f = self.new("signalfd")
        one, other = "USR2", self.pick("USR1", "USR2")
        for k in range(5):
            if self.below(0.9):
                self.add(k, f"mask block {one}")
                if other != one:
                    self.add(k, f"mask block {other}")
        self.add(0, f"action {other} {self.pick('plain', 'restart', 'ign')}")
        self.add(0, f"action {one} {self.pick('plain', 'restart')}")
        self.add(0, f"signalfd {f.name} {one}")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {f.name} {self.pick('in', 'in et', 'in oneshot')}")
        if self.below(0.2):
            self.add(0, f"reopened {f.name} y r")
        if self.below(0.3):
            self.add(0, f"dup {f.name} x")
        n = f.name
        self.waiters([f"shown {n}"] * 4 + [f"read {n} 128", f"read {n} 100",
                     f"poll {n}:in", "epwait z 1", f"sigwait {one}",
                     f"ppoll {n}:in opens {one}", f"sigsuspend {other}", "pause",
                     f"sigwait {one} 0ms", f"shown {n}"])
        for _ in range(self.pick(2, 3, 4, 5)):
            self.add(*self.pick(
                (0, f"kill {one}"), ("*", f"kill {one}"), (0, f"kill {other}"),
                ("*", f"kill {other}"), (0, f"queue {one} {self.pick(1, 7)}"),
                (0, f"shows {n} {other}"), (0, f"nonblock {n} 1"),
                (4, f"close {n}"), (self.pick(1, 2, 3), f"pending {one}"),
                (0, f"mask unblock {one}"), (4, f"shown {n}"),
                (4, f"sigwait {one} 0ms"), (0, f"poll {n}:in 0ms")))

    # -- listeners
    def listened(self):
        limit = "400ms" if self.timed else ""
        kind = self.pick("tcp", "unix", "seq")
        f = self.new("listen")
        f.end = kind
        n = f.name
        self.add(0, f"{kind}listen {n} {self.pick(0, 0, 1, 5)}")
        socks = []
        for _ in range(self.pick(1, 2, 3)):
            s = self.new("sock", f, kind)
            self.add(0, f"{kind}sock {s.name}")
            socks.append(s.name)
        self.handler(0.4)
        if limit:
            if self.below(0.7):
                self.add(0, f"opt {n} rcvtimeo {limit}")
            if self.below(0.7):
                self.add(0, f"opt {socks[0]} sndtimeo {limit}")
        if self.below(0.2):
            self.add(0, f"opt {n} deferaccept 1")
        if self.below(0.3):
            self.add(0, f"crowd {n}" if kind != "seq" else f"connect {socks[0]} {n}")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'in excl', 'in oneshot')}")
        accepts = [f"accept {n} w", f"accept4 {n} v nonblock", f"accept {n} u",
                   f"accept4 {n} t badname", f"accept4 {n} t badlen"]
        calls = accepts * 2 + [f"poll {n}:in", f"select {n}:in,pri", "epwait z 1",
                               f"connect {socks[0]} {n}", f"read {n} 5",
                               f"recv {n} 5"]
        k = None
        for a in (1, 2, 3)[:self.pick(1, 2, 2, 3)]:
            i = self.add(a, self.pick(calls))
            k = i if k is None else k
        for _ in range(self.pick(2, 3, 4)):
            s = self.pick(socks)
            self.add(self.pick(0, 0, 4), self.pick(
                f"connect {s} {n}", f"connect {s} {n}", f"connect {s} {n}",
                f"close {s}", f"close {n}", f"shutdown {n} {self.pick('rd', 'wr')}",
                f"shutdown {n} rdwr", f"disconnect {n}", f"nonblock {n} 1",
                f"accept4 {n} q nonblock", f"dup {n} p", f"dup2 {s} {n}",
                f"opt {s} reset", f"send {s} 3", f"disconnect {s}",
                f"opt {n} rcvtimeo -1"))
            self.interrupt()
        if limit:
            self.add("*", f"await {k}")
        self.add(4, self.pick(f"poll {n}:in,out 0ms", f"poll {socks[0]}:in,out 0ms",
                              f"soerror {socks[0]}", f"soerror {n}", "epwait z 1 0ms"))

    # -- what is no socket, pipe or terminal
    def devices(self):
        d = self.new("memfd")
        what = self.pick("null", "zero", "full", "random", "dir", "mounts", "null path",
                         "dir path")
        self.add(0, f"device {d.name} {what}")
        r, w = self.stream("dgram", "eventfd", "pty")
        self.handler(0.2)
        n = d.name
        calls = [f"poll {n}:in,out {r.name}:in", f"select {n}:in {r.name}:in",
                 f"splice {r.name} {n} 5000", f"splice {n} {w.name} 5000",
                 f"sendfile {w.name} {n} 5000", f"tee {r.name} {w.name} 5",
                 f"copyrange {n} {w.name} 10", f"copyrange {r.name} {n} 10",
                 f"write {n} {self.pick(0, 5)}", f"epadd z {n} in", f"flock {n} ex",
                 f"poll {n}:in,pri 0ms", f"seek {n} 3", f"vwrite {n} 3,b writev",
                 f"readat {n} 0 0", f"writeat {n} 3 0", f"soerror {n}",
                 f"shutdown {n} rd", f"accept {n} q", f"recv {n} 3", f"send {n} 3",
                 f"fionbio {n} 1", f"nonblock {n} 1", f"setfl {n} async 1",
                 f"pipesize {n} 4096", f"read8 {n}", f"lease {n} rd",
                 f"lock {n} ex", f"dup2 {n} {r.name}", f"getlk {n} ex 0 0"]
        if what.split()[0] not in ("random", "mounts"):
            calls += [f"read {n} {self.pick(0, 3, 100)}", f"vread {n} 3,0,b readv",
                      f"readat {n} 5 {self.pick(0, 3)}"]
        self.add(0, "epoll z")
        self.waiters(calls)
        self.events(calls + [f"write {w.name} 3", f"close {n}", f"read {r.name} 5",
                             "epwait z 2 0ms"], 4)

    # -- another program in the place of this one, or begun by it
    def replaced(self):
        r, w = self.stream("dgram", "seqpacket", "eventfd", "fifo", "pty", "listen",
                           "locks")
        child = self.below(0.6)
        if child:
            self.add(self.pick(0, 3), self.pick("fork 5", "spawn 5"))
            self.children.append(5)
        self.handler(0.3)
        if self.below(0.3):
            self.add(0, f"memfd m {self.pick(10, 1 << 20)}") # is closed by an exec
        if self.below(0.3):
            self.add(0, f"dup3 {r.name} {w.name}")
        self.waiters([self.read(r), self.read(r), self.write(w),
                      f"poll {r.name}:in", f"write {w.name} 300000"])
        who = self.pick(0, 3, 4, 5 if child else 4)
        if child and self.below(0.5):
            self.add(5, self.pick(self.read(r), self.write(w)))
        for _ in range(self.pick(0, 1)):
            self.add(4, self.write(w))
        self.add(who, "exec")
        if self.below(0.5):
            self.add(who, "threaded")
        actors = [5, 0] if child else [who]
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(actors), self.pick(
                self.write(w), self.read(r), f"poll {r.name}:in,out 0ms",
                f"close {self.pick(r, w).name}", f"flags {r.name}",
                f"unread {r.name}", "exit 2"))

    # -- a signal for what comes
    def told(self):
        r, w = self.stream("dgram", "udppair", "pty", "listen", "fifo")
        self.signals = True
        n = r.name
        self.add(0, f"action IO {self.pick('plain', 'restart')}")
        self.add(0, f"action USR2 {self.pick('plain', 'restart')}")
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        self.add(0, f"owner {n} process")
        if self.below(0.5):
            self.add(0, f"setsig {n} {self.pick('USR2', 'USR1', 'IO')}")
        if self.below(0.3):
            self.add(self.pick(0, 1, 2), "mask block IO")
        self.waiters([self.read(r), self.read(r), f"poll {n}:in", f"read {n} 5",
                      "pause", "sigsuspend IO", "sigwait IO", f"read {n} 8",
                      f"write {w.name} 300000"], 2)
        self.events([self.write(w), f"write {w.name} 3", f"write {w.name} 1",
                     f"close {w.name}", f"setfl {n} async 0", f"setfl {n} async 1",
                     f"read {n} 20", f"shutdown {w.name} wr", f"dup2 {w.name} {n}",
                     f"close {n}"], 4)

    # -- calls with a mask
    def masks(self):
        r, w = self.stream("eventfd", "dgram")
        n = r.name
        self.signals = True
        self.add(0, f"action USR1 {self.pick('plain', 'restart', 'plain jumps')}")
        self.add(0, f"action USR2 {self.pick('plain', 'restart', 'ign')}")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'in oneshot')}")
        for k in (0, 1, 2, 3, 4):
            if self.below(0.6):
                self.add(k, f"mask block {self.pick('USR1', 'USR1', 'USR2')}")
        limit = self.pick("", "", "", "0ms")
        calls = [f"{call} opens {self.pick('USR1', 'USR2')}" for call in (
            f"ppoll {n}:in {limit}", f"pselect {n}:in {limit}",
            f"eppwait z 1 {limit}", f"eppwait2 z 1 {limit}", f"ppoll {limit}",
            f"pselect {limit}")]
        calls += ["sigsuspend USR1", "sigwait USR1", f"read {n} 8", "pause",
                  "sigwait USR2"]
        if self.below(0.3):
            self.add(0, self.pick("kill USR1", "tkill 1 USR1", "tkill 2 USR2"))
        self.waiters(calls)
        for _ in range(self.pick(2, 3, 4)):
            self.add(*self.pick(
                (0, "kill USR1"), ("*", "kill USR1"), ("*", "kill USR2"),
                (4, f"tkill {self.pick(1, 2, 3)} {self.pick('USR1', 'USR2')}"),
                (0, f"write {w.name} 8"), (4, f"tkill {self.pick(1, 2)} USR1"),
                (0, f"close {n}"), (self.pick(0, 4), "mask unblock USR1")))
        for _ in range(self.pick(1, 2)):
            self.add(self.pick(0, 4), f"pending {self.pick('USR1', 'USR2')}")

    # -- options, before and meanwhile
    def options(self):
        r, w = self.pair_of("unix", "tcp", "dgram", "seqpacket", "udppair")
        self.handler(0.3)
        for _ in range(self.pick(1, 2, 3)):
            self.add(0, f"opt {self.pick(r, r, w).name} {self.pick(OPTIONS)}")
        if self.below(0.3):
            self.add(0, self.write(w))
        n = r.name
        flags = lambda: " ".join(self.rng.sample(
            ["waitall", "peek", "trunc", "oob", "errqueue", "dontwait", "cmsgcloexec",
             "nosignal", "noroom", "badname"], self.pick(0, 0, 1, 1, 2)))
        sends = lambda: " ".join(self.rng.sample(
            ["more", "oob", "eor", "dontwait", "nosignal", "zerocopy", "confirm",
             "dontroute", "batch"], self.pick(0, 0, 1, 1, 2)))
        reads = [f"recv {n} {self.size()} {flags()}", f"recvmsg {n} 8 {flags()}",
                 f"recvmsg {n} {self.size()} {flags()}", f"recvfrom {n} 5 {flags()}",
                 f"recvmmsg {n} {self.pick(1, 2, 3)} {self.pick(3, 8)} {flags()}",
                 f"read {n} {self.size()}", f"poll {n}:in,pri",
                 f"poll {n}:rdnorm,rdband"]
        self.waiters(reads)
        for _ in range(self.pick(2, 3, 4, 5)):
            f = self.pick(r, w)
            self.add(self.pick(0, 0, 4), self.pick(
                f"send {w.name} {self.size()} {sends()}",
                f"send {w.name} {self.pick(1, 3, 10)} {sends()}",
                f"sendmsg {w.name} {self.pick(1, 3, 10)} {sends()}",
                f"sendmmsg {w.name} 3 {self.pick(1, 3)} {sends()}",
                f"sendfd {w.name} 2 {w.name}" if r.kind not in ("tcp", "udppair") else
                f"send {w.name} 2 oob", f"opt {f.name} {self.pick(OPTIONS)}",
                f"shutdown {f.name} {self.pick('rd', 'wr')}", f"close {f.name}"))
            self.interrupt()
        self.add(4, self.pick(f"unread {n}", f"recv {n} 20 dontwait",
                              f"poll {n}:in,out,pri 0ms", f"soerror {n}"))

    # -- requests that the kernel works off, Linux AIO
    def asked(self):
        r, w = self.stream("dgram", "eventfd", "timerfd", "listen")
        self.handler(0.3)
        n = r.name
        for _ in range(self.pick(1, 2)):
            self.add(self.pick(0, 1, 2), self.pick(
                f"aio {n} 1 poll", f"aio {w.name} 2 poll", f"aio {n} 1 poll"))
        self.waiters([f"aiowait {self.pick(1, 1, 2)}"] * 3 + [self.read(r)])
        self.events([self.write(w), f"write {w.name} 8", f"close {n}",
                     f"aio {n} 1 poll", "aiowait 1 0ms", f"dup2 {w.name} {n}",
                     f"close {w.name}"])
        self.add(4, "aiowait 0 0ms")

    # -- leases, and copies from file to file
    def leased(self):
        a, b = self.two("locks")
        self.add(0, f"memfd {a.name} {self.pick(10, 5000)}")
        self.add(0, f"reopened {a.name} {b.name} {self.pick('r', 'rw')}")
        self.signals = True
        self.add(0, f"action IO {self.pick('plain', 'restart')}")
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        if self.below(0.6):
            self.add(0, f"close {self.pick(a, b).name}")
        calls = [f"lease {a.name} {self.pick('rd', 'wr')}",
                 f"lease {b.name} {self.pick('rd', 'wr')}", f"lease {a.name} un",
                 f"reopened {a.name} c {self.pick('r', 'rw', 'w')}",
                 f"reopened {b.name} d {self.pick('r', 'rw', 'rw nonblock')}",
                 f"copyrange {a.name} {b.name} {self.pick(5, 5000)} "
                 f"{self.pick('', 'fromat', 'toat', 'fromat toat')}",
                 f"copyrange {b.name} {a.name} 20 fromat", f"cut {a.name} 3",
                 f"seek {a.name} 2", f"sendfile {b.name} {a.name} 20 own",
                 f"read {a.name} 8", f"write {b.name} 4", f"readat {b.name} 8 1"]
        self.add(0, calls[self.pick(0, 1)])
        self.waiters(calls)
        self.events(calls + [f"lease {a.name} un", f"lease {b.name} un",
                             f"close {a.name}"], 4)

    # -- flags of preadv2() and pwritev2(), positions, limits of size
    def positions(self):
        kind = self.pick("memfd", "memfd", "pipe", "unix", "eventfd", "fifo")
        if kind == "memfd":
            f = self.new("memfd")
            self.add(0, f"memfd {f.name} {self.pick(0, 10, 5000)}")
            if self.below(0.4):
                self.add(0, f"setfl {f.name} append 1")
            r = w = f
        else:
            r, w = self.pair_of(kind)
            if r.end == "w":
                r, w = w, r
        self.handler(0.2)
        if kind == "memfd" and self.below(0.4):
            self.add(0, "action XFSZ " + self.pick("plain", "restart", "ign"))
            self.add(0, f"fsize {self.pick(4, 12)}")
        flags = lambda: " ".join(self.rng.sample(
            ["nowait", "hipri", "append", "noappend", "sync", "dontcache"],
            self.pick(0, 1, 1, 2)))
        at = lambda: self.pick(-1, -1, 0, 3, -2)
        calls = [f"readat {r.name} {self.size()} {at()} {flags()}",
                 f"writeat {w.name} {self.size()} {at()} {flags()}",
                 f"readat {r.name} 8 {at()} {flags()}", f"pread {r.name} 5",
                 f"writeat {w.name} 4 {at()} {flags()}", f"seek {r.name} 0 cur",
                 f"seek {w.name} -2 end", f"read {r.name} 4", f"write {w.name} 6"]
        self.waiters(calls)
        self.events(calls, 5)
        self.add(4, f"seek {r.name} 0 cur")

    # -- out of band data, marks, what is looked at
    def marked(self):
        r, w = self.pair_of("unix", "tcp", "tcp")
        n = r.name
        if self.below(0.4):
            self.add(0, f"opt {n} oobinline 1")
        if self.below(0.2):
            self.add(0, f"opt {n} rcvlowat {self.pick(2, 5)}")
        self.signals = True
        self.add(0, f"action URG {self.pick('plain', 'restart')}")
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        if self.below(0.4):
            self.add(0, f"owner {n} process")
            self.add(0, "action IO restart")
        reads = [f"recv {n} {self.pick(1, 5, 10)} "
                 + self.pick("", "", "waitall", "peek", "oob", "oob peek", "trunc",
                             "waitall peek", "trunc peek", "waitall trunc")
                 for _ in range(5)]
        reads += [f"read {n} {self.pick(1, 5)}", f"recvmsg {n} 6 "
                  + self.pick("", "waitall", "oob"), f"poll {n}:pri",
                  f"select {n}:pri", f"poll {n}:in,pri", f"recvmmsg {n} 2 3",
                  f"splice {n} q 5"]
        for _ in range(self.pick(0, 1, 1)):
            self.add(0, f"send {w.name} {self.pick(1, 3)} {self.pick('', 'oob')}")
        self.waiters(reads)
        self.events([f"send {w.name} {self.pick(1, 2, 5)} oob",
                     f"send {w.name} {self.pick(1, 2, 5)} oob",
                     f"send {w.name} {self.pick(1, 3, 6)}",
                     f"send {w.name} {self.pick(1, 3, 6)}", f"atmark {n}",
                     f"recv {n} 3 dontwait", f"recv {n} 1 oob",
                     f"opt {n} oobinline {self.pick(0, 1)}", f"close {w.name}",
                     f"shutdown {w.name} wr"], 5)
        self.add(4, self.pick(f"atmark {n}", f"unread {n}",
                              f"recv {n} 20 dontwait", f"poll {n}:in,pri 0ms"))

    # -- times that end a wait, or are read
    def timers(self):
        self.timed, limit = True, "400ms"
        f = self.new("timerfd")
        n = f.name
        self.add(0, f"timerfd {n}")
        r, w = self.pair_of("unix", "pipe", "tcp")
        if r.end == "w":
            r, w = w, r
        self.add(0, f"action ALRM {self.pick('plain', 'restart')}")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'in oneshot')}")
        start = [f"timerset {n} {limit}", f"timerabs {n} {limit}", f"alarm {limit}",
                 f"timerset {n} 0ms"]
        waits = [f"read8 {n}", f"poll {n}:in", "epwait z 2", f"read {r.name} 5",
                 "pause", f"select {n}:in {r.name}:in", f"recv {r.name} 5",
                 f"write {w.name} 300000", f"poll {r.name}:in",
                 f"ppoll {r.name}:in {n}:in"]
        before = self.below(0.5)
        if before:
            self.add(0, self.pick(start))
        i = self.add(1, self.pick(waits))
        if self.below(0.4):
            self.add(2, self.pick(waits))
        if not before:
            self.add(self.pick(0, 4), self.pick(start))
        if self.below(0.3):
            self.add(0, self.pick(f"write {w.name} 3", f"close {n}",
                                  f"nonblock {n} 1", f"timerset {n} 0ms"))
        self.add("*", f"await {i}")
        self.add(4, self.pick(f"poll {n}:in 0ms", "epwait z 2 0ms"))

    # -- watches that end, descriptors of another process
    def watches(self):
        self.handler(0.4)
        if self.below(0.5):
            a, b = self.two("inotify")
            n = a.name
            self.add(0, f"inotify {n} {b.name}")
            self.waiters([f"read {n} {self.pick(15, 16, 32, 100)}", f"poll {n}:in",
                          f"select {n}:in", f"readat {n} 100 -1"])
            self.events([f"unwatch {n}", f"write {b.name} 3", f"cut {b.name} 1",
                         f"close {b.name}", f"read {n} 100", f"unread {n}",
                         f"writeat {b.name} 1 0", f"nonblock {n} 1"], 4)
            return
        r, w = self.stream("dgram", "eventfd", "locks")
        self.add(0, self.pick("fork 5", "spawn 5"))
        self.children.append(5)
        self.add(0, "pidfd p 5")
        if self.below(0.5):
            self.add(5, self.read(r))
        self.add(0, f"getfd p {r.name} q")
        self.waiters([f"read q {self.pick(3, 8)}", "poll q:in", self.read(r),
                      "pidwait p", "poll p:in", f"poll p:in q:in"])
        self.events([self.write(w), f"close {r.name}", "close q", "nonblock q 1",
                     f"getfd p {w.name} o", "close p", "pidkill p USR1",
                     f"dup2 {w.name} q"])
        self.add("*", f"killchild 5 {self.pick('KILL', 'STOP', 'TERM')}")
        self.add(4, "poll p:in q:in,out 0ms")

    # -- places that are not there, of calls that wait
    def faults(self):
        kind = self.pick("unix", "tcp", "dgram", "seqpacket", "udppair", "unixdgram")
        if kind == "unixdgram":
            r, w = self.new("dgram"), self.new("dgram")
            self.add(0, f"unixdgram {r.name}")
            self.add(0, f"unixdgram {w.name}")
            self.add(0, f"connect {w.name} {r.name}")
        else:
            r, w = self.pair_of(kind)
        self.handler(0.3)
        n = r.name
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'in oneshot')}")
        self.waiters([f"recvfrom {n} 5 badname", f"recvfrom {n} 5 badlen",
                      f"recvmsg {n} 5 badname", f"recvmsg {n} 8 noroom",
                      "epwait z 1 badroom", f"recvmmsg {n} 3 3 fault2",
                      f"recvfrom {n} 5 badname peek", f"recvmsg {n} 8 waitall badname",
                      f"vread {n} 3,b recvmsg waitall", f"vread {n} 0,b recvmsg"])
        fits = r.kind not in ("tcp", "udppair")
        self.events([f"send {w.name} {self.pick(1, 3, 8)}", f"send {w.name} 5",
                     f"sendfd {w.name} 3 z" if fits else f"send {w.name} 3 oob",
                     f"close {w.name}", "epwait z 1 0ms"], 4)
        self.add(4, self.pick(f"recv {n} 20 dontwait", "epwait z 1 0ms",
                              f"soerror {n}"))

    # -- children that share files with who waits, and end
    def parents(self):
        r, w = self.stream("dgram", "seqpacket", "eventfd", "pty", "locks", "fifo")
        self.handler(0.3)
        if self.below(0.4):
            self.waiters([self.read(r), self.write(w)], 2)
        for k in (5, 6)[:self.pick(1, 2)]:
            self.add(self.pick(0, 3, 4), self.pick(f"fork {k}", f"spawn {k}"))
            self.children.append(k)
        ours = [1, 2] + self.children
        for k in ours:
            if self.below(0.6):
                self.add(k, self.pick(self.read(r), self.read(r), self.write(w),
                                      f"poll {r.name}:in", f"write {w.name} 300000",
                                      f"wait {self.pick(self.children)}"))
        for _ in range(self.pick(2, 3, 4)):
            c = self.pick(self.children)
            self.add(*self.pick(
                (0, self.write(w)), (4, self.write(w)), (c, self.write(w)),
                (c, f"close {self.pick(r, w).name}"), (0, f"close {w.name}"),
                ("*", f"killchild {c} {self.pick('KILL', 'STOP', 'CONT')}"),
                (c, "exit 1"), (c, f"nonblock {r.name} 1"),
                (c, f"shutdown {w.name} {self.pick('wr', 'rdwr')}")
                if r.kind != "pipe" else (c, f"close {w.name}"),
                (0, f"read {r.name} 20000")))
            self.interrupt()
        self.add(4, f"poll {r.name}:in,out 0ms")
