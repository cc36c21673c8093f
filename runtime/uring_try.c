/*
 * Calls that have no flag not to wait, and are made so by io_uring: connect(). The
 * kernel makes them at once, in the caller's thread, with its credentials, as it
 * would for the call itself with O_NONBLOCK, which is nobody else's to see. What
 * would wait is cancelled again, and then the connection is under way, as after
 * EINPROGRESS.
 *
 * Each worker has a ring of its own, from its first such call on. A filter for all
 * threads may not know the ring's calls: who stops (fib_uring_stop()) forbids them
 * first, and then waits for who has begun:
 *
 *	worker				who stops
 *	------				---------
 *	trying = 1		(A)	state = STOPPING, FORBIDDEN	(B)
 *	allowed? then the call		wait until trying is 0
 *	trying = 0
 *
 * Either (A) is before (B), and is waited for, or the worker finds it forbidden. It
 * does not wait for anything in between, and takes no lock. tests/model/try.pml has
 * this for spin.
 */
#include "runtime/chaos.h"
#include "runtime/uring_int.h"

#define RESULTS 64u /* no less than requests; there are two at once */
#define OF_CALL 1ul

struct fib_tries {
	struct fib_ring ring;
	int tid; /* whose ring it is; 0: nobody's */
	bool ready;
	void *memory;
};

/* Of this kernel thread; NULL: it is not to be had. */
static struct fib_ring *own_ring(struct fib_worker *w)
{
	int tid = fib_load(&w->tid, relaxed);
	struct fib_tries *t = w->tries;

	if (!t) {
		t = fib_pages_alloc(sizeof(*t));
		if (!t)
			return NULL;
		t->memory = fib_pages_alloc(FIB_RING_SIZE(RESULTS));
		w->tries = t;
	}
	if (t->tid != tid) {
		t->tid = tid;
		t->ready = t->memory &&
			   fib_ring_open(&t->ring, t->memory, RESULTS);
	}
	return t->ready ? &t->ring : NULL;
}

/* It is under way: leave it so. What came of it meanwhile, or -EINPROGRESS. */
static long leave(struct fib_ring *r)
{
	struct fib_cqe c;

	FIB_CHAOS_POINT(uring_leave);
	fib_ring_put_cancel(r, OF_CALL);
	for (;;) {
		fib_ring_enter(r, 1);
		while (fib_ring_next(r, &c))
			if (c.user_data == OF_CALL)
				return c.res == -ECANCELED ? -EINPROGRESS :
							     c.res;
	}
}

static long connect_now(struct fib_ring *r, int fd, const void *addr,
			unsigned len)
{
	struct fib_sqe *e;
	struct fib_cqe c;

	/* Of a cancel that came too late: there is nothing else. */
	while (fib_ring_next(r, &c))
		;
	e = fib_ring_put(r, FIB_OP_CONNECT, OF_CALL);
	e->fd = (uint32_t)fd;
	e->addr = (uintptr_t)addr;
	e->off = len;
	if (fib_ring_enter(r, 0) == 1)
		return fib_ring_next(r, &c) ? c.res : leave(r);
	fib_ring_withdraw(r);
	return -ENOSYS;
}

long fib_uring_connect(int fd, const void *addr, unsigned len)
{
	struct fib_worker *w = fib_worker_self();
	struct fib_ring *r;
	long result = -ENOSYS;

	fib_store(&w->trying, true, seq_cst); /* (A) */
	r = fib_uring_allowed() ? own_ring(w) : NULL;
	if (r)
		result = connect_now(r, fd, addr, len);
	fib_store(&w->trying, false, release);
	return result;
}

void fib_uring_forget_tries(struct fib_tries *t)
{
	if (t)
		t->tid = 0;
}

void fib_uring_await_tries(void)
{
	struct fib_sched *s = fib_sched_here();
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++)
		while (fib_load(&s->worker[i]->trying, acquire))
			fib_raw(SYS_sched_yield);
}
