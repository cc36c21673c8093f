/*
 * The N:M scheduler: N workers (kernel threads) run any number of fibers.
 *
 * Park and wake
 * -------------
 * A fiber that waits publishes itself where its waker will look (a waiter in
 * a list under that list's lock), checks its condition once more, and calls
 * fib_park(). A waker takes the waiter off the list under the same lock, says
 * in the waiter what happened, and calls fib_wake(). Between the two stands
 * one word in the fiber, the permit:
 *
 *	NONE      nothing has happened since the last park
 *	PARKED    the fiber is off its stack and nobody has woken it
 *	NOTIFIED  a wake-up came and has not been used up
 *
 *	fiber                                waker
 *	-----                                -----
 *	lock; publish waiter; unlock
 *	fib_park(): leave the stack          lock; take waiter; unlock
 *	on the worker's stack:               (B) in one step, by CAS:
 *	(A) CAS(permit, NONE -> PARKED)      PARKED -> NONE: it is ours:
 *	    fails: it was NOTIFIED:              queue it
 *	(C) permit = NONE, queue it          else -> NOTIFIED: stays for (A)
 *
 * (A) comes after the fiber has left its stack and on->NULL is visible, so a
 * stack is never on two workers. Whoever wins the one atomic word queues the
 * fiber, so it is queued once. A wake-up that comes before the park is kept
 * in the permit, so none is lost. (C) wipes out a second wake-up
 * that came meanwhile; that is no loss, since the fiber runs after it, but it
 * has to be an exchange: so what the second waker wrote before is seen by the
 * fiber that is queued. For the same reason (B) writes even where it changes
 * nothing. The price is that a permit may be stale (a
 * waker that was late): parks return spuriously, and every wait is a loop
 * around its condition. Fibers' memory is never unmapped, so that a late
 * waker may touch the permit of a fiber that is gone.
 *
 * Rejected: a state machine with WAITING/WAKING states per wait queue (as in
 * the seeds): every queue had its own race. Deciding under one scheduler lock:
 * contended by every wake-up.
 *
 * Sleeping workers
 * ----------------
 * A worker with nothing to run counts itself idle, looks once more at every
 * queue, and blocks in epoll_wait. Who queues a fiber looks at the idle count
 * after it, and writes the eventfd if somebody is idle and no earlier wake-up
 * is still under way (wake_pending). Both sides have a full fence between
 * their write and their read, so one of them sees the other. The worker that
 * takes the wake-up clears wake_pending before it looks at the queues. Each
 * worker that has found work and sees more of it passes the wake-up on; and who
 * took one and then finds work answers for all that the wake-up may have been
 * about (pass_wake), since others have relied on it: fibers in any queue, and a
 * timer that is due before any sleeper wakes.
 *
 * Liveness
 * --------
 * The monitor (monitor.c) looks at busy workers every 10 ms. One that is still
 * in the same fiber while no worker is idle is taken out of the count, and a
 * spare worker takes its place; when it comes back it is surplus and one
 * worker retires.
 *
 * Dedicated fibers
 * ----------------
 * A fiber that changes what belongs to a kernel thread (affinity, namespaces,
 * capabilities, ...) is bound to a worker that runs it alone, for good, and
 * ends with it. It leaves the worker that it is on for a new one, cloned from
 * that, before it changes anything; but the process's first thread has the
 * process's first kernel thread, which nobody else is bound to: others look at
 * that one to know the process. It is summoned to give its place and its queue
 * away, if another fiber runs there. What such a fiber creates is bound too, to
 * a thread that its own thread cloned, and so inherits what the kernel says it
 * inherits. (A fiber may be bound and have what all have: one that has made a
 * child process, since its children are the kernel thread's.)
 *
 * A summons reaches a worker wherever it is:
 *
 *	summoner			worker
 *	--------			------
 *	summoned = 1			lies down: spare = 1
 *	spare 1 -> 2, wake		  sleeps while spare is 1
 *	kick				sleeps in epoll: fib_raw_intr(), which
 *	the monitor, each tick:		  looks at summoned, and is ended by
 *	  preempt the fiber there	  a kick from that look on
 *					next(): summoned? answers
 *
 * Locks, in rank order: timer heap, run queue. Neither is held across a park.
 */
#ifndef FIB_SCHED_H
#define FIB_SCHED_H

#include "runtime/fiber.h"
#include "runtime/symtab.h"

enum fib_permit {
	FIB_PERMIT_NONE = 0,
	FIB_PERMIT_PARKED = 1,
	FIB_PERMIT_NOTIFIED = 2,
};

struct fib_timer_heap {
	struct fib_lock lock;
	struct fib_timer **node;
	uint32_t count, size;
	_Atomic uint64_t next_ns; /* of the root; FIB_NEVER when empty */
};

#define FIB_POLL_EVERY 61 /* resumes between two looks at epoll while busy */

/* Rows of a scheduler's table of workers. */
#define FIB_SCHED_WORKERS 4096

struct fib_worker {
	struct fib_worker *self; /* %gs:0 */
	struct fib *cur;	 /* %gs:8: the fiber that runs, or NULL */
#ifndef FIB_PRELOAD
	struct fib_sched *sched;
	int *errno_at;	   /* of its thread */
	struct fib *ended; /* and still on its stack: direct.h */
	uint32_t direct;   /* no direct switch from this tick on */
#endif
	void *sched_sp; /* the scheduler's own context */
	void (*action)(struct fib_worker *, struct fib *);
	uint32_t id;
	uint32_t tick; /* since it looked at epoll */
	_Atomic int tid;
	int last_tid;	       /* which stays when the kernel zeroes that */
	_Atomic uint32_t runs; /* fibers resumed: the monitor watches it */

	struct fib_lock lock; /* the run queue */
	struct fib_list queue;
	_Atomic uint32_t queued;

	struct fib_timer_heap timers;

	_Atomic uint32_t idle;	       /* sleeps in epoll_wait */
	_Atomic uint64_t sleeps_until; /* valid while idle */
	_Atomic uint32_t taken;	       /* the monitor gave its place away */
	_Atomic uint32_t blocking;     /* in a call that is known to block */
	_Atomic int spare;	       /* futex: 1 while retired, 2: summoned */
	struct fib *bound;	       /* runs this fiber and no other */
	struct fib *reserved;	       /* and is summoned to be bound to it, */
	bool ends;		       /* or to end */
	_Atomic uint32_t summoned;
	_Atomic int bound_ready;       /* futex: 1 when that can run */
	_Atomic int gone;	       /* its thread has ended or is about to */
	_Atomic int born;	       /* futex: 1 when it is up and running */
	bool took_wake;		       /* and has not slept since */
	bool filtered;		       /* bound, and under a seccomp filter */
	bool strict;		       /* read, write, exit; and no rdtsc */
	uint32_t seen_runs;	       /* the monitor's, and CPU time then */
	uint64_t seen_cpu_ns;
	_Atomic uint32_t late;	       /* turns it has waited for a lock */
	struct {		       /* the monitor's: watch.c */
		uint32_t runs, calls;
		uint64_t cpu_ns, user_ns;
	} watch;
	uint64_t profiled_ns; /* CPU time at its last SIGPROF: receiver.c */
	void *stack;
	void *altstack;		   /* the host's, for its signal handler */
	_Atomic uint32_t identity; /* the host's: change last made, */
	uint32_t asked;		   /* and last asked for; workers_lock */
	struct fib_lock kick_lock; /* the host's: no_kick, and its kicks */
	bool no_kick;		   /* in exec */
	struct fib_san san;
#ifndef FIB_PRELOAD
	struct fib_san *left;	/* whose stack was left last */
	struct fib_list pinned; /* fibers that no other may run; lock */
	_Atomic uint32_t npinned;
	bool passing;		  /* carries a task for an executor: task.c */
	unsigned long thread;	  /* pthread_t */
	struct fib_worker *outer; /* what the thread was before */
	void *main_sp;		  /* the caller's own context, while it is in */
	struct fib_san *main_san; /* fib_sched_stop() */
#endif
};

/*
 * What the layer above adds; all may be NULL. It is a constant, since who could
 * write it would run code of his in the monitor.
 */
struct fib_host {
	/* On the worker's stack, after the fiber has left its own for good. */
	void (*fiber_exit)(struct fib *f);
	/*
	 * A kernel thread of ours, @w's or the monitor's (NULL): to be cloned
	 * from the caller's, with signals blocked and workers_lock held; new,
	 * before it runs fibers; about to end, gone is set.
	 */
	void (*thread_clone)(struct fib_worker *w);
	void (*thread_init)(struct fib_worker *w);
	void (*thread_end)(struct fib_worker *w);
	/* What a worker's altstack needs, 0: none. */
	size_t altstack_size;
	/* The monitor's thread: the descriptor it polls as well is readable. */
	void (*receive)(void);
	/* The same thread, which waits for a lock: what cannot wait. */
	void (*receive_urgent)(void);
	/* The same thread: a worker is held up by its fiber. */
	void (*held_up)(struct fib_worker *w);
	/* The same thread: @w, or the monitor itself (NULL), does not come out
	 * of the runtime, since it loops, or waits for a lock. */
	void (*stuck)(struct fib_worker *w, bool spins);
	/* One line for the log, a warning. No libc, any thread. */
	void (*log)(const char *line);
	/* Take the worker away from a fiber that loops. Any thread. */
	void (*preempt)(struct fib_worker *w);
	/* End the system call that @w's kernel thread is in. Any thread. */
	void (*kick)(struct fib_worker *w);
	/* The messenger: the last fiber has ended, with this status. */
	void (*process_end)(int status);
};
#ifdef FIB_PRELOAD
extern const struct fib_host fib_host;
#else
#define fib_host ((const struct fib_host){ 0 })
#endif

/* Descriptors that a scheduler waits for: iom.h. */
#define FIB_FD_CHUNK_BITS 10
#define FIB_FD_CHUNK	  (1u << FIB_FD_CHUNK_BITS)
#define FIB_FD_MAX	  (1u << 20)

struct fib_iom {
	int epfd, wakefd;
	struct fib_lock chunk_lock;
	struct fib_fd *_Atomic chunk[FIB_FD_MAX / FIB_FD_CHUNK];
#ifndef FIB_PRELOAD
	/* In the place of epoll_ctl, for tests. */
	long (*control)(int op, int fd, const void *ev);
#endif
};

struct fib_sched {
	struct fib *first;	 /* the process's first thread, or NULL */
	_Atomic uint32_t ending; /* workers that are summoned end */
	struct fib_lock renew_lock;
	uint32_t target;	 /* workers that should be running */
	_Atomic int32_t running; /* workers that are: not taken, not spare */
	_Atomic uint32_t nidle;
	_Atomic uint32_t wake_pending;
	struct fib_lock inject_lock;
	struct fib_list inject; /* fibers queued from outside */
	_Atomic uint32_t injected;
	struct fib_lock workers_lock;
	_Atomic uint32_t workers; /* entries in worker[] */
	struct fib_worker *worker[FIB_SCHED_WORKERS];
	struct fib_iom iom;
#ifndef FIB_PRELOAD
	/* --- runtime/lib/ --- */
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
	_Atomic uint32_t way, way_waiters; /* sched.c, make_way() */
	uint32_t alive;			   /* threads that have not ended */
	uint32_t gate;
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
#endif
};

#ifndef FIB_PRELOAD
enum fib_phase {
	FIB_STOPPED = 0,
	FIB_STARTED = 1,
	FIB_STOPPING = 2, /* ends when no work is left */
};
#endif

/*
 * The scheduler that the program's threads run in: the only one under the
 * preload, where its address is a constant. As a library there are as many as
 * the program makes, and all that belongs to one knows which: a worker, a
 * fiber, a descriptor's slot. This one is the tests' own then.
 */
extern struct fib_sched fib_sched;
#ifdef FIB_PRELOAD
#define fib_sched_of(x) ((void)(x), &fib_sched)
#else
#define fib_sched_of(x) ((x)->sched)
#endif

#ifdef FIB_PRELOAD
/** The worker this kernel thread is, or NULL. */
static inline struct fib_worker *fib_worker_self(void)
{
	return (struct fib_worker *)fib_rdgsbase();
}

/** The current fiber; only where the caller is known to be on a worker. */
static inline struct fib *fib_self(void)
{
	struct fib *f;

	__asm__ volatile("movq %%gs:8, %0" : "=r"(f));
	return f;
}

/**
 * The calling fiber, or NULL if the caller is none. Not by way of the worker:
 * between two loads a signal's handler may park, and go on elsewhere.
 */
static inline struct fib *fib_caller(void)
{
	return fib_worker_self() ? fib_self() : NULL;
}
static inline void fib_worker_set(struct fib_worker *w)
{
	fib_wrgsbase((uintptr_t)w);
}
/** Is the caller's kernel thread under a filter of the program's? */
static inline bool fib_filtered(void)
{
	struct fib_worker *w = fib_worker_self();

	return w && w->filtered;
}
/* errno lies in the TLS that is switched with the fiber. */
static inline int fib_errno_save(void)
{
	return 0;
}
static inline void fib_errno_restore(int saved)
{
}
/** What runs on the fiber's stack or on top of it: runtime/lib/lib.h. */
static inline struct fib *fib_top_of(struct fib *f)
{
	return f;
}
#else
/*
 * A fiber that parks may go on in another thread, so no address of a thread
 * variable may live across a park: qemu's coroutine-tls.h has the story.
 */
extern __thread struct fib_worker *fib_this_worker
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct fib_worker *fib_worker_self(void)
{
	return fib_tls_read(fib_this_worker);
}

static inline bool fib_filtered(void)
{
	return false;
}

static inline struct fib *fib_self(void)
{
	struct fib_worker *w = fib_worker_self();

	return w ? w->cur : NULL;
}
void fib_worker_set(struct fib_worker *w);
int fib_errno_save(void);
void fib_errno_restore(int saved);
static inline struct fib *fib_top_of(struct fib *f)
{
	return f->top;
}
#endif

/* The calling fiber leaves its stack; @action is called on the worker's. */
void fib_leave(void (*action)(struct fib_worker *, struct fib *));
/* Such an action: queue @f, behind all that has come by now. */
void fib_do_yield(struct fib_worker *w, struct fib *f);

/** The scheduler that the caller is a worker of. Workers and fibers only. */
static inline struct fib_sched *fib_sched_here(void)
{
#ifdef FIB_PRELOAD
	return &fib_sched;
#else
	return fib_worker_self()->sched;
#endif
}

/**
 * Start @s with @n workers and the calling thread as the first: it goes on as
 * fiber @main_fiber, which is RUNNING when this returns. 0 or -errno. @s has its
 * descriptors (fib_iom_init()), and is watched by the monitor, of which a
 * process has one (fib_monitor_init()).
 */
int fib_sched_enter(struct fib_sched *s, unsigned n, struct fib *main_fiber);
/*
 * The same in two steps. All that can fail is in the first, which leaves nothing
 * behind if it does, and can be undone; then the rest cannot fail: where the
 * kernel has no more threads to give, there are fewer workers.
 */
int fib_sched_prepare(struct fib_sched *s, unsigned n);
void fib_sched_cancel(struct fib_sched *s);
void fib_sched_run(struct fib_sched *s, struct fib *main_fiber);
/** The call that a start is at, for the message if it fails. */
extern const char *_Atomic fib_step __attribute__((visibility("hidden")));
/** In a fork child: @s does not run any more, and may start anew. */
void fib_sched_forget(struct fib_sched *s);

/** Wait for fib_wake(). May return without one. Fibers only. */
void fib_park(void);
/** Let @f run. Any thread, any stack; under any lock but a run queue's. */
void fib_wake(struct fib *f);
/** Make a new fiber runnable for the first time. */
void fib_launch(struct fib *f);
/** Let others run first. */
void fib_sched_yield(void);
/** Leave the worker for the one that the caller is bound to. */
void fib_sched_move(void);
/** The same, when no worker may have looked at epoll for long. */
void fib_sched_preempted(void);
/** End the calling fiber. */
void fib_exit(void) __attribute__((noreturn));

/** Bind the calling fiber to a kernel thread: 0, or -EAGAIN. */
int fib_bind_self(void);
/**
 * Bind @f, which was never launched, to a new kernel thread, cloned from the
 * caller's: 0, or -EAGAIN.
 */
int fib_bind(struct fib *f);
/** The fiber that is bound to kernel thread @tid and has its id, or NULL. */
struct fib *fib_bound_to(int tid);

/**
 * The caller, bound to the first kernel thread, is the last fiber: all other
 * kernel threads of ours end before this returns.
 */
void fib_sched_end_others(struct fib_sched *s);
/**
 * No fiber runs on an unbound worker any more: those there are, and the monitor,
 * end, and others take their place, cloned from the caller's kernel thread, so
 * that they may do no more than that. The caller is bound.
 */
void fib_sched_renew(struct fib_sched *s);

/** Around a kernel call that may block for long: others need a worker. */
void fib_block_enter(void);
void fib_block_leave(void);
#ifdef FIB_PRELOAD
/**
 * fib_raw6(), but -FIB_ERESTARTNOINTR if *@stop is set before the kernel is
 * entered; after that, a kick ends it as signals do. switch.S
 */
long fib_raw_intr(const _Atomic uint32_t *stop, long nr, const long a[6]);
#endif

/** New timer deadline @ns: is some sleeping worker awake in time? */
void fib_sched_deadline(struct fib_sched *s, uint64_t ns);

/**
 * The loop of worker @w, which the caller has become. As a library it returns
 * when its scheduler has come to its end.
 */
void fib_worker_loop(struct fib_worker *w);

/* for monitor.c */
/**
 * The descriptor that wakes the monitor, which polls @receiver_fd as well (-1:
 * none). 0 or -errno.
 */
int fib_monitor_init(int receiver_fd);
/**
 * Its thread, which waits until it is told to go, or to end: then it has ended,
 * and its descriptor is closed.
 */
int fib_monitor_start(struct fib_sched *s);
void fib_monitor_go(void);
void fib_monitor_end(void);
void fib_monitor_poke(void);
/*
 * A kernel thread under a filter may not write to the descriptors that wake
 * others: it wakes this thread by a futex, which does it in its place. 0 or
 * -errno.
 */
int fib_messenger_start(void);
enum fib_errand {
	FIB_ERRAND_NOTIFY = 1, /* an idle worker */
	FIB_ERRAND_POKE = 2,   /* the monitor */
	FIB_ERRAND_END = 4,    /* the process, with @status */
};
void fib_messenger_send(uint32_t errand, int status);
void fib_messenger_forget(void);
void fib_monitor_forget(void);
/** Another one, cloned from the caller's kernel thread. 0 or -errno. */
int fib_monitor_renew(struct fib_sched *s);
/** Real-time priority for the monitor, if the process may have it. */
void fib_monitor_urgent(void);
extern _Atomic uint32_t fib_monitor_asleep;
extern _Atomic uint32_t fib_monitor_tid;
void fib_worker_init(struct fib_sched *s, struct fib_worker *w, uint32_t id);
struct fib_worker *fib_worker_create(struct fib_sched *s, bool start,
				     struct fib *bound);
/** watch.c: does a worker not come out of the runtime? Each tick. */
void fib_watch(struct fib_sched *s);
/** /proc/self/task/TID/stat: how much of it there is in @text. */
long fib_read_stat(int tid, char *text, size_t size);
bool fib_start_spare(struct fib_sched *s);
/** @w, the caller's, was summoned: it is bound now, or ends. */
void fib_worker_answer(struct fib_worker *w);
/** The caller's kernel thread, @w's, ends. */
void fib_worker_end(struct fib_worker *w);
/**
 * fib_raw6(), but -ERESTARTNOINTR if *@stop is set before the kernel is
 * entered; after that, a kick ends it as signals do. switch.S
 */
long fib_raw_intr(const _Atomic uint32_t *stop, long nr, const long a[6]);
void fib_notify_one(struct fib_sched *s);
long fib_thread_clone(unsigned long flags, void *stack_top, _Atomic int *tid,
		      void (*fn)(void *), void *arg);
struct clone_args;
long fib_thread_clone3(struct clone_args *args, size_t size, void (*fn)(void *),
		       void *arg);
void *fib_thread_stack(size_t size);
#define FIB_THREAD_FLAGS                                                       \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |    \
	 CLONE_SYSVSEM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)
/**
 * A kernel thread of ours that runs @fn(@arg); its tid, or -errno. Under the
 * preload it is bare, on the stack given; else libc makes it, with TLS.
 */
#ifdef FIB_PRELOAD
#define fib_thread_start(stack_top, tid, fn, arg)                              \
	fib_thread_clone(FIB_THREAD_FLAGS, stack_top, tid, fn, arg)
#define fib_thread_end() fib_raw(SYS_exit, 0)
#else
void fib_thread_end(void);
long fib_thread_start(void *stack_top, _Atomic int *tid, void (*fn)(void *),
		      void *arg);
#endif

#endif
