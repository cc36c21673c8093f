"""Several who wait for one thing, of which a part comes; and what changes under them
without an event: options, flags, rooms, groups, names. Drawn at random, for the scripts
of gen.py."""

NAMES = ("mouthfuls", "trickles", "counts", "batches", "portions", "families_of",
         "doors", "keyboards", "ceilings", "hidden")


class Crowds:
    """More of what gen.Script has; the rest is there."""

    def crowd(self):
        self.bulk = False
        self.signals = self.below(0.5)
        if self.signals:
            self.add(0, f"action USR1 {self.pick('plain', 'restart', 'restart')}")
        getattr(self, self.pick(NAMES))()
        if self.below(0.06):
            self.cancelled()

    def crowded(self, waits, feeds, changes, names=(), most=4):
        """@waits by several; what comes for them, and what changes; then what has their
        calls begin anew, or the numbers of @names go."""
        who = (1, 2, 3, 4)[:self.pick(1, 2, 2, 3, 3, 4)][:most]
        if self.below(0.25):
            self.add(0, self.pick([f for f in feeds if isinstance(f, str)]))
        for k in who:
            self.add(k, self.pick(waits))
        for _ in range(self.pick(2, 3, 4, 5, 6)):
            what = self.pick(["feed"] * 4 + ["change"] * 4 + ["stop"] * 2 +
                             ["signal"] * 2 * self.signals + ["close"] * bool(names))
            if what == "stop":
                self.add("*", "stop")
                self.add("*", "cont")
            elif what == "signal":
                self.add(0, f"tkill {self.pick(who)} USR1")
            elif what == "close":
                n = self.pick(names)
                self.add(0, self.pick(f"close {n}", f"dup2 {self.pick(names)} {n}",
                                      f"dup {n} y"))
            else:
                step = self.pick(feeds if what == "feed" else changes)
                self.add(*step) if isinstance(step, tuple) else self.add(0, step)
        for _ in range(self.pick(0, 1, 2)):
            self.add(0, self.pick([f for f in feeds if isinstance(f, str)]))

    # -- bytes of a stream
    def mouthfuls(self):
        r, w = self.stream("unix", "tcp", "pty", "fifo")
        n, m = r.name, w.name
        sock = r.kind in ("unix", "tcp")
        size = lambda: self.pick(1, 2, 3, 5, 10)
        waits = [f"read {n} {size()}", f"readv {n} {size()}", f"vread {n} 3,0,5 readv",
                 f"preadv2 {n} {size()}", f"vread {n} 1,b,5 readv", f"poll {n}:in",
                 f"select {n}:in"]
        changes = [f"nonblock {n} {self.pick(0, 1, 1)}", f"fionbio {n} 1",
                   f"setfl {n} async 1"]
        if sock:
            waits += [f"recv {n} {size()} {self.pick('', 'waitall', 'waitall', 'peek')}"
                      for _ in range(4)]
            waits += [f"recv {n} {size()} waitall peek", f"recvmsg {n} 5 waitall",
                      f"recvmsg {n} {size()}", f"recvfrom {n} 5 waitall",
                      f"recvmmsg {n} 3 {self.pick(1, 2)}", f"recv {n} 5 trunc",
                      f"recvmmsg {n} 2 3 waitall", f"recvmmsg {n} 3 2 waitforone",
                      f"vread {n} 3,0,5 recvmsg waitall",
                      f"vread {n} 3,b recvmsg waitall", f"poll {n}:in,pri,rdhup"]
            changes += [f"opt {n} rcvlowat {self.pick(1, 1, 2, 5, 10)}"
                        for _ in range(4)]
            changes += [f"opt {n} peekoff {self.pick(-1, 0, 2)}",
                        f"opt {n} oobinline {self.pick(0, 1)}", f"opt {n} passcred 1",
                        f"opt {n} rcvbuf 4096", f"opt {n} timestamp 1",
                        f"shutdown {n} wr", f"shutdown {m} rd",
                        f"opt {n} rcvtimeo 0", f"opt {m} cork {self.pick(0, 1)}",
                        f"opt {n} tcpinq 1", f"opt {n} recverr 1",
                        f"shutdown {self.pick(n, m)} {self.pick('rd', 'wr', 'rdwr')}"]
            if self.below(0.6):
                self.add(0, f"opt {n} rcvlowat {self.pick(2, 5, 10)}")
        elif r.kind == "pty":
            changes += [f"mode {n} {self.pick(0, 1, 2, 5)} 0", f"packet {n} 1"]
        else:
            changes += [f"pipesize {m} 4096", f"setfl {m} direct {self.pick(0, 1)}"]
        feeds = [f"write {m} {self.pick(1, 1, 2, 3, 4, 9)}" for _ in range(5)]
        feeds += [f"recv {n} 2 dontwait" if sock else f"preadv2 {n} 2 nowait",
                  f"vwrite {m} 1,0,2 writev"]
        if sock:
            feeds += [f"send {m} 1 oob", f"sendmmsg {m} 2 2"]
        self.crowded(waits, feeds, changes, (n, n, m))
        self.add(0, f"drain {n}")
        self.add(0, self.pick(f"close {m}", f"write {m} 20"))

    # -- room for bytes
    def trickles(self):
        r, w = self.stream("unix", "dgram", "seqpacket", "fifo", "pipe", "eventfd",
                           "pty", "udppair")
        n, m = r.name, w.name
        sock = r.kind not in ("pipe", "pty", "eventfd")
        if r.kind == "eventfd":
            self.add(0, f"write8 {m} -2")
            size = lambda: self.pick(1, 1, 2, 5)
            self.crowded([f"write8 {m} {size()}" for _ in range(4)] +
                         [f"read8 {n}", f"poll {m}:out", f"writev {m} 8"],
                         [f"read8 {n}", f"write8 {m} 1", f"read8 {n}"],
                         [f"nonblock {m} {self.pick(0, 1)}", f"fionbio {m} 1"], (m,))
            return
        if r.kind == "pipe" and self.below(0.5):
            self.add(0, f"pipesize {m} {self.pick(4096, 8192)}")
        if sock and self.below(0.5):
            self.add(0, f"opt {m} sndbuf {self.pick(4096, 20000)}")
        self.add(0, f"fill {m}")
        size = lambda: self.pick(1, 3, 4096, 5000, 10000, 70000)
        waits = [f"write {m} {size()}", f"writev {m} {size()}",
                 f"vwrite {m} 3000,0,5000 writev", f"pwritev2 {m} {size()}",
                 f"poll {m}:out", f"select {m}:out"]
        changes = [f"nonblock {m} {self.pick(0, 1, 1)}", f"fionbio {m} 1",
                   f"setfl {m} async 1"]
        if sock:
            waits += [f"send {m} {size()} {self.pick('', 'nosignal', 'more')}",
                      f"sendmsg {m} {size()}", f"sendmmsg {m} 3 {size()}",
                      f"sendmmsg {m} 2 {size()}",
                      f"vwrite {m} 5000,0,10000 sendmsg"]
            changes += [f"opt {m} sndbuf {self.pick(4096, 50000, 1 << 20)}",
                        f"opt {n} rcvbuf {self.pick(4096, 1 << 20)}",
                        f"shutdown {m} rd", f"shutdown {n} wr",
                        f"shutdown {m} wr", f"shutdown {n} rd",
                        f"opt {m} sndtimeo 0", f"opt {m} cork {self.pick(0, 1)}",
                        f"disconnect {m}"]
            if r.kind == "unix":
                waits += [f"sendfd {m} {self.pick(1, 5000)} {n}"]
        elif r.kind == "pipe":
            changes += [f"pipesize {m} {self.pick(4096, 8192, 1 << 17, 1 << 18)}",
                        f"setfl {m} direct {self.pick(0, 1)}",
                        f"pipesize {n} {self.pick(8192, 1 << 17)}"]
        elif r.kind == "pty":
            changes += [f"flow {m} {self.pick('off', 'on')}",
                        f"flush {m} {self.pick('in', 'out')}",
                        f"mode {n} {self.pick(1, 2)} 0"]
        feeds = [f"read {n} {self.pick(1, 4095, 4096, 5000, 20000, 70000)}"
                 for _ in range(5)] + [f"read {n} {self.pick(1, 100)}"]
        feeds += [f"write {m} 1" if self.below(0.2) else f"read {n} 4096"]
        self.crowded(waits, feeds, changes, (m, m, n))
        self.add("*", f"sink 0 {n}")

    # -- things that are counted, or that come one by one
    def counts(self):
        kind = self.pick("inotify", "inotify", "timerfd", "signalfd", "eventfd",
                         "eventfd", "fanotify", "mqueue", "raw", "pidfd")
        vecs = ("8,8", "8,0,8", "3,5", "0,8", "16,16", "16,b", "8,b", "b,8", "n",
                "32,32", "128,128", "100,128", "128,3", "0,0", "24,8")
        m = "b"
        vread = [f"vread a {self.pick(vecs)} {self.pick('readv', 'preadv2')}"
                 for _ in range(5)]
        changes = [f"nonblock a {self.pick(0, 1, 1)}", "fionbio a 1", "setfl a async 1",
                   "fds"]
        poll = ["poll a:in", "select a:in", "epwait z 1"]
        if kind in ("inotify", "fanotify", "raw"):
            self.add(0, f"{kind} a b")
            feeds = ["write b 3", "write b 10", "pwritev2 b 3", "cut b 1", "unread a"]
            if kind == "inotify":
                changes += ["unwatch a"]
            if kind == "raw":
                feeds = ["write b 3", "sendmmsg b 2 3", "write b 10", "unread a"]
                vread += ["recvmmsg a 3 8", "recv a 10 peek", "recv a 10 waitall"]
            if kind == "fanotify":
                vread = [f"fanread a {self.pick(8, 24, 48, 100)}" for _ in range(3)]
            vread += [f"read a {self.pick(0, 8, 16, 32, 100)}"] * (kind != "fanotify")
        elif kind == "timerfd":
            self.add(0, "timerfd a")
            feeds = ["read8 a", "poll a:in 0ms", "timerset a 0ms"]
            self.timed = True
            vread += ["read8 a", "read a 4", "read a 100"]
            k = self.add(1, self.pick(vread))
            self.add(2, self.pick(vread + poll[:2]))
            if self.below(0.5):
                self.add(0, self.pick(changes))
            if self.below(0.5):
                self.add("*", "stop")
                self.add("*", "cont")
            self.add(0, "timerset a 400ms")
            self.add("*", f"await {k}")
            self.add(3, self.pick(vread))
            return
        elif kind == "signalfd":
            for k in range(5):
                for s in ("USR2", "REAL1"):
                    self.add(k, f"mask block {s}")
            self.add(0, "signalfd a " + self.pick("USR2", "REAL1"))
            feeds = ["queue REAL1 1", "queue REAL1 2", "kill USR2", "queue USR2 3",
                     "queue REAL1 4"]
            changes += ["shows a USR2", "shows a REAL1", "sigtake REAL1 USR2 0ms"]
            vread += [f"read a {self.pick(100, 128, 256, 300)}", "shown a",
                      "sigtake REAL1 USR2"]
        elif kind == "eventfd":
            self.add(0, f"eventfd a {self.pick(0, 0, 1, 3)} {self.pick('', 'sem')}")
            feeds = ["write8 a 1", "write8 a 1", "write8 a 2", "write8 a 3",
                     "vwrite a 8,8 writev", "read8 a" if self.below(0.2) else
                     "write8 a 5", "vwrite a 3,5 writev"]
            vread += ["read8 a"] * 4 + ["vread a 8,8,8 readv", "vread a 4,4 readv"]
        elif kind == "mqueue":
            self.add(0, "mqueue a b")
            feeds = [f"mqsend b {self.pick(0, 1, 2)}" for _ in range(3)] + ["mqrecv b"]
            vread = ["mqrecv a"] * 4 + ["mqrecv b"]
        else:
            self.add(0, "fork 5")
            self.add(0, "pidfd a 5")
            feeds = ["pidkill a STOP", "pidkill a CONT", "pidwait a nohang"]
            vread = ["pidwait a", "pidwait a keep", "pidwait a untraced", "wait 5",
                     "pidwait a continued", "wait 5 any", "wait 5 untraced"]
            changes = ["nonblock a 1", (5, "group"), "fionbio a 1"]
        self.add(0, "epoll z")
        self.add(0, f"epadd z a {self.pick('in', 'in et', 'in oneshot')}")
        self.crowded(vread * 2 + poll, feeds, changes, ("a", "a", "z"))
        self.add(4, self.pick("poll a:in 0ms", "epwait z 1 0ms", "unread a"))

    # -- several messages a call, one of which fails
    def batches(self):
        kind = self.pick("dgram", "seqpacket", "udppair", "unix", "tcp", "netlink",
                         "udp6pair", "unixdgram", "udplost")
        a, b = self.two("dgram")
        if kind == "unixdgram":
            self.add(0, "unixdgram a")
            self.add(0, "unixdgram b")
            self.add(0, "connect b a")
        elif kind == "udplost":
            self.add(0, "udplost a")
            self.add(0, "dup a b")
        elif kind in ("tcp", "udppair", "netlink", "udp6pair"):
            self.add(0, f"{kind} a b")
        else:
            self.add(0, f"pair a b {'stream' if kind == 'unix' else kind}")
        k, size = lambda: self.pick(2, 3, 4), lambda: self.pick(0, 1, 3, 8)
        odd = lambda: self.pick("", "", "", "fault1", "fault2", "fault3", "fault4")
        waits = [f"recvmmsg a {k()} {size()} {odd()} {flags}" for flags in
                 ("", "", "waitforone", "peek", "trunc", "waitall", "errqueue",
                  "dontwait", "cmsgcloexec")]
        waits += [f"recv a 5 {self.pick('', 'peek', 'waitall')}", "poll a:in",
                  "recvmsg a 5", "recvfrom a 5"]
        sends = [f"sendmmsg b {k()} {size()} {odd()}", f"sendmmsg b 4 3 {odd()}",
                 f"sendmmsg b 3 {self.pick(1, 5000)} large{self.pick(1, 2, 3)}",
                 f"sendmmsg b 2 {self.pick(5000, 70000)} {odd()}",
                 f"sendmmsg b 3 3 nosignal {odd()}", f"sendmmsg b 3 1 dontwait"]
        if self.below(0.3):
            self.add(0, f"opt b sndbuf {self.pick(4096, 20000)}")
            self.add(0, "fill b")
            waits = sends + [f"poll b:out", "send b 5000"]
            feeds = ["read a 5000"] * 3 + ["recvmmsg a 2 5000 dontwait",
                                           "send b 1 dontwait"]
        else:
            feeds = sends[:2] + [f"send b {size()}", f"send b {size()}", sends[2],
                                 f"recv a 5 dontwait"]
            if kind == "udplost":
                feeds = ["send a 3", "sendmmsg a 3 3", "soerror a"]
        changes = ["nonblock a 1", "nonblock b 1", "fionbio a 1", "shutdown a rd",
                   "shutdown b wr", "shutdown a wr", "shutdown b rd",
                   "opt a recverr 1", "opt a peekoff 0", "opt a rcvbuf 4096",
                   "opt b sndbuf 4096", "opt a timestamp 1", "opt a passcred 1",
                   "opt a rcvlowat 3", "disconnect b", "disconnect a", "opt a gro 1",
                   f"filter a {self.pick(0, 2, 100)}", "unfilter a",
                   "opt b gso 2", "connect a b", "setfl a async 1", "soerror a"]
        self.crowded(waits, feeds, changes, ("a", "a", "b"))
        self.add(0, self.pick("soerror a", "soerror b", "recvmmsg a 3 5 dontwait"))

    # -- sendfile and splice in parts
    def portions(self):
        self.make_pipe()
        p, q = self.files[0].name, self.files[1].name
        kind = self.pick("unix", "tcp", "pipe", "memfd", "fifo", "unix", "pipe")
        at = len(self.files)
        getattr(self, "make_" + kind, lambda: self.make_pair(kind))()
        f = self.files[at]
        i, o = f.name, (f.peer or f).name
        self.add(0, f"memfd m {self.pick(10, 5000, 200000)}")
        if self.below(0.5):
            self.add(0, f"pipesize {q} {self.pick(4096, 8192)}")
        if kind == "unix" and self.below(0.5):
            self.add(0, f"opt {o} sndbuf {self.pick(4096, 20000)}")
        n = lambda: self.pick(1, 3, 4096, 5000, 12288, 70000)
        waits = [f"splice {p} {o} {n()}", f"splice {p} {o} {n()}",
                 f"splice {i} {q} {n()}", f"splice {i} {q} {n()}",
                 f"sendfile {o} m {n()}", f"sendfile {q} m {n()}",
                 f"sendfile {o} m {n()} own", f"tee {p} {o} {n()}",
                 f"splice m {q} {n()}", f"splice m {q} {n()} fromat",
                 f"vwrite {q} 3,0,5000 vmsplice", f"take {p} {n()}", f"read {p} 5000",
                 f"write {q} {n()}", f"splice {p} m {n()}", f"poll {p}:in {q}:out"]
        feeds = [f"write {q} {n()}", f"read {p} {n()}", f"write {i} {n()}"
                 if kind in ("unix", "tcp") else f"write {o} 3", f"read {i} {n()}",
                 f"write {o} {self.pick(1, 3)}", f"read {p} 1", f"write {q} 1"]
        changes = [f"nonblock {self.pick(p, q, i, o)} {self.pick(1, 1, 0)}",
                   f"pipesize {q} {self.pick(4096, 8192, 1 << 17)}", "cut m 1",
                   "cut m 100000", f"setfl {q} direct 1", "seek m 0", "fsize 4096"
                   if self.below(0.3) else "room " + q]
        if kind in ("unix", "tcp"):
            changes += [f"shutdown {self.pick(i, o)} {self.pick('rd', 'wr')}",
                        f"opt {o} sndbuf {self.pick(4096, 1 << 20)}",
                        f"opt {i} rcvlowat {self.pick(1, 5)}"]
        for x in (q, o):
            if self.below(0.3):
                self.add(0, f"fill {x}")
        self.crowded(waits, feeds, changes, (p, q, i, o, "m"))
        self.add("*", f"sink 0 {self.pick(p, i)}")

    # -- children whose groups change under those who wait
    def families_of(self):
        for k in (5, 6):
            self.add(self.pick(0, 0, 0, 3), self.pick(f"fork {k}", f"spawn {k}"))
        if self.below(0.5):
            self.add(self.pick(5, 6), "group")
        waits = ["wait 5 mine", "wait 5 mine", "wait 5 group", "wait 6 group",
                 "wait 5 any", "wait 5", "waitid 5 exited", "waitid any exited",
                 "wait 6 mine untraced", "wait 5 mine nothread", "wait 5 group untraced",
                 "waitid any exited keep"]
        changes = ["group", (5, "group"), (6, "group"), "joins 5 6", "joins 6 5",
                   "joins 0 5", "joins 5 0", (5, "joins 5 6"), (6, "joins 6 0"),
                   "joins 5 5", "joins 6 6"]
        feeds = [(5, "exit 3"), (6, "exit 4"), ("*", "killchild 5 STOP"),
                 ("*", "killchild 5 CONT"), ("*", "killchild 6 KILL"),
                 "wait 5 any nohang", "wait 5 mine nohang"]
        self.crowded(waits, feeds, changes)
        for k in (5, 6):
            self.add("*", f"killchild {k} KILL")
        self.add(0, self.pick("wait 5 any nohang", "wait 5 mine nohang"))

    # -- a FIFO whose name and rights change under those who open it
    def doors(self):
        opens = [f"fifo {n} {how}" for n, how in zip("abcdefgh", ("r", "w") * 4)]
        waits = opens[:2] * 3 + opens[2:] + ["fifo k r", "fifo k w", "read a 3",
                                            "read x 3", "poll x:in"]
        if self.below(0.4):
            self.add(0, "fifo x rw")
        changes = ["unlink", "unlink", f"perm {self.pick(0, 200, 400, 600)}",
                   "close x", "nofile 64", "fifo y rw"]
        feeds = opens + ["fifo m rw", "fifo n r nonblock", "fifo o w nonblock",
                         "write m 3", "write b 3", "write n 2"]
        self.crowded(waits, ["fifo n r nonblock", "fifo o w nonblock", "write m 3",
                             "fifo m rw", "write x 3", "write b 3", "close a", "close b",
                             "close m"] if self.below(0.8) else feeds, changes,
                     ("a", "b", "x"), 3)
        self.add(0, "fifo m rw")
        self.add(4, "poll a:in b:out c:in 0ms")

    # -- modes of a terminal that change under its readers
    def keyboards(self):
        self.add(0, f"pty a b {self.pick('raw', '', '')}")
        if self.below(0.5):
            self.add(0, f"mode b {self.pick(0, 1, 2, 5)} 0")
        if self.below(0.3):
            self.add(0, "ptsopen a c rw")
        size = lambda: self.pick(1, 3, 8, 100)
        waits = [f"read b {size()}", f"readv b {size()}", "vread b 3,0,5 readv",
                 "vread b 1,b readv", f"read a {size()}", "poll b:in", "select b:in",
                 f"read b {size()}", f"preadv2 b {size()}", "poll a:in",
                 "write b 5000", "drainout b", "vread b 0,3 readv"]
        changes = [f"mode b {self.pick(0, 1, 2, 3, 5)} 0" for _ in range(3)] + \
            [f"lflag b {self.pick('canon', 'echo', 'isig', 'noflsh')} "
             f"{self.pick(0, 1)}" for _ in range(3)] + \
            [f"flow b {self.pick('off', 'on')}", f"packet a {self.pick(0, 1)}",
             f"nonblock {self.pick('a', 'b')} {self.pick(1, 1, 0)}",
             f"flush {self.pick('a', 'b')} {self.pick('in', 'out', 'both')}",
             "fionbio b 1", "setattr b", "lflag b canon 1 flush"]
        feeds = [f"write a {self.pick(1, 2, 3, 5)}" for _ in range(3)] + \
            [f"typed a {self.pick('line', 'eof', 'word', 'erase')}" for _ in range(3)] + \
            ["write b 2", "read a 100", f"typed a {self.pick('stop', 'start')}"]
        self.crowded(waits, feeds, changes, ("b", "b", "a"))
        self.add(0, "typed a line")
        self.add(4, self.pick("poll a:in,out b:in,out 0ms", "unread b", "outq b"))

    # -- limits that change under those who wait to have one more
    def ceilings(self):
        kind = self.pick("unix", "tcp", "rights", "size", "doors")
        low = [f"nofile {self.pick(3, 20, 40, 64)}", "table 5", "nofile 1024",
               "nofile 4096", "dup a y", "fds"]
        if kind == "size":
            self.add(0, "memfd m 10")
            self.make_pipe()
            p, q = self.files[0].name, self.files[1].name
            self.add(0, f"action XFSZ {self.pick('plain', 'restart', 'ign')}")
            self.crowded([f"splice {p} m {self.pick(5, 5000)}", f"read {p} 3",
                          f"splice {p} m 5 toat"],
                         [f"write {q} {self.pick(3, 5000)}", "cut m 0", "write m 3",
                          f"write {q} 20"],
                         [f"fsize {self.pick(0, 3, 100, 5000, 1 << 20)}", "seek m 0",
                          f"seek m 5000"], (p, q, "m"))
            return
        if kind == "rights":
            self.add(0, "pair a b stream")
            self.add(0, "pipe c d")
            self.crowded(["recvfd b 4 e", "recvmsg b 3", "recvmmsg b 2 3",
                          "recvfd b 8 f waitall", "recvfd b 2 g peek"],
                         ["sendfd a 2 c", "sendfd a 3 d", "send a 2", "write d 2"],
                         low + ["opt b passcred 1", "nonblock b 1",
                                "opt b passrights 0"], ("b", "c", "a"))
            return
        if kind == "doors":
            self.crowded(["fifo a r", "fifo b r", "fifo c r", "fifo a w"],
                         ["fifo x rw", "fifo y w nonblock", "write x 3", "close x"],
                         low, (), 3)
            return
        self.add(0, f"{kind}listen a {self.pick(1, 5)}")
        for s in "stu":
            self.add(0, f"{kind}sock {s}")
        self.crowded(["accept a v", "accept4 a w nonblock", "accept a x", "poll a:in",
                      "accept4 a k badname"],
                     ["connect s a", "connect t a", "connect u a"],
                     low + ["nonblock a 1", "listenat a 0", "opt a deferaccept 1",
                            "shutdown a rd", "opt a rcvlowat 5"], ("a", "a", "s"))
        self.add(0, "fds")

    # -- polls of what changes without an event
    def hidden(self):
        r, w = self.stream("unix", "tcp", "dgram", "seqpacket", "pty", "eventfd", "fifo",
                           "udppair")
        n, m = r.name, w.name
        sock = r.kind not in ("pipe", "pty", "eventfd")
        self.add(0, "epoll z")
        self.add(0, f"epadd z {n} {self.pick('in', 'in et', 'in oneshot', 'in rdhup')}")
        self.add(0, f"epadd z {m} {self.pick('out', 'out et', 'pri')}"
                 if m != n else "epoll x")
        if self.below(0.5):
            self.add(0, f"fill {m}" if r.kind != "eventfd" else f"write8 {m} -2")
        elif sock and self.below(0.5):
            self.add(0, f"opt {n} rcvlowat {self.pick(5, 10)}")
            self.add(0, f"send {m} 3")
        waits = [f"{c} {x}" for c in ("poll", "ppoll", "select")
                 for x in (f"{n}:in", f"{m}:out", f"{n}:in {m}:out", f"{n}:pri")]
        waits += ["epwait z 1", "epwait z 4", f"read {n} 3", "poll z:in"]
        if sock:
            changes = [f"opt {n} rcvlowat {self.pick(1, 2, 3, 10)}",
                       f"opt {n} rcvlowat 1",
                       f"opt {m} sndbuf {self.pick(4096, 1 << 20)}",
                       f"opt {n} oobinline {self.pick(0, 1)}",
                       f"opt {m} notsent {self.pick(1, 1 << 20)}",
                       f"opt {n} rcvbuf 1000000", f"shutdown {m} rd",
                       f"shutdown {n} {self.pick('rd', 'wr')}", f"disconnect {m}"]
        elif r.kind == "pipe":
            changes = [f"pipesize {m} {self.pick(4096, 1 << 17, 1 << 18)}",
                       f"setfl {m} direct 1", f"reopened {m} k r", f"reopened {n} l w"]
        elif r.kind == "pty":
            changes = [f"mode {n} {self.pick(0, 1, 5)} 0", f"lflag {n} canon 1",
                       f"lflag {n} canon 0", f"flush {n} in", f"packet {n} 1",
                       f"flow {n} off", f"flow {n} on"]
        else:
            changes = [f"read8 {n}"]
        changes += [f"nonblock {n} 1", f"epmod z {n} {self.pick('in', 'out', 'in et')}",
                    f"epdel z {n}", "epadd z z in", f"setfl {n} async 1"]
        feeds = [f"write {m} {self.pick(1, 3, 8)}", f"write {m} 8", f"read {n} 5000"]
        if r.kind == "eventfd":
            feeds = [f"write8 {m} 1", f"read8 {n}"]
        self.crowded(waits, feeds, changes, (n, m, "z"))
        self.add(0, self.pick("epwait z 4 0ms", f"poll {n}:in,out {m}:in,out 0ms"))
