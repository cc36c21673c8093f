/*
 * A ring of io_uring, as uring.c and uring_try.c use it: of one kernel thread that
 * submits and harvests, in memory of ours, and in no table of descriptors.
 */
#ifndef FIB_URING_INT_H
#define FIB_URING_INT_H

#include "runtime/sched.h"
#include "runtime/uring.h"

/* include/uapi/linux/io_uring.h, which older systems lack in part */
#define FIB_OP_ACCEPT	    13
#define FIB_OP_LINK_TIMEOUT 15
#define FIB_OP_CONNECT	    16
#define FIB_OP_WAITID	    50
#define FIB_OP_FUTEX_WAIT   51
#define FIB_SQE_LINK	    (1u << 2)

struct fib_sqe {
	uint8_t opcode, flags;
	uint16_t ioprio; /* of an accept its own flags */
	uint32_t fd;	 /* of a futex its flags, of a child its id */
	uint64_t off;	 /* of a futex its value, of an address its length,
		       * of an accept where that is */
	uint64_t addr;
	uint32_t len; /* of a child what its id is */
	uint32_t op_flags;
	uint64_t user_data;
	uint32_t unused;
	uint32_t options; /* of a wait for a child */
	uint64_t addr3;	  /* of a futex its bitset */
	uint64_t unused2;
};

struct fib_cqe {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

/* Its memory: a page of requests, and pages of results and the kernel's words. */
#define FIB_RING_REQUESTS 64u
#define FIB_RING_SIZE(results)                                                 \
	((results) * sizeof(struct fib_cqe) + 2 * FIB_PAGE)

struct fib_ring {
	long index; /* among the thread's registered ones */
	struct fib_sqe *sqe;
	_Atomic uint32_t *sq_head, *sq_tail, *cq_head, *cq_tail;
	struct fib_cqe *cqe;
	uint32_t results;
	uint32_t tail; /* of what was put, */
	uint32_t in;   /* and of what the kernel has */
};

/**
 * Make one for the calling kernel thread, in @memory of FIB_RING_SIZE(@results)
 * bytes; @results: a power of two. False: it is not to be had.
 */
bool fib_ring_open(struct fib_ring *r, void *memory, uint32_t results);
bool fib_ring_has_room(const struct fib_ring *r, uint32_t requests);
/** A request, all 0, for which there is room. */
struct fib_sqe *fib_ring_put(struct fib_ring *r, uint8_t opcode,
			     uint64_t user_data);
/** Cancel those of @user_data; that has a result, of FIB_RING_NOBODY, if there is none. */
void fib_ring_put_cancel(struct fib_ring *r, uint64_t user_data);
#define FIB_RING_ALL	0ul
#define FIB_RING_NOBODY 0ul
/** Submit what was put, and sleep until there are @min results, or less. */
long fib_ring_enter(struct fib_ring *r, uint32_t min);
/** Take back what was put and the kernel has not taken. */
void fib_ring_withdraw(struct fib_ring *r);
bool fib_ring_next(struct fib_ring *r, struct fib_cqe *to);

#endif
