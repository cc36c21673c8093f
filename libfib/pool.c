/* Threads with a queue, see pool.h. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "libfib/pool.h"

struct fib_pool {
	struct fib_lock lock;
	struct fib_list queue; /* of work */
	struct fib_list idle;  /* of struct sleeper; the last in is first */
	unsigned threads, max;
	uint64_t keep_ns;
	bool closing;
	struct fib_list end; /* who waits for the last thread's end */
	/*
	 * Each thread that ends joins the one before it, so that who joins the
	 * last one knows that all are gone.
	 */
	bool any_ended;
	pthread_t last_ended;
	char name[FIB_NAME_MAX];
};

/* A thread without work. Without any when it is woken, it ends. */
struct sleeper {
	struct fib_parker parker;
	struct fib_work *work;
};

/* What a new thread is told. */
struct birth {
	struct fib_pool *pool;
	struct fib_work *work;
};

struct fib_pool *fib_pool_create(unsigned max, uint64_t keep_ns,
				 const char *name)
{
	struct fib_pool *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	fib_lock_init(&p->lock, POOL);
	p->max = max;
	p->keep_ns = keep_ns;
	strncpy(p->name, name, sizeof(p->name) - 1);
	fib_list_init(&p->queue);
	fib_list_init(&p->idle);
	fib_list_init(&p->end);
	return p;
}

static struct fib_work *dequeue_locked(struct fib_pool *p)
{
	struct fib_work *w;

	if (fib_list_empty(&p->queue))
		return NULL;
	w = fib_container_of(p->queue.next, struct fib_work, link);
	fib_list_del(&w->link);
	return w;
}

/* --- a thread's life ---------------------------------------------------------
 */

/* Called with the lock, returns without. NULL: it is time to end. */
static struct fib_work *sleep_locked(struct fib_pool *p)
{
	struct sleeper me = { .work = NULL };
	int r;

	fib_parker_init(&me.parker);
	/* At the head: the list's first is the last in. */
	fib_list_add_tail(p->idle.next, &me.parker.link);
	fib_unlock(&p->lock);
	r = fib_parker_wait(&me.parker, fib_deadline(p->keep_ns));
	if (r) {
		fib_lock(&p->lock);
		if (!fib_parker_woken(&me.parker))
			fib_list_del(&me.parker.link);
		fib_unlock(&p->lock);
	}
	return me.work;
}

static struct fib_work *next_work(struct fib_pool *p)
{
	struct fib_work *w;

	if (p->keep_ns == 0)
		return NULL;
	fib_lock(&p->lock);
	w = dequeue_locked(p);
	if (w || p->closing) {
		fib_unlock(&p->lock);
		return w;
	}
	return sleep_locked(p);
}

static void thread_end(struct fib_pool *p)
{
	struct fib_list waiters;
	pthread_t before;
	bool any;

	fib_list_init(&waiters);
	fib_lock(&p->lock);
	before = p->last_ended;
	any = p->any_ended;
	p->last_ended = pthread_self();
	p->any_ended = true;
	if (--p->threads == 0)
		fib_list_move(&waiters, &p->end);
	fib_unlock(&p->lock);
	/* Without it: a task goes on in its own pool, which has such a lock. */
	fib_parker_wake_all(&waiters);
	if (any)
		pthread_join(before, NULL);
}

static void *thread_main(void *arg)
{
	struct birth *b = arg;
	struct fib_pool *p = b->pool;
	struct fib_work *w = b->work;

	free(b);
	pthread_setname_np(pthread_self(), p->name);
	fib_altstack_ensure();
	for (; w; w = next_work(p))
		fib_work_run(w);
	fib_altstack_drop();
	thread_end(p);
	return NULL;
}

/* Signals are for the program's own threads. */
static int thread_start(struct fib_pool *p, struct fib_work *w)
{
	struct birth *b = malloc(sizeof(*b));
	sigset_t all, old;
	pthread_t thread;
	int r;

	if (!b)
		return -ENOMEM;
	b->pool = p;
	b->work = w;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, thread_main, b);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r)
		free(b);
	return -r;
}

/* --- as an executor
 * ------------------------------------------------------------ */

/* To a thread that is idle, or into the queue if there can be no more. */
static bool offer_locked(struct fib_pool *p, struct fib_work *w)
{
	struct sleeper *s;

	if (!fib_list_empty(&p->idle)) {
		s = fib_container_of(p->idle.next, struct sleeper, parker.link);
		fib_list_del(&s->parker.link);
		s->work = w;
		fib_parker_wake(&s->parker);
		return true;
	}
	if (p->threads < p->max)
		return false;
	fib_list_add_tail(&p->queue, &w->link);
	return true;
}

bool fib_pool_try(void *self, struct fib_work *w)
{
	struct fib_pool *p = self;
	bool r;

	fib_lock(&p->lock);
	r = offer_locked(p, w);
	fib_unlock(&p->lock);
	return r;
}

static int pool_execute(void *self, void (*fn)(void *), void *arg)
{
	struct fib_pool *p = self;
	struct fib_work *w = arg;
	int r;

	fib_lock(&p->lock);
	if (offer_locked(p, w)) {
		fib_unlock(&p->lock);
		return 0;
	}
	/*
	 * Under the lock: who comes meanwhile must not rely on a thread that
	 * may not come to be.
	 */
	r = thread_start(p, w);
	if (!r) {
		p->threads++;
	} else if (p->threads && p->keep_ns) {
		/* Fewer threads than there might be will do. */
		fib_list_add_tail(&p->queue, &w->link);
		r = 0;
	}
	fib_unlock(&p->lock);
	return r;
}

static void pool_destroy(void *self)
{
	struct fib_pool *p = self;
	struct fib_parker me;

	fib_parker_init(&me);
	fib_lock(&p->lock);
	p->closing = true;
	fib_parker_wake_all(&p->idle);
	if (p->threads) {
		fib_list_add_tail(&p->end, &me.link);
		fib_unlock(&p->lock);
		fib_parker_wait_woken(&me);
		fib_lock(&p->lock);
	}
	fib_unlock(&p->lock);
	if (p->any_ended)
		pthread_join(p->last_ended, NULL);
	free(p);
}

const struct fib_executor_ops fib_pool_ops = {
	.execute = pool_execute,
	.destroy = pool_destroy,
};
