#!/usr/bin/python3
"""A lock of the library that nobody will give back, and a list without end.

usage: held.py LIBFIBHOOK BUSY OFFSETS

Writes "held" into a lock of a hooked process. It must still stop and end by a
signal with its default action, and the log must say that something is wrong,
once. A process that was stopped for as long is not told of, nor is one that
computes.
"""
import atexit
import os
import select
import signal
import struct
import subprocess
import sys
import time

END_S, TOLD_S = 5, 30
LIB, BUSY, OFFSETS = sys.argv[1:]
passed = failed = 0


def check(name, ok, why=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print(f"FAIL held: {name}: {why}")


def symbols():
    out = subprocess.run(["nm", LIB], stdout=subprocess.PIPE, check=True,
                         universal_newlines=True).stdout
    at = {w[2]: int(w[0], 16) for w in map(str.split, out.splitlines())
          if len(w) == 3}
    out = subprocess.run([OFFSETS], stdout=subprocess.PIPE, check=True,
                         universal_newlines=True).stdout
    for line in out.splitlines():
        name, offset = line.split()
        at[name] = at["fib_sched"] + int(offset)
    return at


def start(workers, *args):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FIBHOOK_")}
    env.update(LD_PRELOAD=LIB, FIBHOOK_WORKERS=str(workers))
    # In a group of its own: SIGTSTP does not stop one whose group is orphaned, as this
    # one's may be.
    p = subprocess.Popen([BUSY, *args], env=env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, preexec_fn=os.setpgrp)
    atexit.register(p.kill)
    assert p.stdout.readline() == b"ready\n"
    return p


def base_of(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as f:
        for line in f:
            if line.rstrip().endswith(os.path.realpath(LIB)):
                return int(line.split("-")[0], 16)
    raise RuntimeError("the library is not mapped")


# Not while somebody has it: he would give it back.
def hold(pid, addr):
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as mem:
        for _ in range(1000):
            os.kill(pid, signal.SIGSTOP)
            os.waitpid(pid, os.WUNTRACED)
            mem.seek(addr)
            free = mem.read(4) == bytes(4)
            if free:
                mem.seek(addr)
                mem.write(struct.pack("i", 1))
            os.kill(pid, signal.SIGCONT)
            if free:
                return
            time.sleep(0.001)
    raise RuntimeError("the lock is never free")


def loop(p, at):
    """What is kept for the process becomes a list that ends in itself."""
    base = base_of(p.pid)
    node = base + at["posted_info"]
    with open(f"/proc/{p.pid}/mem", "r+b", buffering=0) as mem:
        for addr, data in ((node, struct.pack("QQQi", node, node, node, signal.SIGUSR1)),
                           (base + at["process_queue"], struct.pack("Q", node)),
                           (base + at["process_pending"], bytes([255] * 8))):
            mem.seek(addr)
            mem.write(data)


def ends(p, sig):
    try:
        return p.wait(END_S) == -sig
    except subprocess.TimeoutExpired:
        return False


def used_s(p):
    """The processor time it has used: what counts for one that loops."""
    with open(f"/proc/{p.pid}/stat", encoding="utf-8") as f:
        return int(f.read().rpartition(")")[2].split()[11]) / 100


def line_of(p, seconds):
    """What the log says until then, or until its first line."""
    until, text = time.monotonic() + seconds, b""
    while b"\n" not in text:
        left = until - time.monotonic()
        if left <= 0 or not select.select([p.stderr], [], [], left)[0]:
            break
        got = os.read(p.stderr.fileno(), 4096)
        if not got:
            break
        text += got
    return text.decode("utf-8", "replace")


def main():
    at = symbols()
    run = {}
    for lock in ("fib_sig_lock", "forward_lock", "workers_lock", "inject_lock"):
        for sig in (signal.SIGTERM, signal.SIGRTMIN + 1, signal.SIGTSTP):
            p = start(2)
            hold(p.pid, base_of(p.pid) + at[lock])
            for _ in range(5):  # the receiver is to run into it first
                os.kill(p.pid, signal.SIGUSR2)
                time.sleep(0.02)
            os.kill(p.pid, sig)
            name = f"{lock}, signal {int(sig)}"
            if sig == signal.SIGTSTP:
                t0 = time.monotonic()
                while True:
                    r, st = os.waitpid(p.pid, os.WUNTRACED | os.WNOHANG)
                    if r or time.monotonic() - t0 > END_S:
                        break
                    time.sleep(0.01)
                check(name, r and os.WIFSTOPPED(st), "it does not stop")
                os.kill(p.pid, signal.SIGCONT)
                sig = signal.SIGTERM
                os.kill(p.pid, sig)
            check(name, ends(p, sig), "it does not end")
            p.kill()
            p.wait()
    for lock in ("fib_sig_lock", "forward_lock"):
        run[lock] = start(2)
        hold(run[lock].pid, base_of(run[lock].pid) + at[lock])
        os.kill(run[lock].pid, signal.SIGUSR2)
    endless = start(2, "ignores")
    loop(endless, at)
    computing = start(2)
    stopped = start(2)
    os.kill(stopped.pid, signal.SIGSTOP)
    for lock, p in run.items():
        text = line_of(p, TOLD_S)
        check(f"{lock}, told", text.startswith(f"fibhook[{p.pid} busy]: ") and
              "lock of the library" in text and "please report" in text and
              f"fibhook dump {p.pid}" in text and
              ("worker" in text or "monitor" in text), repr(text))
        p.kill()
        p.wait()
    text = ""
    while not text and used_s(endless) < TOLD_S:
        text = line_of(endless, 1)
    check("endless, told", "worker" in text and "in rt_sigaction does not come "
          "to an end" in text, repr(text))
    os.kill(endless.pid, signal.SIGTERM)
    check("endless, ends", ends(endless, signal.SIGTERM))
    os.kill(stopped.pid, signal.SIGCONT)
    for name, p in ("stopped", stopped), ("computing", computing):
        text = line_of(p, 1)
        check(f"{name}, not told", text == "", repr(text))
        os.kill(p.pid, signal.SIGTERM)
        check(f"{name}, ends", ends(p, signal.SIGTERM))
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
