/*
 * The condition: a list of parkers (parker.h) under a lock of its own.
 *
 * Who waits is in the list before it gives the mutex back: whoever changes what
 * it waits for, under the mutex, finds it there. Who signals says so under the
 * lock and wakes after it, and who waited takes the lock in any case: when it
 * goes on, nobody who woke it is in there any more.
 */
#include "libfib/parker.h"

_Static_assert(sizeof(((struct fib_cond *)0)->waiters) ==
		       sizeof(struct fib_list),
	       "two pointers");

void fib_cond_init(struct fib_cond *c)
{
	if (c)
		*c = (struct fib_cond)FIB_COND_INIT;
}

/* fib.h is for C++ as well, which knows no _Atomic. */
static void lock(struct fib_cond *c)
{
	fib_lock_bare((_Atomic int *)&c->lock, CONDITION);
}

static void unlock(struct fib_cond *c)
{
	fib_unlock_bare((_Atomic int *)&c->lock);
}

static _Atomic uint32_t *waiting(struct fib_cond *c)
{
	return fib_shared(&c->waiting);
}

/* The list starts zeroed; an empty one is made on first use. */
static struct fib_list *list_locked(struct fib_cond *c)
{
	struct fib_list *list = (struct fib_list *)c->waiters;

	if (fib_unlikely(!list->next))
		fib_list_init(list);
	return list;
}

static void add(struct fib_cond *c, struct fib_parker *p)
{
	fib_parker_init(p);
	lock(c);
	fib_list_add_tail(list_locked(c), &p->link);
	fib_store(waiting(c), 1, relaxed);
	unlock(c);
}

/* Was it woken? */
static bool leave(struct fib_cond *c, struct fib_parker *p)
{
	bool woken;

	lock(c);
	woken = fib_parker_woken(p);
	if (!woken) {
		fib_list_del(&p->link);
		fib_store(waiting(c), !fib_list_empty(list_locked(c)), relaxed);
	}
	unlock(c);
	return woken;
}

int fib_cond_wait(struct fib_cond *c, struct fib_mutex *m, uint64_t timeout_ns)
{
	struct fib_parker me;
	int r;

	if (!c || !m)
		return -EINVAL;
	if (fib_canceled_here())
		return -ECANCELED;
	add(c, &me);
	r = fib_mutex_unlock(m);
	if (r) {
		/* A signal that it has taken is another's. */
		if (leave(c, &me))
			fib_cond_signal(c);
		return r;
	}
	r = fib_parker_wait(&me, fib_deadline(timeout_ns));
	if (leave(c, &me))
		r = 0;
	fib_mutex_lock(m);
	return r;
}

/* Called with the lock, returns without. */
static void wake_first_unlock(struct fib_cond *c, struct fib_list *list)
{
	struct fib_parker *p =
		fib_container_of(list->next, struct fib_parker, link);
	struct fib *f = p->fib;

	fib_list_del(&p->link);
	fib_store(waiting(c), !fib_list_empty(list_locked(c)), relaxed);
	fib_store(&p->woken, 1, release);
	unlock(c);
	/* It may be gone: a fiber's memory and a thread's address will do. */
	if (f)
		fib_wake(f);
	else
		fib_parker_wake_thread(p);
}

int fib_cond_signal(struct fib_cond *c)
{
	if (!c)
		return -EINVAL;
	if (!fib_load(waiting(c), relaxed))
		return 0;
	lock(c);
	if (fib_list_empty(list_locked(c)))
		unlock(c);
	else
		wake_first_unlock(c, list_locked(c));
	return 0;
}

/* Those that are there now, and none that come back. */
int fib_cond_broadcast(struct fib_cond *c)
{
	struct fib_list all;

	if (!c)
		return -EINVAL;
	if (!fib_load(waiting(c), relaxed))
		return 0;
	fib_list_init(&all);
	lock(c);
	fib_list_move(&all, list_locked(c));
	while (!fib_list_empty(&all)) {
		wake_first_unlock(c, &all);
		lock(c);
	}
	unlock(c);
	return 0;
}
