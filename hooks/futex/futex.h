/*
 * The futex call, upon the runtime's table of waiters (runtime/futex.h). No locks
 * of its own.
 */
#ifndef FIB_HOOKS_FUTEX_H
#define FIB_HOOKS_FUTEX_H

#include "runtime/base.h"

void fib_futex_init(void);
void fib_futex_shared_init(void);
/** May somebody wait for @word in the kernel? Asked after the word was changed. */
bool fib_futex_in_kernel(const uint32_t *word);
/**
 * When the wait of operation @op with time limit @ts ends, in *@deadline: 0 or
 * -errno. @ts is the program's.
 */
long fib_futex_deadline(int op, const struct timespec *ts, uint64_t *deadline);
/** A wait, FUTEX_WAIT or FUTEX_WAIT_BITSET, that other processes may end. */
long fib_futex_shared_wait(const long a[6]);
/** The call from a thread that is no fiber: it may wake fibers. */
long fib_futex_foreign(const long a[6]);
/** Another call of such a one that waits for words: @nr. */
long fib_futex_foreign_wait(long nr, const long a[6]);

#endif
