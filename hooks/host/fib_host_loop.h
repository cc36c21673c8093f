/*
 * The preload: what its fibers and workers do beyond the common way, for the
 * files of the scheduler. See runtime/host.h; included by runtime/runq.h.
 */
#ifndef FIB_HOST_LOOP_H
#define FIB_HOST_LOOP_H

#include "regs_arch.h"

/* --- workers ----------------------------------------------------------------- */

static inline void fib_host_worker_init(struct fib_sched *s,
					struct fib_worker *w)
{
	fib_lock_init(&w->sig.kick_lock, KICK);
}

static inline bool fib_host_worker_stack(struct fib_sched *s,
					 struct fib_worker *w)
{
	return fib_bare_stack(w);
}

static inline void fib_host_worker_begins(struct fib_worker *w,
					  const struct fib *bound)
{
	w->sig.profiled_ns = 0;
	/* The engine's own (fib_host_shield()) is free to do what it is for. */
	w->process.filtered = bound && fib_filtered() &&
			      !fib_load(&bound->hook.in_hook, relaxed);
	fib_store(&w->mute, w->process.filtered, relaxed);
	w->process.strict = false;
}

#define fib_host_thread_start  fib_bare_start
#define fib_host_thread_begins fib_bare_begins
#define fib_host_thread_join(w) fib_bare_join(w, (w)->last_tid)

static inline void fib_host_thread_ends(struct fib_worker *w)
{
}

/* The loop of the process's first thread: it does not end. */
static inline void fib_host_loop_begins(struct fib_worker *w)
{
}

static inline void fib_host_loop_ends(struct fib_worker *w)
{
}

#define fib_host_answer fib_worker_answer

/* --- queueing ---------------------------------------------------------------- */

static inline bool fib_host_queue_alone(struct fib *f)
{
	return false;
}

static inline bool fib_host_queue(struct fib_sched *s, struct fib_worker *w,
				  struct fib *f)
{
	return false;
}

static inline bool fib_host_notifies(struct fib_sched *s)
{
	return fib_host_sends(FIB_ERRAND_NOTIFY);
}

static inline struct fib *fib_host_pop(struct fib_worker *w, bool before)
{
	return NULL;
}

static inline bool fib_host_sleeper_has_work(const struct fib_worker *w)
{
	return false;
}

/* --- idle -------------------------------------------------------------------- */

static inline bool fib_host_at_end(struct fib_sched *s)
{
	return false;
}

static inline void fib_host_idles(struct fib_worker *w)
{
}

static inline uint64_t fib_host_deadline(struct fib_sched *s)
{
	return FIB_NEVER;
}

static inline void fib_host_run_timers(struct fib_sched *s, uint64_t now)
{
}

/* --- switching --------------------------------------------------------------- */

static inline struct fib *fib_host_caller(struct fib_worker **w)
{
	*w = NULL;
	return fib_self();
}

static inline bool fib_host_runs_others(const struct fib_worker *w)
{
	return true;
}

static inline bool fib_host_own_turn(const struct fib_worker *w,
				     const struct fib *f)
{
	return !w->bound && !f->bound;
}

static inline enum fib_vectors fib_host_vectors(const struct fib *f)
{
	if (f->hook.door != FIB_DOOR_SITE)
		return FIB_VECTORS_NONE;
	return fib_regs_pc(f->hook.regs) - fib_baseline.from <
			       fib_baseline.size ?
		       FIB_VECTORS_BASELINE :
		       FIB_VECTORS_ALL;
}

static inline bool fib_host_prepare(struct fib_worker *w, struct fib *f)
{
	return true;
}

static inline void fib_host_resumes(struct fib_worker *w, struct fib *f)
{
	fib_store(fib_shared(&f->hook.calls), 0, relaxed); /* watch.c */
}

static inline void fib_host_landed(struct fib *f)
{
}

static inline bool fib_host_park(struct fib_worker *w, struct fib *f)
{
	return false;
}

/* There is no other on the thread of a bound one. */
static inline bool fib_host_yield(struct fib_worker *w, struct fib *f)
{
	if (fib_likely(!f->bound))
		return false;
	if (!fib_filtered())
		fib_raw(SYS_sched_yield);
	return true;
}

static inline void fib_host_exit(void)
{
}

static inline void fib_host_fiber_gone(struct fib *f)
{
	if (fib_host.fiber_exit)
		fib_host.fiber_exit(f);
	if (fib_sched.first == f)
		fib_sched.first = NULL;
	fib_free(f);
}

static inline void fib_host_exited(struct fib_worker *w, struct fib *f)
{
	fib_host_fiber_gone(f);
	if (fib_unlikely(w->bound != NULL))
		fib_worker_end(w);
}

#endif
