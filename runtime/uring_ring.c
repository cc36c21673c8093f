/* A ring of io_uring, see uring_int.h. */
#include "runtime/chaos.h"
#include "runtime/uring_int.h"

#define SETUP_CQSIZE		 (1u << 3)
#define SETUP_SUBMIT_ALL	 (1u << 7)
#define SETUP_SINGLE_ISSUER	 (1u << 12)
#define SETUP_DEFER_TASKRUN	 (1u << 13)
#define SETUP_NO_MMAP		 (1u << 14)
#define SETUP_REGISTERED_FD_ONLY (1u << 15)
#define SETUP_NO_SQARRAY	 (1u << 16)
#define ENTER_GETEVENTS		 (1u << 0)
#define ENTER_REGISTERED_RING	 (1u << 4)
#define OP_ASYNC_CANCEL		 14
#define CANCEL_ALL		 (1u << 0)
#define CANCEL_ANY		 (1u << 2)
#define CQE_SKIP_SUCCESS	 (1u << 6)

struct offsets {
	uint32_t head, tail, mask, entries, more[4];
	uint64_t user_addr;
};

struct params {
	uint32_t sq_entries, cq_entries, flags, unused[7];
	struct offsets sq, cq;
};

_Static_assert(sizeof(struct fib_sqe) == 64 && sizeof(struct params) == 120 &&
		       FIB_RING_REQUESTS * sizeof(struct fib_sqe) == FIB_PAGE,
	       "the kernel's");

bool fib_ring_open(struct fib_ring *r, void *memory, uint32_t results)
{
	struct params p = {
		.cq_entries = results,
		.flags = SETUP_CQSIZE | SETUP_SUBMIT_ALL | SETUP_SINGLE_ISSUER |
			 SETUP_DEFER_TASKRUN | SETUP_NO_MMAP |
			 SETUP_REGISTERED_FD_ONLY | SETUP_NO_SQARRAY,
	};
	char *base = (char *)memory + FIB_PAGE;

	memset(memory, 0, FIB_RING_SIZE(results));
	*r = (struct fib_ring){ .sqe = memory, .results = results };
	p.sq.user_addr = (uintptr_t)memory;
	p.cq.user_addr = (uintptr_t)base;
	r->index = fib_raw(SYS_io_uring_setup, FIB_RING_REQUESTS, &p);
	if (r->index < 0 || p.sq_entries != FIB_RING_REQUESTS ||
	    p.cq_entries != results)
		return false;
	r->sq_head = (void *)(base + p.sq.head);
	r->sq_tail = (void *)(base + p.sq.tail);
	r->cq_head = (void *)(base + p.cq.head);
	r->cq_tail = (void *)(base + p.cq.tail);
	/* cq_off.cqes */
	r->cqe = (void *)(base + p.cq.more[1]);
	return true;
}

bool fib_ring_has_room(const struct fib_ring *r, uint32_t requests)
{
	return r->tail - fib_load(r->sq_head, acquire) + requests <=
	       FIB_RING_REQUESTS;
}

struct fib_sqe *fib_ring_put(struct fib_ring *r, uint8_t opcode,
			     uint64_t user_data)
{
	struct fib_sqe *e = &r->sqe[r->tail++ & (FIB_RING_REQUESTS - 1)];

	*e = (struct fib_sqe){ .opcode = opcode, .user_data = user_data };
	return e;
}

void fib_ring_put_cancel(struct fib_ring *r, uint64_t user_data)
{
	struct fib_sqe *e = fib_ring_put(r, OP_ASYNC_CANCEL, FIB_RING_NOBODY);

	e->flags = CQE_SKIP_SUCCESS;
	e->addr = user_data;
	e->op_flags = user_data == FIB_RING_ALL ? CANCEL_ALL | CANCEL_ANY : 0;
}

long fib_ring_enter(struct fib_ring *r, uint32_t min)
{
	uint32_t requests = r->tail - r->in;
	long n;

	fib_store(r->sq_tail, r->tail, release);
	/* As where the kernel has no memory for all. */
	if (requests > 1 && FIB_CHAOS_ODDS(uring_part, 4)) {
		requests--;
		min = 0;
	}
	n = fib_raw(SYS_io_uring_enter, r->index, requests, min,
		    ENTER_GETEVENTS | ENTER_REGISTERED_RING, 0, 0);
	if (n > 0)
		r->in += (uint32_t)n;
	return n;
}

void fib_ring_withdraw(struct fib_ring *r)
{
	r->tail = r->in;
	fib_store(r->sq_tail, r->tail, release);
}

bool fib_ring_next(struct fib_ring *r, struct fib_cqe *to)
{
	uint32_t head = fib_load(r->cq_head, relaxed);

	if (head == fib_load(r->cq_tail, acquire))
		return false;
	*to = r->cqe[head & (r->results - 1)];
	fib_store(r->cq_head, head + 1, release);
	return true;
}
