# Fibers in gdb, for a live process; "source" this file.
#
#   fibhook-fibers        every fiber: state, thread id, name, call
#   fibhook-bt INDEX      backtrace of a parked or runnable fiber
#   fibhook-bt all        of all of them
#
# libfibhook.so must have its debug information. A fiber that is parked has
# its registers on its stack (struct fib_ctx_frame); they are lent to the
# selected thread for the time of the backtrace, which works only while
# registers can be written: in a core file they cannot.
import gdb

STATES = ["free", "runnable", "running", "parked"]
WAITS = ["", "fd", "futex", "timer", "signal", "poll"]
RUNNING = 2
SLAB = 256
# from the saved stack pointer upward; two control words come first
SAVED = ["r15", "r14", "r13", "r12", "rbx", "rbp", "rip"]


def plain(value):
    """An atomic is a struct to some versions of gdb, and an int to others."""
    return int(value)


def fibers():
    table = gdb.parse_and_eval("fib_symtab")
    for i in range(plain(table["fibers"])):
        f = table["slabs"][i // SLAB][i % SLAB]
        if plain(f["state"]):
            yield f


def describe(f):
    state = plain(f["state"])
    wait = plain(f["wait"])
    text = "fiber %d  thread %d  \"%s\"  %s" % (
        plain(f["index"]), plain(f["tid"]), f["name"].string(),
        STATES[state] if state < len(STATES) else state)
    if state == RUNNING and int(f["on"]):
        text += " on thread %d" % plain(f["on"]["tid"])
    elif 0 < wait < len(WAITS):
        text += " in call %d: %s %#x" % (
            plain(f["call"]), WAITS[wait], plain(f["wait_arg"]))
    return text


def word(addr):
    data = gdb.selected_inferior().read_memory(addr, 8)
    return int.from_bytes(bytes(data), "little")


def backtrace(f):
    print(describe(f))
    if plain(f["state"]) == RUNNING:
        print("  runs: see its thread")
        return
    names = SAVED + ["rsp"]
    sp = int(f["sp"])
    new = [word(sp + 8 + 8 * i) for i in range(len(SAVED))]
    new.append(sp + 8 + 8 * len(SAVED))
    gdb.execute("frame 0", to_string=True)
    frame = gdb.selected_frame()
    old = [int(frame.read_register(r)) & (1 << 64) - 1 for r in names]
    try:
        for r, v in zip(names, new):
            gdb.execute("set $%s = %d" % (r, v))
        gdb.execute("backtrace")
    finally:
        gdb.execute("frame 0", to_string=True)
        # the frame's identity is rsp and rip: they come back last
        for r, v in zip(names, old):
            gdb.execute("set $%s = %d" % (r, v))


class Fibers(gdb.Command):
    """fibhook-fibers: list the fibers of a hooked process."""

    def __init__(self):
        super().__init__("fibhook-fibers", gdb.COMMAND_STACK)

    def invoke(self, arg, tty):
        n = 0
        for f in fibers():
            print(describe(f))
            n += 1
        print("%d fibers" % n)


class Backtrace(gdb.Command):
    """fibhook-bt INDEX | all: backtrace of a fiber that does not run."""

    def __init__(self):
        super().__init__("fibhook-bt", gdb.COMMAND_STACK)

    def invoke(self, arg, tty):
        if arg != "all" and not arg.isdigit():
            raise gdb.GdbError("fibhook-bt INDEX, or fibhook-bt all")
        found = [f for f in fibers()
                 if arg == "all" or plain(f["index"]) == int(arg)]
        if not found:
            raise gdb.GdbError("no such fiber")
        for f in found:
            backtrace(f)


Fibers()
Backtrace()
