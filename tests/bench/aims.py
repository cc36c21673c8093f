"""What the library aims at, and what a report has of it.

An aim is a bound on rows of one part. What is bounded: a mode's own figure
("hooked"), a ratio ("hooked / unhooked"), or what one has more ("hooked -
unhooked"). Where it is not met its heading of docs/PERFORMANCE.md says what the
cost consists of, and what was tried.
"""
import re
from harness import median, ratio

# part, its rows, what, <= or >=, the bound, what is said, the heading
PLAIN = "(pipe|pair|tcp), (plain|early|duped|stdio|timed|gone|alive|(early_)?flags)"
AIMS = [
    ("counts", "trip, %s, 1 pair" % PLAIN, "hooked", "<=", 6.2,
     "system calls of a trip, one pair", "Two workers"),
    ("counts", "trip, %s, 50 pairs" % PLAIN, "hooked", "<=", 4.4,
     "the same, one of 50 pairs", "Two workers"),
    ("counts", "demo/chat.*", "hooked / unhooked", "<=", 1.1,
     "system calls of a request to `demo/chat`", "Where the time goes"),
    ("counts", "a thread that waits, .*", "hooked", "<=", 3,
     "system calls for a thread that waits at once", "A waiting thread"),
    ("echo", "1: CPU a request", "hooked / unhooked", "<=", 1,
     "echo, one connection: CPU of unhooked", "One connection"),
    ("echo", "(16|100|1000|9000): CPU a request", "hooked / epoll", "<=", 1,
     "echo, 16 to 9000 connections: CPU of epoll's", "Many connections"),
    ("echo", "(16|100|1000|9000): p99", "hooked / epoll", "<=", 1.1,
     "the same: p99 of epoll's", "Many connections"),
    ("echo", ".*: Jain's index", "hooked", ">=", 0.99,
     "the same: Jain's index", "Many connections"),
    ("echo", "9000: all have a first answer", "hooked", "<=", 1500,
     "9000 connections at once: all answered, ms", "Many connections"),
    ("echo", "50, a connection for each request: CPU", "hooked / epoll", "<=", 1.1,
     "a connection for each request: CPU of epoll's", "Where the time goes"),
    ("threads", ".*", "hooked / unhooked", ">=", 1,
     "threads' operations on one CPU, of unhooked", "Where the time goes"),
    ("threads2", ".*", "hooked / unhooked", ">=", 1,
     "the same on two CPUs", "Two workers"),
    ("threads", "create and join", "hooked / unhooked", ">=", 12,
     "create and join, one CPU", "Where the time goes"),
    ("threads", "pass by (a condition|semaphores)", "hooked / unhooked", ">=", 10,
     "turns by a condition and by semaphores, one CPU", "Where the time goes"),
    ("threads", "yield, .*", "hooked / unhooked", ">=", 15,
     "yields, one CPU", "Where the time goes"),
    ("threads", "pass by two pipes", "hooked / unhooked", ">=", 2,
     "turns by two pipes, one CPU", "Where the time goes"),
    ("servers", ".*: requests", "hooked / unhooked", ">=", 1,
     "servers with a thread for each connection: requests", "Many connections"),
    ("servers", ".*: p99", "hooked / unhooked", "<=", 1,
     "the same: p99", "Many connections"),
    ("loops", ".*: requests", "hooked / unhooked", ">=", 0.98,
     "event loops: requests", "Where the time goes"),
    ("loops", ".*: CPU a request", "hooked / unhooked", "<=", 1.02,
     "the same: CPU a request", "Where the time goes"),
    ("workers", "32 pairs by socketpairs", "two / one", ">=", 1.9,
     "two workers of one, 32 pairs", "Two workers"),
    ("memory", "an idle connection", "hooked - epoll", "<=", 9.5,
     "an idle connection, kB more than epoll's", "A waiting thread"),
    ("scale", ".*: memory", "hooked", "<=", 9,
     "a thread that waits for a semaphore, kB", "A waiting thread"),
    ("scale", "1000000: memory", "hooked", "<=", 12,
     "the same, of a million: kB", "A waiting thread"),
    ("scale", "1000000: create, until it waits", "hooked", "<=", 5,
     "to create one of a million, us", "A waiting thread"),
    ("start", "true", "hooked - unhooked", "<=", 0.1,
     "the start of `true`, ms more", "The start"),
    ("start", "a program with one thread", "hooked - unhooked", "<=", 1,
     "of a program with one thread, ms more", "The start"),
    ("start", "python3 with one thread", "hooked - unhooked", "<=", 2,
     "of python3 with one thread, ms more", "The start"),
    ("library", "switch|timed wait|channel", "fib / st", "<=", 1,
     "libfib: CPU of State Threads'", "The library beside others"),
]


def figure(row, what):
    """What is bounded; None where it was not measured."""
    words = what.split(" ")
    if len(words) == 1:
        return median(row["values"].get(what))
    if words[1] == "/":
        return ratio(row, words[0], words[2])
    a, b = (median(row["values"].get(words[i])) for i in (0, 2))
    return None if a is None or b is None else a - b


def reached(part, rows, what):
    got = [figure(r, what) for r in part.rows if re.fullmatch(rows, r["name"])]
    return [x for x in got if x is not None]


def anchor(heading):
    return "#" + heading.lower().replace(" ", "-")


def lines(parts, number):
    """A table in Markdown; @number writes a figure."""
    by_name = {p.name: p for p in parts}
    yield "| aim | of | at most, or at least | reached | met |"
    yield "|---|---|---:|---:|---|"
    for name, rows, what, side, bound, said, heading in AIMS:
        got = reached(by_name[name], rows, what) if name in by_name else []
        if not got:
            yield "| %s | %s | %s %s | not measured | |" % (
                said, what, side, number(bound))
            continue
        least, most = number(min(got)), number(max(got))
        met = [x <= bound if side == "<=" else x >= bound for x in got]
        yield "| %s | %s | %s %s | %s | %s |" % (
            said, what, side, number(bound),
            least if least == most else "%s to %s" % (least, most),
            "yes" if all(met) else "%s: [%s](%s)" % (
                "no" if len(met) == 1 else "%d of %d" % (sum(met), len(met)),
                heading, anchor(heading)))
