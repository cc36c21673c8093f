/*
 * What the library adds to the engine's objects: runtime/host.h tells when this
 * is included. All of it is lib.*, and libfib/'s own.
 */
#ifndef FIB_HOST_FIELDS_H
#define FIB_HOST_FIELDS_H

#include "libfib/fib.h"

struct fib_local;
struct fib_san;

#define FIB_INDEX_BITS 20 /* a queued function is a fiber as well */

/* struct fib, attention: libfib/cancel.c */
#define FIB_CANCELED 1u
#define FIB_SHIELD   2u

struct fib_lib_fiber {
	/* what a switch touches: one cache line */
	struct fib_sched *sched; /* whose it is until it ends, or NULL */
	struct fib *top;	 /* what runs on top of it by hand, or itself */
	void (*home)(struct fib *f); /* queues it, instead of a scheduler */
	void *home_arg;
	struct fib_worker *pin; /* the only one that may run it, or NULL */
	_Atomic uint32_t life;	/* enum fib_life, libfib/lib.h */
	_Atomic uint32_t ready; /* fib_ready() came, for fib_yield() */
	int err;		/* errno, while it is off a direct worker */
	/* the rest */
	_Atomic uint64_t id;	 /* 0: nobody has asked for it */
	struct fib *below;	 /* by hand: whom it was resumed by */
	void *below_sp;		 /* and the context there */
	struct fib_guard *guard; /* of the timer whose callback it runs */
	struct fib_local *local; /* values of its own: local.c */
	uint32_t locals;
};

struct fib_lib_worker {
	struct fib_sched *sched;
	int *errno_at;		/* of its thread */
	struct fib *ended;	/* and still on its stack: direct.h */
	uint32_t direct;	/* no direct switch from this tick on */
	bool passing;		/* carries a task for an executor: task.c */
	struct fib_san *left;	/* whose stack was left last */
	struct fib_list pinned; /* fibers that no other may run; lock */
	_Atomic uint32_t npinned;
	unsigned long thread;	  /* pthread_t */
	struct fib_worker *outer; /* what the thread was before */
	void *main_sp;		  /* the caller's own context, while it is in */
	struct fib_san *main_san; /* fib_sched_stop() */
};

enum fib_phase {
	FIB_STOPPED = 0,
	FIB_STARTED = 1,
	FIB_STOPPING = 2, /* ends when no work is left */
	FIB_ENDED = 3,	  /* none was left: all threads end */
};

struct fib_lib_sched {
	struct fib_timer_heap timers; /* that belong to no worker */
	/*
	 * Fibers that have not ended, pending events, armed timers: with none
	 * of them a scheduler that is told to stop is at its end. One count, so
	 * that nothing is missed while one becomes the other.
	 */
	_Atomic uint64_t work;
	_Atomic uint64_t nfibers, nevents, ntimers;
	_Atomic uint64_t tickles;
	_Atomic int phase;	   /* enum fib_phase */
	_Atomic uint32_t visitors; /* threads that queue a fiber from outside */
	_Atomic uint32_t way, way_waiters; /* outside.c, fib_make_way() */
	uint32_t alive;			   /* threads that have not ended */
	struct fib_mutex lifecycle;
	unsigned threads;
	bool use_caller, auto_stop;
	unsigned long caller; /* pthread_t */
	size_t stack_size;
	char name[FIB_NAME_MAX];
	struct fib_list starved; /* no memory for their stacks; inject_lock */
	_Atomic uint32_t nstarved;
	struct fib_list all; /* schedulers of the process */
	struct fib_timers *timed;
	/* In the place of epoll_ctl, for tests. */
	long (*control)(int op, int fd, const void *ev);
};

struct fib_lib_fd {
	struct fib_sched *sched;
	uintptr_t event[2]; /* the fiber that READ and WRITE are for; lock */
};

struct fib_lib_io {
	uint64_t timeout_ns;
};

struct fib_timer;
struct fib_lib_timer {
	/* Called under the heap's lock, where there is no fiber to wake. */
	void (*fire)(struct fib_timer *t);
};

#define FIB_HOST_FIBER_FIRST
#define FIB_HOST_FIBER_SECOND struct fib_lib_fiber lib;
#define FIB_HOST_FIBER_HOT
#define FIB_HOST_FIBER
#define FIB_HOST_WORKER_FIRST struct fib_lib_worker lib;
#define FIB_HOST_WORKER
#define FIB_HOST_SCHED struct fib_lib_sched lib;
#define FIB_HOST_FD    struct fib_lib_fd lib;
#define FIB_HOST_IO    struct fib_lib_io lib;
#define FIB_HOST_TIMER struct fib_lib_timer lib;

#endif
