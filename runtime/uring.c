/* Waits in the kernel on one thread for all, see uring.h. */
#include <linux/futex.h>
#include <sched.h>
#include "ctx_arch.h"
#include "runtime/chaos.h"
#include "runtime/iom.h"
#include "runtime/sched.h"
#include "runtime/timer.h"
#include "runtime/uring_int.h"

/* include/uapi/linux/futex.h */
#define SIZE_U32 2u
#define PRIVATE	 128u
/* include/uapi/linux/io_uring.h */
#define TIMEOUT_ABS	 (1u << 0)
#define TIMEOUT_REALTIME (1u << 3)

#define STACK_SIZE (32ul * 1024)
#define REQUESTS   FIB_RING_REQUESTS /* submitted at once */
#define RESULTS	   4096u /* room: none is ever left to the kernel's own memory */
/* Results at once; and one turn's cancels that come late have one each. */
#define LIMIT (RESULTS - 2 * REQUESTS)

/* user_data of what is no wait; and of a wait's limit, with the wait's */
#define OF_NOBODY 0ul
#define OF_BELL	  1ul
#define OF_LIMIT  2ul

struct op {
	struct op *next;
	struct wait *wait;
	bool cancels;
};

struct wait {
	struct fib_list node; /* the server's: in flight */
	struct fib *fib;
	struct fib_sqe request; /* but for its user_data */
	struct timespec limit; /* by the clock that may be set, if it has one */
	struct op op, cancel;
	uint32_t results; /* that will come: of the request, and of its limit */
	int result;
	_Atomic bool done, cancel_taken;
};

enum state {
	FORBIDDEN, /* or impossible; final */
	POSSIBLE,  /* no server is there */
	SERVED,
	STOPPING, /* to be FORBIDDEN */
};

static bool left_out; /* by the user */
static struct fib_lock lock = FIB_LOCK(URING);
static _Atomic uint32_t state; /* futex of who stops it */
static struct fib *server;
static struct op *_Atomic todo; /* the last one first */
static _Atomic uint32_t bell;	/* futex */
static _Atomic bool asleep;
static _Atomic bool leaves;

/* The server's own. */
static struct {
	struct fib_ring base;
	bool ready;	 /* there is a ring, and it knows what is needed */
	bool bell_armed; /* a request for it is there */
	struct op *first, *last; /* taken, and not put yet */
	struct fib_list waits;	 /* in flight, */
	struct fib_list parted;	 /* others, that have lost their limit, */
	uint32_t results;	 /* and what will come of all */
} ring;

/* --- the ring ------------------------------------------------------------------ */

static void put(const struct fib_sqe *request, uint64_t user_data)
{
	struct fib_sqe *e =
		fib_ring_put(&ring.base, request->opcode, user_data);

	*e = *request;
	e->user_data = user_data;
}

/* It ends the request before it. */
static void put_limit(struct wait *w)
{
	struct fib_sqe *e = fib_ring_put(&ring.base, FIB_OP_LINK_TIMEOUT,
					 (uintptr_t)w | OF_LIMIT);

	e->addr = (uintptr_t)&w->limit;
	e->len = 1;
	e->op_flags = TIMEOUT_ABS | TIMEOUT_REALTIME;
}

static struct fib_sqe futex(const void *word, uint32_t val, uint32_t bitset,
			    uint32_t flags)
{
	return (struct fib_sqe){
		.opcode = FIB_OP_FUTEX_WAIT,
		.fd = SIZE_U32 | flags,
		.off = val,
		.addr = (uintptr_t)word,
		.addr3 = bitset,
	};
}

static void put_bell(uint32_t seen)
{
	struct fib_sqe e = futex(&bell, seen, ~0u, PRIVATE);

	put(&e, OF_BELL);
	ring.bell_armed = true;
}

/* It answers a wait for a word that is another by now, if it knows any. */
static bool knows_futex(void)
{
	struct fib_sqe e =
		futex(&bell, fib_load(&bell, relaxed) - 1, ~0u, PRIVATE);
	struct fib_cqe c;

	put(&e, OF_BELL);
	return fib_ring_enter(&ring.base, 1) == 1 &&
	       fib_ring_next(&ring.base, &c) && c.res == -EAGAIN;
}

/* By the server's thread, whose ring it is. */
static bool set_up(void)
{
	static char *memory; /* stays, for a fork child's */

	memset(&ring, 0, sizeof(ring));
	fib_list_init(&ring.waits);
	fib_list_init(&ring.parted);
	if (!memory)
		memory = fib_pages_alloc(FIB_RING_SIZE(RESULTS));
	return memory && fib_ring_open(&ring.base, memory, RESULTS) &&
	       knows_futex();
}

/* --- the server ---------------------------------------------------------------- */

/* (H) */
static void finish(struct wait *w, int result)
{
	struct fib *f = w->fib;

	FIB_CHAOS_POINT(uring_finish);
	w->result = result;
	fib_store(&w->done, true, release); /* it may be gone after this */
	fib_wake(f);
}

static void begin_wait(struct wait *w)
{
	if (!ring.ready || ring.results + w->results > LIMIT) {
		finish(w, -ENOSYS);
		return;
	}
	ring.results += w->results;
	fib_list_add_tail(&ring.waits, &w->node);
	put(&w->request, (uintptr_t)w);
	if (w->request.flags & FIB_SQE_LINK)
		put_limit(w);
}

static void begin(struct op *o)
{
	struct wait *w = o->wait;
	struct fib *f = w->fib;

	if (!o->cancels) {
		begin_wait(w);
		return;
	}
	if (!fib_load(&w->done, relaxed))
		fib_ring_put_cancel(&ring.base, (uintptr_t)w);
	fib_store(&w->cancel_taken, true, release); /* as in finish() */
	fib_wake(f);
}

/* (E), in the order they came. */
static void take(void)
{
	struct op *o = fib_xchg(&todo, NULL, seq_cst), *next, *list = NULL;

	for (; o; o = next) {
		next = o->next;
		o->next = list;
		list = o;
	}
	if (!list)
		return;
	if (ring.first)
		ring.last->next = list;
	else
		ring.first = list;
	for (ring.last = list; ring.last->next; ring.last = ring.last->next)
		;
}

static void begin_all(void)
{
	while (ring.first &&
	       (!ring.ready || fib_ring_has_room(&ring.base, 2))) {
		struct op *o = ring.first;

		ring.first = o->next;
		begin(o); /* and then it may be gone */
	}
}

static void take_result(const struct fib_cqe *c)
{
	struct wait *w = (struct wait *)(c->user_data & ~OF_LIMIT);

	ring.results--;
	w->results--;
	if (!(c->user_data & OF_LIMIT)) {
		w->result = c->res;
	} else if (w->results && c->res == -EINVAL) {
		fib_list_del(&w->node);
		fib_list_add_tail(&ring.parted, &w->node);
	}
	if (w->results)
		return;
	fib_list_del(&w->node);
	finish(w, w->result);
}

static void harvest(void)
{
	struct fib_cqe c;

	while (fib_ring_next(&ring.base, &c)) {
		if (c.user_data == OF_BELL)
			ring.bell_armed = false;
		else if (c.user_data != OF_NOBODY)
			take_result(&c);
	}
}

/*
 * The kernel had memory for the first request of a pair, and took the second one later,
 * by itself. The first has gone to a thread of its own (io_queue_sqe_fallback() of
 * io_uring/io_uring.c), where no cancel finds it on its way to the queue.
 */
static void end_parted(void)
{
	while (!fib_list_empty(&ring.parted)) {
		struct fib_list *first = ring.parted.next;

		if (fib_ring_has_room(&ring.base, 1))
			fib_ring_put_cancel(&ring.base,
					    (uintptr_t)fib_container_of(
						    first, struct wait, node));
		fib_ring_enter(&ring.base, 0);
		harvest();
	}
}

/* Every wait ends, and so does the request for bell. */
static void close_ring(void)
{
	while (ring.results || ring.bell_armed) {
		if (fib_ring_has_room(&ring.base, 1))
			fib_ring_put_cancel(&ring.base, FIB_RING_ALL);
		fib_ring_enter(&ring.base, 0);
		harvest();
	}
	ring.ready = false;
}

/* For good. */
static void forbid(void)
{
	fib_store(&state, FORBIDDEN, seq_cst);
	fib_raw(SYS_futex, &state, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void wait_for_bell(uint32_t seen)
{
	long r;

	FIB_CHAOS_POINT(uring_sleep);
	if (!ring.ready) {
		fib_raw(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, seen, 0);
		return;
	}
	r = fib_ring_enter(&ring.base,
			   !ring.first && ring.bell_armed); /* (F) */
	/* Interrupted, or the kernel has no memory now: that passes. */
	fib_assert(r >= 0 || r == -EINTR || r == -EAGAIN || r == -EBUSY ||
		   r == -ENOMEM);
}

static void serve(void *arg)
{
	ring.ready = set_up();
	if (!ring.ready)
		forbid();
	for (;;) {
		uint32_t seen;

		fib_store(&asleep, true, seq_cst); /* (C) */
		seen = fib_load(&bell, seq_cst);   /* (D) */
		if (fib_load(&leaves, seq_cst))
			fib_worker_quit(fib_worker_self());
		if (fib_load(&state, seq_cst) == STOPPING) {
			close_ring();
			forbid();
		}
		if (ring.ready && !ring.bell_armed &&
		    fib_ring_has_room(&ring.base, 1))
			put_bell(seen);
		take();
		begin_all();
		wait_for_bell(seen);
		fib_store(&asleep, false, relaxed);
		if (ring.ready) {
			harvest();
			end_parted();
		}
	}
}

/* --- fibers -------------------------------------------------------------------- */

void fib_uring_allow(bool may)
{
	fib_store(&state, may && !left_out ? POSSIBLE : FORBIDDEN, seq_cst);
}

void fib_uring_leave_out(void)
{
	left_out = true;
}

bool fib_uring_allowed(void)
{
	uint32_t now = fib_load(&state, seq_cst);

	return now == POSSIBLE || now == SERVED;
}

static bool make_server(void)
{
	static void *stack;
	struct fib *f;

	if (!stack)
		stack = fib_thread_stack(STACK_SIZE);
	f = stack ? fib_alloc() : NULL;
	if (!f)
		return false;
	f->sp = fib_ctx_make(stack, serve, NULL);
	fib_host_shield(f);
	if (fib_bind(f)) {
		fib_free(f);
		return false;
	}
	server = f;
	return true;
}

/* Is somebody there who looks at todo? */
static bool is_served(void)
{
	if (fib_load(&state, acquire) == SERVED)
		return true;
	fib_lock(&lock);
	if (fib_load(&state, relaxed) == POSSIBLE && !make_server()) {
		fib_store(&state, FORBIDDEN, seq_cst);
	} else if (fib_load(&state, relaxed) == POSSIBLE) {
		fib_store(&state, SERVED, seq_cst);
		fib_store(&server->permit, FIB_PERMIT_PARKED, seq_cst);
		fib_wake(server);
	}
	fib_unlock(&lock);
	return fib_load(&state, acquire) == SERVED;
}

static void ring_bell(void)
{
	fib_add(&bell, 1, seq_cst);
	FIB_CHAOS_POINT(uring_ring);
	if (fib_load(&asleep, seq_cst)) /* (B) */
		fib_raw(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1);
}

/* (A), (G) */
static void push(struct op *o)
{
	struct op *first = fib_load(&todo, relaxed);

	do
		o->next = first;
	while (!fib_cas(&todo, &first, o, seq_cst));
	ring_bell();
}

static bool is_done(const void *arg)
{
	const struct wait *w = arg;

	return fib_load(&w->done, acquire);
}

static int cancel(struct wait *w, int why)
{
	push(&w->cancel);
	while (!fib_load(&w->done, acquire) ||
	       !fib_load(&w->cancel_taken, acquire))
		fib_park();
	return w->result == -ECANCELED ? why : w->result;
}

/* What comes of @request, or why it ended without; -ECANCELED: at @real_ns. */
static int await(struct fib_sqe request, uint64_t deadline_ns, uint64_t real_ns,
		 uint8_t why, uint64_t arg, bool (*goes_on)(struct fib *f))
{
	struct wait w = { .fib = fib_self(), .request = request, .results = 1 };
	int r;

	if (real_ns != FIB_NEVER) {
		w.request.flags = FIB_SQE_LINK;
		w.limit = fib_timespec(real_ns);
		w.results = 2;
	}

	w.op = (struct op){ .wait = &w };
	w.cancel = (struct op){ .wait = &w, .cancels = true };
	if (!is_served())
		return -ENOSYS;
	push(&w.op);
	do
		r = fib_park_until(is_done, &w, deadline_ns, why, arg);
	while (r == -EINTR && goes_on(w.fib));
	return r ? cancel(&w, r) : w.result;
}

long fib_uring_futex_wait(uint32_t *uaddr, uint32_t val, uint32_t bitset,
			  uint64_t deadline_ns, uint64_t real_ns,
			  bool (*goes_on)(struct fib *f))
{
	int r = await(futex(uaddr, val, bitset, 0), deadline_ns, real_ns,
		      FIB_WAIT_FUTEX, (uintptr_t)uaddr, goes_on);

	switch (r) {
	case 0:
	case -EAGAIN:
	case -EINTR:
	case -ETIMEDOUT:
		return r;
	case -ECANCELED: /* by its limit, or for other reasons before that */
		if (real_ns <= (uint64_t)fib_clock_ns(CLOCK_REALTIME))
			return -ETIMEDOUT;
	}
	return -ENOSYS; /* as for want of memory: nobody has woken it */
}

long fib_uring_child_wait(int type, int id, int options,
			  bool (*goes_on)(struct fib *f))
{
	int r = await((struct fib_sqe){ .opcode = FIB_OP_WAITID,
					.fd = (uint32_t)id,
					.len = (uint32_t)type,
					.options = (uint32_t)options },
		      FIB_NEVER, FIB_NEVER, FIB_WAIT_CHILD, 0, goes_on);

	return r == -ECHILD ? 0 : r == 0 || r == -EINTR ? r : -ENOSYS;
}

void fib_uring_stop(void)
{
	uint32_t served = SERVED;

	fib_lock(&lock);
	if (!fib_cas(&state, &served, STOPPING, seq_cst))
		fib_store(&state, FORBIDDEN, seq_cst);
	else
		ring_bell();
	fib_unlock(&lock);
	fib_uring_await_tries();
	while (fib_load(&state, acquire) == STOPPING)
		fib_raw(SYS_futex, &state, FUTEX_WAIT_PRIVATE, STOPPING, 0);
}

void fib_uring_end(void)
{
	fib_store(&leaves, true, seq_cst);
	ring_bell();
}

void fib_uring_quit(void)
{
	struct fib_worker *w;
	struct fib *old;
	int last_tid;

	fib_uring_stop();
	fib_lock(&lock);
	old = server;
	server = NULL;
	fib_unlock(&lock);
	if (!old)
		return;
	w = old->bound;
	last_tid = w->last_tid;
	fib_uring_end();
	fib_bare_join(w, last_tid);
	fib_free(old);
}

void fib_uring_forget(void)
{
	server = NULL;
	fib_lock_init(&lock, URING);
	fib_store(&todo, NULL, relaxed);
	fib_store(&leaves, false, relaxed);
	fib_store(&asleep, false, relaxed);
	fib_uring_allow(fib_uring_allowed());
}
