/* Parkers, see parker.h. */
#include <linux/futex.h>
#include "libfib/parker.h"
#include "runtime/timer.h"

static int wait_thread(struct fib_parker *p, uint64_t deadline_ns)
{
	while (!fib_parker_woken(p))
		if (fib_thread_wait(&p->woken, 0, deadline_ns) == -ETIMEDOUT)
			return fib_parker_woken(p) ? 0 : -ETIMEDOUT;
	return 0;
}

void fib_parker_wait_woken(struct fib_parker *p)
{
	while (!fib_parker_woken(p))
		if (p->fib)
			fib_park();
		else
			fib_thread_wait(&p->woken, 0, FIB_NEVER);
}

static bool woken(const void *arg)
{
	return fib_parker_woken(arg);
}

int fib_parker_wait_slow(struct fib_parker *p, uint64_t deadline_ns)
{
	int r;

	if (fib_parker_woken(p))
		return 0;
	if (deadline_ns == 0)
		return -ETIMEDOUT;
	if (!p->fib)
		return wait_thread(p, deadline_ns);
	r = fib_park_until(woken, p, deadline_ns, FIB_WAIT_TIME, 0);
	return r == -EINTR ? -ECANCELED : r;
}

/* By its address alone. */
void fib_parker_wake_thread(struct fib_parker *p)
{
	fib_raw(SYS_futex, &p->woken, FUTEX_WAKE_PRIVATE, 1);
}

void fib_parker_wake_all(struct fib_list *list)
{
	while (!fib_list_empty(list)) {
		struct fib_list *first = list->next;

		fib_list_del(first);
		fib_parker_wake(
			fib_container_of(first, struct fib_parker, link));
	}
}

/* A parker that nobody knows. */
int fib_sleep(uint64_t ns)
{
	struct fib_parker p;

	int r;

	if (fib_canceled_here())
		return -ECANCELED;
	fib_parker_init(&p);
	r = fib_parker_wait(&p, fib_deadline(ns));
	return r == -ETIMEDOUT ? 0 : r;
}
