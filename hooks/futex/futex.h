/*
 * The futex call, upon the runtime's table of waiters (runtime/futex.h). No locks
 * of its own.
 */
#ifndef FIB_HOOKS_FUTEX_H
#define FIB_HOOKS_FUTEX_H

void fib_futex_init(void);
/** The call from a thread that is no fiber: it may wake fibers. */
long fib_futex_foreign(const long a[6]);

#endif
