#!/usr/bin/env python3
"""Is each row of hooks.def exercised by a behaviour program?

usage: rows_tested.py               one line for each that is not
       rows_tested.py --planted     does it find what is planted?

A program exercises a row if its code, without comments and strings, calls libc's
function of that name, names SYS_name, or calls a function of libc that makes the
call; LIBC has those whose names differ.
"""
import glob
import re
import sys

LIBC = {
    "pselect6": "pselect", "newfstatat": "fstatat", "io_pgetevents": "",
    "openat": "open|t_tmp|fopen|posix_openpt", "accept4": "accept4",
    "dup3": "dup3", "rt_sigaction": "sigaction|t_handle",
    "rt_sigprocmask": "sigprocmask|pthread_sigmask",
    "rt_sigpending": "sigpending", "rt_sigsuspend": "sigsuspend",
    "rt_sigtimedwait": "sigtimedwait|sigwaitinfo|sigwait",
    "rt_sigqueueinfo": "sigqueue", "rt_tgsigqueueinfo": "pthread_sigqueue",
    "tgkill": "pthread_kill|raise", "signalfd4": "signalfd", "eventfd2": "eventfd",
    "getdents64": "opendir|readdir", "exit_group": "_exit|exit",
    "exit": "pthread_exit|t_thread", "clone": "t_thread|pthread_create",
    "clone3": "t_thread|pthread_create", "set_tid_address": "t_be_threaded",
    "sched_getparam": "sched_getparam|pthread_getschedparam",
    "prlimit64": "prlimit|setrlimit|getrlimit", "wait4": "waitpid|wait4|wait",
    "setgroups": "setgroups", "shmat": "shmat", "shmdt": "shmdt",
    "futex": "pthread_mutex_lock|sem_wait", "ioctl": "ioctl|tcsetattr",
    "mmap": "mmap", "setitimer": "setitimer|ualarm",
    "mq_timedsend": "mq_send", "mq_timedreceive": "mq_receive",
    "semtimedop": "semtimedop|semop", "io_uring_enter": "",
}

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)


def code_of(text):
    return COMMENT.sub(lambda m: '""' if m[0][0] == '"' else " ", text)


def rows(table):
    for n, line in enumerate(table.splitlines(), 1):
        if m := re.match(r"FIB_HOOK[0-6]\((\w+)", line):
            yield n, m[1]


def words_of(programs):
    """What is called, and what is named SYS_ or __NR_."""
    words = set()
    for text in programs:
        code = code_of(text)
        words.update(re.findall(r"\b(\w+)\s*\(", code))
        words.update(re.findall(r"\b((?:SYS|__NR)_\w+)", code))
    return words


def untested(table, programs):
    words = words_of(programs)
    for n, name in rows(table):
        able = {name, "SYS_" + name, "__NR_" + name}
        able.update(x for x in LIBC.get(name, "").split("|") if x)
        if not able & words:
            yield (f"hooks/hooks.def:{n}: no program in tests/hooks/ "
                   f"exercises {name}")


def read_all(*patterns):
    for pattern in patterns:
        for path in sorted(glob.glob(pattern)):
            with open(path, encoding="utf-8") as f:
                yield f.read()


def main():
    if sys.argv[1:] == ["--planted"]:
        row = "FIB_HOOK1(vanish, int, fd, 0)\n"
        for program, found in (("int main(void) { return 0; }", True),
                               ("/* vanish(1) */ char *s = \"vanish(1)\";",
                                True),
                               ("int f(void) { return vanish(1); }", False),
                               ("long r = syscall(SYS_vanish, 1);", False)):
            if bool(list(untested(row, [program]))) != found:
                print("not as it should be:", program)
        return
    with open("hooks/hooks.def", encoding="utf-8") as f:
        table = f.read()
    programs = read_all("tests/hooks/*/*.c", "tests/hooks/*/*.cc")
    print(*untested(table, programs), sep="\n", end="")


main()
