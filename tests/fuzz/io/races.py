"""Steps that race: what comes of them natively in each order is allowed.

A race is the last steps of a script, all but the first with + behind the
actor's number. They are given at once; what comes of all of them together, when
nothing moves any more, is one line. Allowed is each line that some order of
the steps gives natively, one after the other, and each that a native race has
given.
"""
import itertools

import player as pl

HOLD = 40 # ms, hooked


def first_of(steps):
    """Where the race begins; None without one."""
    n = len(steps)
    while n and steps[n - 1].split()[0].endswith("+"):
        n -= 1
    return n - 1 if 0 < n < len(steps) else None


def allowed(player, steps, races, one_cpu=False):
    """(what comes before the race, the lines that are allowed), or None."""
    first = first_of(steps)
    before, lines = None, set()
    orders = list(itertools.permutations(range(first, len(steps))))
    for i, order in enumerate(orders + [None] * races):
        # As slowly as hooked as well, and more so: a full TCP buffer has room after a while,
        # and a timer of the kernel's has run. And on one CPU: whoever was woken first is the
        # first then.
        status, got = player.play(steps, order=order,
                                  hold=None if order else (12, HOLD, HOLD + 20)[i % 3],
                                  one_cpu=one_cpu or (not order and i % 4 == 3))
        if status or len(got) != len(steps):
            return None
        if before is None:
            before = got[:first]
        if got[:first] != before:
            return None
        lines.add(got[-1])
    return before, lines


def cut_short(line, fine, first):
    """Is it @fine, but that the process was killed before a step of the race, which begins
    with @first, could tell its result?"""
    def parts(text):
        steps = dict(x.split(" = ", 1) for x in text.split("\t")[1:] if " = " in x)
        return steps, [x for x in text.split("\t")[1:] if " = " not in x]
    (a, rest), (b, same) = parts(line), parts(fine)
    return " has ended: signal " in line and rest == same and a.keys() == b.keys() and \
        all(a[k] == b[k] or a[k] == "gone" and int(k) >= first for k in a if k.isdigit()) and \
        all(a[k] == b[k] for k in a if not k.isdigit())


def still_odd(lines, fine):
    before, allows = fine
    return [x for x in lines if x not in allows and
            not any(cut_short(x, y, len(before)) for y in allows)]


def odd(player, steps, variant, fine, runs, one_cpu=False):
    """Lines of hooked races that are not allowed."""
    before, _ = fine
    want = before + [str(n) for n in range(len(before), len(steps) - 1)]
    out = []
    for _ in range(runs):
        status, got = player.play(steps, variant, want, hold=HOLD,
                                  one_cpu=one_cpu)
        if not status and len(got) == len(steps):
            out.append(got[-1])
    return still_odd(out, fine)


class Race:
    """A race whose outcome natively does not come."""

    def __init__(self, steps, variant, fine, line):
        self.steps, self.variant, self.fine = steps, variant, fine
        self.line = line
        # Two CPUs may race for a SIGIO alone: such a line must come on one.
        self.one_cpu = pl.without_sigio(steps, line) in [
            pl.without_sigio(steps, x) for x in fine[1]]
        self.phase = len(steps) - 1

    def signature(self):
        calls = sorted(s.split()[1] for s in self.steps[first_of(self.steps):])
        return "race of " + ", ".join(calls)

    def ended(self):
        """The steps that end hooked, and natively in no case."""
        def steps(line):
            return {int(x.split()[0]) for x in line.split("\t")[1:]
                    if x[0].isdigit()}
        return steps(self.line).difference(*map(steps, self.fine[1]))


def really(player, race):
    """Is it still odd when the kernel has had many tries? How often, of 12."""
    lines = [race.line]
    # What one play in 20 shows here may be as rare natively.
    for tries, plays in (40, 12), (200, 0):
        more = lines and allowed(player, race.steps, tries, race.one_cpu)
        if not more or more[0] != race.fine[0]:
            return 0, 0
        race.fine = (more[0], more[1] | race.fine[1])
        if plays:
            lines = odd(player, race.steps, race.variant, race.fine, plays,
                        race.one_cpu)
        lines = still_odd(lines, race.fine)
    if lines:
        race.line = lines[0]
    return len(lines), 12


def shrink(player, race):
    """Without the steps before the race that it does not need."""
    at = first_of(race.steps) - 1
    while at >= 0:
        steps = pl.without(race.steps, at, 1)
        fine = allowed(player, steps, 15, race.one_cpu) \
            if first_of(steps) is not None else None
        lines = fine and odd(player, steps, race.variant, fine, 6, race.one_cpu)
        if lines:
            race = Race(steps, race.variant, fine, lines[0])
        at = min(at, first_of(race.steps)) - 1
    return race


def readable(race):
    out = [f"    {i:2} {s}" for i, s in enumerate(race.steps)]
    for name, lines in (("natively", sorted(race.fine[1])),
                        ("hooked", [race.line])):
        for line in lines:
            out.append(f"    {name}: "
                       + ("; ".join(line.split("\t")[1:]) or "nothing happens"))
    return "\n".join(out)
