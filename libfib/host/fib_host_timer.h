/* libfib: timers. See runtime/host.h; included at the end of runtime/timer.h. */
#ifndef FIB_HOST_TIMER_H
#define FIB_HOST_TIMER_H

/* Nobody looks at the heap of a worker that is only passing. */
static inline struct fib_timer_heap *fib_host_heap(struct fib_worker *w)
{
	return w->lib.passing ? &w->lib.sched->lib.timers : &w->timers;
}

static inline void fib_host_fire(struct fib_timer *t)
{
	if (t->fib)
		fib_wake(t->fib);
	else
		t->lib.fire(t);
}

#endif
