/* Executors of any kind, see executor.h. */
#include <stdlib.h>
#include "libfib/executor.h"
#include "libfib/pool.h"

/* A thread of the async executor without work ends after this. */
#define POOL_KEEP_NS (5 * FIB_NSEC_PER_SEC)

/* What runs on this thread's own stack. */
static __thread struct fib_work *thread_work;

/* --- who is the caller? -----------------------------------------------------
 */

static __attribute__((noinline)) struct fib_work *thread_work_get(void)
{
	__asm__ volatile("");
	return thread_work;
}

static __attribute__((noinline)) void thread_work_set(struct fib_work *w)
{
	__asm__ volatile("");
	thread_work = w;
}

struct fib_work *fib_work_current(void)
{
	struct fib *f = fib_self();

	return f ? f->lib.home_arg : thread_work_get();
}

/* --- what has been accepted
 * --------------------------------------------------- */

int fib_executor_accept(struct fib_executor *ex)
{
	uint64_t load = fib_load(&ex->load, relaxed);

	do {
		if (load & FIB_EX_CLOSED)
			return -ESHUTDOWN;
	} while (!fib_cas(&ex->load, &load, load + FIB_EX_ONE, seq_cst));
	return 0;
}

/*
 * Once it is closed the lock is taken for it: who waits for the count looks at
 * it under the lock, and so goes on only when this has let go of @ex.
 */
void fib_executor_release(struct fib_executor *ex)
{
	uint64_t load = fib_load(&ex->load, relaxed);

	while (!(load & FIB_EX_CLOSED))
		if (fib_cas(&ex->load, &load, load - FIB_EX_ONE, seq_cst))
			return;
	fib_lock(&ex->lock);
	if (fib_sub(&ex->load, FIB_EX_ONE, seq_cst) / FIB_EX_ONE == 1)
		fib_parker_wake_all(&ex->waiters);
	fib_unlock(&ex->lock);
}

bool fib_executor_drops(struct fib_executor *ex)
{
	if (!(fib_load(&ex->load, relaxed) & FIB_EX_DROP))
		return false;
	fib_add(&ex->dropped, 1, relaxed);
	return true;
}

void fib_executor_put(struct fib_executor *ex)
{
	if (fib_sub(&ex->refs, 1, acq_rel) == 1)
		free(ex);
}

/* --- executing
 * ------------------------------------------------------------------ */

void fib_work_run(void *work)
{
	struct fib_work *w = work;

	w->run(w);
}

int fib_executor_push(struct fib_executor *ex, struct fib_work *w)
{
	if (ex->sched)
		return fib_sched_submit(ex->sched, fib_work_run, w,
					FIB_ANY_THREAD);
	return ex->ops.execute(ex->self, fib_work_run, w);
}

struct function {
	struct fib_work work;
	void (*fn)(void *);
	void *arg;
};

static void run_function(struct fib_work *w)
{
	struct function *c = fib_container_of(w, struct function, work);
	struct fib_executor *ex = w->ex;
	struct fib *f = fib_self();
	struct fib_work *outer = fib_work_current();

	if (!fib_executor_drops(ex)) {
		if (f)
			f->lib.home_arg = w;
		else
			thread_work_set(w);
		c->fn(c->arg);
		if (f)
			f->lib.home_arg = outer;
		else
			thread_work_set(outer);
	}
	free(c);
	fib_executor_release(ex);
}

int fib_executor_execute(struct fib_executor *ex, void (*fn)(void *), void *arg)
{
	struct function *c;
	int r;

	if (!ex || !fn)
		return -EINVAL;
	r = fib_executor_accept(ex);
	if (r)
		return r;
	c = malloc(sizeof(*c));
	if (!c) {
		r = -ENOMEM;
		goto release;
	}
	c->work.run = run_function;
	c->work.ex = ex;
	c->fn = fn;
	c->arg = arg;
	r = fib_executor_push(ex, &c->work);
	if (!r)
		return 0;
	free(c);
release:
	fib_executor_release(ex);
	return r;
}

/* --- its end
 * ---------------------------------------------------------------------- */

static bool is_own(struct fib_executor *ex)
{
	struct fib_work *w = fib_work_current();

	return w && w->ex == ex;
}

static void wait_locked(struct fib_executor *ex)
{
	struct fib_parker me;

	fib_parker_init(&me);
	fib_list_add_tail(&ex->waiters, &me.link);
	fib_unlock(&ex->lock);
	fib_parker_wait_woken(&me);
	fib_lock(&ex->lock);
}

long fib_executor_shutdown(struct fib_executor *ex, bool drain)
{
	long before;

	if (!ex)
		return -EINVAL;
	if (is_own(ex))
		return -EDEADLK;
	before = fib_load(&ex->dropped, relaxed);
	fib_or(&ex->load, FIB_EX_CLOSED | (drain ? 0 : FIB_EX_DROP), seq_cst);
	fib_lock(&ex->lock);
	while (fib_load(&ex->load, seq_cst) >= FIB_EX_ONE)
		wait_locked(ex);
	if (!ex->ending) {
		ex->ending = true;
		fib_unlock(&ex->lock);
		if (ex->ops.destroy)
			ex->ops.destroy(ex->self);
		fib_lock(&ex->lock);
		ex->ended = true;
		fib_parker_wake_all(&ex->waiters);
	}
	while (!ex->ended)
		wait_locked(ex);
	fib_unlock(&ex->lock);
	return fib_load(&ex->dropped, relaxed) - before;
}

int fib_executor_destroy(struct fib_executor *ex)
{
	long r = fib_executor_shutdown(ex, true);

	if (r < 0)
		return (int)r;
	fib_executor_put(ex);
	return 0;
}

/* --- making one
 * --------------------------------------------------------------------- */

static int make(struct fib_executor **out, const struct fib_executor *like)
{
	struct fib_executor *ex = malloc(sizeof(*ex));

	if (!ex)
		return -ENOMEM;
	*ex = *like;
	fib_lock_init(&ex->lock, EXECUTOR);
	fib_store(&ex->refs, 1, relaxed);
	fib_list_init(&ex->waiters);
	*out = ex;
	return 0;
}

int fib_executor_create(struct fib_executor **out,
			const struct fib_executor_ops *ops, void *self)
{
	if (!out || !ops || !ops->execute)
		return -EINVAL;
	return make(out, &(struct fib_executor){ .ops = *ops, .self = self });
}

int fib_executor_sched(struct fib_executor **out, struct fib_sched *s)
{
	if (!out || !fib_sched_exists(s))
		return -EINVAL;
	return make(out, &(struct fib_executor){ .sched = s });
}

static int make_pool(struct fib_executor **out, unsigned max, uint64_t keep_ns,
		     const char *name)
{
	struct fib_executor like = { .ops = fib_pool_ops,
				     .try_execute = fib_pool_try };
	int r;

	like.self = fib_pool_create(max, keep_ns, name);
	if (!like.self)
		return -ENOMEM;
	r = make(out, &like);
	if (r)
		fib_pool_ops.destroy(like.self);
	return r;
}

int fib_executor_new_thread(struct fib_executor **out)
{
	return out ? make_pool(out, UINT_MAX, 0, "fib-thread") : -EINVAL;
}

int fib_executor_async(struct fib_executor **out, unsigned max)
{
	return out && max ? make_pool(out, max, POOL_KEEP_NS, "fib-async") :
			    -EINVAL;
}

int fib_executor_looper(struct fib_executor **out, const char *name)
{
	return out ? make_pool(out, 1, FIB_NEVER, name ? name : "fib-looper") :
		     -EINVAL;
}
