#!/usr/bin/python3
"""Run a command under a condition: under.py HOW[=VALUE] COMMAND [ARGS].

  mdwe          no memory becomes executable (PR_SET_MDWE)
  no-thp        no transparent huge pages (PR_SET_THP_DISABLE)
  thp           all memory may have them: the host's setting, put back behind it
  no-fsgsbase   the kernel says that it allows no FSGSBASE (AT_HWCAP2)
  pids=N        so many threads, in a control group of its own (v1 or v2)
  memory=BYTES  so much memory, likewise

It ends as the command does. Exit status 125, and a reason, where the condition
cannot be made: why_not() says so beforehand.
"""
import ctypes
import fcntl
import os
import resource
import signal
import struct
import sys

THP = "/sys/kernel/mm/transparent_hugepage/enabled"
PR_SET_THP_DISABLE, PR_SET_MDWE = 41, 65
PTRACE_TRACEME, PTRACE_DETACH = 0, 17
AT_HWCAP2, HWCAP2_FSGSBASE = 26, 2
LIMIT = {"pids": ("pids.max", "pids.max"),
         "memory": ("memory.limit_in_bytes", "memory.max")}


def prctl(option, value):
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def run(command, in_child=None, at_exec=None):
    """The command's status, as os.waitpid() has it."""
    pid = os.fork()
    if pid == 0:
        try:
            if in_child:
                in_child()
            os.execvp(command[0], command)
        except OSError as e:
            print(f"under.py: {e}", file=sys.stderr)
        os._exit(125)
    _, status = os.waitpid(pid, 0)
    if at_exec and os.WIFSTOPPED(status):
        at_exec(pid)
        _, status = os.waitpid(pid, 0)
    return status


def end_as(status):
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    sys.exit(os.waitstatus_to_exitcode(status))


# --- control groups ------------------------------------------------------------

def groups():
    """(controllers, directory, is it v2) of each group that this process is in."""
    mounts = []
    with open("/proc/self/mountinfo", encoding="utf-8") as f:
        for line in f:
            words, kind = (x.split() for x in line.split(" - ", 1))
            if kind[0].startswith("cgroup"):
                mounts.append((kind[0], words[3], words[4], kind[2].split(",")))
    with open("/proc/self/cgroup", encoding="utf-8") as f:
        for line in f:
            _, names, path = line.rstrip("\n").split(":", 2)
            for kind, root, at, options in mounts:
                if kind == "cgroup" and names and names.split(",")[0] in options \
                        or kind == "cgroup2" and not names:
                    yield names.split(","), os.path.normpath(
                        at + "/" + os.path.relpath(path, root)), not names


def has(directory, name):
    try:
        with open(os.path.join(directory, "cgroup.subtree_control"),
                  encoding="ascii") as f:
            return name in f.read().split()
    except OSError:
        return False


def parent_of_group(name):
    """Where a group can be made that has this controller, and its version."""
    for names, directory, v2 in groups():
        if v2:
            while not has(directory, name) and has(os.path.dirname(directory), name):
                directory = os.path.dirname(directory)
        if has(directory, name) if v2 else name in names:
            if os.access(directory, os.W_OK):
                return directory, v2
    return None, False


def in_group(name, value, command):
    parent, v2 = parent_of_group(name)
    group = os.path.join(parent, f"fibhook.{os.getpid()}")

    def put(file, text):
        with open(os.path.join(group, file), "w", encoding="ascii") as f:
            f.write(text)

    os.mkdir(group)
    try:
        put(LIMIT[name][v2], value)
        return run(command, lambda: put("cgroup.procs", "0"))
    finally:
        os.rmdir(group)


# --- the others ----------------------------------------------------------------

def forget_fsgsbase(pid):
    """The stopped process has just been exec'd: its stack is as the kernel laid it."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        start = int(f.read().rsplit(")", 1)[1].split()[25])
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as mem:
        mem.seek(start)
        data = mem.read(1 << 16)
        words = struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])
        i = words.index(0, words[0] + 2) + 1  # behind argv, then environ
        while words[i] != AT_HWCAP2:
            i += 2
        mem.seek(start + 8 * (i + 1))
        mem.write(struct.pack("<Q", words[i + 1] & ~HWCAP2_FSGSBASE))
    ctypes.CDLL(None).ptrace(PTRACE_DETACH, pid, None, None)


def with_thp(command):
    """One at a time, so that what is put back is what there was."""
    with open(THP, "r+", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        was = f.read().split("[")[1].split("]")[0]
        try:
            f.write("always")
            f.flush()
            return run(command)
        finally:
            f.write(was)
            f.flush()


def why_not(how):
    """None, or why this condition cannot be made here."""
    name = how.split("=")[0]
    if name in LIMIT and not parent_of_group(name)[0]:
        return f"no group with the controller {name} can be made"
    if name == "thp" and not os.access(THP, os.W_OK):
        return f"{THP} cannot be written"
    return None


def main():
    how, command = sys.argv[1], sys.argv[2:]
    name, _, value = how.partition("=")
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    why = why_not(how)
    if why:
        sys.exit(f"under.py: {why}")
    if name in LIMIT:
        end_as(in_group(name, value, command))
    if name == "thp":
        end_as(with_thp(command))
    if name == "no-fsgsbase":
        end_as(run(command, lambda: ctypes.CDLL(None).ptrace(
            PTRACE_TRACEME, 0, None, None), forget_fsgsbase))
    prctl(*{"mdwe": (PR_SET_MDWE, 1), "no-thp": (PR_SET_THP_DISABLE, 1)}[name])
    os.execvp(command[0], command)


if __name__ == "__main__":
    try:
        main()
    except (OSError, KeyError) as e:
        print(f"under.py: {e!r}", file=sys.stderr)
        sys.exit(125)
