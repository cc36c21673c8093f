"""What bench.py has measured, as Markdown, JSON and plots."""
import os
import re
import shutil
import subprocess
import aims
from harness import dump, median, ratio, say, spread

NEAR = 0.02  # ratios that are no nearer to 1 are named


def number(x):
    if x is None:
        return ""
    if x == 0:
        return "0"
    digits = 0 if abs(x) >= 1000 else 1 if abs(x) >= 100 else 2
    if abs(x) < 1:
        digits = 3
    return "%.*f" % (digits, x)


def table(part):
    """Lines of Markdown."""
    head = ["", "unit"] + part.modes + ["%s/%s" % r for r in part.ratios]
    several = any(len(v) > 1 for r in part.rows for v in r["values"].values())
    if several:
        head.append("spread, %")
    yield "| " + " | ".join(head) + " |"
    yield "|---|---|" + "---:|" * (len(head) - 2)
    for row in part.rows:
        cells = [row["name"], row["unit"]]
        cells += [number(median(row["values"].get(m))) for m in part.modes]
        for a, b in part.ratios:
            q = None if row["better"] == "none" else ratio(row, a, b)
            cells.append("" if q is None else "%.2f" % q)
        if several:
            all_ = [spread(row["values"].get(m, [])) for m in part.modes]
            cells.append(" / ".join("-" if s is None else "%.0f" % (100 * s)
                                    for s in all_))
        yield "| " + " | ".join(cells) + " |"


def behind(part):
    """Rows in which the first of a ratio is worse than the second."""
    for row in part.rows:
        for a, b in part.ratios:
            q = ratio(row, a, b)
            if q is None or row["better"] == "none":
                continue
            if (q > 1 + NEAR) if row["better"] == "less" else (q < 1 - NEAR):
                yield "%s, %s: %s %.2f of %s" % (
                    part.name, row["name"], a if a != "hooked" else "", q, b)


def markdown(parts, machine, level="##"):
    """The whole report; headings begin at @level."""
    yield "%s, on %s." % (machine["command"], machine["when"])
    yield ""
    yield "%s. %d rounds, slices of %g s; %d s in all. Load of the machine " \
        "before: %s." % (machine["what"], machine["rounds"],
                         machine["seconds"], machine["took"], machine["load"])
    yield ""
    yield "Figures are medians of the rounds, a ratio is the median of the " \
        "rounds' ratios, and the spread goes from the least to the most, of " \
        "the median, in the order of the columns."
    yield ""
    for part in parts:
        yield "%s %s" % (level, part.title)
        yield ""
        if part.note:
            yield part.note
            yield ""
        if part.rows:
            yield from table(part)
            yield ""
        for s in part.skipped:
            yield "- not measured: %s (%s)" % (s["what"], s["why"])
        if part.skipped:
            yield ""
    ahead = [x for p in parts if p.name != "watched" for x in behind(p)]
    yield "%s Where unhooked or a peer is ahead" % level
    yield ""
    yield "Rows whose ratio says so by more than %d %%; spreads are above." % \
        (100 * NEAR)
    yield ""
    for line in ahead or ["none"]:
        yield "- " + line.replace(":  ", ": ")
    yield ""


# --- plots ----------------------------------------------------------------------------

HEAD = """set terminal svg size 720,420 background 'white'
set output '%s.svg'
set key outside top horizontal
set grid
set datafile missing '-'
"""


def lines_over_x(part, key):
    """{mode: [(x, median)]} of rows "X: KEY" """
    got = {m: [] for m in part.modes}
    for row in part.rows:
        m = re.match(r"(\d+): (.*)$", row["name"])
        if not m or m.group(2) != key:
            continue
        for mode, values in row["values"].items():
            got[mode].append((int(m.group(1)), median(values)))
    return {m: v for m, v in got.items() if v}


def curves(part, name, title, key, unit, xlabel, logy=True):
    got = lines_over_x(part, key)
    if not got:
        return None
    data = "".join("$m%d << E\n%s\nE\n" %
                   (i, "\n".join("%d %g" % p for p in points))
                   for i, points in enumerate(got.values()))
    plots = ", ".join("$m%d with linespoints lw 2 title '%s'" % (i, m)
                      for i, m in enumerate(got))
    return name, data + "set title '%s'\nset xlabel '%s'\nset ylabel '%s'\n" \
        "set logscale x\n%sset yrange [%s:*]\nplot %s\n" % \
        (title, xlabel, unit, "set logscale y\n" if logy else "",
         "*" if logy else "0", plots)


def bars(part, name, title, rows, modes, unit, value, logy=False):
    """A group of bars for each row; value(row, mode)"""
    data = []
    for row in rows:
        cells = [value(row, m) for m in modes]
        if any(c is not None for c in cells):
            data.append('"%s" %s' % (row["name"].split(":")[0],
                                     " ".join("-" if c is None else "%g" % c
                                              for c in cells)))
    if not data:
        return None
    plots = ", ".join("$d using %d%s title '%s'" %
                      (i + 2, ":xtic(1)" if not i else "", m)
                      for i, m in enumerate(modes))
    return name, "$d << E\n%s\nE\nset title '%s'\nset ylabel '%s'\n" \
        "set style data histograms\nset style fill solid 0.7\n" \
        "set xtics rotate by -35\n%s%splot %s%s\n" % \
        ("\n".join(data), title, unit, "set logscale y\n" if logy else "",
         "" if logy else "set yrange [0:*]\n", plots,
         ", 1 with lines lc 'black' notitle" if unit == "ratio" else "")


def middle(row, mode):
    return median(row["values"].get(mode))


def plots_of(part):
    if part.name in ("echo", "echo2"):
        where = "CPU 0" if part.name == "echo" else "two CPUs"
        for key, unit, logy, name in (
                ("CPU a request", "us", False, "cpu"),
                ("requests", "a second", False, "throughput"),
                ("p99", "us", True, "p99")):
            yield curves(part, "%s-%s" % (part.name, name),
                         "An echo server on %s: %s" % (where, key), key, unit,
                         "connections", logy)
    elif part.name == "scale":
        for key, unit, name in (
                ("create, until it waits", "us", "create"),
                ("a wait and its end, of two others", "us", "park"),
                ("the same with a limit", "us", "timed"),
                ("woken, ended and joined", "us", "wake"),
                ("memory", "kB a thread", "memory")):
            yield curves(part, "scale-" + name, "Threads: " + key, key, unit,
                         "threads that wait", False)
    elif part.name in ("threads", "threads2", "servers", "loops"):
        rows = [r for r in part.rows if part.name.startswith("threads") or
                r["name"].endswith(": CPU a request")]
        yield bars(part, part.name, part.title + ": hooked to unhooked", rows,
                   ["hooked"], "ratio",
                   lambda r, m: ratio(r, "hooked", "unhooked"),
                   part.name.startswith("threads"))
    elif part.name == "library":
        yield bars(part, part.name, part.title, part.rows, part.modes, "ns",
                   middle, True)
    elif part.name == "memory":
        yield bars(part, part.name, part.title, part.rows, part.modes, "kB",
                   middle)


def plot(parts, out):
    """The plots in folder @out; their names."""
    made = []
    if not shutil.which("gnuplot"):
        say("no plots: gnuplot is not installed")
        return made
    for part in parts:
        for got in plots_of(part):
            if not got:
                continue
            name, text = got
            r = subprocess.run(["gnuplot"], input=HEAD % name + text, text=True,
                               capture_output=True, cwd=out)
            if r.returncode:
                say("no plot %s: %s" % (name, r.stderr.strip()))
                continue
            made.append(name)
    return made


# --- files ------------------------------------------------------------------------------

def replace(path, mark, lines):
    """What stands between <!-- MARK --> and <!-- end of MARK -->."""
    text = open(path).read()
    begin, end = "<!-- %s -->\n" % mark, "<!-- end of %s -->\n" % mark
    a, b = text.index(begin) + len(begin), text.index(end)
    with open(path + ".new", "w") as f:
        f.write(text[:a] + "\n".join(lines) + "\n" + text[b:])
    os.rename(path + ".new", path)


def write(parts, machine, out):
    dump(out + "/report.json", {
        "machine": machine,
        "parts": [{"name": p.name, "title": p.title, "modes": p.modes,
                   "rows": p.rows, "skipped": p.skipped} for p in parts]})
    made = plot(parts, out)
    with open(out + "/report.md", "w") as f:
        f.write("# Figures\n\n")
        for line in markdown(parts, machine):
            f.write(line + "\n")
        for name in made:
            f.write("![%s](%s.svg)\n" % (name, name))
    say("%s/report.md, report.json%s" % (out, ", %d plots" % len(made)
                                         if made else ""))


def figure(parts):
    """One sentence for README.md, or None."""
    got = {}
    for part in parts:
        for row in part.rows:
            got[part.name, row["name"]] = row
    cpu = got.get(("echo", "1000: CPU a request"))
    rps = got.get(("echo", "1000: requests"))
    kb = got.get(("memory", "an idle connection"))
    if not cpu or not rps or not kb:
        return None
    values = [ratio(cpu, "hooked", "unhooked"), ratio(rps, "hooked", "unhooked"),
              median(kb["values"].get("hooked")),
              median(kb["values"].get("unhooked"))]
    if None in values:
        return None
    return ["With 1000 connections to an echo server that has a thread for each "
            "(`demo/echo`), a",
            "request costs %.2f of the CPU time it costs unhooked, and there are "
            "%.2f times as many a second;" % tuple(values[:2]),
            "an idle connection takes %.1f kB of memory instead of %.1f." %
            tuple(values[2:])]


def publish(parts, machine, out, root):
    """The report of docs/PERFORMANCE.md, its plots, and README's figure."""
    made = plot(parts, out)
    lines = [""] + list(markdown(parts, machine, "###"))
    for name, words in (("echo-cpu", "CPU time a request over connections"),
                        ("scale-create", "cost of a thread over their number")):
        if name in made:
            shutil.copy("%s/%s.svg" % (out, name), root + "/docs/")
            lines += ["![%s](%s.svg)" % (words, name), ""]
    lines += ["### What was aimed at", "",
              "Whether all rows of an aim meet it, or how many; and where it is "
              "said what the others' cost consists of.", ""]
    lines += list(aims.lines(parts, number)) + [""]
    replace(root + "/docs/PERFORMANCE.md", "report", lines[:-1] + [""])
    said = figure(parts)
    if said:
        replace(root + "/README.md", "figure", said)
    say("docs/PERFORMANCE.md has the report%s" %
        (", README.md its figure" if said else ""))
