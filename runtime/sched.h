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
 * after it, and rings the bell (iom.h) if somebody is idle and no earlier wake-up
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
 * Locks: docs/LOCKS.md.
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

#define FIB_POLL_EVERY 61 /* resumes between two looks at epoll while busy */

/* Rows of a scheduler's table of workers. */
#define FIB_SCHED_WORKERS 4096

/* Four for each power of two of cycles. */
#define FIB_DELAYS 160

struct fib_worker {
	struct fib_worker *self; /* where the host register points */
	struct fib *cur;	 /* the fiber that runs, or NULL */
	FIB_HOST_WORKER_FIRST
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
	uint32_t seen_runs;	       /* the monitor's, and CPU time then */
	uint64_t seen_cpu_ns;
	uint32_t delays[FIB_DELAYS];   /* in the run queue: runq.h */
	_Atomic uint32_t late;	       /* turns it has waited for a lock */
	struct {		       /* the monitor's: watch.c */
		uint32_t runs, calls;
		uint64_t cpu_ns, user_ns;
	} watch;
	void *stack;
	void *altstack; /* the host's, for its signal handler */
	struct fib_san san;
#ifdef FIB_LOCK_RANKS
	struct fib_held held; /* lockrank.c */
#endif
	FIB_HOST_WORKER
};

/* Descriptors that a scheduler waits for: iom.h. */
#define FIB_FD_CHUNK_BITS 10
#define FIB_FD_CHUNK	  (1u << FIB_FD_CHUNK_BITS)
#define FIB_FD_MAX	  (1u << 20)

struct fib_iom {
	int epfd, wakefd;
	struct fib_lock chunk_lock;
	struct fib_fd *_Atomic chunk[FIB_FD_MAX / FIB_FD_CHUNK];
};

struct fib_sched {
	struct fib *first;	 /* the process's first thread, or NULL */
	_Atomic uint32_t ending; /* workers that are summoned end */
	_Atomic uint32_t first_ends; /* futex: so does the first kernel thread */
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
	FIB_HOST_SCHED
};

/* The calling fiber leaves its stack; @action is called on the worker's. */
void fib_leave(void (*action)(struct fib_worker *, struct fib *));
/* Such an action: queue @f, behind all that has come by now. */
void fib_do_yield(struct fib_worker *w, struct fib *f);

/**
 * Start @s with @n workers and the calling thread as the first: it goes on as
 * fiber @main_fiber, which is RUNNING when the second returns. @s has its
 * descriptors (fib_iom_init()), and is watched by the monitor, of which a
 * process has one (fib_monitor_init()). All that can fail is in the first, 0 or
 * -errno, which leaves nothing behind if it does, and can be undone; then the
 * rest cannot fail: where the kernel has no more threads to give, there are
 * fewer workers.
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

/** New timer deadline @ns: is some sleeping worker awake in time? */
void fib_sched_deadline(struct fib_sched *s, uint64_t ns);

/**
 * The loop of worker @w, which the caller has become. As a library it returns
 * when its scheduler has come to its end.
 */
void fib_worker_loop(struct fib_worker *w);

/* for monitor.c */
/**
 * The descriptor that wakes the monitor of @s, which has its own; it polls
 * @receiver_fd as well (-1: none). 0 or -errno.
 */
int fib_monitor_init(struct fib_sched *s, int receiver_fd);
/**
 * Its thread, which waits until it is told to go, or to end: then it has ended,
 * and its descriptor is closed.
 */
int fib_monitor_start(struct fib_sched *s);
void fib_monitor_go(void);
void fib_monitor_end(void);
/** The monitor's thread alone: what it polls; -1: it looks each tick. */
int fib_monitor_receiver(void);
void fib_monitor_set_receiver(int fd);
void fib_monitor_poke(void);
/** The scheduler's bell has number @to as well now. */
void fib_monitor_bell_moved(int to);
/** From now on it looks each tick: a thread may not poke it, or may be killed. */
void fib_monitor_keep_awake(void);
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
/** The monitor's: for who has left an errand there, and could wake nobody. */
void fib_messenger_hurry(void);
void fib_messenger_forget(void);
void fib_monitor_forget(void);
/** Another one, cloned from the caller's kernel thread. 0 or -errno. */
int fib_monitor_renew(struct fib_sched *s);
/** Real-time priority for the monitor, if the process may have it. */
void fib_monitor_urgent(void);
extern _Atomic uint32_t fib_monitor_asleep;
extern _Atomic uint32_t fib_monitor_tid;
/** The locks of a new scheduler, and of one that starts anew. */
void fib_sched_init_locks(struct fib_sched *s);
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
/**
 * The kernel has killed @w's thread in a call of its fiber's, which @w was bound
 * to: the fiber has ended. The monitor's thread alone.
 */
void fib_worker_bury(struct fib_worker *w);
/** The caller's kernel thread, @w's, ends. */
void fib_worker_end(struct fib_worker *w);
/**
 * fib_raw6(), but -FIB_ERESTARTNOINTR if *@stop is set before the kernel is
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
#include "runtime/host.h"

#endif
