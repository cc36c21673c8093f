/*
 * Calls that one fiber makes on another one's kernel thread.
 *
 * sched_setaffinity() of another thread, say: the kernel is to change the thread
 * which that fiber has to itself, and until now it may have none. So the target
 * makes the call, as the kernel's task_work is done by the task it is for: at
 * the end of a hook, or where a kick finds it in its own code, whatever
 * signals it blocks. It becomes dedicated first. A park ends for this, and its
 * call is repeated, as after a signal without a handler.
 *
 *	caller				target f
 *	------				--------
 *	queue, attention = 1		attention? then fib_signal_deliver():
 *	wake(f), kick f's worker	  fib_work_run(): dedicate, call
 *	wait for done, and meanwhile	  result, done = 1
 *	do what others ask of itself	  wake(caller)
 *
 * Two fibers that ask of each other do not wait for ever, since who waits also
 * runs. A fiber that ends answers what is queued with ESRCH. work_lock guards
 * all lists, and is never held across a call.
 */
#include "hooks/signal.h"

struct fib_work {
	struct fib_work *next;
	struct fib *caller;
	long nr;
	const long *a;
	long result;
	_Atomic uint32_t done;
};

static struct fib_lock work_lock;

void fib_work_init(void)
{
	fib_store(&work_lock.word, 0, relaxed);
}

static struct fib_work *take(struct fib *f)
{
	struct fib_work *w;

	fib_lock(&work_lock);
	w = f->work;
	if (w)
		__atomic_store_n(&f->work, w->next, __ATOMIC_RELAXED);
	fib_unlock(&work_lock);
	return w;
}

static void finish(struct fib_work *w, long result)
{
	struct fib *caller = w->caller;

	w->result = result;
	/* *w is gone from here on; fibers' memory stays. */
	fib_store(&w->done, 1, release);
	fib_wake(caller);
}

void fib_work_run(struct fib *f)
{
	struct fib_work *w;

	if (fib_unlikely(fib_load(&f->renews, relaxed)) &&
	    fib_xchg(&f->renews, false, seq_cst))
		fib_rights_changed();
	while ((w = take(f))) {
		long r = fib_dedicate();

		if (!r) {
			r = fib_pass(w->nr, w->a);
			fib_filter_noted(w->nr, r);
		}
		finish(w, r);
	}
}

void fib_work_exit(struct fib *f)
{
	struct fib_work *w;

	while ((w = take(f)))
		finish(w, -ESRCH);
}

long fib_work_call(struct fib *f, long nr, const long a[6])
{
	struct fib *self = fib_self();
	struct fib_work w = { .caller = self, .nr = nr, .a = a }, **at;

	fib_lock(&work_lock);
	/* Paired with fib_work_exit(), which comes after tid is zero. */
	if (!fib_load(&f->tid, seq_cst)) {
		fib_unlock(&work_lock);
		return -ESRCH;
	}
	for (at = &f->work; *at; at = &(*at)->next)
		;
	__atomic_store_n(at, &w, __ATOMIC_RELAXED);
	fib_unlock(&work_lock);
	fib_signal_attention(f);
	while (!fib_load(&w.done, acquire)) {
		fib_work_run(self);
		if (!fib_load(&w.done, acquire))
			fib_park();
	}
	return w.result;
}
