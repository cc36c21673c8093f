/*
 * The way in, for the doors and the start. No locks. On the calling fiber's stack.
 */
#ifndef FIB_HOOKS_DISPATCH_H
#define FIB_HOOKS_DISPATCH_H

#include "hooks/core/hook.h"

/* --- dispatch.c ------------------------------------------------------------ */

/** Call @nr for fiber @f, with signals looked after. */
long fib_hook_call(struct fib *f, unsigned nr, const long a[6], uint8_t door,
		   struct fib_regs *regs);

/**
 * Before the start: leave the calls of the family @name, of @len letters, to the
 * kernel. False: there is no such one, or it cannot be left out.
 */
bool fib_hooks_leave_out(const char *name, size_t len);

/* --- start.c ------------------------------------------------------------- */

/** The caller becomes fiber @main_fiber, whose signal mask is @mask. */
void fib_hooks_start(struct fib *main_fiber, uint64_t mask);

#endif
