/*
 * Workers that come and go: spares, those of dedicated fibers, and who is
 * summoned to give way to one. See sched.h; for a host that has bare threads.
 */
#include <linux/futex.h>
#include "runtime/iom.h"
#include "runtime/runq.h"
#include "runtime/trace.h"
#include "runtime/uring.h"

static int create(struct fib_sched *s, struct fib *bound,
		  struct fib_worker **made)
{
	struct fib_worker *w;
	int r;

	fib_lock(&s->workers_lock);
	w = fib_worker_add(s, bound);
	if (w)
		fib_trace_join(w);
	r = w ? fib_worker_start(w) : -EAGAIN;
	if (r < 0 && bound)
		bound->bound = NULL;
	fib_unlock(&s->workers_lock);
	*made = r < 0 ? NULL : w;
	return r;
}

struct fib_worker *fib_worker_create(struct fib_sched *s, struct fib *bound)
{
	struct fib_worker *w;

	create(s, bound, &w);
	return w;
}

/* @w is not among those that run others any more. */
static void leave_place(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	struct fib *other;

	while ((other = fib_runq_pop_own(w)))
		fib_runq_inject(s, other);
	fib_fence(seq_cst);
	if (fib_load(&s->nidle, relaxed))
		fib_notify_one(s);
}

/* The first thread, on the first kernel thread already. */
static int dedicate_here(struct fib_worker *w, struct fib *f)
{
	struct fib_sched *s = fib_sched_of(w);

	if (!fib_xchg(&w->taken, 1, seq_cst)) {
		fib_sub(&s->running, 1, seq_cst);
		if (!fib_start_spare(s)) {
			fib_store(&w->taken, 0, seq_cst);
			fib_add(&s->running, 1, seq_cst);
			return -EAGAIN;
		}
		fib_add(&s->running, 1, seq_cst);
	}
	w->bound = f;
	f->bound = w;
	leave_place(w);
	return 0;
}

static void summon(struct fib_worker *w)
{
	int spare = 1;

	fib_store(&w->summoned, 1, seq_cst);
	fib_fence(seq_cst);
	fib_host_woke(fib_sched_of(w));
	if (fib_cas(&w->spare, &spare, 2, seq_cst))
		fib_raw(SYS_futex, &w->spare, FUTEX_WAKE_PRIVATE, 1);
	if (fib_host.preempt)
		fib_host.preempt(w);
	if (fib_host.kick)
		fib_host.kick(w);
}

/*
 * Nobody else may have what this thread has become. The kernel zeroes tid when the
 * stack is free to be used again. A process's first kernel thread stays, since the
 * kernel would take the process for a zombie; but where all others have given up
 * rights and the first thread has ended, when it is one natively as well.
 */
void fib_worker_end(struct fib_worker *w)
{
	fib_worker_tells(w);
	fib_store(&w->gone, 1, seq_cst);
	if (fib_host.thread_end)
		fib_host.thread_end(w);
	if (w->id == 0) {
		struct fib_sched *s = fib_sched_of(w);

		while (!fib_load(&s->first_ends, acquire))
			fib_raw(SYS_futex, &s->first_ends, FUTEX_WAIT_PRIVATE,
				0, 0);
		fib_raw(SYS_set_tid_address, &w->tid);
	}
	fib_raw(SYS_exit, 0);
}

void fib_worker_quit(struct fib_worker *w)
{
	fib_store(&w->cur->on, NULL, release);
	fib_store(fib_shared(&w->cur), NULL, relaxed);
	fib_worker_end(w);
}

/*
 * A fiber that waits is in lists, by what lies on its stack: it stays there. No
 * program's call kills it then.
 */
void fib_worker_bury(struct fib_worker *w)
{
	struct fib *f = w->bound;

	if (fib_load(&f->on, acquire) != w ||
	    fib_load(&f->state, relaxed) != FIB_IS_RUNNING)
		return;
	fib_store(&f->on, NULL, release);
	fib_store(fib_shared(&w->cur), NULL, relaxed);
	fib_store(&w->blocking, 0, relaxed);
	fib_store(&w->presumes, false, relaxed);
	fib_count(fibers_exited);
	fib_host_fiber_gone(f);
	/* Last: another one may have its place from then on. */
	fib_store(&w->gone, 1, seq_cst);
	if (fib_host.thread_end)
		fib_host.thread_end(w);
}

/* Where nobody can be had in its place, those that run are one less. */
void fib_worker_answer(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);

	fib_store(&w->summoned, 0, seq_cst);
	if (fib_load(&s->ending, acquire))
		fib_worker_end(w);
	if (w->ends) {
		w->ends = false;
		if (!fib_load(&w->taken, relaxed))
			fib_sub(&s->running, 1, seq_cst);
		leave_place(w);
		fib_worker_end(w);
	}
	if (!w->reserved)
		return;
	w->bound = w->reserved;
	w->reserved = NULL;
	if (!fib_xchg(&w->taken, 1, seq_cst)) {
		fib_sub(&s->running, 1, seq_cst);
		if (fib_start_spare(s))
			fib_add(&s->running, 1, seq_cst);
	}
	leave_place(w);
}

int fib_bind_self(void)
{
	struct fib_worker *w = fib_worker_self();
	struct fib_sched *s = fib_sched_of(w);
	struct fib *f = w->cur;
	int r;

	if (f->bound)
		return 0;
	if (f != s->first) {
		r = fib_bind(f);
		if (r)
			return r;
	} else if (w->id == 0) {
		return dedicate_here(w, f);
	} else {
		w = s->worker[0];
		f->bound = w;
		w->reserved = f;
		summon(w);
	}
	fib_sched_move();
	return 0;
}

void fib_sched_end_others(struct fib_sched *s)
{
	int tid = (int)fib_load(&fib_monitor_tid, relaxed);
	uint32_t n;

	/* It makes workers: first. */
	fib_monitor_end();
	fib_bare_forgotten(tid);
	fib_store(&s->ending, 1, seq_cst);
	/* It answers no summons, being in its own loop. */
	fib_messenger_end();
	fib_uring_end();
	n = fib_load(&s->workers, acquire);
	for (uint32_t i = 1; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		int last_tid = w->last_tid;

		if (!fib_load(&w->gone, acquire))
			summon(w);
		fib_bare_join(w, last_tid);
	}
}

/*
 * The first thread has ended. Its kernel thread runs nothing any more: it waits in
 * fib_worker_end(), or will. Natively it has
 * ended with the first thread.
 */
static void end_first(struct fib_sched *s)
{
	fib_store(&s->first_ends, 1, seq_cst);
	fib_raw(SYS_futex, &s->first_ends, FUTEX_WAKE_PRIVATE, 1);
	fib_bare_join(s->worker[0], 0);
}

void fib_sched_renew(struct fib_sched *s)
{
	struct fib_worker *fresh = NULL;
	struct fib *first;
	uint32_t n;

	fib_lock(&s->renew_lock);
	/* Who had the lock before has made one, perhaps in a new slot. */
	n = fib_load(&s->workers, acquire);
	/* In this order: who has no helper at all would wait for ever. */
	if (fib_monitor_renew(s) == 0)
		fresh = fib_worker_create(s, NULL);
	if (fresh)
		fib_add(&s->running, 1, seq_cst);
	for (uint32_t i = 0; fresh && i < n; i++) {
		struct fib_worker *w = s->worker[i];
		int last_tid = w->last_tid;

		if (w == fresh || w->bound || fib_load(&w->gone, acquire))
			continue;
		w->ends = true;
		summon(w);
		/* The first kernel thread stays while the first thread does. */
		if (i > 0)
			fib_bare_join(w, last_tid);
	}
	first = fib_load(fib_shared(&s->first), acquire);
	if (fresh && (!first || !fib_load(&first->tid, acquire)))
		end_first(s);
	fib_uring_quit();
	/* Last: others are woken by it meanwhile. */
	if (fresh && fib_messenger_renew() == 0)
		fib_store(&s->model, fib_self(), seq_cst);
	fib_unlock(&s->renew_lock);
}

int fib_bind(struct fib *f)
{
	struct fib_worker *w;

	return create(fib_sched_here(), f, &w);
}

struct fib *fib_bound_to(int tid)
{
	struct fib_sched *s = fib_sched_here();
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		struct fib *f = w->bound;

		if (f && fib_load(&w->tid, acquire) == tid &&
		    fib_load(&f->tid, acquire) == tid)
			return f;
	}
	return NULL;
}
