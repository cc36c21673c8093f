/* Launches that are put off, see sched.h, and what is left to events, iom.h. */
#include "runtime/runq.h"

#define LONG_CYCLES 150000u /* 50 us or so */
#define AT_ONCE	    64u

void fib_launch_soon(struct fib *f)
{
	struct fib_sched *s = fib_sched_of(f);
	struct fib_worker *w = fib_worker_self();
	uint32_t n = fib_load(&s->at_once, relaxed);

	if (n)
		fib_store(&s->at_once, n - 1, relaxed);
	if (n || w->bound || f->bound) {
		fib_launch(f);
		return;
	}
	fib_count_unless_alone(s, fibers_created);
	fib_store(&f->state, FIB_IS_READY, relaxed);
	if (!w->put_off)
		fib_store(fib_shared(&w->put_off), fib_cycles() | 1, relaxed);
	fib_runq_stamp(w, f);
	fib_runq_push(w, f);
}

static bool is_long(uint64_t put_off)
{
	return put_off && fib_cycles() - put_off > LONG_CYCLES;
}

void fib_put_off_ends(struct fib_worker *w)
{
	if (is_long(w->put_off))
		fib_store(&fib_sched_of(w)->at_once, AT_ONCE, relaxed);
	fib_store(fib_shared(&w->put_off), 0, relaxed);
}

void fib_sched_tell(struct fib_sched *s)
{
	struct fib_worker *w = fib_worker_self();
	bool kept = fib_keep_drop(w);

	if (fib_likely(!w->put_off && !w->left && !kept))
		return;
	fib_put_off_ends(w);
	fib_store(fib_shared(&w->left), 0, relaxed);
	/* Where others have taken them, nothing is left to tell of. */
	if (!fib_load(&w->queued, relaxed))
		return;
	fib_fence(seq_cst);
	if (fib_load(&s->nidle, relaxed))
		fib_notify_one(s);
}

void fib_sched_look(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n && fib_load(&s->nidle, relaxed); i++) {
		struct fib_worker *w = s->worker[i];
		bool off =
			is_long(fib_load(fib_shared(&w->put_off), relaxed));

		if ((!off && !is_long(fib_load(fib_shared(&w->left), relaxed))) ||
		    !fib_load(&w->queued, relaxed))
			continue;
		if (off)
			fib_store(&s->at_once, AT_ONCE, relaxed);
		fib_notify_one(s);
		return;
	}
}
