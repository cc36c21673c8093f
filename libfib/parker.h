/*
 * The parker: one fiber, task or thread that is held up until another lets it
 * go on. Channels, tasks and executors wait with it.
 *
 * A parker lies on the stack of who waits, in a list that somebody else owns.
 * Whoever takes it off the list, under the list's lock, wakes it, under that
 * lock or after it. Who waited in vain takes the lock and looks whether it has
 * been woken meanwhile:
 *
 *	waits					wakes
 *	-----					-----
 *	fib_parker_init(&p)
 *	lock; link p; unlock
 *	r = fib_parker_wait(&p, deadline)	lock; unlink p
 *	if (r) {				fib_parker_wake(p)
 *		lock				unlock
 *		if (fib_parker_woken(&p)) r = 0
 *		else unlink p
 *		unlock
 *	}
 *
 * Woken is the last that a waker touches of the parker: it knows the fiber
 * before, and fibers' memory is never unmapped (sched.h). For a thread it is
 * the address alone that is handed to the kernel.
 */
#ifndef FIB_PARKER_H
#define FIB_PARKER_H

#include "libfib/lib.h"

struct fib_parker {
	struct fib_list link;
	struct fib *fib;   /* NULL: the thread */
	_Atomic int woken; /* a futex of the thread's */
};

/** For the caller, in no list: it is to be added to one. */
static inline void fib_parker_init(struct fib_parker *p)
{
	p->fib = fib_self();
	fib_store(&p->woken, 0, relaxed);
}

static inline bool fib_parker_woken(const struct fib_parker *p)
{
	return fib_load(&p->woken, acquire);
}

int fib_parker_wait_slow(struct fib_parker *p, uint64_t deadline_ns);
void fib_parker_wake_thread(struct fib_parker *p);

/**
 * 0 when woken; -ETIMEDOUT; -ECANCELED; -ENOMEM: there is no room for a timer.
 */
static inline int fib_parker_wait(struct fib_parker *p, uint64_t deadline_ns)
{
	if (!p->fib || deadline_ns != FIB_NEVER)
		return fib_parker_wait_slow(p, deadline_ns);
	while (!fib_parker_woken(p)) {
		if (fib_unlikely(fib_host_attention(p->fib)))
			return -ECANCELED;
		fib_park();
	}
	return 0;
}

/** Until it is woken: for what cannot be cancelled. */
void fib_parker_wait_woken(struct fib_parker *p);

/** Any thread, any stack. */
static inline void fib_parker_wake(struct fib_parker *p)
{
	struct fib *f = p->fib;

	/* Pairs with fib_parker_woken(); p may be gone from here on. */
	fib_store(&p->woken, 1, release);
	if (f)
		fib_wake(f);
	else
		fib_parker_wake_thread(p);
}
/** All in @list, whose lock is held. */
void fib_parker_wake_all(struct fib_list *list);

#endif
