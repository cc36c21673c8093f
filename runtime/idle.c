/*
 * Workers that sleep, and times that come: which of them wakes for which.
 *
 * A timer's heap is its worker's, and whoever wakes runs what is due in all of them. So of
 * those that idle one sleeps until the first time that there is, one until the second, and the
 * others until they are told:
 *
 *	worker that goes to sleep		worker that wakes
 *	-------------------------		-----------------
 *	idle = 1, nidle + 1	(A)		idle = 0, nidle - 1
 *	full fence				took_wake, if it has slept for a time
 *	whoever is idle, until when?		run timers; a fiber: pass it on:
 *	none for the first time: it does	    full fence
 *	                        (B)		    nidle? is the first time that
 *	                           		    there is somebody's? or ring
 *
 * Who relies on another one in (B) has seen it idle after (A). So when that one wakes, and
 * is going to be busy, it finds him counted, and rings; it wakes for the first time, and
 * the second one is mostly somebody's already.
 *
 * A fiber that arms a timer and parks is followed by another one, which takes its worker's
 * time: that is passed on then (took_wake). Or by none: then the worker looks after it itself.
 * Who arms one and goes on tells at once, fib_sched_deadline(), and so does a fiber of a
 * worker that runs no others.
 *
 * tests/model/idle.pml has this for spin, with one time.
 */
#include "runtime/chaos.h"
#include "runtime/iom.h"
#include "runtime/runq.h"
#include "runtime/timer.h"

static bool is_idle_until(const struct fib_worker *w, uint64_t ns)
{
	return fib_load(&w->idle, relaxed) &&
	       fib_load(&w->sleeps_until, relaxed) <= ns;
}

void fib_sched_deadline(struct fib_sched *s, uint64_t ns)
{
	uint32_t n;

	fib_fence(seq_cst);
	if (!fib_load(&s->nidle, relaxed))
		return;
	n = fib_load(&s->workers, acquire);
	for (uint32_t i = 0; i < n; i++)
		if (is_idle_until(s->worker[i], ns))
			return;
	fib_notify_one(s);
}

/* The two times that come first. */
struct times {
	uint64_t first, second;
};

static void add_time(struct times *t, uint64_t ns)
{
	if (ns < t->first) {
		t->second = t->first;
		t->first = ns;
	} else if (ns < t->second) {
		t->second = ns;
	}
}

static struct times times_of(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	struct times t = { fib_host_deadline(s), FIB_NEVER };

	for (uint32_t i = 0; i < n; i++) {
		const struct fib_timer_heap *h = &s->worker[i]->timers;

		add_time(&t, fib_load(&h->next_ns, relaxed));
		add_time(&t, fib_load(&h->after_ns, relaxed));
	}
	return t;
}

static uint64_t next_deadline(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	uint64_t least = fib_host_deadline(s);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t d = fib_load(&s->worker[i]->timers.next_ns, relaxed);

		if (d < least)
			least = d;
	}
	return least;
}

/* (B): of @w, which is counted. */
static uint64_t own_deadline(const struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	struct times t = times_of(s);
	uint32_t first = 0, second = 0;

	for (uint32_t i = fib_load(&s->workers, acquire); i-- > 0;) {
		const struct fib_worker *v = s->worker[i];

		if (v == w)
			continue;
		first += is_idle_until(v, t.first);
		second += is_idle_until(v, t.second);
	}
	if (!first || t.first == FIB_NEVER)
		return t.first;
	return second > 1 ? FIB_NEVER : t.second;
}

void fib_sched_timers(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	uint64_t now;

	if (next_deadline(s) == FIB_NEVER)
		return;
	now = fib_now_ns();
	for (uint32_t i = 0; i < n; i++)
		fib_timers_run(&s->worker[i]->timers, now);
	fib_host_run_timers(s, now);
}

void fib_idle(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	bool watches = false;
	uint64_t deadline = 0;
	enum fib_work work;

	w->took_wake = false;
	FIB_CHAOS_POINT(idle_enter);
	fib_store(&w->sleeps_until, FIB_NEVER, relaxed);
	fib_store(&w->idle, 1, release);
	fib_add(&s->nidle, 1, seq_cst); /* (A) */
	fib_fence_after_unlock();	/* keep.h (C), iom.h (R) */
	FIB_CHAOS_POINT(idle_recheck);
	work = fib_runq_work(s);
	if (work != FIB_WORK_SOME && !fib_host_at_end(s)) {
		deadline = own_deadline(w);
		FIB_CHAOS_POINT(idle_until);
		watches = fib_keep_watch(s, work == FIB_WORK_KEPT);
		if (watches)
			deadline = fib_keep_deadline(deadline);
		deadline = fib_iom_deadline(s, deadline);
		fib_store(&w->sleeps_until, deadline, relaxed);
	}
	fib_iom_poll(deadline);
	if (watches) {
		fib_keep_unwatch(s);
		w->took_wake = true;
	}
	/* With none when it went to sleep, a new one has rung the bell. */
	if (deadline != FIB_NEVER)
		fib_sched_timers(s);
}

void __attribute__((noinline)) fib_idle_pass(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	uint64_t deadline;

	w->took_wake = false;
	fib_fence(seq_cst);
	if (!fib_load(&s->nidle, relaxed))
		return;
	if (fib_runq_work(s)) {
		fib_notify_one(s);
		return;
	}
	deadline = next_deadline(s);
	if (deadline != FIB_NEVER)
		fib_sched_deadline(s, deadline);
}
