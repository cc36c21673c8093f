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
#include "runtime/fib.h"
#include "runtime/san.h"

#ifdef FIB_PRELOAD
#define FIB_INDEX_BITS 17
#else
#define FIB_INDEX_BITS 20 /* a queued function is a fiber as well */
#endif
#define FIB_MAX (1u << FIB_INDEX_BITS)

struct fib_regs;
struct fib_worker;

/* What a parked fiber waits for, for fibhook dump. */
enum fib_wait {
	FIB_WAIT_NONE = 0,
	FIB_WAIT_FD = 1,    /* wait_arg: the descriptor */
	FIB_WAIT_FUTEX = 2, /* wait_arg: the address */
	FIB_WAIT_TIME = 3,  /* the deadline alone */
	FIB_WAIT_SIGNAL = 4,
	FIB_WAIT_POLL = 5, /* wait_arg: how many descriptors */
};

/* How a call came to its hook. */
enum fib_door {
	FIB_DOOR_NONE = 0,
	FIB_DOOR_SYMBOL = 1, /* exported function: vector registers are dead */
	FIB_DOOR_SITE = 2,   /* rewritten site: they are live */
};

/* A call has a signal mask of its own. */
enum fib_call_mask {
	FIB_MASK_NONE = 0,
	FIB_MASK_LATER = 1, /* saved_mask, from when the call has to wait */
	FIB_MASK_READY = 2, /* in force; then saved_mask is the fiber's again,
			     * before a handler runs unless the call was ended
			     * by a signal */
	FIB_MASK_AFTER = 3, /* in force; in any case handlers run first */
};

struct fib_siginfo_node;
struct fib_hold;
struct fib_work;
struct fib_parting;
struct fib_sigframe;

struct fib {
	/* --- what a park and a wake-up touch: one cache line --- */
	void *sp;		       /* saved context while off a worker */
	uintptr_t fsbase;	       /* 0: runs with its worker's TLS */
	_Atomic int permit;	       /* the park/wake word, see sched.h */
	_Atomic uint32_t attention;    /* look for signals at the hook's end */
	_Atomic uint8_t in_hook;       /* below libc: no signal handler here */
	uint8_t door;		       /* enum fib_door */
	uint8_t restore_mask;	       /* enum fib_call_mask */
	uint8_t restarted;	       /* the call under way is repeated */
	uint8_t wait;		       /* enum fib_wait */
	uint16_t call;		       /* number of the call under way */
	_Atomic uint8_t cancelled;     /* pthread_cancel() was called for it */
	uint8_t calls;		       /* hooked ones since it was resumed */
	_Atomic int state;	       /* enum fib_state */
	struct fib_worker *_Atomic on; /* the worker that runs it */
	struct fib_worker *bound;      /* runs on this one alone */
	struct fib_regs *regs;	       /* frame of a rewritten site, or NULL */
	/* the second cache line */
	struct fib_list run; /* run queue */
#ifndef FIB_PRELOAD
	struct fib_sched *sched; /* whose it is until it ends, or NULL */
	struct fib *top;	 /* what runs on top of it by hand, or itself */
	void (*home)(struct fib *f); /* queues it, instead of a scheduler */
	_Atomic uint32_t life;	     /* enum fib_life, runtime/lib/lib.h */
	_Atomic uint32_t ready;	     /* fib_ready() came, for fib_yield() */
	int err;		/* errno, while it is off a direct worker */
	struct fib_worker *pin; /* the only one that may run it, or NULL */
#endif
	uint64_t wait_arg;
	uint64_t wait_deadline;
	uint64_t restart_deadline;     /* of the call that is repeated */
	uint64_t cycles, cycles_since; /* CPU time: cputime.h */
	uint32_t index;		       /* in the slabs, for ever */
	uint32_t generation;	       /* lives of this slab entry */
	_Atomic int tid;	       /* 0 while free */
	char name[FIB_NAME_MAX];       /* may be read and written by others */

	/* --- a thread's identity --- */
	/* CPU clock, cputime.h: has it asked for it? is it on a worker? */
	_Atomic bool metered;
	bool cpu_runs;
	_Atomic uint32_t cpu_seq;
	uint64_t cpu_ns, cpu_since_ns;
	uint32_t pkru; /* while off a worker: arch/x86_64/pkru.h */
#ifdef FIB_PRELOAD
	bool apart; /* dedicated: what it is bound to is unlike the others */
	_Atomic bool renews; /* it is to call fib_sched_renew() */
	uintptr_t blocking_sp; /* where it blocks in the kernel, or 0 */
	struct fib_hold *hold; /* of the call under way: hooks/io.c */
	_Atomic bool preempt;  /* yield where the kick's handler leads */
	_Atomic bool kicked;   /* since it was last set to false */
	bool own_files;	       /* its descriptors are not the others' */
	uint8_t plain;	       /* rows with these flags go to the kernel */
	bool creating;	       /* in pthread_create: its mmap makes a stack */
	bool part;	       /* the call has had a part of its effect */
	bool cancel_async;     /* the program's own pthread_setcanceltype() */
	uint32_t *clear_tid;   /* zeroed and woken at exit */
	int exit_status;
	void *robust_head;
	size_t robust_len;

	/* --- signals: hooks/signal.c says who may touch what --- */
	_Atomic uint64_t sigmask;
	_Atomic uint64_t sigpend; /* directed at this fiber */
	_Atomic uint64_t sigwait; /* what a sigwait under way accepts */
	uint64_t saved_mask;	  /* of sigsuspend, ppoll, ...: call_mask */
	struct fib_siginfo_node *sigqueue;
	struct fib_work *work;	       /* hooks/taskwork.c */
	struct fib_parting *parting;   /* at its birth: hooks/thread.c */
	struct fib_sigframe *sigframe; /* registers of the interrupted code */
	uintptr_t altstack_sp;
	size_t altstack_size;
	int altstack_flags;
#endif

	/* --- library fibers --- */
	void (*fn)(void *);
	void *arg;
	void *stack; /* with its guard page */
	size_t stack_size;
	struct fib_san san;
#ifndef FIB_PRELOAD
	_Atomic uint64_t id; /* 0: nobody has asked for it */
	void *home_arg;
	struct fib *below;	 /* by hand: whom it was resumed by */
	void *below_sp;		 /* and the context there */
	struct fib_guard *guard; /* of the timer whose callback it runs */
#endif
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
/** In a fork child: forget all fibers but @self. */
void fib_reset_all(struct fib *self);

#endif
