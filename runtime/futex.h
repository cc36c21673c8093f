/*
 * The futex table: fibers that wait on words of this process's own memory.
 *
 * A bucket's lock makes "compare the word and queue" one step against every
 * waker, as the kernel's hash bucket lock does (kernel/futex/waitwake.c). A
 * waiter is woken exactly once: it is off the list, and woken is set, before
 * fib_wake(). Requeue moves a waiter and changes its bucket, so a waiter that
 * gives up looks its bucket up again under the lock.
 *
 * Waiting is for fibers; waking for any thread of the process. Two buckets
 * are locked in address order; they rank above timers and run queues.
 */
#ifndef FIB_FUTEX_H
#define FIB_FUTEX_H

#include "runtime/sched.h"

#define FIB_FUTEX_ANY UINT32_MAX

/**
 * Wait while *@uaddr == @val, until @deadline_ns of CLOCK_MONOTONIC.
 * 0 when woken, -EAGAIN when the word differs, -ETIMEDOUT, -EINTR when the
 * fiber has a signal to look at, -EFAULT.
 */
int fib_futex_wait(uint32_t *uaddr, uint32_t val, uint32_t bitset,
		   uint64_t deadline_ns);
/** Wake up to @n waiters whose bitsets meet @bitset; how many. */
int fib_futex_wake(uint32_t *uaddr, int n, uint32_t bitset);
/**
 * Wake @nwake waiters of @from and move up to @nmove to @to; with @cmp, only
 * if *@from == *@cmp (else -EAGAIN). The number woken and moved if @cmp, as
 * FUTEX_CMP_REQUEUE; else the number woken, as FUTEX_REQUEUE.
 */
int fib_futex_requeue(uint32_t *from, uint32_t *to, int nwake, int nmove,
		      const uint32_t *cmp);
/** FUTEX_WAKE_OP. */
int fib_futex_wake_op(uint32_t *a, uint32_t *b, int nwake, int nwake2,
		      uint32_t op);
/** In a fork child: nobody waits. */
void fib_futex_reset(void);

#endif
