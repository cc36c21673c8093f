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

/* --- start.c ------------------------------------------------------------- */

/** The caller becomes fiber @main_fiber, whose signal mask is @mask. */
void fib_hooks_start(struct fib *main_fiber, uint64_t mask);

#endif
