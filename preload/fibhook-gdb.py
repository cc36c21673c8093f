# Fibers in gdb, of a live process or in a core file; "source" this file.
#
#   fibhook-fibers          every fiber: state, thread id, name, call
#   fibhook-bt INDEX        backtrace of a fiber
#   fibhook-bt all          of all of them
#   fibhook-select INDEX    up, frame, info locals, print work in that fiber
#   fibhook-select          back to the thread
#   fibhook-core FILE       a core file of the live process
#
# libfibhook.so must have its debug information. A fiber that is parked has
# its registers on its stack (struct fib_ctx_frame). Nothing is written: an
# unwinder tells gdb that the selected thread was called from there. So frame
# 0 stays the thread's, and the fiber's frames begin with 1, which is how
# fibhook-select leaves it; fibhook-bt numbers them from 0.
import array
import re
import struct

import gdb
import gdb.unwinder

STATES = ["free", "runnable", "running", "parked"]
WAITS = ["", "fd", "futex", "timer", "signal", "poll"]
RUNNING = 2
SLAB = 256
# from the saved stack pointer upward; two control words come first
SAVED = ["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"]


def plain(value):
    """An atomic is a struct to some versions of gdb, and an int to others."""
    return int(value)


def text_of(array):
    """A name that a program chose may hold anything."""
    data = bytes(int(array[i]) & 255 for i in range(array.type.sizeof))
    return "".join(chr(c) if 32 <= c < 127 and c not in b'\\"'
                   else "\\x%02x" % c for c in data.split(b"\0")[0])


def fibers():
    table = gdb.parse_and_eval("fib_symtab")
    slabs = table["slabs"].type.sizeof // table["slabs"][0].type.sizeof
    for i in range(min(plain(table["fibers"]), slabs * SLAB)):
        f = table["slabs"][i // SLAB][i % SLAB]
        try:
            used = plain(f["state"])
        except gdb.MemoryError:  # a core file without it, or damaged
            continue
        if used:
            yield i, f


def worker_of(f):
    """The kernel thread that runs it, or 0."""
    try:
        return plain(f["on"]["tid"]) if int(f["on"]) else 0
    except gdb.MemoryError:
        return 0


def describe(index, f):
    state = plain(f["state"])
    wait = plain(f["wait"])
    text = "fiber %d  thread %d  \"%s\"  %s" % (
        index, plain(f["tid"]), text_of(f["name"]),
        STATES[state] if state < len(STATES) else state)
    if state == RUNNING:
        text += " on thread %d" % worker_of(f)
    elif 0 < wait < len(WAITS):
        text += " in call %d: %s %#x" % (
            plain(f["hook"]["call"]), WAITS[wait], plain(f["wait_arg"]))
    return text


class Place:
    """A frame's identity, for gdb: an address on its stack, and its code."""

    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


class Unwinder(gdb.unwinder.Unwinder):
    """While a fiber is chosen, it is what has called the selected thread."""

    def __init__(self):
        super().__init__("fibhook")
        self.sp = 0

    def choose(self, sp):
        """The fiber whose context lies at @sp; 0: none."""
        self.sp = 0
        gdb.invalidate_cached_frames()
        if sp:
            frame = gdb.newest_frame()
            self.thread = [int(frame.read_register(r)) for r in ("rsp", "rip")]
            data = gdb.selected_inferior().read_memory(
                sp, 8 + 8 * len(SAVED))
            self.data = bytes(data)
            self.sp = sp
            gdb.invalidate_cached_frames()

    def __call__(self, pending):
        sp, pc = pending.read_register("rsp"), pending.read_register("rip")
        if not self.sp or [int(sp), int(pc)] != self.thread:
            return None
        # Below the fiber's frames: gdb refuses stacks that do not climb.
        kind = sp.type
        here = Place(gdb.Value(self.sp).cast(kind), pc)
        info = pending.create_unwind_info(here)
        for i, name in enumerate(SAVED):
            at = 8 + 8 * i
            val = int.from_bytes(self.data[at:at + 8], "little")
            info.add_saved_register(
                name, gdb.Value(val).cast(pending.read_register(name).type))
        info.add_saved_register(
            "rsp", gdb.Value(self.sp + len(self.data)).cast(kind))
        return info


unwinder = Unwinder()
gdb.unwinder.register_unwinder(None, unwinder, replace=True)


def thread_of(tid):
    for t in gdb.selected_inferior().threads():
        if t.ptid[1] == tid:
            return t
    return None


def backtrace(index, f):
    print(describe(index, f))
    selected = gdb.selected_thread()
    try:
        if plain(f["state"]) == RUNNING:
            thread = thread_of(worker_of(f))
            if not thread:
                print("  runs, in a thread that is not here")
                return
            thread.switch()
            gdb.execute("backtrace")
            return
        unwinder.choose(int(f["sp"]))
        lines = gdb.execute("backtrace", to_string=True)
        # The first frame is the thread's, which has nothing to do with it.
        _, begin, rest = lines.partition("\n#1 ")
        print(re.sub(r"^#(\d+)( ?)", lambda m: "#%-2d" % (int(m[1]) - 1)
                     + (" " if len(m[1]) > 1 else m[2][1:]),
                     begin[1:] + rest, flags=re.M), end="")
    finally:
        unwinder.choose(0)
        selected.switch()


def find(arg):
    if not arg.isdigit():
        raise gdb.GdbError("which fiber? see fibhook-fibers")
    for index, f in fibers():
        if index == int(arg):
            return index, f
    raise gdb.GdbError("no such fiber")


class Fibers(gdb.Command):
    """fibhook-fibers: list the fibers of a hooked process."""

    def __init__(self):
        super().__init__("fibhook-fibers", gdb.COMMAND_STACK)

    def invoke(self, arg, tty):
        n = 0
        for index, f in fibers():
            print(describe(index, f))
            n += 1
        print("%d fibers" % n)


class Backtrace(gdb.Command):
    """fibhook-bt INDEX | all: backtrace of a fiber."""

    def __init__(self):
        super().__init__("fibhook-bt", gdb.COMMAND_STACK)

    def invoke(self, arg, tty):
        for index, f in fibers() if arg == "all" else [find(arg)]:
            try:
                backtrace(index, f)
            except gdb.MemoryError as e:
                print("  its stack cannot be read: %s" % e)


class Select(gdb.Command):
    """fibhook-select [INDEX]: look at a fiber that does not run, from frame 1
up; without INDEX, at the thread again."""

    def __init__(self):
        super().__init__("fibhook-select", gdb.COMMAND_STACK)

    def invoke(self, arg, tty):
        unwinder.choose(0)
        if not arg:
            return
        index, f = find(arg)
        if plain(f["state"]) == RUNNING:
            thread = thread_of(worker_of(f))
            if not thread:
                raise gdb.GdbError("it runs, in a thread that is not here")
            thread.switch()
            return
        unwinder.choose(int(f["sp"]))
        print(describe(index, f))
        gdb.execute("frame 1")


class Core(gdb.Command):
    """fibhook-core FILE: generate-core-file, and the stacks too. gdb leaves
off a mapping at the first page that it cannot read. Where the kernel has guard
pages that need no mapping of their own, such a page begins each stack."""

    PAGE = 4096
    EHDR, PHDR = "<16sHHIQQQIHHHHHH", "<IIQQQQQQ"

    def __init__(self):
        super().__init__("fibhook-core", gdb.COMMAND_SUPPORT,
                         gdb.COMPLETE_FILENAME)

    def segments(self, f):
        head = struct.unpack(self.EHDR, f.read(struct.calcsize(self.EHDR)))
        f.seek(head[5])
        data = f.read(head[9] * head[10])
        for kind, _, offset, addr, _, size, _, _ in struct.iter_unpack(
                self.PHDR, data):
            if kind == 1:
                yield offset, addr, size

    def fill(self, f, offset, addr, size):
        inferior = gdb.selected_inferior()
        there = array.array("Q")
        with open("/proc/%d/pagemap" % inferior.pid, "rb") as pagemap:
            pagemap.seek(addr // self.PAGE * 8)
            there.frombytes(pagemap.read(size // self.PAGE * 8))
        for i, entry in enumerate(there):
            if not entry >> 62:  # neither in memory nor swapped out
                continue
            try:
                page = inferior.read_memory(addr + i * self.PAGE, self.PAGE)
            except gdb.MemoryError:
                continue
            f.seek(offset + i * self.PAGE)
            f.write(page)

    def invoke(self, arg, tty):
        if not arg:
            raise gdb.GdbError("to which file?")
        quiet = gdb.execute("generate-core-file " + arg, to_string=True)
        print(quiet.splitlines()[-1] if quiet else "Saved corefile " + arg)
        with open(arg, "r+b") as f:
            for offset, addr, size in list(self.segments(f)):
                try:
                    gdb.selected_inferior().read_memory(addr, min(size, 1))
                except gdb.MemoryError:
                    self.fill(f, offset, addr, size)


Fibers()
Backtrace()
Select()
Core()
