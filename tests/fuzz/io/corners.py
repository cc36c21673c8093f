"""Situations of what programs seldom do, drawn at random, for the scripts of gen.py."""

NAMES = ("pieces", "resized", "passed", "between", "terminal", "epolls", "families",
         "ranges", "named", "queued", "openers", "errors", "odd_streams", "limits")


# Not to be cancelled.
MAKE = ("fork", "fifo", "pidfd", "accept", "accept4", "action", "recvfd")


class Corners:
    """More of what gen.Script has; the rest is there."""

    def corner(self):
        """One of them; now and then a thread is cancelled, or steps race."""
        getattr(self, self.pick(NAMES))()
        how = self.rng.random()
        if how < 0.15:
            self.cancelled()
        elif how < 0.35:
            self.raced()

    def cancelled(self):
        """A step of a thread that is cancelled later."""
        fits = [i for i, s in enumerate(self.steps)
                if s[0] in "123" and s.split()[1] not in MAKE]
        if not fits:
            return
        at = self.pick(fits)
        k, call = self.steps[at].split(" ", 1)
        self.steps[at] = f"{k} sub {call}"
        self.steps.insert(self.rng.randint(at + 1, len(self.steps)), f"4 cancel {k}")

    def raced(self):
        """The last steps at once, without what is only asked."""
        while self.steps and (self.steps[-1][0] == "*" or
                              self.steps[-1].endswith("0ms")):
            self.steps.pop()
        n = self.pick(2, 2, 3)
        last = [s.split() for s in self.steps[-n:]]
        if len(self.steps) <= n or len({w[0] for w in last}) < n or \
                any(w[0] == "*" or w[1] == "fork" for w in last) or \
                any(x.isdigit() and int(x) > 4096 for w in last for x in w[2:]):
            return
        for i in range(1, n):
            k, call = self.steps[-i].split(" ", 1)
            self.steps[-i] = f"{k}+ {call}"

    def handler(self, p=0.4):
        if not self.below(p):
            return
        self.signals = True
        how = self.pick(["plain", "restart"] * 3 + ["plain jumps", "tells"])
        if how == "tells": # the handler writes, to whatever there is
            fits = [f for f in self.files if f.kind not in ("sock", "memfd")]
            how = f"{self.pick('plain', 'restart')} " + \
                (f"tells {self.pick(fits).name}" if fits else "")
        self.add(0, f"action USR1 {how}")

    def interrupt(self, actors=(1, 2, 3)):
        if self.signals and self.below(0.5):
            self.add(4, f"tkill {self.pick(actors)} USR1")

    def pair_of(self, *kinds):
        kind = self.pick(kinds)
        getattr(self, "make_" + kind, lambda: self.make_pair(kind))()
        f = self.files[0]
        return f, f.peer or f

    # -- vectors with odd pieces
    def pieces(self):
        r, w = self.pair_of("unix", "tcp", "pipe", "dgram", "seqpacket", "udppair",
                            "pty", "fifo", "eventfd")
        if r.kind == "pipe" and r.end == "w":
            r, w = w, r
        socket = r.kind not in ("pipe", "pty", "eventfd")
        odd = ["0", "0,0", "b", "n", "0,b", "3,b", "3,0,b", "0,3", "3,0,5", "b,3",
               "8,b,8", "3,n", "8,8"]
        large = ["300000,b", "70000,0,70000", "4096,b,4096", "300000,n", "5000,b"]
        self.handler(0.3)
        for _ in range(self.pick(0, 0, 1)):
            self.add(0, f"write {w.name} {self.pick(1, 3, 10)}")
        if self.below(0.2):
            self.add(0, f"fill {w.name}")
        for k in (1, 2, 3)[:self.pick(1, 1, 2, 3)]:
            if self.below(0.55):
                how = self.pick(["readv", "preadv2", "preadv2 nowait"] +
                                ["recvmsg"] * 3 * socket +
                                ["recvmsg waitall", "recvmsg peek"] * socket)
                self.add(k, f"vread {r.name} {self.pick(odd)} {how}")
            else:
                how = self.pick(["writev", "writev", "pwritev2",
                                 "pwritev2 nowait"] + ["sendmsg"] * 3 * socket)
                self.add(k, f"vwrite {w.name} "
                         f"{self.pick(odd + large)} {how}")
        for _ in range(self.pick(1, 2, 3)):
            self.add(0, self.pick(f"write {w.name} {self.pick(1, 3, 8, 20)}",
                                  f"read {r.name} {self.pick(4, 20, 20000)}",
                                  f"close {self.pick(r, w).name}",
                                  f"vwrite {w.name} 3,0,3 writev"))
            self.interrupt()
        self.add("*", f"sink 4 {r.name}")

    # -- a file that changes under who waits
    def resized(self):
        r, w = self.pair_of("unix", "unix", "tcp", "tcp", "pipe", "pipe", "dgram",
                            "udppair")
        if r.kind == "pipe" and r.end == "w":
            r, w = w, r
        self.handler(0.2)
        self.bulk = False
        if r.kind == "pipe":
            if self.below(0.5):
                self.add(0, f"pipesize {w.name} {self.pick(4096, 8192, 1 << 17)}")
            change = [f"pipesize {w.name} {self.pick(4096, 65536, 1 << 18, 1 << 20)}",
                      f"setfl {w.name} direct {self.pick(0, 1)}",
                      f"setfl {r.name} direct 1", f"pipesize {r.name} 4096"]
        else:
            change = [f"opt {w.name} sndbuf {self.pick(4096, 100000, 1 << 20)}",
                      f"opt {r.name} rcvbuf {self.pick(4096, 100000, 1 << 20)}",
                      f"opt {r.name} rcvlowat {self.pick(1, 4, 10)}",
                      f"opt {r.name} peekoff {self.pick(0, 2)}",
                      f"opt {r.name} oobinline 1", f"opt {r.name} passcred 1",
                      f"opt {w.name} cork {self.pick(0, 1)}",
                      f"opt {r.name} timestamp 1"]
        change += [f"nonblock {self.pick(r, w).name} {self.pick(0, 1)}",
                   f"fionbio {self.pick(r, w).name} 1",
                   f"setfl {self.pick(r, w).name} async 1"]
        writes = self.below(0.5)
        if writes and self.below(0.5):
            self.add(0, f"fill {w.name}")
        for k in (1, 2, 3)[:self.pick(1, 1, 2)]:
            self.add(k, f"{self.pick('write', 'writev')} {w.name} "
                     f"{self.pick(1, 5000, 70000, 1 << 20)}" if writes
                     else self.read(r))
        for _ in range(self.pick(1, 2, 3)):
            self.add(self.pick(0, 4), self.pick(change))
            self.interrupt()
            if self.below(0.6):
                self.add(0, f"read {r.name} {self.pick(1, 4096, 20000)}" if writes
                         else f"write {w.name} {self.pick(1, 3, 5, 10)}")
        if not writes:
            self.add(0, f"write {w.name} 10")
        if self.below(0.5):
            self.add("*", f"sink 4 {r.name}")
        self.add(4, self.pick(f"poll {r.name}:in,out 0ms", f"poll {w.name}:in,out 0ms",
                              f"unread {r.name}", f"recv {r.name} 4 dontwait"))

    # -- numbers that have been received
    def passed(self):
        self.make_pair("unix")
        via, to = self.files[0].name, self.files[1].name
        kind = self.pick("unix", "tcp", "pipe", "dgram", "eventfd", "fifo")
        at = len(self.files)
        getattr(self, "make_" + kind, lambda: self.make_pair(kind))()
        f = self.files[at]
        peer = f.peer or f
        if f.kind == "pipe" and f.end == "w":
            f, peer = peer, f
        self.handler(0.3)
        got = [f.name]
        for _ in range(self.pick(1, 1, 2)):
            if self.below(0.25):
                self.add(3, f"recvfd {to} 4 {self.new(f.kind).name}")
                self.add(0, f"sendfd {via} {self.pick(1, 4)} {f.name}")
            else:
                self.add(0, f"sendfd {via} {self.pick(1, 4)} {f.name}")
                self.add(0, f"recvfd {to} 4 {self.new(f.kind).name}")
            got.append(self.files[-1].name)
        if self.below(0.3):
            self.add(0, f"close {f.name}")
        for k in (1, 2)[:self.pick(1, 2)]:
            n = self.pick(got)
            self.add(k, self.pick(self.read(f).replace(f" {f.name} ", f" {n} ", 1),
                                  f"read {n} 8", f"poll {n}:in",
                                  f"select {n}:in"))
        for _ in range(self.pick(1, 2)):
            n = self.pick(got)
            self.add(self.pick(0, 4), self.pick(
                f"close {n}", f"nonblock {n} 1", f"dup2 {self.pick(got)} {n}",
                f"close {via}", f"shutdown {n} rdwr",
                f"opt {n} rcvlowat 4"))
            self.interrupt((1, 2))
        for _ in range(self.pick(1, 2)):
            self.add(0, self.write(peer))
        self.add(4, f"poll {self.pick(got)}:in,out,rdhup 0ms")

    # -- splice and its kin, whichever end waits
    def between(self):
        self.make_pipe()
        a, b = self.files[0].name, self.files[1].name # read end, write end
        self.handler(0.3)
        self.bulk = False
        kind = self.pick("pipe", "pipe", "unix", "tcp", "memfd", "dgram", "fifo",
                         "eventfd", "pty")
        at = len(self.files)
        getattr(self, "make_" + kind, lambda: self.make_pair(kind))()
        f = self.files[at]
        peer = f.peer or f
        if self.below(0.4):
            self.add(0, f"pipesize {b} {self.pick(4096, 8192)}")
        for n in (b, f.name, peer.name):
            if self.below(0.15):
                self.add(0, f"fill {n}")
            elif self.below(0.2):
                self.add(0, f"write {n} {self.pick(1, 3, 10)}")
        inp, outp = (f.name, peer.name) if kind != "pipe" else (f.name, peer.name)
        n = self.pick(1, 3, 5000, 70000, 1 << 20)
        calls = [f"splice {a} {outp} {n}", f"splice {inp} {b} {n}",
                 f"splice {a} {outp} {n} pipenowait",
                 f"splice {inp} {b} {n} pipenowait",
                 f"tee {a} {outp} {n}", f"vwrite {b} 3,0,5 vmsplice",
                 f"vwrite {b} 3,b,5 vmsplice", f"vmsplice {b} {n}", f"take {a} {n}",
                 f"sendfile {outp} {inp} {n}", f"sendfile {b} {inp} {n}",
                 f"sendfile {b} {inp} {n} own", f"splice {a} {b} {n}",
                 f"splice {inp} {b} {n} fromat", f"splice {a} {outp} {n} toat"]
        for k in (1, 2, 3)[:self.pick(1, 1, 2, 2, 3)]:
            self.add(k, self.pick(calls))
        for _ in range(self.pick(1, 2, 3)):
            self.add(self.pick(0, 4), self.pick(
                f"write {b} {self.pick(1, 3, 5000)}", f"read {a} {self.pick(1, 5000)}",
                f"write {inp} {self.pick(1, 5000)}",
                f"read {outp} {self.pick(1, 20000)}",
                f"write {outp} 3", f"read {inp} 3",
                f"close {self.pick(a, b, inp, outp)}",
                f"nonblock {self.pick(a, b, inp, outp)} 1",
                f"pipesize {b} {self.pick(4096, 1 << 18)}",
                f"shutdown {self.pick(inp, outp)} {self.pick('rd', 'wr')}"))
            self.interrupt()
        if self.below(0.5):
            self.add("*", f"sink 4 {self.pick(a, inp, outp)}")
        self.add(4, f"poll {a}:in {b}:out {inp}:in,out {outp}:in,out 0ms")

    # -- both sides of a terminal
    def terminal(self):
        a, b = self.two("pty", ("master", "slave"))
        m, s = a.name, b.name
        self.add(0, f"pty {m} {s} {self.pick('raw', '', '')}")
        for _ in range(self.pick(0, 0, 1, 2)):
            self.add(0, self.pick(
                f"packet {m} 1", f"lflag {s} echo 0", f"lflag {s} canon 0",
                f"mode {s} {self.pick(0, 2, 5)} 0", f"flow {s} off",
                f"lflag {s} isig 0", f"fill {m}", f"fill {s}", f"nonblock {m} 1"))
        self.handler(0.3)
        size = lambda: self.pick(0, 1, 3, 8, 100)
        waits = [f"read {s} {size()}", f"readv {s} {size()}", f"read {m} {size()}",
                 f"readv {m} {size()}", f"poll {s}:in", f"poll {m}:in",
                 f"poll {m}:pri", f"poll {s}:out", f"select {m}:in,pri",
                 f"write {s} {self.pick(1, 5000)}", f"write {m} {self.pick(1, 5000)}",
                 f"drainout {s}", f"vread {s} 3,0,5 readv",
                 f"vread {m} 3,0,5 readv", f"vwrite {s} 3,0,2 writev",
                 f"lflag {s} echo 1 flush"]
        for k in (1, 2, 3)[:self.pick(1, 2, 2, 3)]:
            self.add(k, self.pick(waits))
        for _ in range(self.pick(1, 2, 3)):
            self.add(self.pick(0, 4), self.pick(
                f"typed {m} {self.pick('eof', 'line', 'erase', 'stop', 'start')}",
                f"typed {m} {self.pick('line', 'word')}",
                f"write {m} {self.pick(1, 3)}", f"write {s} {self.pick(1, 3)}",
                f"read {m} {self.pick(3, 5000)}", f"read {s} {self.pick(3, 5000)}",
                f"flush {self.pick(m, s)} {self.pick('in', 'out', 'both')}",
                f"flow {s} {self.pick('off', 'on')}",
                f"lflag {s} {self.pick('canon', 'echo')} {self.pick(0, 1)}",
                f"mode {s} {self.pick(0, 1, 3)} 0", f"close {self.pick(m, s)}",
                f"hangup {s}", f"nonblock {self.pick(m, s)} 1"))
            self.interrupt()
        self.add(4, self.pick(f"poll {m}:in,out,pri {s}:in,out 0ms", f"unread {s}",
                              f"outq {s}"))

    # -- epoll descriptors in others, and what is in them changes
    def epolls(self):
        self.bulk = False
        for _ in range(self.pick(1, 2)):
            kind = self.pick("unix", "tcp", "pipe", "eventfd", "dgram", "pty",
                             "timerfd", "listen")
            getattr(self, "make_" + kind, lambda: self.make_pair(kind))()
        files = [f for f in self.files if f.kind != "sock"]
        how = ["in", "in et", "in oneshot", "in out et", "out et", "in excl",
               "in rdhup et", "pri", "out oneshot"]
        self.handler(0.3)
        self.add(0, "epoll z")
        nested = self.below(0.4)
        if nested:
            self.add(0, "epoll y")
            self.add(0, f"epadd y z {self.pick(how)}")
        if self.below(0.2):
            self.add(0, "dup z x")
        for f in files[:self.pick(1, 2, 3)]:
            self.add(0, f"epadd z {f.name} {self.pick(how)}")
        if self.below(0.3):
            self.add(0, self.write(files[0].peer or files[0]))
        waits = [f"epwait z {self.pick(1, 4)}"] * 4 + ["poll z:in", "select z:in"]
        if nested:
            waits += ["epwait y 1"] * 4 + ["poll y:in"]
        if self.steps[-1].startswith("0 dup") or "0 dup z x" in self.steps:
            waits += ["epwait x 1"] * 2
        for k in (1, 2, 3)[:self.pick(1, 1, 2, 3)]:
            self.add(k, self.pick(waits))
        for _ in range(self.pick(1, 2, 3, 4)):
            f = self.pick(files)
            self.add(self.pick(0, 0, 4), self.pick(
                self.write(f.peer or f), self.write(f.peer or f),
                self.read(f) + (" dontwait" if f.kind in ("unix", "tcp") else "")
                if f.kind in ("unix", "tcp", "dgram") else self.write(f),
                f"epmod z {f.name} {self.pick(how)}", f"epdel z {f.name}",
                f"epadd z {f.name} {self.pick(how)}", f"close {f.name}",
                f"close {(f.peer or f).name}", "close z", "epwait z 1 0ms",
                f"dup2 {f.name} {self.pick(files).name}"))
            self.interrupt()
        self.add(4, self.pick("epwait z 4 0ms", "poll z:in 0ms", "epwait y 2 0ms"))

    # -- children and who waits for them
    def families(self):
        parent = self.pick(0, 0, 3) # of which thread's is told first depends
        for k in (5, 6)[:self.pick(1, 2)]:
            self.add(parent, f"fork {k}")
            self.children.append(k)
        self.handler(0.4)
        k = self.pick(self.children)
        kinds = ["exited", "exited", "exited untraced", "untraced",
                 "exited continued", "continued", "exited keep",
                 "exited untraced continued"]
        waits = [f"waitid {self.pick(k, 'any')} {self.pick(kinds)}" for _ in range(4)]
        waits += [f"wait {k} {self.pick('', 'untraced', 'continued', 'any')}",
                  f"wait {k} any {self.pick('', 'untraced')}"]
        if self.below(0.3):
            self.add(0, f"pidfd p {k}")
            waits += ["pidwait p", "poll p:in", "pidwait p keep"]
        for a in (1, 2, 3, 0)[:self.pick(1, 2, 2, 3)]:
            self.add(a, self.pick(waits))
        for _ in range(self.pick(1, 2, 3)):
            c = self.pick(self.children)
            what = [(c, "exit 3"), ("*", f"killchild {c} KILL"),
                    ("*", f"killchild {c} STOP"), ("*", f"killchild {c} CONT")]
            if self.signals:
                what.append((4, f"tkill {self.pick(1, 2)} USR1"))
            self.add(*self.pick(*what))
        self.add(4, self.pick(f"waitid any exited nohang", f"wait {k} any nohang",
                              f"waitid any exited untraced nohang keep"))

    # -- locks of parts of a file
    def ranges(self):
        a = self.new("locks")
        self.add(0, f"memfd {a.name} 100")
        names = [a.name]
        for _ in range(self.pick(1, 1, 2)):
            f = self.new("locks")
            self.add(0, f"{self.pick('reopen', 'reopen', 'dup')} {a.name} {f.name}")
            names.append(f.name)
        ofd = self.below(0.6)
        holders = [0, 4]
        if not ofd:
            self.add(0, "fork 5")
            holders = [5]
            self.children.append(5)
        self.handler(0.4)
        tail = "ofd" if ofd else ""

        def part():
            return f"{self.pick(0, 0, 5, 10)} {self.pick(0, 5, 5, 10)}"

        def lock(name, how):
            return f"rlock {name} {how} {part()} {tail}"
        for _ in range(self.pick(1, 1, 2)):
            self.add(self.pick(holders), lock(names[0], self.pick("ex", "sh")))
        waiters = (1, 2, 3)[:self.pick(1, 2, 3)]
        for k in waiters:
            self.add(k, lock(self.pick(names[1:]), self.pick("ex", "ex", "sh")))
        if not ofd and self.below(0.3):
            self.add(5, lock(names[0], "ex")) # a circle, perhaps
        for _ in range(self.pick(1, 2, 3)):
            n = self.pick(names)
            self.add(*self.pick(
                (self.pick(holders), lock(names[0], "un")),
                (self.pick(holders), f"rlock {names[0]} un 0 0 {tail}"),
                (0, f"close {n}"), (self.pick(holders), f"close {names[0]}"),
                (0, f"rlock {n} un 0 0 {tail}"),
                (4, f"tkill {self.pick(waiters)} USR1") if self.signals else
                (0, f"dup {n} z"),
                (5, "exit 0") if not ofd else (0, f"dup2 {names[0]} {n}")))
        self.add(0 if ofd else self.pick(0, 4),
                 f"rlock {self.pick(names)} ex 0 0 {tail} nowait")

    # -- datagrams by name
    def named(self):
        kind = self.pick("unixdgram", "unixdgram", "udp")
        r = self.new("dgram")
        self.add(0, f"{kind} {r.name}")
        senders = []
        for _ in range(self.pick(1, 2, 3)):
            s = self.new("dgram")
            self.add(0, f"{kind} {s.name}")
            if self.below(0.4):
                self.add(0, f"connect {s.name} {r.name}")
                senders.append(f"send {s.name} {{}}")
            senders.append(f"sendto {s.name} {r.name} {{}}")
        self.handler(0.4)
        if kind == "unixdgram" and self.below(0.7): # its queue has room for 11
            for _ in range(11):
                self.add(0, f"sendto {self.files[1].name} {r.name} 1 dontwait")
        elif self.below(0.3):
            self.add(0, f"connect {r.name} {self.files[1].name}")
        reads = [f"recvfrom {r.name} {self.pick(0, 3, 10)}", f"recvmsg {r.name} 8",
                 f"recvmmsg {r.name} 2 4 {self.pick('', 'waitforone')}",
                 f"read {r.name} 8", f"recv {r.name} 8 {self.pick('trunc', '')}"]
        for k in (1, 2, 3)[:self.pick(1, 2, 3)]:
            self.add(k, self.pick(self.pick(senders).format(self.pick(0, 1, 10, 70000)),
                                  self.pick(senders).format(5), self.pick(reads)))
        for _ in range(self.pick(1, 2, 3)):
            self.add(self.pick(0, 4), self.pick(
                self.pick(reads) if self.below(0.5) else f"recv {r.name} 3 dontwait",
                self.pick(senders).format(2), f"close {r.name}",
                f"disconnect {self.files[1].name}", f"shutdown {r.name} rd",
                f"connect {r.name} {self.files[1].name}",
                f"shutdown {self.files[1].name} wr", f"nonblock {r.name} 1",
                f"opt {r.name} passcred 1"))
            self.interrupt()
        self.add(4, f"poll {r.name}:in,out 0ms")

    # -- message queues, with time limits and notices
    def queued(self):
        a, b = self.two("queue")
        self.add(0, f"mqueue {a.name} {b.name}")
        self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        self.add(0, "action USR2 restart")
        self.signals = True
        for _ in range(self.pick(0, 0, 1, 2)):
            self.add(0, f"mqsend {a.name} {self.pick(0, 1)}")
        waits = [f"mqrecv {a.name}", f"mqrecv {b.name}", f"mqsend {a.name} 1",
                 f"poll {a.name}:in", f"poll {b.name}:out", f"select {a.name}:in,out",
                 f"mqrecv {a.name} 0ms", f"mqnotify {a.name} USR2"]
        for k in (1, 2, 3)[:self.pick(1, 2, 3)]:
            self.add(k, self.pick(waits))
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 0, 4), self.pick(
                f"mqsend {a.name} {self.pick(0, 1, 2)} 0ms", f"mqrecv {b.name} 0ms",
                f"mqnotify {b.name} USR2", f"mqnotify {a.name} off",
                f"close {a.name}", f"nonblock {a.name} 1", f"dup {a.name} z"))
            self.interrupt()
        self.add(4, f"poll {b.name}:in,out 0ms")

    # -- who opens a FIFO
    def openers(self):
        self.handler(0.5)
        how = ["r", "r", "w", "w", "rw", "r nonblock", "w nonblock"]
        names = "abcd"
        for k in range(self.pick(2, 3, 4)):
            self.add(self.pick(k + 1, k + 1, 0), f"fifo {names[k]} {self.pick(how)}")
            self.interrupt((1, 2, 3))
            if self.below(0.3):
                self.add(self.pick(0, 4), self.pick(
                    f"close {self.pick(names[:k + 1])}",
                    f"read {names[k]} {self.pick(1, 8)}",
                    f"write {names[k]} {self.pick(1, 5)}",
                    f"poll {names[k]}:in,out 0ms"))
        for _ in range(self.pick(1, 2, 3)):
            n = self.pick(names)
            self.add(self.pick(0, 4, 3), self.pick(
                f"read {n} 8", f"write {n} 3", f"write {n} 300000", f"close {n}",
                f"fifo e {self.pick('r nonblock', 'w nonblock', 'rw')}",
                f"poll {n}:in,out", f"drain {n}"))
            self.interrupt()
        self.add(4, f"poll a:in,out b:in,out 0ms")

    # -- what an address where nobody is, or a reset, leaves behind
    def errors(self):
        f = self.new("udppair")
        self.add(0, f"udplost {f.name}")
        n = f.name
        if self.below(0.6):
            self.add(0, f"opt {n} recverr 1")
        self.handler(0.4)
        waits = [f"recv {n} 8 {self.pick('', 'peek', 'errqueue', 'waitall')}",
                 f"recvmsg {n} 8 {self.pick('', 'errqueue')}", f"read {n} 8",
                 f"recvmmsg {n} 3 8 {self.pick('', 'waitforone')}",
                 f"poll {n}:{self.pick('in', 'pri', 'out', 'in,out')}",
                 f"select {n}:{self.pick('in', 'pri')}", f"recvfrom {n} 8",
                 f"send {n} 1", f"epwait z 2"]
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'pri')}")
        for k in (1, 2, 3)[:self.pick(1, 2, 2, 3)]:
            self.add(k, self.pick(waits))
        for _ in range(self.pick(2, 3, 4)):
            self.add(self.pick(0, 4), self.pick(
                f"send {n} 1", f"send {n} 1", f"write {n} 3", f"sendmmsg {n} 3 2",
                f"soerror {n}", f"recv {n} 8 errqueue", f"recv {n} 8 dontwait",
                f"disconnect {n}", f"shutdown {n} rd", f"sendto {n} {n} 4"))
            self.interrupt()
        self.add(4, self.pick(f"poll {n}:in,out,pri 0ms", f"soerror {n}"))

    # -- streams that are neither TCP's nor unix ones; packets by connection
    def odd_streams(self):
        if self.below(0.5):
            f, peer = self.two("tcp")
            self.add(0, f"mptcp {f.name} {peer.name}")
        else:
            lsn = self.new("listen")
            f, peer = self.two("seqpacket")
            lsn.end = "seq"
            self.add(0, f"seqlisten {lsn.name} {self.pick(0, 1)}")
            self.add(0, f"seqsock {f.name}")
            if self.below(0.4):
                self.add(1, f"accept {lsn.name} {peer.name}")
                self.add(2, f"connect {f.name} {lsn.name}")
            else:
                self.add(0, f"connect {f.name} {lsn.name}")
                self.add(0, f"accept {lsn.name} {peer.name}")
            if self.below(0.3):
                s = self.new("sock", lsn, "seq")
                self.add(0, f"seqsock {s.name}")
                self.add(3, f"connect {s.name} {lsn.name}")
        self.handler(0.4)
        self.state()
        for k in (1, 2, 3)[:self.pick(1, 2)]:
            g = self.pick(f, peer)
            self.add(k, self.pick(self.read(g), self.read(g), self.write(g),
                                  f"send {g.name} 300000",
                                  f"poll {g.name}:in,rdhup"))
        for _ in range(self.pick(1, 2, 3)):
            g = self.pick(f, peer)
            self.add(self.pick(0, 4), self.pick(
                self.write(g), f"recv {g.name} 20000", f"close {g.name}",
                f"shutdown {g.name} {self.pick('rd', 'wr', 'rdwr')}",
                f"nonblock {g.name} 1", f"dup {g.name} z"))
            self.interrupt()
        if self.below(0.4):
            self.add("*", f"sink 4 {f.name}")
        self.add(4, f"poll {f.name}:in,out,rdhup {peer.name}:in,out,rdhup 0ms")

    # -- time limits, and what is done by then
    def limits(self):
        limit = "400ms"
        r, w = self.pair_of("unix", "tcp", "dgram", "seqpacket", "udppair")
        n = r.name
        self.bulk = False
        self.signals = self.below(0.4)
        if self.signals:
            self.add(0, f"action USR1 {self.pick('plain', 'restart')}")
        for f in (r, w):
            if self.below(0.7):
                self.add(0, f"opt {f.name} {self.pick('rcv', 'snd')}timeo {limit}")
        if self.below(0.3):
            self.add(0, f"opt {n} rcvlowat {self.pick(4, 10)}")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'out et')}")
        self.add(0, "mqueue x y")
        for _ in range(self.pick(1, 2)):
            full = self.below(0.3)
            if full:
                self.add(0, f"fill {w.name}")
            call = self.pick(
                self.read(r), f"recv {n} 10 {self.pick('waitall', '', 'peek')}",
                f"recvmsg {n} 10 {self.pick('waitall', '')}", f"read {n} 10",
                f"recvmmsg {n} 3 4 {self.pick('', 'waitforone')} "
                + self.pick("", limit),
                f"write {w.name} {self.pick(1, 300000, 1 << 20)}",
                f"send {w.name} {self.pick(1, 300000)}",
                f"sendmmsg {w.name} 3 {self.pick(1, 70000)}",
                f"poll {n}:{self.pick('in', 'pri', 'in,out')} {limit}",
                f"select {n}:{self.pick('in', 'pri')} {limit}",
                f"pselect {n}:in {limit}", f"ppoll {n}:in {limit}",
                f"epwait z 2 {limit}", f"eppwait2 z 2 {limit}", f"mqrecv x {limit}",
                f"sigwait USR2 {limit}", f"sleep {limit}")
            k = self.pick(1, 2)
            i = self.add(k, call)
            for _ in range(self.pick(0, 1, 1, 2)):
                self.add(*self.pick(
                    (0, f"write {w.name} {self.pick(1, 3, 5)}") if not full else
                    (0, f"read {n} {self.pick(1, 20000)}"),
                    (0, "mqsend y 1"), (4, f"tkill {k} USR1") if self.signals else
                    (0, f"unread {n}"), (0, f"nonblock {n} 1"),
                    (0, f"close {self.pick(n, w.name)}"),
                    (0, f"opt {n} rcvtimeo {self.pick('800ms', '0ms')}"),
                    (0, f"opt {n} rcvlowat 1"), (0, f"shutdown {w.name} wr")))
            self.add("*", f"await {i}")
            if self.below(0.3):
                self.add("*", f"sink 4 {n}")
        self.add(4, self.pick(f"poll {n}:in,out 0ms", f"recv {n} 20 dontwait",
                              f"soerror {n}"))
