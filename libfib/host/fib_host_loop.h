/*
 * libfib: what its fibers and workers do beyond the common way, for the files
 * of the scheduler. See runtime/host.h; included by runtime/runq.h.
 */
#ifndef FIB_HOST_LOOP_H
#define FIB_HOST_LOOP_H

#include "libfib/direct.h"
#include "libfib/lib.h"

/* --- workers ----------------------------------------------------------------- */

static inline void fib_host_worker_init(struct fib_sched *s,
					struct fib_worker *w)
{
	w->lib.sched = s;
	w->lib.direct = fib_runq_alone(s) ? FIB_POLL_EVERY : 0;
	fib_list_init(&w->lib.pinned);
}

static inline void fib_host_worker_begins(struct fib_worker *w,
					  const struct fib *bound)
{
}

/* Libc makes them, with TLS; schedulers.c has the whole story. */
bool fib_host_worker_stack(struct fib_sched *s, struct fib_worker *w);
int fib_host_thread_start(struct fib_worker *w);
void fib_host_thread_begins(struct fib_worker *w);
void fib_host_thread_ends(struct fib_worker *w);
void fib_host_thread_join(struct fib_worker *w);
void fib_host_loop_begins(struct fib_worker *w);
void fib_host_loop_ends(struct fib_worker *w);

/* No fiber is bound, so nobody summons. */
static inline void fib_host_answer(struct fib_worker *w)
{
}

/* --- queueing ---------------------------------------------------------------- */

/* By a fiber of the same scheduler, which has no other worker. */
static inline bool fib_host_queue_alone(struct fib *f)
{
	struct fib_worker *w = fib_worker_self();

	if (fib_unlikely(!w || !w->lib.direct || w->lib.sched != f->lib.sched ||
			 f->lib.home) ||
	    FIB_CHAOS_ODDS(inject, 8))
		return false;
	fib_store(&f->state, FIB_IS_READY, relaxed);
	fib_runq_push_own(w, f);
	return true;
}

static inline bool fib_host_queue(struct fib_sched *s, struct fib_worker *w,
				  struct fib *f)
{
	if (fib_unlikely(f->lib.home != NULL))
		f->lib.home(f);
	else if (!w || w->lib.sched != s || w->lib.passing)
		fib_queue_from_outside(s, f);
	else if (fib_unlikely(f->lib.pin != NULL))
		fib_push_pinned(s, f);
	else
		return false;
	return true;
}

static inline bool fib_host_notifies(struct fib_sched *s)
{
	fib_add(&s->lib.tickles, 1, relaxed);
	return false;
}

/* Pinned ones, before the others' turn or after, so that neither starves. */
static inline struct fib *fib_host_pop(struct fib_worker *w, bool before)
{
	if (before && !(w->tick & 1))
		return NULL;
	return fib_runq_pop(&w->lock, &w->lib.pinned, &w->lib.npinned);
}

/*
 * Fibers that @w alone may run, which sleeps: in that order. It may get up, run them, and
 * lie down in between.
 */
static inline bool fib_host_sleeper_has_work(const struct fib_worker *w)
{
	return fib_load(&w->idle, acquire) &&
	       fib_load(&w->lib.npinned, relaxed);
}

/* --- idle -------------------------------------------------------------------- */

static inline bool fib_host_at_end(struct fib_sched *s)
{
	return fib_sched_at_end(s);
}

static inline void fib_host_idles(struct fib_worker *w)
{
	fib_make_way(w);
	fib_timers_settle(w->lib.sched);
}

static inline uint64_t fib_host_deadline(struct fib_sched *s)
{
	return fib_load(&s->lib.timers.next_ns, relaxed);
}

static inline void fib_host_run_timers(struct fib_sched *s, uint64_t now)
{
	fib_timers_run(&s->lib.timers, now);
}

/* --- switching --------------------------------------------------------------- */

static inline struct fib *fib_host_caller(struct fib_worker **w)
{
	*w = fib_worker_self();
	return (*w)->cur;
}

static inline bool fib_host_runs_others(const struct fib_worker *w)
{
	return !w->lib.passing;
}

/* direct.h, where there is one worker; else some are pinned. */
static inline bool fib_host_own_turn(const struct fib_worker *w,
				     const struct fib *f)
{
	return false;
}

static inline enum fib_vectors fib_host_vectors(const struct fib *f)
{
	return FIB_VECTORS_NONE;
}

/* A stack, when its turn has come; without memory for it, later. */
static inline bool fib_host_prepare(struct fib_worker *w, struct fib *f)
{
	if (fib_likely(f->sp) || !fib_prepare(f))
		return true;
	fib_starve(w->lib.sched, f);
	return false;
}

static inline void fib_host_resumes(struct fib_worker *w, struct fib *f)
{
	fib_san_note(&w->lib.left, &w->san);
}

static inline void fib_host_landed(struct fib *f)
{
	fib_land(fib_worker_self(), f);
}

static inline bool fib_host_park(struct fib_worker *w, struct fib *f)
{
	if (!w->lib.direct)
		return false;
	fib_direct_park(w, f);
	return true;
}

static inline bool fib_host_yield(struct fib_worker *w, struct fib *f)
{
	if (!w->lib.direct)
		return false;
	fib_direct_yield(w, f);
	return true;
}

/* Returns where it has to end by way of the loop. */
static inline void fib_host_exit(void)
{
	struct fib_worker *w = fib_worker_self();

	if (w->lib.direct)
		fib_direct_exit(w, w->cur);
}

static inline void fib_host_exited(struct fib_worker *w, struct fib *f)
{
	fib_ended(f);
}

#endif
