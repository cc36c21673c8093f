/*
 * What futex.c and futex_pi.c share: queues of waiters. Words are touched as
 * futex.h tells; what ends in _locked needs the bucket's lock.
 */
#ifndef FIB_FUTEX_INT_H
#define FIB_FUTEX_INT_H

#include <linux/futex.h>
#include "runtime/chaos.h"
#include "runtime/fault.h"
#include "runtime/futex.h"
#include "runtime/futex_table.h"
#include "runtime/timer.h"

/** Where the word itself is. */
static inline uint32_t *fib_futex_word(const uint32_t *uaddr)
{
	return (uint32_t *)((uintptr_t)uaddr & ~FIB_FUTEX_SHARED);
}

/** The bucket of @uaddr, locked. */
struct bucket *fib_futex_lock_word(const uint32_t *uaddr);
/** Those of @x and @y, which may be one, locked, and no bell rung meanwhile. */
void fib_futex_lock_two(const uint32_t *x, const uint32_t *y, struct bucket **a,
			struct bucket **b);
void fib_futex_unlock_two(struct bucket *a, struct bucket *b);
/** 0, -EAGAIN if *@uaddr is not @val, -EFAULT. */
int fib_futex_compare(const uint32_t *uaddr, uint32_t val);
/** The caller's real-time priority, 0: none. */
int fib_futex_priority(void);
/** Queue @w unless the word is not @val: 0, -EAGAIN, -EFAULT. */
int fib_futex_queue(struct waiter *w, uint32_t val);
/**
 * Park until @w[0..n) has a woken one, the time is up, or a signal came. @uaddr
 * is for the dump; the waiter's own may be changed by a requeue at any time.
 */
int fib_futex_sleep(const struct waiter *w, unsigned n, const uint32_t *uaddr,
		    uint64_t deadline_ns);
/** Off the list, unless it has been woken. */
void fib_futex_give_up(struct waiter *w);
/** @w, of @b: it is woken. */
void fib_futex_wake_locked(struct bucket *b, struct waiter *w);
/** @w, of @a, to @b's end: it waits at @uaddr from now on. */
void fib_futex_move_locked(struct bucket *a, struct bucket *b, struct waiter *w,
			   uint32_t *uaddr);

#endif
