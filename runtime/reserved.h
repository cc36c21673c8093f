/*
 * Numbers that the program cannot have for now: a call that is going to make a
 * descriptor, and waits first, has taken one, as the kernel's own would have. It is
 * nobody's until then, and calls on it fail with EBADF.
 *
 * Each is a duplicate of a descriptor that was opened by O_PATH, which is EBADF to
 * all calls that read, write or wait. Numbers are known by their bits, in a table
 * of atomics; anybody may ask. There are as many as there are such calls.
 *
 * Between a number's being taken and its being known another thread may put a file
 * there, which natively would be EBUSY. Then that one has it:
 *
 *	who takes			who puts a file there
 *	---------			---------------------
 *	the lowest free number		replacing + 1			(C)
 *	its bit			(A)	reserved? EBUSY
 *	replacing, or replaced since?	dup2()
 *	  is it ours still?	(B)	reserved? it is not any more	(D)
 *	  no: another one		replaced + 1, replacing - 1
 *
 * Either (D) sees (A)'s bit, or who takes sees (C) or what came after it. A file that
 * was put there is looked for at (B), or comes later, and (D) sees the bit.
 */
#ifndef FIB_RESERVED_H
#define FIB_RESERVED_H

#include "runtime/base.h"

/** Once, with any descriptor @fd: from now on numbers can be reserved. */
void fib_reserved_init(int fd);
void fib_reserved_fini(void);
/** The lowest free number. -EMFILE: none; -ENOSYS: this cannot be done. */
int fib_reserved_take(void);
/** The caller is going to put a file at a number, which it looks at then. */
void fib_reserved_replace(void);
/** It has, or has not, put one at @to. */
void fib_reserved_replaced(int to, bool done);
/** @fd takes the reserved number @at, with @flags as of dup3(): what it is now. */
int fib_reserved_fill(int at, int fd, int flags);
/** The reserved number @at is free again. */
void fib_reserved_free(int at);
bool fib_is_reserved(int fd);
/** The lowest from @fd on and below @end; UINT_MAX: none. */
unsigned fib_reserved_next(unsigned fd, unsigned end);
/** In a fork child: all are free. */
void fib_reserved_reset(void);

#endif
