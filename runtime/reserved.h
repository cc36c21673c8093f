/*
 * Numbers that the program cannot have for now: a call that is going to make a
 * descriptor, and waits first, has taken one, as the kernel's own would have. It is
 * nobody's until then, and calls on it fail with EBADF.
 *
 * Each is a duplicate of a descriptor that was opened by O_PATH, which is EBADF to
 * all calls that read, write or wait; or the file itself, where that has to be open
 * while the call waits (fib_reserved_hold()). Numbers are known by their bits, in a table
 * of atomics; anybody may ask. There are as many as there are such calls.
 *
 * Between a number and its bit, as one is taken or given back, nobody may put a file
 * there by dup2(): these are made under a lock. What closes a file, and may wait for
 * that, is made without: a number that is open is nobody's to take.
 */
#ifndef FIB_RESERVED_H
#define FIB_RESERVED_H

#include "runtime/base.h"

/** Once, with any descriptor @fd: from now on numbers can be reserved. */
void fib_reserved_init(int fd);
void fib_reserved_fini(void);
/** The lowest free number. -EMFILE: none; -ENOSYS: this cannot be done. */
int fib_reserved_take(void);
/** @fd, an open file's, is reserved from now on: nobody's, though it is open. */
bool fib_reserved_hold(int fd);
/** It is the program's. */
void fib_reserved_give(int at);
/** @fd takes the reserved number @at, with @flags as of dup3(): what it is now. */
int fib_reserved_fill(int at, int fd, int flags);
/**
 * The same for want of any other number: @path is opened, with @flags. Which one that
 * is; or -errno, and @at is free: somebody may have taken it in between.
 */
int fib_reserved_open(int at, const char *path, int flags);
/** dup2() or dup3(), @nr, from @from to @to: -EBUSY if that is reserved. */
long fib_reserved_put(int from, int to, long nr, int flags);
/** The reserved number @at is free again. */
void fib_reserved_free(int at);
bool fib_is_reserved(int fd);
/** The lowest from @fd on and below @end; UINT_MAX: none. */
unsigned fib_reserved_next(unsigned fd, unsigned end);
/** In a fork child: all are free. */
void fib_reserved_reset(void);
/** In one that shares the table of descriptors: all are the parent's. */
void fib_reserved_leave(void);

#endif
