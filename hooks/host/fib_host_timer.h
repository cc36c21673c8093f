/* The preload: timers. See runtime/host.h; included at the end of runtime/timer.h. */
#ifndef FIB_HOST_TIMER_H
#define FIB_HOST_TIMER_H

static inline struct fib_timer_heap *fib_host_heap(struct fib_worker *w)
{
	return &w->timers;
}

static inline void fib_host_fire(struct fib_timer *t)
{
	if (fib_likely(t->fib))
		fib_wake(t->fib);
	else
		t->fire(t);
}

#endif
