"""Situations beside descriptors, and with what few programs do to them, drawn at random,
for the scripts of gen.py: words, System V's objects, libc's locks, signals that queue,
handlers that wait, faults of pages, children that nobody wants to hear of."""

NAMES = ("words", "owners", "objects", "locked", "queued_signals", "handled", "broken",
         "unheard", "reparented", "high", "relistened", "filtered", "paged", "guards",
         "openings", "hangs", "shared_epoll", "named_pipes", "several_rights",
         "alarmed", "watched_children")


class Outskirts:
    """More of what gen.Script has; the rest is there."""

    def outskirt(self):
        name = self.pick(NAMES)
        getattr(self, name)()
        how = self.rng.random()
        if how < 0.12:
            # What is no cancellation point begins anew: docs/COMPATIBILITY.md
            if name not in ("words", "owners", "locked", "alarmed"):
                self.cancelled()
        elif how < 0.2:
            self.raced()
        elif how < 0.26:
            self.stopped()

    def both(self, p=0.5):
        """Signals USR1 and USR2 have handlers."""
        self.signals = self.below(p)
        if self.signals:
            self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
            self.add(0, f"action USR2 {self.pick('plain', 'restart', 'ign')}")

    # -- words
    def words(self):
        self.both()
        tail = self.pick("", "", "", " shared")
        if tail and self.below(0.5):
            self.add(0, "fork 5")
            self.children.append(5)
        bits = lambda: self.pick("", "", "", " bits1", " bits2", " bits3", " new",
                                 " new bits1")
        waits = [f"fwait {i} 0{tail}{bits()}" for i in (0, 0, 0, 1, 1)]
        waits += [f"fany 0 1 0{tail}", f"fwait 0 1{tail}", f"fwait 0 0 0ms{tail}"]
        for k in (1, 2, 3, 4)[:self.pick(1, 2, 3, 3, 4)]:
            self.add(k, self.pick(waits))
        if self.children:
            self.add(5, self.pick(waits))
        for _ in range(self.pick(2, 3, 4)):
            n = self.pick(0, 1, 1, 2, 100)
            i, k = self.pick((0, 1), (1, 0), (0, 0))
            self.add(0, self.pick(
                f"fwake {i} {n}{tail}{bits()}", f"fwake {i} {n}{tail}{bits()}",
                f"fmove {i} {k} {self.pick(0, 1)} {n}{tail}",
                f"fmove {i} {k} {self.pick(0, 1)} {n}{tail}"
                f"{self.pick(' other', ' plain', '')}",
                f"fboth {i} {k} {n} {self.pick(0, 1)} {self.pick(0, 1)}{tail}",
                f"fset {i} {self.pick(0, 1)}{tail}"))
            if self.signals and self.below(0.4):
                self.add(0, f"tkill {self.pick(1, 2, 3)} USR1")
        self.add(0, f"fwake 0 100{tail}")
        self.add(0, f"fwake 1 100{tail}")

    # -- words that name who has them
    def owners(self):
        self.both(0.4)
        steps = ["flockpi 0"] * 4 + ["funlockpi 0"] * 3 + ["ftrypi 0", "flockpi 1",
                                                          "funlockpi 1", "ftrypi 1"]
        for _ in range(self.pick(4, 6, 8)):
            self.add(self.pick(0, 1, 1, 2, 2, 3, 3, 4), self.pick(steps))
            if self.signals and self.below(0.2):
                self.add(4, f"tkill {self.pick(1, 2, 3)} USR1")
        for k in (0, 1, 2, 3):
            self.add(k, "funlockpi 0")

    # -- System V's
    def objects(self):
        self.both()
        if self.below(0.4):
            self.add(0, "fork 5")
            self.children.append(5)
        if self.below(0.5):
            self.add(0, "vqueue")
            waits = ["vrecv 0", "vrecv 1", "vrecv 2", "vrecv -2", "vsend 1", "vsend 2"]
            events = ["vsend 1 nowait", "vsend 2 nowait", "vrecv 0 nowait",
                      "vrecv 1 nowait", "vqueueend"]
            for _ in range(self.pick(0, 0, 2)):
                self.add(0, "vsend 1 nowait")
        else:
            self.add(0, "vsems")
            waits = ["vsem 0 -1", "vsem 0 -1", "vsem 0 -2", "vsem 0 0", "vsem 1 -1",
                     "vsem 0 -1 1 -1 both", "vsem 0 -1 undo", "vsem 1 0"]
            events = ["vsem 0 1", "vsem 0 2", "vsem 1 1", "vset 0 1", "vset 1 0",
                      "vsem 0 -1 nowait", "vsem 0 1 1 1 both", "vwho 0", "vwho 1",
                      "vsemsend"]
            if self.below(0.4):
                self.add(0, f"vset 0 {self.pick(1, 2)}")
        for k in (1, 2, 3)[:self.pick(1, 2, 3)]:
            self.add(k, self.pick(waits))
        if self.children:
            self.add(5, self.pick(waits))
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 0, 4), self.pick(events))
            if self.signals and self.below(0.4):
                self.add(4, f"tkill {self.pick(1, 2, 3)} USR1")
        if self.children:
            self.add(*self.pick(("*", "killchild 5 KILL"), (5, "exit 0")))
        self.add(4, self.pick(events))

    # -- libc's locks
    def locked(self):
        self.both()
        kind = self.pick("sem", "sem", "cond", "mutex")
        tail = self.pick("", "", " shared") if kind == "sem" else ""
        if tail and self.below(0.5):
            self.add(0, "spawn 5" if self.below(0.3) else "fork 5")
            self.children.append(5)
        if kind == "mutex":
            for _ in range(self.pick(4, 6, 8)):
                self.add(self.pick(1, 1, 2, 2, 3), self.pick(
                    "mlock", "mlock", "mlock", "munlock", "munlock", "mtry",
                    "mlock 0ms"))
                self.interrupt()
            for k in (1, 2, 3):
                self.add(k, "munlock")
            return
        wait, post = {"sem": (f"semwait{tail}", f"sempost{tail}"),
                      "cond": ("cwait", self.pick("csignal", "csignal", "csignal all"))
                     }[kind]
        for k in (1, 2, 3, 4)[:self.pick(1, 2, 3, 4)]:
            self.add(k, wait)
        if self.children:
            self.add(5, wait)
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 0, 4), self.pick(post, post, f"{wait} 0ms",
                                                   f"semvalue{tail}"))
            if self.signals and self.below(0.5):
                self.add(0, f"tkill {self.pick(1, 2, 3)} USR1")

    # -- signals of which as many pend as were sent
    def queued_signals(self):
        self.both(1)
        for k in range(5):
            for s in ("REAL1", "REAL2", "USR2"):
                if k or self.below(0.97):
                    self.add(k, f"mask block {s}")
        self.steps = self.rng.sample(self.steps, len(self.steps))
        sends = [f"queue REAL1 {i}" for i in (1, 2)] + \
            [f"queueto {k} REAL1 {i}" for k, i in ((1, 3), (2, 4))] + \
            ["queue REAL2 5", "queueto 1 REAL2 6", "queue USR2 7", "queueto 1 USR2 8",
             "tkill 1 REAL1"]
        takes = ["sigtake REAL1", "sigtake REAL1 REAL2", "sigtake REAL2 USR2",
                 "sigtake REAL1 REAL2 USR2", "sigtake USR2 REAL1 0ms"]
        for _ in range(self.pick(0, 1, 2, 3)):
            self.add(0, self.pick(sends))
        for k in (1, 2, 3)[:self.pick(1, 2, 3)]:
            self.add(k, self.pick(takes))
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 0, 4), self.pick(sends))
            if self.below(0.3):
                self.add(4, f"tkill {self.pick(1, 2)} USR1")
        for k in (1, 2, 3, 0):
            self.add(k, "sigtake REAL1 REAL2 USR2 0ms")

    # -- handlers that wait, that come once, in one another
    def handled(self):
        self.make_pipe()
        p, q = self.files[0].name, self.files[1].name
        r, w = self.stream("dgram", "eventfd", "pty")
        how = self.pick(f"asks {p}", f"asks {p} nodefer", "once", "raises",
                        "raises blocks", "nodefer raises", f"asks {p} raises")
        self.add(0, f"action USR1 {self.pick('plain', 'restart')} {how}")
        self.add(0, f"action USR2 {self.pick('plain', 'restart', 'plain once')}")
        self.signals = True
        self.waiters([self.read(r), self.read(r), f"poll {r.name}:in",
                      "sigsuspend USR1", f"write {w.name} 300000", "semwait", "pause",
                      "fwait 0 0", "nap 100000ms", self.write(w)], 2)
        for _ in range(self.pick(2, 3, 4)):
            self.add(*self.pick(
                (0, "tkill 1 USR1"), (0, "tkill 1 USR1"), (4, "tkill 2 USR1"),
                ("*", "kill USR1"), (0, "tkill 1 USR2"), (0, f"write {q} 1"),
                (0, f"write {q} 1"), (0, self.write(w)), (0, f"close {q}"),
                (4, f"read {p} 1"), (0, "sempost"), (0, "fwake 0 1")))
        self.add(0, f"write {q} 3")
        self.add(0, f"read {r.name} 20000" if r.kind != "eventfd"
                 else f"poll {r.name}:in 0ms")

    # -- SIGPIPE, whatever is to be done with it
    def broken(self):
        r, w = self.stream("seqpacket", "dgram", "fifo")
        how = self.pick("plain", "restart", "ign", "dfl", "plain once")
        self.add(0, f"action PIPE {how}")
        for k in (0, 1, 2, 3):
            if self.below(0.4):
                self.add(k, "mask block PIPE")
        self.both(0.3)
        n = w.name
        self.add(0, f"memfd m {self.pick(10, 1 << 20)}")
        calls = [f"write {n} {self.pick(1, 300000)}", f"writev {n} {self.pick(3, 70000)}",
                 f"pwritev2 {n} 5", f"sendfile {n} m {1 << 20}", f"vmsplice {n} 5",
                 f"vwrite {n} 3,0,5 writev", f"splice {r.name} {n} 5",
                 f"sigtake PIPE", f"poll {n}:out"]
        if r.kind != "pipe":
            calls += [f"send {n} {self.pick(1, 300000)} {self.pick('', 'nosignal')}",
                      f"sendmsg {n} {self.pick(1, 70000)}", f"sendmmsg {n} 2 3",
                      f"sendfd {n} 3 m"]
        if self.below(0.5):
            self.add(0, f"fill {n}")
        self.waiters(calls, 2)
        for _ in range(self.pick(1, 2)):
            self.add(self.pick(0, 4), self.pick(
                f"close {r.name}", f"shutdown {n} wr" if r.kind != "pipe" else
                f"close {r.name}", f"shutdown {r.name} rd" if r.kind != "pipe" else
                f"close {r.name}", f"read {r.name} 20000"))
        for _ in range(self.pick(1, 2)):
            self.add(self.pick(0, 1, 2, 3), self.pick(calls))
        for k in (1, 2):
            self.add(k, self.pick("pending PIPE", "sigtake PIPE 0ms",
                                  "mask unblock PIPE"))

    # -- children of whose ends nobody wants to hear, groups
    def unheard(self):
        self.signals = self.below(0.5)
        if self.signals:
            self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        if self.below(0.8):
            self.add(0, "action CHLD " + self.pick(
                "ign", "plain", "restart", "plain nozombie", "restart nozombie",
                "restart nostop", "ign nozombie", "dfl nozombie"))
        if self.below(0.3):
            self.add(self.pick(1, 2), "mask block CHLD")
        parent = self.pick(0, 0, 3)
        for k in (5, 6)[:self.pick(1, 2)]:
            self.add(parent, self.pick(f"fork {k}", f"fork {k}", f"spawn {k}"))
            self.children.append(k)
        if self.below(0.4):
            self.add(self.pick(self.children), "group")
        k = self.pick(self.children)
        if self.below(0.15): # a shell that is waited for
            self.add(self.pick(0, 1), "run 3")
        waits = [f"wait {k}", f"wait {k} any", f"wait {k} group", f"wait {k} mine",
                 f"waitid {k} exited", "waitid any exited", f"wait {k} untraced",
                 f"waitid any exited keep", "sigtake CHLD", "pause",
                 "sigsuspend CHLD"]
        for a in (1, 2, 0)[:self.pick(1, 2, 3)]:
            self.add(a, self.pick(waits))
        for _ in range(self.pick(1, 2, 3)):
            c = self.pick(self.children)
            what = [(c, "exit 3"), ("*", f"killchild {c} KILL"),
                    ("*", f"killchild {c} STOP"), ("*", f"killchild {c} CONT"),
                    (c, "group"), (4, "action CHLD " + self.pick("ign", "plain"))]
            if self.signals:
                what.append((4, f"tkill {self.pick(1, 2)} USR1"))
            self.add(*self.pick(*what))
        for c in self.children:
            self.add("*", f"killchild {c} KILL")
        self.add(4, self.pick("wait 5 any nohang", "waitid any exited nohang",
                              "pending CHLD"))

    # -- a child's children
    def reparented(self):
        self.both(0.3)
        self.add(0, f"subreaper {self.pick(0, 1, 1)}")
        self.add(0, self.pick("fork 5", "spawn 5"))
        self.add(5, self.pick("fork 6", "fork 6", "spawn 6"))
        if self.below(0.3):
            self.add(6, "group")
        waits = ["wait 5", "wait 5 any", "wait 6", "waitid any exited", "wait 5 mine",
                 "waitid 6 exited", "wait 6 group", "waitid any exited keep"]
        if self.below(0.4):
            self.add(0, "pidfd p 6")
            waits += ["pidwait p", "poll p:in"]
        self.waiters(waits)
        for _ in range(self.pick(1, 2)):
            self.add(*self.pick((5, "exit 2"), (6, "exit 3"), (5, "wait 6"),
                                ("*", "killchild 5 KILL"), ("*", "killchild 6 STOP"),
                                ("*", "killchild 6 KILL"),
                                (4, "tkill 1 USR1") if self.signals else (4, "yield")))
        self.add("*", "killchild 5 KILL")
        self.add(4, self.pick(waits))
        self.add("*", "killchild 6 KILL")
        self.add(0, "wait 6 any nohang")

    # -- numbers above 1024
    def high(self):
        self.add(0, f"nofile {self.pick(2048, 4096, 4096)}")
        r, w = self.stream("dgram", "eventfd", "udppair", "pty")
        n = self.pick(700, 1000, 1100, 1500, 2000)
        self.add(0, f"dupfd {r.name} h {n}")
        if self.below(0.4):
            self.add(0, f"dupfd {w.name} i {n + self.pick(1, 64)}")
        if self.below(0.4):
            self.add(0, f"close {r.name}")
        if self.below(0.2):
            self.add(0, f"nofile {self.pick(64, 512, 1024)}")
        self.both(0.3)
        calls = ["select h:in", "pselect h:in,pri", "select h:in i:out", "poll h:in",
                 self.read(r).replace(f" {r.name} ", " h "), "read h 8",
                 f"select h:in {r.name}:in", "select h:out 0ms", "epwait z 2"]
        if self.below(0.4):
            self.add(0, "epoll z")
            self.add(0, "epadd z h in")
        self.waiters(calls)
        self.events([self.write(w), f"write {w.name} 8", "close h", f"dup2 {w.name} h",
                     f"dup h {self.letter()}", f"closerange h h", "nonblock h 1",
                     f"dupfd h j {n}", f"close {w.name}"])
        self.add(4, "poll h:in,out 0ms")

    # -- listeners that listen anew, or that have been received
    def relistened(self):
        kind = self.pick("tcp", "unix", "seq")
        self.both(0.4)
        self.add(0, f"{kind}listen l {self.pick(0, 1, 5)}")
        for s in "st":
            self.add(0, f"{kind}sock {s}")
        names = ["l"]
        if self.below(0.5):
            self.add(0, "pair a b stream")
            self.add(0, "sendfd a 1 l")
            self.add(0, "recvfd b 4 m")
            names.append("m")
            if self.below(0.3):
                self.add(0, "close l")
                names = ["m"]
        if self.below(0.3):
            self.add(0, f"crowd {names[-1]}")
        n = lambda: self.pick(names)
        self.waiters([f"accept {n()} w", f"accept4 {n()} v", f"connect s {n()}",
                      f"connect t {n()}", f"poll {n()}:in"])
        self.events([f"listenat {n()} {self.pick(0, 1, 5)}", f"connect s {n()}",
                     f"connect t {n()}", f"shutdown {n()} {self.pick('rd', 'rdwr')}",
                     f"listenat {n()} 5", f"accept4 {n()} u", f"close {n()}",
                     "listenat s 1", "connect s s", f"nonblock {n()} 1", "close s",
                     f"disconnect {n()}", "shutdown s wr", "fds"], 5)
        self.add(4, self.pick(f"poll {n()}:in,out 0ms", "soerror s",
                              "poll s:in,out,rdhup 0ms"))

    # -- packets of which a filter lets a part pass
    def filtered(self):
        r, w = self.pair_of("dgram", "dgram", "udppair", "udppair", "seqpacket", "unix")
        n = r.name
        self.both(0.3)
        if self.below(0.5):
            self.add(0, f"filter {n} {self.pick(0, 3, 100)}")
        if self.below(0.2):
            self.add(0, f"write {w.name} 5")
        self.waiters([self.read(r), f"recv {n} 8 {self.pick('', 'trunc', 'peek')}",
                      f"recvmsg {n} 8", f"poll {n}:in", f"recvmmsg {n} 3 8",
                      f"write {w.name} 5"])
        self.events([f"filter {n} {self.pick(0, 2, 100)}", f"unfilter {n}",
                     f"write {w.name} {self.pick(1, 5, 20)}",
                     f"send {w.name} 5", f"sendmmsg {w.name} 3 5", f"unread {n}",
                     f"recv {n} 8 dontwait", f"close {w.name}"], 5)
        self.add(4, self.pick(f"poll {n}:in,out 0ms", f"unread {n}",
                              f"recv {n} 20 dontwait"))

    # -- pages that somebody has to bring
    def paged(self):
        self.add(0, "uffd u")
        if self.below(0.2):
            self.add(0, "nonblock u 1")
        self.both(0.4)
        who = (1, 2, 3)[:self.pick(1, 2, 3)]
        for k in who:
            self.add(k, self.pick("touch 0", "touch 1", "touch 0", "faulted u",
                                  "poll u:in", "pause"))
        for _ in range(self.pick(1, 2, 3)):
            self.add(self.pick(0, 4), self.pick(
                "give u 0", "give u 1", "faulted u" if self.below(0.3) else
                "poll u:in 0ms", "tkill 1 USR1" if self.signals else "yield"))
        self.add(0, "give u 0")
        self.add(0, "give u 1")

    # -- files that somebody has to let open
    def guards(self):
        self.add(0, "guarded g f")
        self.both(0.4)
        for k in (1, 2, 3)[:self.pick(1, 2, 3)]:
            self.add(k, self.pick("entered a", "entered b", "poll g:in",
                                  "answer g allow"))
        for _ in range(self.pick(1, 2, 3)):
            self.add(0, self.pick("answer g allow", "answer g deny", "poll g:in 0ms",
                                  "tkill 1 USR1" if self.signals else "yield"))
        self.add(0, "close g")

    # -- descriptors that are left: nobody keeps what others have closed
    def openings(self):
        r, w = self.stream("dgram", "seqpacket", "eventfd", "pty", "listen", "fifo",
                           "locks", "udppair")
        self.both(0.4)
        n = r.name
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} in")
        self.waiters([self.read(r), self.read(r), self.write(w), f"poll {n}:in",
                      f"write {w.name} 300000", "epwait z 1", f"select {n}:in",
                      f"accept {n} q" if r.kind == "listen" else self.read(r)])
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 0, 4), self.pick(
                f"close {n}", f"dup2 {w.name} {n}", f"dup3 {w.name} {n}", "fds",
                f"closeexec {n} {w.name}", f"closerange {n} {n}", "fds",
                self.write(w), f"dup {n} y", f"close {w.name}", "close z",
                f"reopened {n} x r"))
            self.interrupt()
        self.add(0, "fds")
        self.add(0, "dup z k")

    # -- a terminal that goes away under those who have it
    def hangs(self):
        self.add(0, f"pty a b {self.pick('', 'raw')}")
        self.add(0, "fork 5")
        for s in ("HUP", "INT"):
            if self.below(0.7):
                self.add(5, f"action {s} {self.pick('plain', 'restart', 'ign')}")
        if self.below(0.6):
            self.add(5, "session b")
        if self.below(0.5):
            self.add(5, "threaded")
        if self.below(0.4):
            self.add(0, f"packet a {self.pick(0, 1)}")
        calls = ["read b 5", "read b 5", "poll b:in", "write b 5000", "drainout b",
                 "select b:in", "readv b 8"]
        self.add(5, self.pick(calls))
        for k in (1, 2)[:self.pick(0, 1, 2)]:
            self.add(k, self.pick(calls + ["read a 8", "poll a:in", "poll a:pri,in"]))
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 4), self.pick(
                "close a", "hangup b", f"typed a {self.pick('intr', 'line', 'eof')}",
                "close b", "ptsopen a c rw", "write a 3", "read a 20", "dup a d",
                "write c 3", "read c 3", "lflag b noflsh 1"))
        self.add(4, "poll a:in,out b:in,out 0ms")
        self.add("*", "killchild 5 KILL")

    # -- an epoll descriptor that a child has as well
    def shared_epoll(self):
        r, w = self.stream("eventfd", "dgram", "timerfd")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {r.name} "
                 + self.pick("in", "in et", "in oneshot", "in et oneshot"))
        self.both(0.3)
        self.add(self.pick(0, 3), self.pick("fork 5", "spawn 5"))
        who = self.pick((1,), (5,), (1, 2))
        for k in who:
            self.add(k, f"epwait z {self.pick(1, 4)}")
        for _ in range(self.pick(2, 3, 4)):
            k = self.pick(0, 5 if 5 not in who else 0)
            self.add(k, self.pick(
                self.write(w), f"write {w.name} 8", f"close {r.name}",
                f"epmod z {r.name} {self.pick('in', 'in oneshot', 'in et')}",
                f"epdel z {r.name}", f"epadd z {w.name} out et",
                "epwait z 4 0ms", f"read {r.name} 8" if k == 5 else
                f"poll {r.name}:in 0ms"))
            if self.signals and self.below(0.3):
                self.add(4, "tkill 1 USR1")
        self.add(4, f"write {w.name} 8")
        self.add(4, "epwait z 4 0ms")

    # -- pipes that are opened once more, by what /proc says
    def named_pipes(self):
        if self.below(0.5):
            self.make_pipe()
            r, w = self.files[0].name, self.files[1].name
        else:
            r, w = "a", "b"
            self.add(0, "fifo a rw")
            self.add(0, "fifo b w")
        self.both(0.4)
        self.waiters([f"read {r} 5", f"read {r} 5", f"write {w} 300000",
                      f"poll {r}:in", f"poll {w}:out", f"splice {r} {w} 5"], 2)
        names = "cdefgh"
        for i in range(self.pick(2, 3, 4, 5)):
            n = names[i]
            self.add(self.pick(0, 4), self.pick(
                f"reopened {r} {n} {self.pick('r', 'w', 'rw')}",
                f"reopened {w} {n} {self.pick('r', 'w', 'rw')}",
                f"reopened {w} {n} {self.pick('r', 'w')} nonblock",
                f"close {self.pick(r, w)}", f"close {self.pick(names[:i + 1])}",
                f"write {self.pick(names[:i + 1])} 3", f"write {w} 3",
                f"read {self.pick(names[:i + 1])} 3",
                f"pipesize {w} {self.pick(4096, 131072)}",
                f"setfl {w} direct 1", f"nonblock {self.pick(r, w)} 1"))
            self.interrupt((1, 2))
        self.add(4, f"poll {r}:in {w}:out c:in,out d:in,out 0ms")

    # -- what comes with a message
    def several_rights(self):
        kind = self.pick("stream", "dgram", "seqpacket")
        self.add(0, f"pair a b {kind}")
        self.add(0, "pipe c d")
        self.both(0.3)
        if self.below(0.4):
            self.add(0, f"opt b {self.pick('passcred', 'peekoff', 'rcvlowat')} 1")
        flags = lambda: self.pick("", "", "peek", "waitall", "cmsgcloexec", "noroom",
                                  "trunc", "dontwait")
        self.waiters([f"recvmsg b {self.pick(0, 3, 8)} {flags()}", f"recvfd b 4 e",
                      f"recvfd b {self.pick(1, 8)} f {flags()}", f"recvmmsg b 2 3",
                      f"read b 3", f"recv b 8 {flags()}"])
        self.events([f"sendfd a {self.pick(0, 1, 4)} c", "sendfd a 2 d", "send a 3",
                     "sendfd a 2 a", "sendfd a 1 b", "fds", "close c", "close d",
                     f"recvmsg b 4 dontwait {flags()}", "recvfd b 3 g dontwait",
                     "close b", "shutdown a wr", "write d 2"], 6)
        self.add(0, "fds")
        self.add(4, "poll c:in d:out e:in,out f:in,out 0ms")

    # -- times that are the process's, or a thread's
    def alarmed(self):
        self.timed, limit = True, "400ms"
        r, w = self.stream("dgram", "eventfd", "listen", "pty")
        self.add(0, f"action ALRM {self.pick('plain', 'restart')}")
        for k in (0, 2, 3, 4): # so that one alone has it
            self.add(k, "mask block ALRM")
        if self.below(0.3):
            self.add(1, "mask block ALRM")
        call = self.pick(
            self.read(r), self.read(r), f"write {w.name} 300000", f"poll {r.name}:in",
            f"select {r.name}:in", "pause", "semwait", "fwait 0 0", "cwait",
            "sigtake ALRM", "nap 20000ms", "nap 20000ms abs", "fany 0 1 0",
            "sigsuspend ALRM", "nap 400ms", "fwait 0 0 400ms", "semwait 400ms",
            "cwait 400ms", "sigtake USR2 400ms", "vsem 0 -1 400ms", "vsem 0 -1",
            "vrecv 0", "fwait 0 0 400ms new", "mlock 400ms", "flockpi 0 400ms",
            "fany 0 1 0 400ms")
        if call.startswith("mlock"):
            self.add(0, "mlock")
        if call.startswith("flockpi"):
            self.add(0, "flockpi 0")
        if call.startswith("vsem"):
            self.add(0, "vsems")
        if call.startswith("vrecv"):
            self.add(0, "vqueue")
        if limit in call:
            i = self.add(1, call)
        elif self.below(0.4):
            i = self.add(1, call)
            self.add(0, self.pick(f"alarm {limit}", f"timer ALRM {limit}"))
        else:
            self.add(1, f"timer ALRM {limit} own")
            i = self.add(1, call)
        self.add("*", f"await {i}")
        self.add(4, self.pick(f"poll {r.name}:in 0ms", "semvalue"))

    # -- pidfds that are closed, doubled, shared
    def watched_children(self):
        self.both(0.6)
        for k in (5, 6):
            self.add(self.pick(0, 3), self.pick(f"fork {k}", f"spawn {k}"))
        self.add(0, "pidfd p 5")
        self.add(0, self.pick("pidfd q 6", "dup p q", "reopened p q r"))
        if self.below(0.2):
            self.add(0, f"nonblock {self.pick('p', 'q')} 1")
        self.add(0, "epoll z")
        self.add(0, f"epadd z p {self.pick('in', 'in et', 'in oneshot')}")
        self.waiters(["pidwait p", "pidwait q", "pidwait p keep", "pidwait p untraced",
                      "poll p:in q:in", "wait 5", "wait 6 any", "epwait z 1",
                      "waitid any exited", "pidwait p continued", "select q:in"])
        for _ in range(self.pick(2, 3, 4)):
            k = self.pick(5, 6)
            self.add(*self.pick(
                (k, "exit 3"), ("*", f"killchild {k} KILL"), (0, "close p"),
                ("*", f"killchild {k} STOP"), ("*", f"killchild {k} CONT"),
                (0, "dup2 q p"), (0, "close q"), (0, "nonblock p 1"),
                (0, "pidkill p KILL"), (0, "pidkill q STOP"), (0, "dup p r"),
                (4, f"tkill {self.pick(1, 2)} USR1") if self.signals else (0, "yield"),
                (4, "pidwait p nohang")))
        for k in (5, 6):
            self.add("*", f"killchild {k} KILL")
        self.add(4, self.pick("pidwait p nohang", "waitid any exited nohang",
                              "poll p:in q:in 0ms"))
