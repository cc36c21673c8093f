/*
 * What /proc tells a process of itself: descriptors and threads as the program
 * knows them. No locks. For hook bodies, on the fiber's stack.
 */
#ifndef FIB_HOOKS_PROCFS_H
#define FIB_HOOKS_PROCFS_H

#include "runtime/base.h"

struct fib;

/** At the start: @other gives a fiber a kernel thread, and returns its id or -errno. */
void fib_procfs_init(int (*other)(struct fib *f));

#define FIB_PROCFS_PATH 128
/**
 * Is @path, to be opened with @flags, about the calling thread alone, or another
 * one but main? Then that one becomes dedicated, and *@to is what the kernel
 * calls it. Parks.
 */
bool fib_procfs_of_thread(const char *path, int flags,
			  char to[FIB_PROCFS_PATH]);
/** getdents64() of @fd; *@elsewhere: it is not in /proc, and that was asked. */
long fib_procfs_list(int fd, void *buf, size_t room, bool *elsewhere);
/** Which of @n names does /proc give to @fd? @n: none. */
unsigned fib_procfs_which(int fd, const char *const names[], unsigned n);
/** Is it @name? */
bool fib_procfs_is(int fd, const char *name);
/** Is @fd of inotify or fanotify? If fib_fd_asks(). */
bool fib_procfs_is_watch(int fd);
/** The signals that the process's signalfds show. */
uint64_t fib_procfs_signalfds(void);

#endif
