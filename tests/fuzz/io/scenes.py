"""Whole situations, drawn at random, for the scripts of gen.py."""

STREAMS = ("unix", "tcp")
SOCKETS = STREAMS + ("dgram", "seqpacket", "udppair", "udp")


class Scenes:
    """What gen.Script has beside single steps; the rest is there."""

    def situation(self):
        """One call that waits, what happens to it, and what is left then."""
        kind = self.pick(["unix"] * 4 + ["tcp"] * 4 + ["pipe"] * 2 +
                         ["dgram", "seqpacket", "pty", "eventfd", "fifo"])
        getattr(self, "make_" + kind, lambda: self.make_pair(kind))()
        if self.signals or self.below(0.2):
            self.signals = True
            self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        if self.below(0.4):
            self.state()
        f = self.some()
        peer = f.peer or f
        self.bulk = False
        how = self.pick("read", "read", "write", "many", "transfer")
        if how == "many":
            for k in (1, 2, 3)[:self.pick(2, 3)]:
                self.add(k, self.read(f))
            for _ in range(3):
                self.add(0, self.write(peer))
            return
        if how == "transfer":
            m = self.new("memfd")
            self.add(0, f"memfd {m.name} {1 << 23}")
            self.add(1, f"sendfile {f.name} {m.name} {1 << 23}")
        elif how == "write" and f.kind != "eventfd":
            call = self.pick("write", "writev", "send", "sendmsg", "pwritev2")
            if f.kind not in SOCKETS and call[0] == "s":
                call = "write"
            self.add(1, f"{call} {f.name} {self.pick(300000, 1 << 20, 1 << 23)}"
                     + (" nosignal" if call[0] == "s" and self.below(0.3)
                        else ""))
        else:
            self.add(1, self.read(f) if how == "read" else self.write(f))
        for _ in range(self.pick(0, 0, 1)):
            self.add(0, f"read {peer.name} 20000" if how != "read" and
                     f.kind != "eventfd" else self.write(peer))
        self.happens(f, peer)
        if self.below(0.4):
            self.add("*", f"sink 3 {self.pick(f, peer).name}")
        for _ in range(self.pick(1, 2)):
            self.add(self.pick(0, 3), self.probe())

    def happens(self, f, peer):
        what = self.pick("close", "close peer", "close peer", "reset", "shutdown",
                         "shutdown peer", "dup2", "nonblock", "disconnect",
                         "signal", "table")
        if what == "reset" and f.kind == "tcp":
            self.add(0, f"opt {peer.name} reset")
        if what in ("close peer", "reset"):
            self.add(0, f"close {peer.name}")
        elif what == "dup2":
            self.make_pair(f.kind) if f.kind in SOCKETS else self.make_pipe()
            self.add(0, f"dup2 {self.files[-1].name} {f.name}")
        elif what == "nonblock":
            self.add(0, f"nonblock {f.name} 1")
        elif what == "disconnect" and f.kind in SOCKETS:
            self.add(0, f"disconnect {f.name}")
        elif what[:8] == "shutdown" and f.kind in SOCKETS:
            g = peer if what[8:] else f
            self.add(0, f"shutdown {g.name} {self.pick('rd', 'wr', 'rdwr')}")
        elif what == "signal" and self.signals:
            self.add(0, "tkill 1 USR1")
        else:
            if what == "table":
                self.add(4, "table 30")
            self.add(0, f"close {f.name}")

    def masked(self):
        """A wait whose mask lets a signal in that is pending."""
        self.signals = True
        self.make_pipe()
        f = self.files[-1].peer
        if self.below(0.5):
            self.add(0, f"write {f.peer.name} 1")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {f.name} in")
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        self.add(1, "mask block USR1")
        self.add(0, "tkill 1 USR1")
        what = self.pick(f"ppoll {f.name}:in", f"pselect {f.name}:in",
                         "eppwait z 1", "eppwait2 z 1")
        self.add(1, f"{what} {self.pick('0ms', '')} opens USR1")
        self.add(1, "pending USR1")

    def queues(self):
        """Some who wait for one lock, message, or room for one, and their numbers
        go, or signals come; then they are served."""
        what = self.pick("mqrecv {}", "mqrecv {}", "mqsend {} 0", "flock {} ex",
                         "lock {} ex ofd")
        a, b = self.two("queue")
        if what[:2] == "mq":
            self.add(0, f"mqueue {a.name} {b.name}")
        else:
            self.add(0, f"memfd {a.name} 10")
            self.add(0, f"reopen {a.name} {b.name}")
        serve = [f"mqsend {b.name} {self.pick(0, 1, 2)}" for _ in range(3)]
        if what[:6] == "mqsend":
            self.add(0, f"mqsend {b.name} 1")
            self.add(0, f"mqsend {b.name} 2")
            serve = [f"mqrecv {b.name}"] * 3
        elif what[:2] != "mq":
            self.add(0, what.format(b.name))
            serve = [what.replace("ex", "un").format(b.name)]
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        waiters, files = self.pick(1, 2, 3), [a]
        for k in range(waiters):
            if self.below(0.5):
                f = self.new("queue")
                self.add(0, f"{self.pick('dup', 'reopen')} {a.name} {f.name}"
                         if what[:2] != "mq" else f"dup {a.name} {f.name}")
                files.append(f)
            self.add(k + 1, what.format(self.pick(files).name))
        for _ in range(self.pick(0, 1, 1, 2)):
            n = self.pick(files).name
            self.add(self.pick(0, 4), self.pick(
                f"close {n}", f"closerange {n} {n}", f"dup2 {b.name} {n}",
                f"tkill {self.pick(1, 2)} USR1"))
        for step in serve[:self.pick(1, 2, 3)]:
            self.add(0, step)
        self.add(4, f"poll {b.name}:in,out 0ms")

    def watched(self):
        """Some who wait for what tells of something else: a file that is written
        to, a child that ends; or for packets."""
        kind = self.pick("inotify", "inotify", "fanotify", "pidfd", "pidfd",
                         "raw", "raw")
        a, b = self.two(kind)
        if kind == "pidfd":
            self.add(0, "fork 5")
            self.add(0, f"pidfd {a.name} 5")
        else:
            self.add(0, f"{kind} {a.name} {b.name}")
        n, size = a.name, self.pick(0, 8, 16, 24, 32, 100, 100, 100)
        poll = [f"{self.pick('poll', 'ppoll', 'select')} {n}:in", "epwait z 4"]
        reads = {"inotify": [f"read {n} {size}", f"readv {n} {size}",
                             f"preadv2 {n} {size}"],
                 "fanotify": [f"fanread {n} {size}"],
                 "pidfd": [f"pidwait {n}", f"pidwait {n}", "wait 5",
                           "wait 5 any", f"read {n} 8"],
                 "raw": [f"{self.pick('recv', 'recvmsg', 'recvfrom')} {n} "
                         f"{size} {self.pick('', '', 'peek', 'trunc', 'waitall')}",
                         f"recvmmsg {n} 2 {size} {self.pick('', 'waitforone')}",
                         f"read {n} {size}"]}[kind]
        feeds = {"pidfd": [(5, "exit 3"), (0, f"pidkill {n} KILL"),
                           ("*", "killchild 5 KILL"),
                           (0, f"pidkill {n} USR2")],
                 "raw": [(0, f"send {b.name} {self.pick(0, 1, 10, 100)}"),
                         (0, f"write {b.name} 10"),
                         (0, f"sendmmsg {b.name} 2 5")]}.get(
                             kind, [(0, f"write {b.name} {self.pick(0, 1, 10)}"),
                                    (0, f"pwritev2 {b.name} 3")])
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'in oneshot')}")
        if self.below(0.15):
            self.add(0, f"nonblock {n} 1")
        if self.below(0.2):
            self.add(*self.pick(feeds))
        for k in (1, 2, 3)[:self.pick(1, 1, 1, 2)]:
            self.add(k, self.pick(reads + self.pick(reads, poll)))
        for _ in range(self.pick(0, 1, 1, 2)):
            self.add(self.pick(0, 4), self.pick(
                f"close {n}", f"close {b.name}", f"dup2 z {n}",
                f"dup {n} y", f"nonblock {n} 1", "tkill 1 USR1",
                "tkill 2 USR1", f"shutdown {n} rdwr"))
            if self.below(0.5):
                self.add(*self.pick(feeds))
        for _ in range(self.pick(1, 2, 3)):
            self.add(*self.pick(feeds))
        for _ in range(self.pick(1, 2)):
            self.add(4, self.pick(f"poll {n}:in 0ms", f"unread {n}",
                                  f"pidwait {n} nohang", "epwait z 4 0ms"))

    def background(self):
        """A child with a terminal, and one of its own in the background."""
        a, b = self.two("pty", ("master", "slave"))
        self.add(0, f"pty {a.name} {b.name}")
        self.add(0, "fork 5")
        self.add(5, f"session {b.name}")
        self.add(5, "fork 6")
        if self.below(0.3):
            self.add(5, f"tostop {b.name}")
        self.add(6, "group")
        # With a handler that has the call made again, it is told again, for ever.
        if self.below(0.3):
            self.add(6, f"action {self.pick('TTIN', 'TTOU')} "
                     + self.pick("ign", "plain", "plain"))
        if self.below(0.8):
            self.add(6, "threaded")
        self.add(6, self.pick(f"read {b.name} 5", f"write {b.name} 3",
                              f"setattr {b.name}", f"front {b.name}"))
        self.add(0, f"write {a.name} 3")
        self.add("*", "killchild 6 CONT")
        self.add(5, "wait 6 untraced nohang")

    def race(self):
        """Two or three steps at once. What is large goes in parts, in which others
        may come in between: no order of the calls explains that."""
        self.bulk = False
        actors = self.rng.sample([0, 1, 2, 3, 4], self.pick(2, 2, 3))
        first = len(self.steps)
        for k in actors:
            f = self.some()
            what = self.rng.random()
            if what < 0.35:
                step = self.call()
            elif what < 0.65:
                step = self.write(f.peer or f)
            elif what < 0.9 or not self.signals:
                step = self.event()[1]
            else:
                step = f"tkill {self.pick(1, 2)} USR1"
            if len(self.steps) > first + actors.index(k):
                # It came with a step of its own, which goes before all.
                extra = self.steps.pop()
                self.steps.insert(first, extra)
                first += 1
            if step.startswith("sink") or any(
                    int(w) > 4096 for w in step.split() if w.isdigit()):
                step = f"poll {f.name}:in,out 0ms"
            self.add(f"{k}+" if len(self.steps) > first else k, step)
