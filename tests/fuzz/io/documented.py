"""Differences that docs/COMPATIBILITY.md tells, or that the kernel has with itself."""
import re

import races

CLOSERS = ("close", "closerange", "dup2", "dup3")


def documented(d):
    """Why, if docs/COMPATIBILITY.md says that this differs, or the kernel itself
    has it either way."""
    if forked_waits(d):
        return "a thread that has forked waits for epoll in the kernel: " \
            "docs/COMPATIBILITY.md"
    steps = [x.split() for x in d.steps[:d.phase + 1]]
    if re.search("blocks -> (done|-1 EFAULT)|: done -> (blocks|-1 EAGAIN|done)",
                 d.signature()) and \
            any(re.search("dgram|seqpacket|udp|raw|netlink|epoll", " ".join(x[1:]))
                for x in steps) and \
            any("peek" in x[3:] and x[0].isdigit() for x in steps):
        return "who peeks wakes the next one: docs/COMPATIBILITY.md"
    calls = [x[2] if x[1] == "sub" else x[1] for x in steps]
    if other_sets_nonblock(d, steps):
        return "O_NONBLOCK set by another process: docs/COMPATIBILITY.md"
    if shut_sender(d, steps):
        return "a datagram socket that is shut under who sends: docs/COMPATIBILITY.md"
    if not isinstance(d, races.Race) and \
            races.cut_short(d.lines()[1], d.lines()[0], d.phase):
        return "the process was killed before the step that has caused that could tell"
    if not isinstance(d, races.Race) and documented_alone(d, calls):
        return documented_alone(d, calls)
    no_number = "no descriptor is free for a waiter: docs/COMPATIBILITY.md"
    if isinstance(d, races.Race) and "signalfd" in calls and \
            re.search(r"\t\d+ = (128|256) ", d.line):
        return "what a signalfd tells has the sender's id, another one each time"
    if isinstance(d, races.Race) and "signalfd" in calls and " had SIG" in d.line and \
            any(what == "-1 EINTR" for _, what in news(d)):
        return "who reads a signalfd has the signal open: docs/COMPATIBILITY.md"
    if watch_readers_differ(d, steps) or \
            isinstance(d, races.Race) and "inotify" in calls and \
            {"nonblock", "fionbio"} & set(calls):
        return "which of two readers of an inotify is the first: the kernel's race"
    if isinstance(d, races.Race) and {calls[k] for k, _ in news(d)} == {"fds"} and \
            calls[races.first_of(d.steps):].count("fds") > 1:
        return "a listing has a descriptor of its own, which another one shows"
    # flush_to_ldisc() is a kernel thread's, and may come before the last close or after it.
    if isinstance(d, races.Race) and d.one_cpu and \
            {"pty", "ptsopen"} & set(calls) and set(CLOSERS) & set(calls):
        return "whether what comes to a terminal that is closed has a SIGIO: the kernel's race"
    if isinstance(d, races.Race) and number_closed(d) and \
            all("+nval" in line and "+nval" not in d.line for line in d.fine[1]):
        return "a poll of a number that is closed: docs/COMPATIBILITY.md"
    if isinstance(d, races.Race) and raced_beside_epoll(d, calls):
        return "who reads beside an epoll_wait(): docs/COMPATIBILITY.md"
    if isinstance(d, races.Race):
        # What waited has ended, and what else is seen may come of that.
        at = races.first_of(d.steps)
        if {"table", "nofile"} & set(calls[:at]) and \
                set(CLOSERS) & set(calls[at:]) and \
                d.ended() & set(range(at)):
            return no_number
    elif {"table", "nofile"} & set(calls) and \
            (calls[-1] in CLOSERS and "blocks ->" in d.signature() or
             set(CLOSERS) & set(calls[:-1]) and
             (re.search("-1 (EIO|EPIPE)$", d.signature()) or
              len(re.findall(r"\+(err|hup)", d.lines()[1])) >
              len(re.findall(r"\+(err|hup)", d.lines()[0])))):
        return no_number
    return None


def results(line):
    """{step: result} of a line of a play."""
    return dict(x.split(" = ", 1) for x in line.split("\t")[1:] if re.match(r"\d+ = ", x))


def left_no_error(d, calls):
    """Is it alone that polls tell natively of an error, and there was a recvmmsg?"""
    one, other = map(results, d.lines())
    differ = [k for k in one.keys() | other.keys() if one.get(k) != other.get(k)]
    return "recvmmsg" in calls and differ and \
        all(re.search("poll|select|wait", calls[int(k)]) and "+err" in one.get(k, "") and
            "+err" not in other.get(k, "") for k in differ)


def gave_back_an_end(d, calls):
    """Is it alone who has heard, when the process is stopped, that a send with descriptors
    has given back the other end?"""
    one, other = map(results, d.lines())
    differ = [k for k in one.keys() | other.keys() if one.get(k) != other.get(k)]
    return calls[-1] == "stop" and "sendfd" in calls[:-1] and differ and \
        all(x in (None, "0", "-1 EPIPE", "-1 ECONNRESET")
            for k in differ for x in (one.get(k), other.get(k)))


def found_an_error(d, calls):
    """Has one recvmmsg, and nothing else, had some messages more than natively, where a signal
    has ended another one with a part?"""
    if calls.count("recvmmsg") < 2 or not {"tkill", "kill"} & set(calls):
        return False
    natively, hooked = (line.split("\t")[1:] for line in d.lines())
    odd = [(a, b) for a, b in zip(natively, hooked) if a != b]
    if len(natively) != len(hooked) or len(odd) != 1:
        return False
    (a, b) = (x.split(" ", 3) for x in odd[0])
    return len(a) == len(b) == 4 and a[0] == b[0] and a[2].isdigit() and \
        calls[int(a[0])] == "recvmmsg" and int(a[2]) < int(b[2]) and b[3].startswith(a[3])


def news(d):
    """[(step, result)] of the hooked play, without what the step has natively as well."""
    race = isinstance(d, races.Race)
    natively = d.fine[1] if race else [d.lines()[0]]
    known = {x for line in natively for x in line.split("\t")[1:]}
    return [(int(k), what) for k, what in (
        x.split(" = ", 1) for x in (d.line if race else d.lines()[1]).split("\t")[1:]
        if x not in known and re.match(r"\d+ = ", x))]


def shut_sender(d, steps):
    """Does a send fail with EPIPE that has waited when its datagram socket was shut?"""
    made = {x[2] for x in steps if x[1] == "unixdgram"}
    return any(what == "-1 EPIPE" and steps[k][2] in made and
               re.match("send|v?write|pwritev2", steps[k][1]) and
               any(x[1:3] == ["shutdown", steps[k][2]] for x in steps[k + 1:])
               for k, what in news(d))


def other_sets_nonblock(d, steps):
    """Does a call end with EAGAIN, or MSG_WAITALL with a part, of a file that another
    process may have changed?"""
    line = d.line if isinstance(d, races.Race) else d.lines()[1]
    ended = [int(x.split()[0]) for x in line.split("\t")[1:]
             if re.match(r"\d+ = -1 EAGAIN", x)]
    ended += [k for k, what in news(d) if what[0].isdigit() and "waitall" in steps[k]]
    set_by = [x[0][0] for x in steps if x[1] in ("nonblock", "fionbio")]
    process = {k: k if k in "567" else "0" for k in "0123456789*"}
    return any(process[steps[i][0][0]] != process[k] or
               "getfd" in [x[1] for x in steps] for i in ended for k in set_by)


def documented_alone(d, calls):
    """The same of what is no race, by its @calls."""
    # The handler's EINTR, or EFAULT.
    if "recvmmsg" in calls and d.lines()[0] in (
            d.lines()[1] + "+err", d.lines()[1].replace("+out", "+out+err")):
        return "recvmmsg leaves no error behind: docs/COMPATIBILITY.md"
    if left_no_error(d, calls) or found_an_error(d, calls):
        return "recvmmsg leaves no error behind: docs/COMPATIBILITY.md"
    if any("fault" in s for s in d.steps[:d.phase]) and "recvmmsg" in calls and \
            (re.search(": (-1 )?EFAULT -> ", d.signature()) or
             "+err" in d.lines()[0] and "+err" not in d.lines()[1]):
        return "recvmmsg leaves no error behind: docs/COMPATIBILITY.md"
    if any("fault" in s for s in d.steps[:d.phase]) and \
            re.match("recvmmsg.*: done -> -1 EFAULT", d.signature()):
        return "recvmmsg leaves no error behind: docs/COMPATIBILITY.md"
    if calls.count("recvmmsg") > 1 and "tkill" in calls and \
            re.match("recvmmsg.*: done -> blocks", d.signature()):
        return "recvmmsg leaves no error behind: docs/COMPATIBILITY.md"
    if gave_back_an_end(d, calls):
        return "a send with descriptors that is stopped: docs/COMPATIBILITY.md"
    if "recvmmsg" in calls and "(null)" in d.lines()[0]: # ERESTARTSYS
        return "recvmmsg leaves no error behind: docs/COMPATIBILITY.md"
    if re.match("p?(poll|select).*: (done -> blocks|gone -> done)",
                d.signature()) and ("gone -> " in d.signature() and "+nval" in d.lines()[1] or
                               number_closed(d)):
        return "a poll of a number that is closed: docs/COMPATIBILITY.md"
    makers = {s.split()[0] for s in d.steps if s.split()[1] in ("fork", "spawn")}
    if re.match("wait(id)? any.*: done -> done", d.signature()) and len(makers) > 1:
        return "a wait for any child, of several threads: docs/COMPATIBILITY.md"
    if re.match("sig(wait|take).*: -1 EINTR -> blocks", d.signature()) and \
            sum(c in ("sigwait", "sigtake") for c in calls) > 1:
        return "a sigwait for what the caller has open: docs/COMPATIBILITY.md"
    if re.match("accept.*: blocks -> -1 EINVAL", d.signature()) and \
            calls[-1] == "disconnect":
        return "accept, and connect(AF_UNSPEC): docs/COMPATIBILITY.md"
    if "owner" in calls and ": gone -> " in d.signature() and \
            "has ended: signal 29" in d.lines()[0]:
        return "a signal of O_ASYNC without a handler: docs/COMPATIBILITY.md"
    if "epoll" in calls and (reader_was_faster(d) or reader_was_slower(d)):
        return "who reads beside an epoll_wait(): docs/COMPATIBILITY.md"
    # unix_stream_data_wait() and sk_wait_data() wake all who wait.
    if re.match("(vread|recv).* waitall of (pair stream|unix|tcp).*: blocks -> ",
                d.signature()) and \
            sum("waitall" in s for s in d.steps[:d.phase]) > 1:
        return "which of several has what has come: the kernel's race"
    if re.match("(p?read|vread|recv).* of (pair stream|unix|tcp)[a-z0-9 ]*: done -> done",
                d.signature()) and shared_otherwise(d):
        return "which of several has what has come: the kernel's race"
    # The messages of a recvmmsg() are received one by one.
    if "async" in " ".join(d.steps[:d.phase]) and {"tkill", "recvmmsg"} & set(calls) and \
            swapped_reads(d):
        return "who receives with O_ASYNC: docs/COMPATIBILITY.md"
    if writer_was_faster(d):
        return "who writes beside a poll(): docs/COMPATIBILITY.md"
    if who_sent_first(d):
        return "which of several has room in their socket first: the kernel's race"
    if into_last_page(d):
        return "a write to a pipe that has waited: docs/COMPATIBILITY.md"
    if read_beside_poll(d):
        return "who reads beside a poll(): docs/COMPATIBILITY.md"
    if by_processes(d):
        return "who waits in several processes: docs/COMPATIBILITY.md"
    # Whether flush_to_ldisc() is behind when a line that has no end is dropped.
    if re.match("fill of (pty|ptsopen)[a-z ]*: (blocks|endless|EAGAIN) -> ",
                d.signature()):
        return "what fills a terminal: the kernel's race"
    if "lease" in calls and \
            len({tuple(sorted(re.findall(" had (SIG[A-Z]+)", x)))
                 for x in d.lines()}) == 1:
        return "which thread has a lease's signal: docs/COMPATIBILITY.md"
    # complete_signal() wakes the first thread for it, and one that is about to handle
    # another signal takes what is there for the process as well (dequeue_signal()).
    if "owner" in calls and same_signals(*d.lines()) and \
            len(re.findall(r"\tactor [1-9] had SIG", d.lines()[0])) > 1:
        return "which of two threads has a SIGIO: the kernel's race"
    if "owner" in calls and goes_on_to_signal(d):
        return "a SIGIO by the call that it ends: docs/COMPATIBILITY.md"
    if "signalfd" in calls and \
            (" had SIG" in d.lines()[1] or
             any(re.search(r"action \w+ ign", s) for s in d.steps[:d.phase])) and \
            (re.search(": done -> (-1 EINTR|blocks)", d.signature()) or
             any(" opens " in s for s in d.steps[:d.phase])):
        return "who reads a signalfd has the signal open: docs/COMPATIBILITY.md"
    if calls[-1] in ("unread", "drain", "sink", "read", "recv") and \
            any(s.split()[1] == "sub" and
                s.split()[2][:4] in ("writ", "pwri", "send")
                for s in d.steps[:d.phase]) and "cancel" in calls:
        return "a cancelled send: docs/COMPATIBILITY.md"
    if d.signature().startswith("vsem") and "cancel" in calls:
        return "a cancel of who waits where it does nothing: docs/COMPATIBILITY.md"
    if "cancelled -> " in d.signature(): # with what it has done
        return "a cancelled call that has done a part: docs/COMPATIBILITY.md"
    if "fifo" in calls and "+nval" in d.lines()[0] and \
            "+nval" not in d.lines()[1]:
        return "the number of an open that waits: docs/COMPATIBILITY.md"
    if re.match("(p?read|vread|recv).* of .*: -1 EBADF -> blocks", d.signature()) and \
            set(CLOSERS) & set(calls) and {"sigwait", "sigtake"} & set(calls):
        return "a signal for which a thread is woken, and another one has it: " \
            "docs/COMPATIBILITY.md"
    if d.signature().startswith("atmark of tcp") and \
            any(re.search("rcvlowat [2-9]", s) for s in d.steps[:d.phase]):
        return "SO_RCVLOWAT and urgent data: docs/COMPATIBILITY.md"
    if re.match("(p?w|vw)rite.* of (fifo|pipe): done -> done", d.signature()) and \
            splices_pages(d) and less_than_a_page(d):
        return "what a full FIFO takes: docs/IO.md"
    if re.match("fifo.*: done -> done", d.signature()) and \
            {"tkill", "kill"} & set(calls) and \
            sum(bool(re.search(r"fifo \w+ w$", s)) for s in d.steps[:d.phase]) > 1:
        return "who opens a FIFO behind another one: docs/COMPATIBILITY.md"
    if re.match("mq(recv|send).*blocks -> -1 EAGAIN|"
                "(p?read|vread)[a-z0-9 ]* of fifo.*: blocks -> -1 EAGAIN", d.signature()) and \
            {"nonblock", "fionbio"} & set(calls):
        return "who stands in line for a queue: docs/COMPATIBILITY.md"
    if splices_by_position(d):
        return "splice(), and where the file stands: docs/COMPATIBILITY.md"
    if re.match("accept.*: .* -> -1 EMFILE", d.signature()) and \
            ("nofile" in calls or beyond_table(d) or
             "table" in calls and "-1 EFAULT -> " in d.signature()):
        return "a limit that is lowered under accept(): docs/COMPATIBILITY.md"
    if (re.match("(p?w|vw)rite.* of fifo: (blocks -> done|done -> blocks)", d.signature()) or
            re.match("(p?read|vread).* of fifo: done -> done", d.signature()) and
            small_write_waits(d)) and \
            any(re.search(r" (p?write\S*|vwrite) \w+ \d{4,}", s)
                for s in d.steps[:d.phase]):
        return "a small write beside larger ones that wait: docs/COMPATIBILITY.md"
    if re.match("((p?w|vw)rite|p?read|vread).* of pipe packet: done -> (blocks|done)",
                d.signature()) and \
            sum(bool(re.match(r"[1-9] (sub )?v?writ", s)) for s in d.steps) > \
            (not {"tkill", "nonblock"} & set(calls)):
        return "who writes packets to a full pipe: docs/COMPATIBILITY.md"
    if re.match("(p?read|vread|recv).* of tcp.*: -1 EFAULT -> -1 EBADF",
                d.signature()) and set(CLOSERS) & set(calls):
        return "memory that is not there, and a number that is closed: " \
            "docs/COMPATIBILITY.md"
    if re.match("(p?w|vw)rite.* of (fifo|pipe).*: done -> blocks", d.signature()) and \
            d.steps[d.phase].startswith("* cont"):
        return "a stop that finds no worker idle: docs/COMPATIBILITY.md"
    # unix_stream_data_wait() lets all sleep, and who takes what is there, or looks at it, is
    # whoever is the faster.
    one, other = map(results, d.lines())
    if re.match(r"recv.* peek.* of pair stream: (blocks -> done|done -> blocks)", d.signature()) and \
            all("peek" in d.steps[int(k)] for k in one.keys() ^ other.keys()):
        return "who peeks at a stream, and who takes what is there: the kernel's race"
    if re.search("-> -1 EMSGSIZE$", d.signature()) and \
            any(re.search(r"opt \w+ sndbuf ", s) for s in d.steps[:d.phase]):
        return "a datagram whose buffer is made too small for it: docs/COMPATIBILITY.md"
    if re.match("(send|v?write).* of (netlink|pair stream).*: -1 (ECONNREFUSED|EPIPE) -> done",
                d.signature()) and {"dup2", "dup3"} & set(calls) and \
            re.match(r"\* (stop|cont)", d.steps[d.phase]):
        return "a send whose number becomes the other end's: docs/COMPATIBILITY.md"
    # Natively either: what is read is room when a kernel thread has passed on what was written
    # before (flush_to_ldisc()), and for who waits there already, if that one is faster.
    if re.match("(p?w|vw)rite.* of (pty|ptsopen).*: done -> blocks", d.signature()) and \
            sum(bool(re.match(r"\d+ (sub )?v?p?writ", s)) for s in d.steps) > 1:
        return "who writes to a terminal that was full: the kernel's race"
    # The one that it wakes lets the next one in before it has all others stop.
    if re.match("(p?read|vread).* of pty.*: blocks -> -1 EAGAIN", d.signature()) and \
            d.steps[d.phase].startswith("* stop"):
        return "a reader that goes on when a stop comes: the kernel's race"
    if re.match("(p?read|vread).* of pty.*: -1 EAGAIN -> blocks", d.signature()) and \
            {"nonblock", "fionbio"} & set(calls) and \
            {"dup", "dup2", "dup3", "dupfd"} & set(calls):
        return "O_NONBLOCK under readers of a master by several numbers: docs/COMPATIBILITY.md"
    if re.match("epp?wait.*: blocks -> done", d.signature()) and "pipe" in calls and \
            any(s.split()[1] == "epadd" and " et" in s for s in d.steps):
        return "EPOLLET, and a write that waits: docs/COMPATIBILITY.md"
    if "cut" in calls and "sendfile" in calls:
        return "a file that is cut under sendfile(): docs/COMPATIBILITY.md"
    if "vwrite" in calls and any(",b" in s for s in d.steps[:d.phase]) and \
            re.match("(vwrite|writev).*: done -> (done|-1 EFAULT)", d.signature()):
        return "a write of what is not there, in parts: docs/COMPATIBILITY.md"
    if "packet" in calls and re.match("v?(read|poll).* of (pty|ptsopen)", d.signature()):
        return "a terminal in packet mode: docs/COMPATIBILITY.md"
    if re.match("(send|v?write|pwritev2).* of unixdgram: blocks -> (-1 (EPIPE|ENOTCONN|EPERM)|done)",
                d.signature()) and \
            {"shutdown", "disconnect", "connect"} & \
            set(calls if calls[-1] in ("cancel", "tkill") else calls[-1:]):
        return "a datagram socket that is another's: docs/COMPATIBILITY.md"
    # Or when who stood before it in line has left, for the room that a read has made.
    if re.match("(send|v?write|pwritev2).* of unixdgram: blocks -> -1 (EPIPE|EPERM)",
                d.signature()) and \
            {"shutdown", "connect"} & set(calls) and \
            re.match("recv|v?p?read", calls[-1]):
        return "a datagram socket that is another's: docs/COMPATIBILITY.md"
    if re.match("(send|v?write|pwritev2).* of (pair (dgram|seqpacket)|unixdgram)"
                ".*: blocks -> done", d.signature()) and \
            ("sendfd" in calls or
             calls[-1] in CLOSERS):
        return "room in a socket that others have, or that is closed: " \
            "docs/COMPATIBILITY.md"
    if ended_sender(d, calls):
        return "a send on a unix socket that is ended: docs/COMPATIBILITY.md"
    # Whatever the worker has moved on by then: mptcp_sendmsg() is the kernel's own.
    if re.match("(send|v?write|pwritev2).* of mptcp: blocks -> done", d.signature()):
        return "what a full MPTCP socket takes: the kernel's race"
    if "sendmmsg" in calls and swapped_reads(d) and \
            re.match(r".* of udplost: blocks -> -1 ECONNREFUSED$", d.signature()):
        return "an error that a send takes at once: docs/COMPATIBILITY.md"
    if "recvfd" in calls and (swapped(d) or swapped_reads(d) or re.match(
            "(p?read|vread|recv)[a-z0-9 ]*( of [a-z]*)?: done -> done", d.signature())):
        return "several numbers, one of them received: docs/COMPATIBILITY.md"
    return None


def reader_was_faster(d):
    """Hooked an epoll_wait() goes on, whose event is what another step has taken."""
    taken = re.findall(r"\t(\d+) = ", d.lines()[1])
    return re.match("e(p|pp)wait2?( badroom)? of epoll: (done|-1 EFAULT) -> blocks|"
                    "accept.*: blocks -> (done|-1 EFAULT)", d.signature()) and \
        any(re.match("v?(read|recv|accept)", d.steps[int(k)].split()[1])
            for k in taken if int(k) < d.phase)


def reader_was_slower(d):
    """Hooked an epoll_wait() has seen as well what a read has taken."""
    a, b = (dict(x.split(" = ", 1) for x in line.split("\t")[1:]
                 if re.match(r"\d+ = ", x)) for line in d.lines())
    more = b.keys() - a.keys()
    return more and a.items() <= b.items() and \
        all(re.match("e(p|pp)wait", d.steps[int(k)].split()[1]) and
            re.fullmatch(r"\d+( \w+\+in)+", b[k]) for k in more) and \
        any(re.match("v?(read|recv|accept)", d.steps[int(k)].split()[1]) and
            a[k][0] != "-" for k in a if int(k) < d.phase)


def watch_readers_differ(d, steps):
    """Is it which read of an inotify is over, or has failed? inotify_read() and
    fanotify_read() wait beside others, and all are woken."""
    lines = [d.line, *d.fine[1]] if isinstance(d, races.Race) else d.lines()
    results = [set(line.split("\t")[1:]) for line in lines]
    odd = {x.split(" = ")[0] for other in results[1:] for x in results[0] ^ other}
    made = {name for x in steps if x[1] in ("inotify", "fanotify") for name in x[2:3]}
    # Who reads in pieces has one, and waits for the next (do_loop_readv_writev()).
    pieces = [x for i, x in enumerate(steps) if re.match("vread|p?readv", x[1]) and
              made & set(x[2:3]) and not any(f"\t{i} = " in line for line in lines)]
    return len(odd) > (0 if pieces else 1) and \
        all(k.isdigit() and int(k) < len(steps) and
            re.match("p?v?read", steps[int(k)][1]) and
            made & set(steps[int(k)][2:3]) for k in odd)


def small_write_waits(d):
    """Is there one of no more than PIPE_BUF?"""
    return any(re.search(r"^[1-9] .*(p?write\S*|vwrite) \w+ (\d{1,3}|4096)\b", s)
               for s in d.steps[:d.phase])


def raced_beside_epoll(d, calls):
    """The same of a race: natively an epoll_wait() has ended each time that goes on."""
    ended = [{int(k) for k in re.findall(r"\t(\d+) = ", line)}
             for line in (d.line, *d.fine[1])]
    waits = {k for k, call in enumerate(calls) if re.match("e(p|pp)wait", call)}
    return d.ended() and all(re.match("v?(read|recv|accept)", calls[k]) for k in d.ended()) and \
        any(k not in ended[0] and all(k in other for other in ended[1:]) for k in waits)


def writer_was_faster(d):
    """The same of a poll for room, that a write which waits has had."""
    return re.match("p?(poll|select) of (fifo|pipe|pair|unix|tcp).*: done -> blocks",
                    d.signature()) and \
        re.search(r"\t\d+ = 1 \+(w|out)", d.lines()[0]) and \
        any(re.match("v?writ|pwrit|send", s.split()[1])
            for i, s in enumerate(d.steps[:d.phase])
            if f"\t{i} = " not in d.lines()[0])


def swapped_reads(d):
    """(i, k): one receive has ended natively, and another one hooked."""
    if isinstance(d, races.Race):
        return None
    a, b = (set(re.findall(r"\t(\d+) = ", x)) for x in d.lines())
    one, other = a - b, b - a
    if len(one) != 1 or len(other) != 1:
        return None
    pair = int(one.pop()), int(other.pop())
    return pair if all(re.match("v?read|recv", d.steps[i].split()[1])
                       for i in pair) else None


def call_and_file(step):
    """(actor, call, name) of a step."""
    w = step.split()
    at = 2 if w[1] == "sub" else 1
    return w[0], w[at], (w[at + 1:] + [""])[0].split(":")[0]


def waited_until(d, line):
    """The steps that end natively in that line of the play, and have waited for it."""
    return [int(k) for k in re.findall(r"\t(\d+) = ", d.want[line])
            if int(k) < line]


def who_sent_first(d):
    """Is it alone which of several sends is the first that one step has woken: what reads
    have of them, or which has the socket's error? All who wait for room in their own socket
    are (sock_wait_for_wmem() and sk_stream_wait_memory() do not wait exclusively), and
    whoever is the first to have its lock goes on."""
    one, other = (dict(x.split(" = ", 1) for x in line.split("\t")[1:] if " = " in x)
                  for line in d.lines())
    differ = [k for k in one if one[k] != other.get(k)]
    if one.keys() != other.keys() or not all(k.isdigit() for k in differ):
        return False
    sockets = {x for s in d.steps[:d.phase] for x in s.split()[2:4]
               if s.split()[1] in ("pair", "tcp", "tcp6", "unixdgram", "unixconn")}
    sends = [{k: call_and_file(d.steps[k])[2] for k in waited_until(d, line)
              if re.match("send|v?writ|pwrit", call_and_file(d.steps[k])[1])}
             for line in range(d.phase + 1)]
    if all(int(k) in sends[d.phase] for k in differ):
        return sorted(one[k] for k in differ) == sorted(other[k] for k in differ) and \
            len({sends[d.phase][int(k)] for k in differ} & sockets) == 1
    return all(re.match("v?p?read|recv", call_and_file(d.steps[int(k)])[1])
               for k in differ) and \
        any(sum(x == name for x in names.values()) > 1
            for names in sends for name in sockets)


def read_beside_poll(d):
    """Has a poll ended, or not, beside a read that has had what came? Of a terminal either
    comes natively: n_tty_read() does not wait exclusively, and may be the faster."""
    one, other = (dict(x.split(" = ", 1) for x in line.split("\t")[1:] if " = " in x)
                  for line in d.lines())
    if not re.match("p?(poll|select)( of .*)?: done -> blocks|"
                    "p?(poll|select) of (pty|ptsopen).*: blocks -> done", d.signature()):
        return False
    polls = [k for k in one.keys() ^ other.keys() if k.isdigit()]
    reads = {call_and_file(d.steps[k])[2] for k in waited_until(d, d.phase)
             if re.match("v?p?read|recv", call_and_file(d.steps[k])[1]) and
             one[str(k)] == other.get(str(k))}
    return polls and all(re.search("poll|select", d.steps[int(k)]) and
                         re.search(fr" ({'|'.join(reads)}):\S*in\b", d.steps[int(k)])
                         for k in polls)


def into_last_page(d):
    """Has a write to a pipe ended that natively waits, or done a part that is larger by less
    than a page, where one that waited before has left room in the last page? (pipe_write()
    looks for that when it begins alone.)"""
    if not re.match("((p?w|vw)rite|writev).* of pipe: (blocks|done) -> done", d.signature()):
        return False
    one, other = map(results, d.lines())
    differ = [k for k in one.keys() | other.keys() if one.get(k) != other.get(k)]
    if not all(k in other and (k not in one or one[k].isdigit() and other[k].isdigit() and
                               0 < int(other[k]) - int(one[k]) < 4096) for k in differ):
        return False
    names = {call_and_file(d.steps[int(k)])[2] for k in differ}
    return any(
        call_and_file(d.steps[k])[2] in names and
        re.match("v?writ|pwrit", call_and_file(d.steps[k])[1]) and
        sum(map(int, re.findall(r"\d+", " ".join(
            d.steps[k].split(call_and_file(d.steps[k])[2], 1)[1:])))) % 4096
        for line in range(d.phase + 1) for k in waited_until(d, line))


def goes_on_to_signal(d):
    """Has a sendfile(), beside which there was a SIGIO, sent more than natively, and is that all?"""
    one, other = (dict(x.split(" = ", 1) if " = " in x else (x, "")
                       for x in line.split("\t")[1:]) for line in d.lines())
    differ = [k for k in one if one[k] != other.get(k)]
    return one.keys() == other.keys() and len(differ) == 1 and \
        any(" had SIGIO" in k for k in one) and \
        re.match("sendfile of .*: done -> done", d.signature()) and \
        int(one[differ[0]].split()[0]) < int(other[differ[0]].split()[0])


def ended_sender(d, calls):
    """Is there more room than natively in a unix socket for which a send was waiting when its
    process has executed another program, or ended?"""
    end = next((i for i, call in enumerate(calls) if call in ("exec", "exit")), 0)
    ended = {int(k) for line in d.want[:end] for k in re.findall(r"\t(\d+) = ", line)}
    if not any(re.match("send|v?write|pwritev2", calls[k]) and k not in ended
               for k in range(end)):
        return False
    if re.match("unread of .*: done -> done", d.signature()):
        one, other = (re.findall(r"\t%d = (\d+)" % d.phase, x) for x in d.lines())
        return len(one) == len(other) == 1 and int(one[0]) > int(other[0])
    return re.match("(send|v?write|pwritev2).* of (pair|unix).*: blocks -> done", d.signature())


def shared_out(d):
    """(i, k): natively read @i has had the bytes that reads @i and @k share hooked."""
    if isinstance(d, races.Race):
        return None
    a, b = ({int(k): int(n) for k, n in re.findall(r"\t(\d+) = (\d+)", line)}
            for line in d.lines())
    more, less = sorted(b.keys() - a.keys()), [k for k in a if b.get(k, a[k]) < a[k]]
    if len(more) != 1 or len(less) != 1 or not b.get(less[0]) or \
            a[less[0]] != b[less[0]] + b[more[0]]:
        return None
    pair = less[0], more[0]
    return pair if all(re.match("p?read|recv", d.steps[i].split()[1]) for i in pair) else None


def shared_otherwise(d):
    """Have several reads of one file, which have waited for what has come, as much of that in
    all as natively?"""
    one, other = (dict(x.split(" = ", 1) for x in line.split("\t")[1:] if " = " in x)
                  for line in d.lines())
    waited = {str(k) for k in waited_until(d, d.phase)}
    differ = [k for k in one if one[k] != other.get(k)]
    if one.keys() != other.keys() or \
            not all(k in waited and one[k][0].isdigit() and other[k][0].isdigit()
                    for k in differ):
        return False
    return len({call_and_file(d.steps[int(k)])[2] for k in differ}) == 1 and \
        all(re.match("v?p?read|recv", call_and_file(d.steps[int(k)])[1]) for k in differ) and \
        sum(int(one[k].split()[0]) - int(other[k].split()[0]) for k in differ) == 0


def by_processes(d):
    """Is it which of two calls is served, of two processes?"""
    pair = swapped(d) or shared_out(d) or swapped_reads(d)
    return pair and len({d.steps[i][0] if d.steps[i][0] in "567" else "0"
                         for i in pair}) > 1


def splices_by_position(d):
    """Is a file that a splice() has, by its own position, another step's as well?"""
    steps = [s.split() for s in d.steps[:d.phase + 1]]
    files = {w[2] for w in steps if w[1] == "memfd"}
    for i, w in enumerate(steps):
        mine = files & set(w) if "splice" in w[1:3] and not \
            {"toat", "fromat"} & set(w) else set()
        if any(mine & set(x[2:]) for k, x in enumerate(steps)
               if k != i and x[1] != "memfd"):
            return True
    return False


def splices_pages(d):
    """Is there a page in a FIFO, or a pipe that takes RWF_NOWAIT no more, that has room
    and takes nothing?"""
    steps = [s.split() for s in d.steps[:d.phase + 1]]
    pipes = {x for w in steps if w[1] in ("fifo", "pipe") for x in w[2:4]}
    return any({"vmsplice", "splice", "sendfile", "tee"} & set(w) and pipes & set(w[2:])
               for w in steps)


def beyond_table(d):
    """Natively the number is one that the limit of a table step has not any more."""
    limits = [int(s.split()[2]) for s in d.steps[:d.phase + 1]
              if s.split()[1] == "table"]
    one, other = (dict(x.split(" = ", 1) for x in line.split("\t")[1:] if " = " in x)
                  for line in d.lines())
    return any(other[k] == "-1 EMFILE" and re.match(r"\d", one.get(k, "")) and
               int(one[k].split()[0]) >= n for k in other for n in limits)


def less_than_a_page(d):
    """Has the kernel written that much more, hooked?"""
    one, other = ([int(x.split(" = ")[1].split()[0]) for x in line.split("\t")[1:]
                   if re.match(r"\d+ = \d+", x)] for line in d.lines())
    return len(one) == len(other) and \
        all(0 <= a - b < 4096 for a, b in zip(one, other))


def number_closed(d):
    """Does a step that has not ended hooked, and has natively, look at such a number?"""
    natively, hooked = (d.fine[1], d.line) if isinstance(d, races.Race) else \
        ([d.lines()[0]], d.lines()[1])
    a = set.intersection(*({x.split()[0] for x in line.split("\t")[1:]} for line in natively))
    b = {x.split()[0] for x in hooked.split("\t")[1:]}
    for k in a - b:
        names = {w.split(":")[0] for w in d.steps[int(k)].split() if ":" in w} \
            if k.isdigit() else set()
        for s in d.steps[int(k) + 1:] if names else []:
            w = s.split()
            if w[1] in ("close", "closerange") and names & set(w[2:]) or \
                    w[1] in ("dup2", "dup3") and w[3] in names:
                return True
    return False


def same_signals(one, other):
    """Do the lines differ in who had which signal alone?"""
    one, other = (sorted(re.sub(r"^actor \d had SIG", "somebody had SIG", x)
                         for x in line.split("\t")) for line in (one, other))
    return one == other


def swapped(d):
    """(i, k): natively step @i is over, and hooked @k, with the same result, or with
    a number of its own."""
    if isinstance(d, races.Race):
        return None
    a, b = (dict(x.split(" = ", 1) for x in line.split("\t")[1:] if " = " in x)
            for line in d.lines())
    one, other = a.keys() - b.keys(), b.keys() - a.keys()
    if len(one) != 1 or len(other) != 1:
        return None
    i, k = one.pop(), other.pop()
    if not i.isdigit() or not k.isdigit():
        return None
    accept = all(d.steps[int(x)].split()[1].startswith("accept") for x in (i, k)) and \
        a[i][0] != "-" and b[k][0] != "-"
    return (int(i), int(k)) if a[i] == b[k] or accept else None


def forked_waits(d):
    """Is it who of two is served that wait for one epoll descriptor, of whom one
    has forked?"""
    pair = swapped(d)
    if not pair:
        return False
    waits = [d.steps[i].split() for i in pair]
    forked = [any(s.split()[:2] == [w[0], "fork"] for s in d.steps[:i])
              for w, i in zip(waits, pair)]
    return all(w[1] in ("epwait", "eppwait", "eppwait2") for w in waits) and \
        waits[0][2] == waits[1][2] and forked[0] != forked[1]
