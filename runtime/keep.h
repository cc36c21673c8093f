/*
 * Wake-ups that are kept: two fibers that take turns stay on one worker.
 *
 * A fiber that wakes another one and parks a moment later (a semaphore posted,
 * an answer waited for) leaves its worker to the one it woke. To wake an idle
 * worker for that gains nothing: it finds the queue empty, or takes the fiber to
 * another core, and both cost more than the turn. So such a wake-up is kept: the
 * fiber is in the worker's queue, and no idle worker is told.
 *
 * Whose wake-ups? Of a fiber that is brief: the last FIB_KEEP_AFTER of its
 * wake-ups while others were idle each came soon after the one before it on
 * that worker (FIB_KEEP_OFTEN), and it left the worker within FIB_KEEP_CYCLES
 * from then. One that does not do so is not brief any more; but once it is excused,
 * since a worker that a last ring of the bell has woken may have had its processor
 * meanwhile. A second fiber in the same queue is told of, as ever.
 *
 * A brief fiber may begin to compute. So a wake-up is kept only while an idle
 * worker watches: it sleeps for FIB_KEEP_NS at a time, in epoll as the others, and
 * looks at the queues again. What has been kept for FIB_KEEP_CYCLES is young no
 * longer, and anybody steals it.
 *
 *	waker				worker that idles
 *	-----				-----------------
 *	queue the fiber			idle count + 1
 *	(A) full fence			(C) full fence; look at the queues:
 *	idle count 0? tell nobody	    a fiber, not young: take it
 *	not brief? ring the bell	    a young one, or wanted: watched 0 -> 1
 *	wanted = 1			    by CAS; it was 1: somebody else does
 *	(B) watched? tell nobody	sleep: FIB_KEEP_NS, or for good
 *	    else ring the bell		idle count - 1
 *					(D) watched = 0, if it was this one's
 *					look at the queues; nothing: from above
 *
 * watched is 1 from before the look (C) of a worker until after its sleep, and
 * who has watched looks at all queues after (D) and a full fence: in (C) of its
 * next sleep, or, when it has found something to run, in fib_idle_pass(), which
 * rings for one that is idle. So a waker that reads 1 in (B) has queued its
 * fiber before one of these looks. Who goes to sleep for good while there is a
 * young one has read 1 after it was counted idle (C), so that (D) of the one that
 * watches comes after that count, and fib_idle_pass() sees it.
 *
 * wanted is a hint: one that is lost costs a ring of the bell.
 *
 * Rejected: to put wake-ups off until the monitor comes by, as launches are: 10
 * ms, where the bell takes 20 us. To have an idle worker spin: a core of CPU time.
 * To steal nothing that is alone in its queue: what computes would hold it up.
 */
#ifndef FIB_KEEP_H
#define FIB_KEEP_H

#include "runtime/chaos.h"
#include "runtime/sched.h"

#define FIB_KEEP_NS	50000u	/* between two looks of who watches */
#define FIB_KEEP_CYCLES 30000u	/* 10 us or so */
#define FIB_KEEP_OFTEN	150000u /* 50 us or so */
#define FIB_KEEP_AFTER	8
#define FIB_KEEP_SURE	128
#define FIB_KEEP_FAILED 250

/* Has the fiber of worker @v kept one that is still there, but for how long? */
static inline bool fib_keep_some(const struct fib_worker *v)
{
	return fib_load(&v->keeps, relaxed) == fib_load(&v->runs, relaxed) + 1;
}

/* Is what worker @v has queued its own, for the moment? */
static inline bool fib_keep_young(const struct fib_worker *v)
{
	return fib_load(&v->queued, relaxed) == 1 && fib_keep_some(v) &&
	       fib_cycles() - fib_load(&v->woke, relaxed) < FIB_KEEP_CYCLES &&
	       !FIB_CHAOS_ODDS(keep_old, 4);
}

/* Fiber @f of worker @w has woken one, and wakes another or leaves. */
static inline void fib_keep_judge(struct fib_worker *w, struct fib *f)
{
	uint64_t woke = fib_load(&w->woke, relaxed);

	if (fib_cycles() - woke < FIB_KEEP_CYCLES) {
		if (f->brief < FIB_KEEP_SURE)
			f->brief++;
		else
			f->excused = false;
	} else if (f->brief < FIB_KEEP_SURE && fib_keep_some(w)) {
		if (f->excused)
			f->brief = -FIB_KEEP_FAILED;
		f->excused = !f->excused;
	} else if (f->brief > 0) {
		f->brief = 0;
	}
	w->woke_before = woke;
	fib_store(&w->woke, 0, relaxed);
}

/*
 * The fiber of worker @w has queued another one, and somebody is idle: after
 * (A). False: he is to be told.
 */
static inline bool fib_keep(struct fib_sched *s, struct fib_worker *w)
{
	uint64_t now = fib_cycles() | 1;

	if (fib_load(&w->woke, relaxed))
		fib_keep_judge(w, w->cur);
	if (w->cur->brief < FIB_KEEP_AFTER ||
	    fib_load(&w->queued, relaxed) != 1 ||
	    now - w->woke_before >= FIB_KEEP_OFTEN)
		return false;
	fib_store(&w->woke, now, relaxed);
	fib_store(&w->keeps, fib_load(&w->runs, relaxed) + 1, relaxed);
	if (!fib_load(&s->wanted, relaxed))
		fib_store(&s->wanted, 1, relaxed);
	FIB_CHAOS_POINT(keep);
	/* (B) */
	return fib_load(&s->watched, relaxed);
}

/* It has told him, which may have taken its time. */
static inline void fib_keep_told(struct fib_worker *w)
{
	fib_store(&w->keeps, 0, relaxed);
	fib_store(&w->woke, fib_cycles() | 1, relaxed);
}

/*
 * After (C), by a worker that is counted idle; @young: a fiber is kept. True: it
 * watches.
 */
static inline bool fib_keep_watch(struct fib_sched *s, bool young)
{
	uint32_t none = 0;

	if (!young && !fib_load(&s->wanted, relaxed))
		return false;
	if (!fib_cas(&s->watched, &none, 1, seq_cst))
		return false;
	fib_store(&s->wanted, 0, relaxed);
	FIB_CHAOS_POINT(keep_watch);
	return true;
}

/* When who watches looks again, who else would sleep until @deadline_ns. */
static inline uint64_t fib_keep_deadline(uint64_t deadline_ns)
{
	uint64_t ns = fib_now_ns() + FIB_KEEP_NS;

	return ns < deadline_ns ? ns : deadline_ns;
}

/* @w, whose fiber will not leave it soon, keeps none any more. True: it did. */
static inline bool fib_keep_drop(struct fib_worker *w)
{
	if (!fib_keep_some(w))
		return false;
	fib_store(&w->keeps, 0, relaxed);
	return true;
}

/* (D) The caller looks at the queues after it: idle.c */
static inline void fib_keep_unwatch(struct fib_sched *s)
{
	FIB_CHAOS_POINT(keep_unwatch);
	fib_store(&s->watched, 0, seq_cst);
}

#endif
