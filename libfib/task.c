/*
 * Tasks.
 *
 * On an executor that is backed by a scheduler a task is one of its fibers,
 * and comes back there by nature. On any other it is a fiber whose home is the
 * executor: it begins, and goes on after each wait, as a step that the
 * executor executes. A step borrows the thread that it is executed in:
 *
 *	the executor's thread			whoever wakes it
 *	---------------------			----------------
 *	step(): become a worker for
 *	  this one fiber; switch to it
 *	    the fiber parks, or ends
 *	  switch back; do_park() publishes
 *	  it as PARKED; be what one was		fib_wake() -> queue_fiber()
 *	return to the executor			  -> go_home(): execute a step
 *
 * The timers and descriptors that such a fiber waits for are looked after by a
 * scheduler of the library's own, with one thread: the service.
 *
 * Who wakes a fiber may hold locks, and be on a stack that is not meant for a
 * program's code. So unless the executor can just be handed the step (a
 * thread of its pool is idle), a fiber of the service does it, the carrier. A
 * step that is refused for lack of resources is offered again; after any
 * other refusal the task is abandoned.
 */
#include <pthread.h>
#include <stdlib.h>
#include "ctx_arch.h"
#include "ctx_inline_arch.h"
#include "libfib/executor.h"

#define RETRY_NS (10 * 1000 * 1000ull)

struct callback {
	struct callback *next;
	void (*fn)(long, void *);
	void *arg;
	bool on_result, on_error;
};

struct fib_task {
	struct fib_work work; /* the next step */
	struct fib *fib;      /* NULL on a scheduler */
	long (*fn)(void *);
	void *arg;
	bool late; /* calls callbacks that came late: it is never dropped */
	_Atomic uint32_t refs;
	struct fib_mutex adding; /* a callback */
	struct fib_lock lock;	 /* all below */
	/* has a result; callbacks are being called; those of its end were */
	bool ended, calling, settled, canceled;
	struct fib *runner; /* it has begun, and not ended */
	long result;
	struct fib_list waiters;
	struct callback *first, **last;
};

static struct fib_task *task_of(struct fib_work *w)
{
	return fib_container_of(w, struct fib_task, work);
}

void fib_task_put(struct fib_task *t)
{
	if (!t || fib_sub(&t->refs, 1, acq_rel) != 1)
		return;
	fib_executor_put(t->work.ex);
	free(t);
}

/* --- the end ------------------------------------------------------------- */

/*
 * Until there are no more; calling says that somebody is at it. Who awaits the
 * task goes on after the callbacks that it ended with.
 */
static void call_back(struct fib_task *t)
{
	struct callback *c;

	fib_lock(&t->lock);
	while ((c = t->first)) {
		t->first = c->next;
		if (!t->first)
			t->last = &t->first;
		fib_unlock(&t->lock);
		if (t->result < 0 ? c->on_error : c->on_result)
			c->fn(t->result, c->arg);
		free(c);
		fib_lock(&t->lock);
	}
	t->calling = false;
	t->settled = true;
	fib_parker_wake_all(&t->waiters);
	fib_unlock(&t->lock);
}

static void end(struct fib_task *t, long result)
{
	struct fib_executor *ex = t->work.ex;
	struct fib *f;

	fib_lock(&t->lock);
	t->result = result;
	t->ended = t->calling = true;
	f = t->runner;
	t->runner = NULL;
	fib_unlock(&t->lock);
	/* It was the function that was cancelled, and not the callbacks. */
	if (f && f == fib_self())
		fib_store(&f->attention, 0, relaxed);
	call_back(t);
	fib_executor_release(ex);
	fib_task_put(t);
}

/* False: it was cancelled before it could. */
static bool begin(struct fib_task *t)
{
	bool canceled;

	fib_lock(&t->lock);
	canceled = t->canceled;
	if (!canceled)
		t->runner = fib_self();
	fib_unlock(&t->lock);
	return !canceled;
}

static void run(struct fib_task *t)
{
	bool dropped = !t->late && fib_executor_drops(t->work.ex);

	end(t, dropped || !begin(t) ? -ECANCELED : t->fn(t->arg));
}

int fib_task_cancel(struct fib_task *t)
{
	if (!t)
		return -EINVAL;
	fib_lock(&t->lock);
	t->canceled = true;
	/* Under the lock: its fiber is not another's before it has ended. */
	if (t->runner)
		fib_cancel_fiber(t->runner);
	fib_unlock(&t->lock);
	return 0;
}

/* --- on a scheduler ------------------------------------------------------ */

static void run_scheduled(struct fib_work *w)
{
	fib_self()->lib.home_arg = w;
	run(task_of(w));
}

/* --- on any other executor ----------------------------------------------- */

static struct {
	struct fib_lock lock;
	struct fib_list queue; /* of steps */
	struct fib *fib;
} carrier = { .lock = FIB_LOCK(CARRIER),
	      .queue = { &carrier.queue, &carrier.queue } };

static void run_fiber(void *task)
{
	run(task);
}

static void step(struct fib_work *work)
{
	struct fib *f = task_of(work)->fib;
	struct fib_worker *outer = fib_worker_self();
	struct fib_worker w = { .cur = f,
				.lib.sched = f->lib.sched,
				.lib.passing = true };
	uint64_t floats = fib_ctx_floats();

	if (fib_prepare(f)) {
		end(task_of(work), -ENOMEM);
		fib_ended(f);
		return;
	}
	w.self = &w;
	w.lib.outer = outer;
	fib_san_note(&w.lib.left, &w.san);
	fib_san_adopt(&w.san);
	fib_worker_set(&w);
	fib_store(&f->state, FIB_RUNNING, relaxed);
	fib_store(&f->on, &w, relaxed);
	fib_san_leave(&w.san, &fib_top_of(f)->san, false);
	fib_ctx_switch(&w.sched_sp, f->sp);
	fib_ctx_floats_set(floats, w.floats);
	fib_san_enter(&w.san, &fib_top_of(f)->san);
	fib_worker_set(outer);
	w.cur = NULL;
	/* From here on the task may be executed elsewhere, or be gone. */
	w.action(&w, f);
}

static void go_home(struct fib *f)
{
	struct fib_work *w = f->lib.home_arg;

	if (w->ex->try_execute && w->ex->try_execute(w->ex->self, w))
		return;
	fib_lock(&carrier.lock);
	fib_list_add_tail(&carrier.queue, &w->link);
	fib_unlock(&carrier.lock);
	fib_wake(carrier.fib);
}

static void abandoned(void *task)
{
	end(task, -ECANCELED);
}

/* What waits for its task shall not wait for ever. */
static void abandon(struct fib_work *w)
{
	struct fib_sched *s = fib_sched_current();

	while (fib_sched_submit(s, abandoned, task_of(w), FIB_ANY_THREAD))
		fib_sleep(RETRY_NS);
}

static struct fib_work *take(struct fib_list *from)
{
	struct fib_work *w = NULL;

	fib_lock(&carrier.lock);
	if (!fib_list_empty(from)) {
		w = fib_container_of(from->next, struct fib_work, link);
		fib_list_del(&w->link);
	}
	fib_unlock(&carrier.lock);
	return w;
}

static void carry(void *arg)
{
	struct fib_list refused;
	struct fib_work *w;
	int r;

	for (;;) {
		fib_list_init(&refused);
		while ((w = take(&carrier.queue))) {
			r = fib_executor_push(w->ex, w);
			if (r == -EAGAIN || r == -ENOMEM)
				fib_list_add_tail(&refused, &w->link);
			else if (r)
				abandon(w);
		}
		if (fib_list_empty(&refused)) {
			fib_park();
			continue;
		}
		fib_sleep(RETRY_NS);
		fib_lock(&carrier.lock);
		fib_list_for_each (it, &refused) {
			fib_list_del(it);
			fib_list_add_tail(&carrier.queue, it);
		}
		fib_unlock(&carrier.lock);
	}
}

static pthread_mutex_t carrier_once = PTHREAD_MUTEX_INITIALIZER;

void fib_tasks_forked(void)
{
	pthread_mutex_init(&carrier_once, NULL);
	fib_lock_init(&carrier.lock, CARRIER);
	fib_list_init(&carrier.queue);
	carrier.fib = NULL;
}

/* The service, with the carrier in it; NULL: no resources. */
static struct fib_sched *service(void)
{
	struct fib_sched *s = fib_sched_service();
	struct fib *f;

	if (!s || fib_load(fib_shared(&carrier.fib), acquire))
		return s;
	pthread_mutex_lock(&carrier_once);
	if (!carrier.fib) {
		f = fib_make(s, carry, NULL, FIB_ANY_THREAD);
		if (f) {
			/* The library's own: it is none of the program's. */
			fib_or(&f->lib.life, FIB_LIFE_MAIN, relaxed);
			fib_launch(f);
			fib_store(fib_shared(&carrier.fib), f, release);
		} else {
			s = NULL;
		}
	}
	pthread_mutex_unlock(&carrier_once);
	return s;
}

/* A fiber whose home is the executor. */
static int settle(struct fib_task *t)
{
	struct fib_sched *s = service();

	t->fib = s ? fib_make(s, run_fiber, t, FIB_ANY_THREAD) : NULL;
	if (!t->fib)
		return -EAGAIN;
	fib_work_begin(s);
	fib_add(&s->lib.nfibers, 1, relaxed);
	t->fib->lib.home = go_home;
	t->fib->lib.home_arg = &t->work;
	return 0;
}

/* --- start --------------------------------------------------------------- */

static struct fib_task *make(struct fib_executor *ex, long (*fn)(void *),
			     void *arg)
{
	struct fib_task *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->work.run = ex->sched ? run_scheduled : step;
	t->work.ex = ex;
	t->fn = fn;
	t->arg = arg;
	fib_lock_init(&t->lock, TASK);
	fib_list_init(&t->waiters);
	t->last = &t->first;
	fib_add(&ex->refs, 1, relaxed);
	return t;
}

static int start(struct fib_task *t, bool handle)
{
	struct fib_executor *ex = t->work.ex;
	int r;

	r = ex->sched ? 0 : settle(t);
	if (r)
		return r;
	fib_store(&t->refs, 1 + handle, relaxed);
	r = fib_executor_push(ex, &t->work);
	if (r && t->fib)
		fib_ended(t->fib);
	return r;
}

static int start_on(struct fib_task **out, struct fib_executor *ex,
		    long (*fn)(void *), void *arg, struct callback *at_end,
		    bool late)
{
	struct fib_task *t;
	int r = fib_executor_accept(ex);

	if (r)
		return r;
	t = make(ex, fn, arg);
	r = -ENOMEM;
	if (!t)
		goto release;
	t->late = late;
	if (at_end) {
		t->first = at_end;
		t->last = &at_end->next;
	}
	r = start(t, out != NULL);
	if (r)
		goto drop;
	if (out)
		*out = t;
	return 0;
drop:
	fib_executor_put(ex);
	free(t);
release:
	fib_executor_release(ex);
	return r;
}

int fib_task_start(struct fib_task **out, struct fib_executor *ex,
		   long (*fn)(void *), void *arg)
{
	if (!ex || !fn)
		return -EINVAL;
	return start_on(out, ex, fn, arg, NULL, false);
}

int fib_task_start_then(struct fib_task **out, struct fib_executor *ex,
			long (*fn)(void *), void *arg,
			void (*on_end)(long, void *), void *end_arg)
{
	struct callback *c = malloc(sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct callback){ .fn = on_end,
				.arg = end_arg,
				.on_result = true,
				.on_error = true };
	r = start_on(out, ex, fn, arg, c, false);
	if (r)
		free(c);
	return r;
}

bool fib_task_is_caller(struct fib_task *t)
{
	return fib_work_current() == &t->work;
}

/* --- waiting for one ----------------------------------------------------- */

struct fib_executor *fib_task_executor(void)
{
	struct fib_work *w = fib_work_current();

	return w && (w->run == step || w->run == run_scheduled) ? w->ex : NULL;
}

int fib_task_await_for(struct fib_task *t, uint64_t timeout_ns, long *result)
{
	struct fib_parker me;
	int r = 0;

	if (!t || !result)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	fib_lock(&t->lock);
	if (t->settled)
		goto out;
	r = -EDEADLK;
	if (fib_task_is_caller(t))
		goto out;
	fib_parker_init(&me);
	fib_list_add_tail(&t->waiters, &me.link);
	fib_unlock(&t->lock);
	r = fib_parker_wait(&me, timeout_ns ? fib_deadline(timeout_ns) : 0);
	fib_lock(&t->lock);
	if (fib_parker_woken(&me))
		r = 0;
	else
		fib_list_del(&me.link);
out:
	if (!r)
		*result = t->result;
	fib_unlock(&t->lock);
	return r;
}

long fib_task_await(struct fib_task *t)
{
	long result = 0;
	int r = fib_task_await_for(t, FIB_NEVER, &result);

	return r ? r : result;
}

/* --- callbacks ----------------------------------------------------------- */

static long call_back_late(void *task)
{
	call_back(task);
	fib_task_put(task);
	return 0;
}

/*
 * The last callback was added to a task that has ended, with calling false:
 * the mutex of all who add callbacks is held, so it is the only one.
 */
static int call_back_later(struct fib_task *t)
{
	int r;

	fib_add(&t->refs, 1, relaxed);
	r = start_on(NULL, t->work.ex, call_back_late, t, NULL, true);
	if (!r)
		return 0;
	fib_lock(&t->lock);
	free(t->first);
	t->first = NULL;
	t->last = &t->first;
	t->calling = false;
	fib_unlock(&t->lock);
	fib_sub(&t->refs, 1, relaxed);
	return r;
}

static int add(struct fib_task *t, struct callback like)
{
	struct callback *c;
	bool late;
	int r = 0;

	if (!t || !like.fn)
		return -EINVAL;
	c = malloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	*c = like;
	fib_mutex_lock(&t->adding);
	fib_lock(&t->lock);
	*t->last = c;
	t->last = &c->next;
	late = t->ended && !t->calling;
	if (late)
		t->calling = true;
	fib_unlock(&t->lock);
	if (late)
		r = call_back_later(t);
	fib_mutex_unlock(&t->adding);
	return r;
}

int fib_task_then(struct fib_task *t, void (*fn)(long, void *), void *arg)
{
	return add(t, (struct callback){
			      .fn = fn, .arg = arg, .on_result = true });
}

int fib_task_catch(struct fib_task *t, void (*fn)(long, void *), void *arg)
{
	return add(t,
		   (struct callback){ .fn = fn, .arg = arg, .on_error = true });
}

int fib_task_finally(struct fib_task *t, void (*fn)(long, void *), void *arg)
{
	return add(t, (struct callback){ .fn = fn,
					 .arg = arg,
					 .on_result = true,
					 .on_error = true });
}
