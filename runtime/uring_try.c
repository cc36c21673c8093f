/*
 * Calls that have no flag not to wait, and are made so by io_uring: connect() and
 * accept(). The kernel makes them at once, in the caller's thread, with its
 * credentials, as it would for the call itself with O_NONBLOCK, which is nobody else's
 * to see. A connect() that would wait is cancelled again, and then the connection is
 * under way, as after EINPROGRESS. An accept() is asked not to wait (io_accept() of
 * io_uring/net.c, Linux 6.10), and tells whether it has taken the last connection.
 *
 * Each worker has a ring of its own, from its first such call on; but from the 16th
 * accept(), since that can be made without. A filter for all
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

/* include/uapi/linux/io_uring.h, which older systems lack in part */
#define ACCEPT_DONTWAIT	  (1u << 1)
#define CQE_SOCK_NONEMPTY (1u << 2)
#define ACCEPTS_WITHOUT	  16

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

/* What came of the call, and not of a cancel that came too late for one before. */
static bool next_of_call(struct fib_ring *r, struct fib_cqe *c)
{
	while (fib_ring_next(r, c))
		if (c->user_data == OF_CALL)
			return true;
	return false;
}

/* It is under way: leave it so. What came of it meanwhile, or -ECANCELED. */
static void leave(struct fib_ring *r, struct fib_cqe *c)
{
	FIB_CHAOS_POINT(uring_leave);
	fib_ring_put_cancel(r, OF_CALL);
	do
		fib_ring_enter(r, 1);
	while (!next_of_call(r, c));
}

static struct fib_sqe *begin(struct fib_ring *r, uint8_t opcode, int fd,
			     const void *addr, uint64_t len)
{
	struct fib_sqe *e = fib_ring_put(r, opcode, OF_CALL);

	e->fd = (uint32_t)fd;
	e->addr = (uintptr_t)addr;
	e->off = len;
	return e;
}

/* What comes of it. False: the kernel has not taken it. */
static bool end(struct fib_ring *r, struct fib_cqe *c)
{
	if (fib_ring_enter(r, 0) != 1) {
		fib_ring_withdraw(r);
		return false;
	}
	if (!next_of_call(r, c))
		leave(r, c);
	return true;
}

static struct fib_ring *enter(struct fib_worker *w)
{
	fib_store(&w->trying, true, seq_cst); /* (A) */
	return fib_uring_allowed() ? own_ring(w) : NULL;
}

static void quit(struct fib_worker *w)
{
	fib_store(&w->trying, false, release);
}

long fib_uring_connect(int fd, const void *addr, unsigned len)
{
	struct fib_worker *w = fib_worker_self();
	struct fib_ring *r = enter(w);
	struct fib_cqe c;
	long result = -ENOSYS;

	if (r) {
		begin(r, FIB_OP_CONNECT, fd, addr, len);
		if (end(r, &c))
			result = c.res == -ECANCELED ? -EINPROGRESS : c.res;
	}
	quit(w);
	return result;
}

static bool try_accept(struct fib_ring *r, int fd, const long a[6],
		       struct fib_cqe *c)
{
	struct fib_sqe *e =
		begin(r, FIB_OP_ACCEPT, fd, (const void *)a[1], (uint64_t)a[2]);

	e->op_flags = (uint32_t)a[3];
	e->ioprio = ACCEPT_DONTWAIT;
	return end(r, c);
}

/* What the kernel does not know it refuses before it looks at the descriptor. */
static bool knows_accept(struct fib_ring *r)
{
	static _Atomic uint8_t known; /* 1: it does; 2: it does not */
	struct fib_cqe c;

	if (fib_unlikely(!fib_load(&known, relaxed)) &&
	    try_accept(r, -1, (long[6]){ -1 }, &c))
		fib_store(&known, c.res == -EBADF ? 1 : 2, relaxed);
	return fib_load(&known, relaxed) == 1;
}

long fib_uring_accept(int fd, const long a[6], bool *more)
{
	struct fib_worker *w = fib_worker_self();
	struct fib_ring *r;
	struct fib_cqe c;
	long result = -ENOSYS;

	if (fib_unlikely(w->accepts < ACCEPTS_WITHOUT)) {
		w->accepts++;
		return -ENOSYS;
	}
	r = enter(w);
	if (r && knows_accept(r) && try_accept(r, fd, a, &c)) {
		result = c.res == -ECANCELED ? -EAGAIN : c.res;
		*more = c.flags & CQE_SOCK_NONEMPTY;
	}
	quit(w);
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
