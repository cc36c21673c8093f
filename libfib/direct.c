/* Direct switches, see direct.h. */
#include "ctx_inline_arch.h"
#include "libfib/direct.h"
#include "libfib/lib.h"
#include "runtime/runq.h"

/* The fiber to go on with; NULL: by way of the loop. */
static inline struct fib *next(struct fib_worker *w)
{
	struct fib *n;

	if (w->tick + 1 >= w->lib.direct || fib_list_empty(&w->queue) ||
	    fib_load(&w->lib.sched->injected, relaxed) ||
	    FIB_CHAOS_ODDS(direct_loop, 4))
		return NULL;
	n = fib_runq_pop_first(&w->queue, &w->queued);
	if (fib_unlikely(!n->sp) && fib_prepare(n)) {
		fib_starve(w->lib.sched, n);
		return NULL;
	}
	w->tick++;
	return n;
}

/* From @f, which has been parked or queued, or ends, to @n, on @w. */
static inline void go(struct fib_worker *w, struct fib *f, struct fib *n,
		      bool dies)
{
	f->lib.err = *w->lib.errno_at;
	fib_store(&n->state, FIB_RUNNING, relaxed);
	fib_store(&n->on, w, relaxed);
	fib_store(fib_shared(&w->cur), n, relaxed);
	fib_san_note(&w->lib.left, &fib_top_of(f)->san);
	fib_san_leave(&fib_top_of(f)->san, &fib_top_of(n)->san, dies);
	fib_ctx_switch_inline(&f->sp, n->sp);
	/* Asked anew, so that nothing has to be kept for here. */
	w = fib_worker_self();
	f = w->cur;
	fib_land(w, f);
	*w->lib.errno_at = f->lib.err;
}

/* It is parked, or even queued, already. */
static void committed(struct fib_worker *w, struct fib *f)
{
}

void fib_direct_park(struct fib_worker *w, struct fib *f)
{
	int none = FIB_PERMIT_NONE;
	struct fib *n;

	fib_store(&f->state, FIB_PARKED, relaxed);
	fib_store(&f->on, NULL, release);
	FIB_CHAOS_POINT(park_commit);
	/* (A) */
	if (!fib_cas(&f->permit, &none, FIB_PERMIT_PARKED, seq_cst)) {
		/* (C), and it is its own turn */
		fib_xchg(&f->permit, FIB_PERMIT_NONE, seq_cst);
		fib_store(&f->on, w, relaxed);
		fib_store(&f->state, FIB_RUNNING, relaxed);
		return;
	}
	n = next(w);
	if (n)
		go(w, f, n, false);
	else
		fib_leave(committed);
}

static __attribute__((noinline)) void yield_to_loop(struct fib_worker *w)
{
	if (w->tick + 1 < w->lib.direct && fib_list_empty(&w->queue) &&
	    !fib_load(&w->lib.sched->injected, relaxed)) {
		w->tick++; /* it is the only one */
		return;
	}
	fib_leave(fib_do_yield);
}

int fib_direct_yield(struct fib_worker *w, struct fib *f)
{
	struct fib *n = next(w);

	fib_no_lock("a yield");
	if (fib_unlikely(!n)) {
		yield_to_loop(w);
		return 0;
	}
	fib_store(&f->state, FIB_READY, relaxed);
	fib_store(&f->on, NULL, release);
	fib_runq_push_own(w, f);
	go(w, f, n, false);
	return 0;
}

void fib_direct_exit(struct fib_worker *w, struct fib *f)
{
	struct fib *n = next(w);

	if (!n)
		return;
	w->lib.ended = f;
	go(w, f, n, true);
	__builtin_unreachable();
}

__attribute__((noinline)) void fib_reap(struct fib_worker *w)
{
	struct fib *f = w->lib.ended;

	w->lib.ended = NULL;
	fib_store(&f->on, NULL, release);
	fib_ended(f);
}
