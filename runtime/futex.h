/*
 * The futex table: fibers that wait on words of this process's own memory.
 *
 * A bucket's lock makes "compare the word and queue" one step against every
 * waker, as the kernel's hash bucket lock does (kernel/futex/waitwake.c). A
 * waiter is woken exactly once: it is off the list, and woken is set, before
 * fib_wake(). Requeue moves a waiter and changes its bucket, so a waiter that
 * gives up looks its bucket up again under the lock.
 *
 * Who waits is woken in the order of coming, but for dedicated fibers with
 * real-time priorities: those are ahead, by priority, as in the kernel.
 *
 * Words are the program's memory, which may not be there or not be for writing
 * (fault.h). Each is touched once before a lock is taken, as it will be under
 * the lock: so what takes long is done without, and to find it gone under the
 * lock is -EFAULT as well.
 *
 * Waiting is for fibers; waking for any thread of the process. Two buckets
 * are locked in address order (docs/LOCKS.md).
 */
#ifndef FIB_FUTEX_H
#define FIB_FUTEX_H

#include "runtime/sched.h"

#define FIB_FUTEX_ANY UINT32_MAX

/* In the address of a word: get_futex_key() of the kernel keeps the two kinds apart. */
#define FIB_FUTEX_SHARED (1ul << 63)
/** @uaddr for calls without FUTEX_PRIVATE_FLAG, whose waiters are others. */
static inline uint32_t *fib_futex_shared(const uint32_t *uaddr)
{
	return (uint32_t *)((uintptr_t)uaddr | FIB_FUTEX_SHARED);
}

/**
 * Wait while *@uaddr == @val, until @deadline_ns of CLOCK_MONOTONIC.
 * 0 when woken, -EAGAIN when the word differs, -ETIMEDOUT, -EINTR when the
 * fiber has a signal to look at, -EFAULT.
 */
int fib_futex_wait(uint32_t *uaddr, uint32_t val, uint32_t bitset,
		   uint64_t deadline_ns);
/**
 * Wake up to @n waiters whose bitsets meet @bitset; how many. -EINVAL if one
 * waits for a PI mutex there, or to be moved to one.
 */
int fib_futex_wake(uint32_t *uaddr, int n, uint32_t bitset);
/**
 * Wake @nwake waiters of @from and move up to @nmove to @to; with @cmp, only
 * if *@from == *@cmp (else -EAGAIN). The number woken and moved, which is what
 * Linux returns for FUTEX_REQUEUE as well (kernel/futex/requeue.c).
 */
int fib_futex_requeue(uint32_t *from, uint32_t *to, int nwake, int nmove,
		      const uint32_t *cmp);
/** FUTEX_WAKE_OP. */
int fib_futex_wake_op(uint32_t *a, uint32_t *b, int nwake, int nwake2,
		      uint32_t op);
/** One word of futex_waitv. */
struct fib_futex_word {
	uint32_t *uaddr;
	uint32_t val;
};
#define FIB_FUTEX_WORDS 128
/* So many are kept on the fiber's stack, which may be a small one. */
#define FIB_FUTEX_FEW 8
/** Wait for any of @n words: its index, or as fib_futex_wait(). */
int fib_futex_waitv(const struct fib_futex_word *word, unsigned n,
		    uint64_t deadline_ns);
/**
 * Priority inheritance mutexes, without the inheritance. The word holds the
 * owner's @tid; unlock hands it to the first waiter, as kernel/futex/pi.c does.
 * @fiber finds one by its id. 0, -EDEADLK (it is ours, or its owner waits for us
 * in the end), -ESRCH (the owner is none of ours), -EAGAIN (@try), -ETIMEDOUT,
 * -EINTR, -EPERM (not the owner), -EFAULT.
 */
int fib_futex_lock_pi(uint32_t *uaddr, uint32_t tid, uint64_t deadline_ns,
		      bool try_only, struct fib *(*fiber)(uint32_t tid));
/**
 * FUTEX_WAIT_REQUEUE_PI: as fib_futex_wait(), and returns with the mutex @to
 * owned by @tid. -EAGAIN also for a signal when it waited for the mutex already.
 */
int fib_futex_wait_requeue_pi(uint32_t *from, uint32_t val, uint32_t *to,
			      uint32_t tid, uint64_t deadline_ns);
/**
 * FUTEX_CMP_REQUEUE_PI: give @to to the first waiter if it is free, move up to
 * @nmove more. How many of both; -EAGAIN, -EINVAL (one of them waits for
 * something else), and what fib_futex_lock_pi() says of the owner.
 */
int fib_futex_cmp_requeue_pi(uint32_t *from, uint32_t *to, int nmove,
			     uint32_t cmp, struct fib *(*fiber)(uint32_t tid));
/** The caller has changed some thread's priority. */
void fib_futex_priority_changed(void);
/**
 * With @died, the owner ends: the next one is told by FUTEX_OWNER_DIED. With @tid 0 it
 * has left the word already, which is left alone if nobody waits.
 */
int fib_futex_unlock_pi(uint32_t *uaddr, uint32_t tid, bool died);
/** @tid has ended, and is none of ours any more: who waits for what it had is next. */
void fib_futex_pi_gone(uint32_t tid);
/** In a fork child: nobody waits. */
void fib_futex_reset(void);
void fib_futex_pi_reset(void);

#endif
