/*
 * The fiber: one flow of control with a stack, and under the preload also a
 * TLS block, a thread id and everything else by which a program tells one
 * thread from another.
 *
 * Fibers live in slabs that are never unmapped, so that a late wake-up of a
 * fiber that is gone touches valid memory and is harmless (sched.h tells
 * why). The slab lock guards allocation alone. Fields are owned by the fiber
 * itself unless their comment says otherwise.
 */
#ifndef FIB_FIBER_H
#define FIB_FIBER_H

#include "runtime/base.h"
#include "runtime/san.h"

#define FIB_NAME_MAX 16 /* with the terminating zero */

/* Timers that are armed, the next one first: timer.h. */
enum { FIB_TIMERS_FEW = 16 };
struct fib_timer_heap {
	struct fib_lock lock;
	struct fib_timer **node;
	uint32_t count, size;
	_Atomic uint64_t next_ns;  /* of the root; FIB_NEVER when empty */
	_Atomic uint64_t after_ns; /* the next after that */
	/* The first ones need no memory: there may be none. */
	struct fib_timer *few[FIB_TIMERS_FEW];
};

/* Who waits at a descriptor: iom.h. */
enum {
	FIB_WOKEN_FOR_IT = 1, /* what it waits for has happened */
	FIB_WOKEN_ON,	      /* who was woken for it is done: iom.h */
	FIB_WOKEN_TO_LOOK,    /* it may have happened */
};

struct fib_waiter {
	struct fib_list node; /* empty: not waiting (any more) */
	struct fib *fib;
	uint8_t events;
	bool observer;
	bool hold : 1;
	bool polls : 1;	       /* its bound worker polls for it: iom.h; lock */
	_Atomic uint8_t woken; /* 0, FIB_WOKEN_* */
	uint32_t turn;	       /* of a consumer */
	struct fib_fd *_Atomic slot; /* where it is published */
};

#include "fib_host_fields.h"

#define FIB_MAX (1u << FIB_INDEX_BITS)

struct fib_worker;

/* As in libfib/fib.h, which a program sees; libfib/fibers.c compares them. */
enum fib_fiber_state {
	FIB_IS_FREE = 0,    /* there is none (any more) */
	FIB_IS_READY = 1,   /* new, or queued */
	FIB_IS_RUNNING = 2, /* on a worker */
	FIB_IS_PARKED = 3,  /* waits to be woken */
};

/* What a parked fiber waits for, for fibhook dump. */
enum fib_wait {
	FIB_WAIT_NONE = 0,
	FIB_WAIT_FD = 1,    /* wait_arg: the descriptor */
	FIB_WAIT_FUTEX = 2, /* wait_arg: the address */
	FIB_WAIT_TIME = 3,  /* the deadline alone */
	FIB_WAIT_SIGNAL = 4,
	FIB_WAIT_POLL = 5, /* wait_arg: how many descriptors */
	FIB_WAIT_LINE = 6, /* behind another that waits in the kernel */
	FIB_WAIT_CHILD = 7,
};

struct fib {
	/* --- what a park and a wake-up touch: one cache line --- */
	void *sp;		    /* saved context while off a worker */
	uintptr_t fsbase;	    /* 0: runs with its worker's TLS */
	_Atomic int permit;	    /* the park/wake word, see sched.h */
	_Atomic uint32_t attention; /* leave waits: fib_host_attention() */
	FIB_HOST_FIBER_FIRST
	uint8_t wait;		 /* enum fib_wait */
	uint8_t passed_over : 4; /* for a futex, in a row: sched.h */
	uint8_t too_late : 4;	 /* the same: hooks/futex/futex.c */
	int16_t brief : 12;	 /* its worker's: keep.h */
	bool excused : 1;
	uint8_t computes : 3; /* the same; turns until it does not: runq.h */
	_Atomic int state;    /* enum fib_fiber_state */
	struct fib_worker *_Atomic on; /* the worker that runs it */
	struct fib_worker *bound;      /* runs on this one alone */
	/* --- and what its next run does --- */
	struct fib_list run; /* run queue */
	FIB_HOST_FIBER_SECOND
	uint64_t wait_arg;
	uint64_t wait_deadline;
	uint64_t cycles, cycles_since; /* CPU time: cputime.h */
	uint64_t queued_at;	       /* cycles; 0: not a sample. runq.h */
	uint32_t index;		       /* in the slabs, for ever */
	/* CPU clock, cputime.h: has it asked for it? is it on a worker? */
	_Atomic bool metered;
	bool cpu_runs;
	FIB_HOST_FIBER_HOT
	/* --- the rest --- */
	uint32_t generation;	  /* lives of this slab entry */
	_Atomic int tid;	  /* 0 while free */
	uint32_t pkru;		  /* while off a worker: pkru_arch.h */
	char name[FIB_NAME_MAX];  /* may be read and written by others */
	_Atomic uint32_t cpu_seq; /* CPU clock */
	uint64_t cpu_ns, cpu_since_ns;
	/* --- what the host adds --- */
	FIB_HOST_FIBER
	struct waiter *pi_wait; /* for a PI mutex: futex_pi.c */
	uint32_t ticket;	/* for a futex, passed over often: sched.h */
	/* --- what it was made of; not where a thread of libc's became it --- */
	void (*fn)(void *);
	void *arg;
	void *stack; /* with its guard page */
	size_t stack_size;
	struct fib_san san;
} __attribute__((aligned(64)));

/** A fiber of the slabs, zeroed but for index and generation; NULL: none. */
struct fib *fib_alloc(void);
/** The fiber is gone. Its memory stays valid. */
void fib_free(struct fib *f);
/* The two without the list of free ones, for a cache of them. */
void fib_renew(struct fib *f);
void fib_retire(struct fib *f);
/** Entry @index, whether in use or not; NULL where no slab is yet. */
struct fib *fib_at(uint32_t index);
/** One more than the highest index ever used. */
uint32_t fib_high_water(void);
/** Around a fork: nobody is at the slabs. */
void fib_slab_lock(void);
void fib_slab_unlock(void);
/** In a fork child: forget all fibers. */
void fib_reset_all(void);

#endif
