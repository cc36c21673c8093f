/*
 * The buckets of the futex table, for futex.c. A word's bucket is found by its
 * address, and there are more of them where there are many fibers, so that few
 * waiters are in one; but no more than needed, since a bucket that is touched is
 * memory.
 *
 * Growing. The grower, one at a time, holds grow_lock from (A) to (D):
 *
 *	who has a word			grower
 *	--------------			------
 *	b = bucket in table		(A) makes a new table
 *	lock b				(B) each old bucket: lock; moved = true;
 *	moved? unlock, wait for		      its waiters go to the new ones; unlock
 *	  (D), begin anew		(C) table = the new one
 *	do it				(D) unlock
 *	unlock
 *
 * Until (C) nobody but the grower is at a new bucket. Who looks at a bucket's
 * count without its lock (fib_futex_wake()) sees all that have waited there, since
 * that of an old one does not go down at (B). Who waits in a new bucket loaded table
 * after (C), and then read the word as it was: so a waker, who has written the
 * word before, loads table after (C) as well.
 *
 * tests/model/grow.pml has this for spin.
 *
 * An old table stays: somebody may be about to lock its bucket. A waiter that
 * gives up goes by its own bucket, which is written under both locks.
 */
#ifndef FIB_FUTEX_TABLE_H
#define FIB_FUTEX_TABLE_H

#include "runtime/sched.h"

struct bucket {
	struct fib_lock lock;
	bool moved; /* look in the newer table */
	struct fib_list waiters;
	_Atomic uint32_t count; /* waiters, published before the word is read */
} __attribute__((aligned(64)));

struct waiter {
	struct fib_list node;
	struct fib *fib;
	struct bucket *_Atomic bucket;
	uint32_t *uaddr;
	uint32_t bitset;
	int priority;	 /* real-time priority, 0: none */
	uint32_t ticket; /* 0: none; sched.h, passing over */
	uint32_t pi_tid; /* waits for ownership; 0: an ordinary waiter */
	uint32_t requeue_tid, *requeue_to; /* may be moved to wait for that */
	_Atomic bool woken;
};

/** The bucket of @uaddr, which may have moved: look when it is locked. */
struct bucket *fib_futex_bucket(const uint32_t *uaddr);
/** Two, of one table. */
void fib_futex_two(const uint32_t *x, const uint32_t *y, struct bucket **a,
		   struct bucket **b);
/** More buckets, if there are many fibers by now. Without locks. */
void fib_futex_grow(void);
/** A bucket had moved: until (D). Without locks. */
void fib_futex_grown(void);
/** futex.c: @w at the end of @b, but for its priority. */
void fib_futex_add_locked(struct bucket *b, struct waiter *w);

#endif
