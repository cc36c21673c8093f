/*
 * Calls that one fiber makes on another one's kernel thread.
 *
 * sched_setaffinity() of another thread, say: the kernel is to change the thread
 * which that fiber has to itself, and until now it may have none. So the target
 * makes the call, as the kernel's task_work is done by the task it is for: at
 * the end of a hook, or where a kick finds it in its own code, whatever
 * signals it blocks. It becomes dedicated first. A park ends for this, and its
 * call is repeated, as after a signal without a handler. Of one that is bound the
 * kernel knows already whom the call is for (fib_dedicated_tid()).
 *
 *	caller				target f
 *	------				--------
 *	queue, attention = 1		attention? then fib_signal_deliver():
 *	wake(f), kick f's worker	  fib_taskwork_run(): dedicate, call
 *	wait for done, and meanwhile	  result, done = 1
 *	do what others ask of itself	  wake(caller)
 *
 * Two fibers that ask of each other do not wait for ever, since who waits also
 * runs. A fiber that ends answers what is queued with ESRCH, which who sets something
 * takes for done (dedicated.c): so the kernel does with a thread at its end. work_lock guards
 * all lists, and is never held across a call.
 */
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/procfs.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"

struct fib_taskwork {
	struct fib_taskwork *next;
	struct fib *caller;
	long nr;
	const long *a;
	long result;
	_Atomic uint32_t done;
};

static struct fib_lock work_lock = FIB_LOCK(WORK);

void fib_taskwork_init(void)
{
	fib_lock_init(&work_lock, WORK);
	fib_procfs_init(fib_dedicated_tid);
}

static struct fib_taskwork *take(struct fib *f)
{
	struct fib_taskwork *w;

	fib_lock(&work_lock);
	w = f->thread.work;
	if (w)
		fib_store(fib_shared(&f->thread.work), w->next, relaxed);
	fib_unlock(&work_lock);
	return w;
}

static void finish(struct fib_taskwork *w, long result)
{
	struct fib *caller = w->caller;

	w->result = result;
	/* *w is gone from here on; fibers' memory stays. */
	fib_store(&w->done, 1, release);
	fib_wake(caller);
}

void fib_taskwork_run(struct fib *f)
{
	struct fib_taskwork *w;

	if (fib_unlikely(fib_load(&f->thread.renews, relaxed)) &&
	    fib_xchg(&f->thread.renews, false, seq_cst))
		fib_rights_changed();
	while ((w = take(f))) {
		long r = fib_dedicate();

		if (!r) {
			r = fib_pass(w->nr, w->a);
			if (w->nr == SYS_seccomp && r >= 0)
				fib_filter_used(false, true);
		}
		finish(w, r);
	}
}

void fib_taskwork_exit(struct fib *f)
{
	struct fib_taskwork *w;

	while ((w = take(f)))
		finish(w, -ESRCH);
}

bool fib_taskwork_apart(struct fib *f, int tid)
{
	bool lives;

	fib_lock(&work_lock);
	/* As above: it is not counted as ended before this is unlocked. */
	lives = fib_load(&f->tid, seq_cst) == tid;
	if (lives)
		fib_set_apart(f);
	fib_unlock(&work_lock);
	return lives;
}

long fib_taskwork_call(struct fib *f, long nr, const long a[6])
{
	struct fib *self = fib_self();
	struct fib_taskwork w = { .caller = self, .nr = nr, .a = a }, **at;

	fib_lock(&work_lock);
	/* Paired with fib_taskwork_exit(), which comes after tid is zero. */
	if (!fib_load(&f->tid, seq_cst)) {
		fib_unlock(&work_lock);
		return -ESRCH;
	}
	for (at = &f->thread.work; *at; at = &(*at)->next)
		;
	fib_store(fib_shared(at), &w, relaxed);
	fib_unlock(&work_lock);
	fib_attention_set(f);
	while (!fib_load(&w.done, acquire)) {
		fib_taskwork_run(self);
		if (!fib_load(&w.done, acquire))
			fib_park();
	}
	return w.result;
}
