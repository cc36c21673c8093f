/*
 * Direct switches: from one fiber to the next, without the worker's context.
 *
 * In general a fiber that leaves its stack goes to the worker's, and there it is
 * decided whether it parks (sched.h, (A)): once it is published as PARKED or
 * queued, another worker may run it at once, so nothing may be on its stack any
 * more. A scheduler with one worker has no other. Who wakes the fiber from
 * another thread wins the permit and puts it into the injection queue, which
 * this worker alone takes from, and not before it has left the stack:
 *
 *	fiber f, its only worker			another thread
 *	------------------------			--------------
 *	(A) CAS(permit, NONE -> PARKED)
 *	    on f's stack				(B) PARKED -> NONE
 *	n = first of the run queue			    inject f
 *	save f's registers, load n's
 *	... takes f from the injection queue
 *
 * So f may commit its park, or queue itself, while it still runs, take the next
 * fiber, and switch to it: one switch in the place of two. What cannot go on
 * by itself does go by way of the loop: when the queue is empty, when something
 * came from outside (its turn is next), at every tick at which the loop looks
 * at descriptors and timers, and where there is no memory for a new fiber's
 * stack.
 *
 * A fiber that ends cannot give back the stack it is on. It is noted in the
 * worker (ended), and whoever is switched to gives it back first: fib_land().
 */
#ifndef FIB_DIRECT_H
#define FIB_DIRECT_H

#include "runtime/sched.h"

/*
 * fib_park(), fib_sched_yield() and fib_exit() of @f, where w->direct is not 0.
 * The last returns where it has to be by way of the loop.
 */
void fib_direct_park(struct fib_worker *w, struct fib *f);
int fib_direct_yield(struct fib_worker *w, struct fib *f);
void fib_direct_exit(struct fib_worker *w, struct fib *f);

/** @w->ended has left its stack. */
void fib_reap(struct fib_worker *w);

/** First thing on the stack of @f, which @w has switched to. */
static inline void fib_land(struct fib_worker *w, struct fib *f)
{
	fib_san_enter(&fib_top_of(f)->san, w->lib.left);
	if (w->lib.ended)
		fib_reap(w);
}

#endif
