/*
 * Timers: a heap per worker, armed by the fiber that waits.
 *
 * A timer belongs to its caller (most live on a fiber's stack). It is fired
 * under its heap's lock, so once fib_timer_disarm() has returned nobody holds
 * a reference to it. Fibers and workers may call. Locks: docs/LOCKS.md.
 */
#ifndef FIB_TIMER_H
#define FIB_TIMER_H

#include "runtime/sched.h"

struct fib_timer {
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	struct fib *fib;      /* woken when it fires */
	FIB_HOST_TIMER
	struct fib_timer_heap *heap; /* NULL: never armed */
	_Atomic uint32_t pos;	     /* 1-based in the heap, 0: not in it */
	_Atomic bool fired;
};

/** One that is not armed. */
static inline void fib_timer_init(struct fib_timer *t)
{
	t->heap = NULL;
	fib_store(&t->pos, 0, relaxed);
	fib_store(&t->fired, false, relaxed);
}

/**
 * Wake @fib, the caller, which parks at once, at @deadline_ns. The heap may be out of
 * memory: -ENOMEM. Who is bound to a worker has that one sleep no longer than this, and
 * no heap: nobody else has to look after it. It has one such timer at a time.
 */
int fib_timer_arm(struct fib_timer *t, struct fib *fib, uint64_t deadline_ns);
void fib_timer_disarm(struct fib_timer *t);
/** That of the fiber that is bound to @w, the caller's, is due. */
void fib_timer_alarm(struct fib_worker *w);
/** Of fib_park_until(): with a timer, which is not to lie on the stack of each who waits. */
int fib_park_timed(struct fib *f, bool (*done)(const void *arg),
		   const void *arg);
/**
 * Park the calling fiber until @done(@arg) (0), @deadline_ns has come
 * (-ETIMEDOUT), it is to leave its waits (-EINTR: a signal to look at; as a library,
 * it is cancelled), or there is no memory for a timer (-ENOMEM). Who makes @done true
 * wakes the fiber after it. @why, an enum fib_wait, and @what are for the dump. All waits
 * but sigtimedwait's end here.
 */
static inline int fib_park_until(bool (*done)(const void *arg), const void *arg,
				 uint64_t deadline_ns, uint8_t why,
				 uint64_t what)
{
	struct fib *f = fib_self();
	int r = 0;

	f->wait = why;
	f->wait_arg = what;
	f->wait_deadline = deadline_ns;
	if (deadline_ns != FIB_NEVER)
		r = fib_park_timed(f, done, arg);
	else
		while (r == 0 && !done(arg)) {
			if (fib_host_attention(f))
				r = -EINTR;
			else
				fib_park();
		}
	f->wait = FIB_WAIT_NONE;
	return r;
}

/** fib_timer_arm() in @heap of @s, with t->fib and t->fire set by the caller. */
int fib_timer_arm_in(struct fib_sched *s, struct fib_timer_heap *heap,
		     struct fib_timer *t, uint64_t deadline_ns);
/* Its two halves: the caller has the lock, and looks after the sleepers. */
int fib_timer_insert_locked(struct fib_timer_heap *h, struct fib_timer *t,
			    uint64_t deadline_ns);
void fib_timer_remove_locked(struct fib_timer_heap *h, struct fib_timer *t);
/** Keep those that @keep says, and forget the others. The caller has the lock. */
void fib_timer_filter_locked(struct fib_timer_heap *h,
			     bool (*keep)(struct fib_timer *t));
/** An empty one. */
void fib_timer_heap_init(struct fib_timer_heap *h);
/** Free the memory of a heap that is empty. */
void fib_timer_heap_fini(struct fib_timer_heap *heap);
/** Fire what is due in @heap; the number fired. */
unsigned fib_timers_run(struct fib_timer_heap *heap, uint64_t now_ns);

#include "fib_host_timer.h"

#endif
