/*
 * What the preload adds to the engine's objects: runtime/host.h tells when this
 * is included. Each sub-struct has one owner, which its comment names; a field
 * is its fiber's own unless its comment says otherwise.
 */
#ifndef FIB_HOST_FIELDS_H
#define FIB_HOST_FIELDS_H

struct fib_regs;
struct fib_hold;
struct fib_place;
struct fib_taskwork;
struct fib_parting;
struct fib_sigframe;
struct fib_siginfo_node;
struct fib_timer;

#define FIB_INDEX_BITS 20

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

/* What a stop and SIGCONT are to the call under way. */
enum fib_stop {
	FIB_STOP_NOTHING = 0,
	FIB_STOP_ENDS = 1,  /* they end its wait */
	FIB_STOP_ENDED = 2, /* it is EINTR, though no handler runs */
	FIB_STOP_REPEATS = 3,  /* they have it begin anew, by its numbers */
	FIB_STOP_REPEATED = 4, /* so it does */
};

/* A handler that has run, as a call sees it which that may have ended. */
enum fib_handled {
	FIB_HANDLED_NONE = 0,
	FIB_HANDLED_RESTART = 1,
	FIB_HANDLED_EINTR = 2, /* without SA_RESTART */
};

/* --- of a fiber ------------------------------------------------------------- */

/* hooks/dispatch.c: the call under way; in the line that a park touches. */
struct fib_in_hook {
	_Atomic uint8_t in_hook;   /* below libc: no signal handler here */
	uint8_t door;		   /* enum fib_door */
	uint8_t restore_mask;	   /* enum fib_call_mask */
	uint8_t restarted;	   /* the call under way is repeated */
	uint16_t call;		   /* its number */
	_Atomic uint8_t cancelled; /* pthread_cancel() was called for it */
	uint8_t calls;		   /* hooked ones since it was resumed */
	struct fib_regs *regs;	   /* frame of a rewritten site, or NULL */
};

/* What each call looks at before it is made: hooks/thread/. */
struct fib_in_call {
	uint8_t plain;	/* rows with these flags go to the kernel */
	bool own_files; /* its descriptors are not the others' */
};

/* hooks/io/: how the call under way waits; what each call writes is first. */
struct fib_in_io {
	struct fib_waiter waiter; /* of fib_io_park() */
	int fd; /* the first argument of the call, mostly one: fibhook dump */
	bool keen;	      /* it parks, and would rather be in the kernel */
	bool part : 1;	      /* it has had a part of its effect */
	bool claims : 1; /* it was interrupted in a line: hooks/wait/line.h */
	uint8_t handled : 2; /* enum fib_handled, beside a cancel: deliver.c */
	uint8_t loops;	      /* its waits as an event loop, in a row */
	_Atomic uint8_t stop; /* enum fib_stop: hooks/signal/stop.c */
	uint64_t restart_deadline; /* of the call that is repeated */
	struct fib_hold *hold;	   /* of the file: hooks/io/parts.c */
	struct fib_hold *keeps; /* beside it: of messages that follow, messages.c */
	struct fib_place *place;   /* in a line: hooks/wait/line.h */
	uintptr_t blocking_sp;	   /* where it blocks in the kernel, or 0 */
	_Atomic int *counted;	   /* it counts there while it does; or NULL */
	_Atomic int *way;    /* how it waits, and others: hooks/wait/way.h */
	int reserved;	     /* a number for what it opens, plus 1; or 0 */
	uint8_t messages[2]; /* of a queue, it had to wait: hooks/io/mqueue.c */
	uint8_t told;	     /* that so many are ready: hooks/io/refused.c */
};

/* hooks/thread/: what a program tells one thread from another by. */
struct fib_in_thread {
	bool apart;    /* what it is bound to is unlike the others */
	bool confined; /* by a filter that threads of ours could not live under */
	bool loops;    /* it is bound for being an event loop */
	_Atomic bool renews; /* it is to call fib_sched_renew() */
	bool creating;	     /* in pthread_create: its mmap makes a stack */
	bool cancel_async;   /* the program's own pthread_setcanceltype() */
	bool leaves_stack;   /* it is at its end, and stack below it nobody's */
	uintptr_t stack;     /* low end of a block of runtime/stack.h, or 0 */
	struct fib_worker *began_on; /* that has run it first, */
	uint32_t began_at;	     /* and which of its runs that was */
	int exit_status;
	_Atomic int child; /* that it is just making: hooks/signal/target.c */
	_Atomic int ends;  /* the id that it had, at its very end: fib_ends_now() */
	uint32_t *clear_tid; /* zeroed and woken at exit */
	void *robust_head;
	struct fib_taskwork *work;   /* hooks/thread/taskwork.c */
	struct fib_parting *parting; /* at its birth: hooks/thread/thread.c */
};

/* hooks/signal/README.md says who may touch what; each call looks at the last two. */
struct fib_in_signal {
	_Atomic uint64_t awaited; /* what a sigwait under way accepts */
	uint64_t saved_mask;	  /* of sigsuspend, ppoll, ...: call_mask */
	uint64_t
		open; /* in and after pthread_create: hooks/sigcalls/actions.c */
	_Atomic uint8_t preempt; /* FIB_PREEMPT_*: yield where the kick leads */
	_Atomic bool kicked;  /* since it was last set to false */
	struct fib_siginfo_node *queue;
	struct fib_sigframe *frame; /* registers of the interrupted code */
	uintptr_t altstack_sp;
	size_t altstack_size;
	int altstack_flags;
	_Atomic uint8_t
		merges; /* a signal to the process, about to be handled */
	bool looks;	/* at what others have, for its next one */
	uint8_t handled; /* the last one: enum fib_handled */
	/* directed at this fiber */
	_Atomic uint64_t pending __attribute__((aligned(16)));
	_Atomic uint64_t mask;
};

#define FIB_HOST_FIBER_FIRST struct fib_in_hook hook;
#define FIB_HOST_FIBER_SECOND
#define FIB_HOST_FIBER_HOT struct fib_in_call call;
/* The end of sig and the beginning of io are one cache line's. */
#define FIB_HOST_FIBER                                                         \
	struct fib_in_signal sig;                                              \
	struct fib_in_io io;                                                   \
	struct fib_in_thread thread;

/* --- of a worker ------------------------------------------------------------ */

/* hooks/process/: identities and filters of its kernel thread. */
struct fib_worker_process {
	long slack_ns;		   /* to be set; 0: it has its maker's */
	bool filtered;		   /* bound, and under a seccomp filter */
	bool strict;		   /* read, write, exit; and no rdtsc */
	_Atomic uint32_t identity; /* change last made, */
	uint32_t asked;		   /* and last asked for; workers_lock */
};

/* hooks/signal/ */
struct fib_worker_signal {
	uint64_t profiled_ns; /* CPU time at its last SIGPROF: target.c */
	struct fib_lock kick_lock; /* no_kick, and its kicks */
	bool no_kick;		   /* in exec */
	_Atomic bool kicked;	   /* in its sleep */
};

/* hooks/dispatch.c: the turn of one that has no need to wait. */
struct fib_worker_turn {
	uint32_t run;	/* of the worker, in which it was last looked at */
	uint32_t calls; /* that are left of it */
	uint32_t asked; /* in that run one was asked, and has not waited since */
	uint8_t vain;	/* looks at epoll, in a row, that woke nobody */
};

/* hooks/thread/thread.c */
struct fib_worker_thread {
	/* Page faults of its kernel thread, as last asked for. */
	int tid; /* whose they are */
	long faults;
	/* Cycles until which nobody else is taken to want its processor. */
	uint64_t wanted_not;
};

/* hooks/report/holdups.c: the monitor writes it, who takes slot reads it. */
struct fib_worker_report {
	_Atomic uint32_t slot; /* in fib_symtab.holdups, and 1; 0: none */
	uint32_t what;
	uint64_t since_ns;
};

#define FIB_HOST_WORKER_FIRST
#define FIB_HOST_WORKER                                                        \
	struct fib_worker_turn turn;                                           \
	struct fib_worker_process process;                                     \
	struct fib_worker_signal sig;                                          \
	struct fib_worker_thread thread;                                       \
	struct fib_worker_report report;

#define FIB_HOST_SCHED
#define FIB_HOST_FD                                                            \
	short had; /* a duplicate, when its original was closed: POLLHUP, ... */
#define FIB_HOST_IO                                                            \
	long *flags;	   /* of the call, MSG_DONTWAIT among them */          \
	uint64_t since_ns; /* it waits, where others may change how long */    \
	uint32_t found;	   /* hooks/fd/desc.h (A) */                           \
	uint8_t undone;	   /* its connection, when the wait began: fd/fd.h */  \
	bool opens; /* a descriptor, whose number is reserved meanwhile */     \
	bool shared; /* the caller knows how to go to the queue: hooks/io/queue.c */ \
	bool shut; /* the listener was, before the last try */              \
	bool tries_last; /* a signal has woken it, and it looks once more */   \
	bool asks; /* poll, whatever an edge says */
#define FIB_HOST_TIMER                                                         \
	void (*fire)(struct fib_timer * t); /* where fib is NULL */

#endif
