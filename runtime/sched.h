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
 * about (fib_idle_pass), since others have relied on it: fibers in any queue, and a
 * timer that is due before any sleeper wakes. Who of these wakes for which: idle.c.
 *
 * Where two fibers take turns, nobody is told, but an idle worker looks each 50
 * us: keep.h. Nor where an event of epoll's is about to tell: iom.h, hints. And who
 * wakes fibers under a lock that these want next rings when it has given that back
 * (fib_bell_hold): the bell takes microseconds, and whoever comes meanwhile would
 * wait for the lock in the kernel.
 *
 * Launching
 * ---------
 * A program that creates a thread mostly waits for it, or creates the next one,
 * and the new thread mostly waits for something after a microsecond. To wake a
 * worker for that costs more than it gains. So a launch is put off: the fiber is
 * in the worker's queue, and nobody is told until
 *
 *	- the creator leaves its stack: the worker takes the first one itself, and
 *	  tells of the rest, as it does of all that it leaves in its queue;
 *	- it has made so many calls that it yields (hooks/dispatch.c), or makes one
 *	  that may block in the kernel;
 *	- the monitor comes by.
 *
 * If what was put off has waited for longer than to wake a worker would have
 * taken, creators of this kind compute: the next launches are not put off.
 *
 * Passing over
 * ------------
 * Who unlocks a mutex and wakes one that waits for it goes on, and may have locked
 * it again before that one runs. Where its turns end in calls that it makes under
 * the lock (hooks/dispatch.c), that is so each time, and the other one would never
 * get it on one worker. A kernel would let one that has just been woken run first.
 * So who was woken FIB_PASSED_OVER times in a row, and found the word as it was,
 * goes to the head of the queue when it is woken next, and its waker yields to it:
 *
 *	waker (fiber, has the lock)	queue of its worker
 *	---------------------------	-------------------
 *	word = 0, wake			the woken one at the head
 *	let_pass: yield			itself at the end
 *
 * It is counted where a futex wait begins; of a word that was 0, as a semaphore's, where
 * it ends: was it 0 again by then? (hooks/futex/futex.c)
 *
 * A wait that a signal's handler has interrupted begins anew, behind all others. Where all
 * threads but one are interrupted all the time, as by a collector that stops the world,
 * they come back in the same order each time, and who is not the first is never woken. (A
 * kernel has them come back as it happens.) So an interruption counts as well, and who was
 * passed over FIB_PASSED_OFTEN times draws a ticket, by which it waits before the others,
 * until it gets what it waits for (runtime/futex.c).
 *
 * Liveness
 * --------
 * Behind a long turn the worker looks around at once, and who has had it is queued behind
 * the others: runq.h.
 *
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
 * child process, since its children are the kernel thread's; an event loop.)
 *
 * A summons reaches a worker wherever it is:
 *
 *	summoner			worker
 *	--------			------
 *	summoned = 1			lies down: spare = 1
 *	spare 1 -> 2, wake		  sleeps while spare is 1
 *	kick				sleeps in epoll: fib_raw_intr(), which
 *	the monitor sleeps? wake it	  looks at summoned, and is ended by
 *	the monitor, each tick:		  a kick from that look on
 *	  preempt the fiber there	next(): summoned? answers
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

/* A call that may wait, and has told nobody: runtime/spares.c. */
enum fib_unsaid {
	FIB_UNSAID_NOTHING = 0,
	FIB_UNSAID_BEGUN = 1,
	FIB_UNSAID_FOUND = 2, /* by the monitor, which is to hear of its end */
};

#define FIB_PASSED_OVER 2
#define FIB_PASSED_OFTEN 15
#define FIB_POLL_EVERY	61 /* resumes between two looks around while busy, */
#define FIB_LOOK_CYCLES 1500000u /* or 500 us or so */

/* Rows of a scheduler's table of workers, and what the loop of one needs. */
#define FIB_SCHED_WORKERS 4096
#define FIB_WORKER_STACK  (64ul * 1024)

/* Four for each power of two of cycles. */
#define FIB_DELAYS 160

/* What a worker presumes of a slot, when its edges were seq: doubt.h. */
#define FIB_DOUBTS 128
struct fib_doubt {
	struct fib_fd *_Atomic s;
	_Atomic uint32_t seq;
	uint8_t looks; /* at epoll since, without a question */
};

struct fib_worker {
	struct fib_worker *self; /* where the host register points */
	struct fib *cur;	 /* the fiber that runs, or NULL */
	uintptr_t fsbase;	 /* of its kernel thread; 0: not known */
	FIB_HOST_WORKER_FIRST
	void *sched_sp;	 /* the scheduler's own context, and what is */
	uint64_t floats; /* not in there: ctx_inline_arch.h */
	void (*action)(struct fib_worker *, struct fib *);
	struct fib_trace_ring *_Atomic trace; /* NULL: off. trace.h */
	uint32_t id;
	uint32_t tick; /* since it looked around */
	struct {
		uint32_t id, runs, own_runs;
		uint64_t since; /* cycles */
	} beside; /* another one, as it was when looked at last: runq.h */
	uint32_t turns,
		turns_due;  /* since it looked at epoll, and until the next */
	uint64_t looked;    /* when, in cycles; 0: before its next turn */
	uint64_t unblocked; /* came back from a call that may block */
	uint32_t skipped;   /* of FIB_POLL_EVERY, where turns are not timed */
	uint64_t
		stopped; /* its last fiber, in cycles; 0: it has slept: cputime.h */
	/* What it wakes while it harvests is queued at once, and not one by one. */
	bool harvests;
	uint32_t harvested;
	uint32_t came; /* of these, at the last look, */
	bool more;     /* which may not have been told of all */
	bool hints;    /* what it wakes epoll tells the others of: iom.h (N) */
	/* fib_bell_hold(); and who is to be told afterwards, or NULL */
	bool holds_bell;
	struct fib_sched *owes_bell;
	struct fib_worker *owes_bound;
	struct fib_list harvest;
	struct fib *found; /* alone, when it had slept: runs next */
	_Atomic int tid;
	int last_tid;	       /* which stays when the kernel zeroes that */
	_Atomic uint32_t runs; /* fibers resumed: the monitor watches it */

	struct fib_lock lock; /* the run queue */
	struct fib_list queue;
	struct fib_list *computing; /* in it, or its end: runq.h */
	/* Cycles that others have had since that one's like; those of its last long turn. */
	uint64_t ahead, spell;
	_Atomic uint32_t queued;
	_Atomic uint32_t
		keeps; /* the turn, and 1, that kept one there: keep.h */
	_Atomic uint64_t woke; /* cycles when this turn first woke one, or 0 */
	uint64_t woke_before;

	struct fib_timer_heap timers;

	_Atomic uint32_t idle;	       /* sleeps in epoll_wait */
	_Atomic uint64_t sleeps_until; /* valid while idle */
	_Atomic uint32_t taken;	       /* the monitor gave its place away */
	_Atomic uint32_t blocking;     /* in a call that is known to block */
	_Atomic uint8_t unsaid;	       /* or in one that may wait: enum fib_unsaid */
	_Atomic bool presumes; /* or in one that is to be ended if it does */
	_Atomic int spare;     /* futex: 1 while retired, 2: summoned */
	struct fib *bound;     /* runs this fiber and no other */
	struct {
		uint64_t since; /* cycles; 0: not known */
		uint32_t changes;
		int is;
	} priority;	      /* real-time one: futex.c */
	struct fib *reserved; /* and is summoned to be bound to it, */
	bool ends;	      /* or to end */
	_Atomic uint32_t summoned;
	_Atomic int bound_ready;   /* futex: 1 when that can run */
	_Atomic bool polls;	   /* it sleeps in poll, and not there: iom.h */
	uint8_t presumes_so;	   /* reads that were empty, as is presumed */
	struct fib_waiter *polled; /* and for whom: its fiber's wait, or NULL */
	struct fib_timer *alarm;   /* that has armed: timer.h */
	_Atomic int gone;	   /* its thread has ended or is about to */
	_Atomic int born;	   /* futex: bare.c */
	_Atomic bool mute;	   /* may not poke the monitor, or be killed */
	bool took_wake; /* or a fiber's time, and has not slept since: idle.c */
	bool let_pass;	/* one that was passed over: it is next */
	uint64_t put_off;   /* cycles when the first was: fib_launch_soon() */
	uint64_t left;	    /* and when one was left to an event: iom.h (N) */
	uint32_t seen_runs; /* the monitor's, and CPU time then */
	uint64_t seen_cpu_ns;
	uint32_t delays[FIB_DELAYS];	    /* in the run queue: runq.h */
	_Atomic uint64_t counts[FIB_STATS]; /* its own; who reads adds them */
	_Atomic uint32_t late;		    /* turns it has waited for a lock */
	struct {			    /* the monitor's: watch.c */
		uint32_t runs, calls;
		uint64_t cpu_ns, user_ns;
	} watch;
	void *stack;
	void *altstack;		 /* the host's, for its signal handler */
	struct fib_tries *tries; /* and whether it is in one: uring_try.c */
	_Atomic bool trying;
	uint8_t accepts; /* that it has made without a ring: the same */
	struct fib_san san;
#ifdef FIB_LOCK_RANKS
	struct fib_held held; /* lockrank.c */
#endif
	FIB_HOST_WORKER
	/* The monitor reads them. */
	_Atomic uint32_t doubts;
	bool doubts_settle;  /* by looks at epoll, the last time */
	uint8_t doubt_tries; /* sleeps with doubts, and without that */
	uint8_t ready;	     /* of these, as was found, which are in readies */
	uint8_t readies[FIB_DOUBTS];
	struct fib_doubt doubt[FIB_DOUBTS];
};

/* Descriptors that a scheduler waits for: iom.h. */
/* Few, since a fork child makes a copy of what is used. */
#define FIB_FD_CHUNK_BITS 7
#define FIB_FD_CHUNK	  (1u << FIB_FD_CHUNK_BITS)
#define FIB_FD_MAX	  (1u << 20)

struct fib_iom {
	int epfd, wakefd;
	_Atomic uint32_t leaving; /* numbers that are being closed: iom.h */
	struct fib_lock chunk_lock;
	_Atomic uint32_t chunks; /* there are none from here on; chunk_lock */
	struct fib_fd *_Atomic chunk[FIB_FD_MAX / FIB_FD_CHUNK];
};

struct fib_sched {
	struct fib *first;	 /* the process's first thread, or NULL */
	_Atomic uint32_t ending; /* workers that are summoned end */
	_Atomic uint32_t
		first_ends; /* futex: so does the first kernel thread */
	struct fib_lock renew_lock;
	struct fib *_Atomic model; /* it made them: fib_sched_renew() */
	uint32_t target;	   /* workers that should be running */
	_Atomic int32_t running;   /* workers that are: not taken, not spare */
	_Atomic uint32_t
		lenient; /* ticks for which taken ones go on: monitor.c */
	_Atomic uint32_t nidle;
	_Atomic uint32_t wake_pending;
	_Atomic uint32_t at_once;	  /* launches that are not put off */
	_Atomic uint32_t watched, wanted; /* keep.h */
	struct fib_lock inject_lock;
	struct fib_list inject; /* fibers queued from outside */
	_Atomic uint32_t injected;
	struct fib_lock workers_lock;
	_Atomic uint32_t workers; /* entries in worker[] */
	_Atomic int gate;	  /* futex: worker.c */
	struct fib_worker *worker[FIB_SCHED_WORKERS];
	struct fib_iom iom;
	FIB_HOST_SCHED
};

/* The calling fiber leaves its stack; @action is called on the worker's. */
void fib_leave(void (*action)(struct fib_worker *, struct fib *));
/* Such an action: queue @f, behind all that has come by now. */
void fib_do_yield(struct fib_worker *w, struct fib *f);

/* --- a scheduler's start: worker.c ------------------------------------------ */

/** The call that a start is at, for the message if it fails. */
extern const char *_Atomic fib_step __attribute__((visibility("hidden")));
/**
 * Locks, queues and slots of @s, whose memory is zero or was forgotten, for @n
 * workers: how many there is memory for, or -ENOMEM. None of them runs.
 */
int fib_sched_init(struct fib_sched *s, unsigned n);
/**
 * Kernel threads for workers @from to @to, the last not included, which have
 * none. They run fibers when all are there. @all: where one cannot be had,
 * none runs, all have ended, and it is -EAGAIN; else there are fewer, and it is
 * 0. One caller at a time; may be done again when all have ended.
 */
int fib_workers_start(struct fib_sched *s, uint32_t from, uint32_t to,
		      bool all);
/**
 * The calling thread becomes worker @w (fib_worker_set()), whose loop is to run
 * on w->stack: it begins when somebody switches to w->sched_sp.
 */
void fib_worker_here(struct fib_worker *w);
/** The loop of worker @w, which the caller is: to the end of its scheduler. */
void fib_worker_loop(struct fib_worker *w);
/** What a kernel thread that the host makes is to call: @worker's life. */
void fib_worker_main(void *worker);
/*
 * Under workers_lock, but for a start, when nobody else is there: a slot, for
 * @bound alone or for all (NULL), or NULL where there is no memory; and a kernel
 * thread for it, 0 or -errno.
 */
struct fib_worker *fib_worker_add(struct fib_sched *s, struct fib *bound);
int fib_worker_start(struct fib_worker *w);

/* --- fibers ------------------------------------------------------------------ */

/** Wait for fib_wake(). May return without one. Fibers only. */
void fib_park(void);
/** Let @f run. Any thread, any stack; under any lock but a run queue's. */
void fib_wake(struct fib *f);
/** Make a new fiber runnable for the first time. */
void fib_launch(struct fib *f);
/**
 * The same by a fiber whose worker will soon look for another one, or whose
 * scheduler a monitor looks after: most new threads wait, or are waited for, at
 * once, and no sleeping worker is woken for them. ("Launching" above.)
 */
void fib_launch_soon(struct fib *f);
/**
 * Others are to be told now of what was put off, kept or left to an event: the caller's
 * worker is going to be busy.
 */
void fib_sched_tell(struct fib_sched *s);
/** The monitor: has anything been put off for long, or left? */
void fib_sched_look(struct fib_sched *s);
/* Others are told of what @w has put off, or need not be. */
void fib_put_off_ends(struct fib_worker *w);
/** Let others run first. */
void fib_sched_yield(void);
/** Leave the worker for the one that the caller is bound to. */
void fib_sched_move(void);
/** The same, when no worker may have looked at epoll for long. */
void fib_sched_preempted(void);
/** End the calling fiber. */
void fib_exit(void) __attribute__((noreturn));

/* --- idle.c: workers that sleep, and times that come ----------------------------- */

/** New timer deadline @ns: is some sleeping worker awake in time? */
void fib_sched_deadline(struct fib_sched *s, uint64_t ns);
/** Fire what is due. */
void fib_sched_timers(struct fib_sched *s);
/** @w, the caller, sleeps until there may be work. */
void fib_idle(struct fib_worker *w);
/**
 * @w, the caller, took a wake-up and is going to be busy: what that was about, a fiber
 * in any queue or a timer, is for the next one to look after.
 */
void fib_idle_pass(struct fib_worker *w);

/** A sleeping worker of @s is to look for work. Any thread. */
void fib_notify_one(struct fib_sched *s);

/**
 * What the caller wakes is queued, but no sleeping worker is told of it before
 * fib_bell_release() of the same worker, which is NULL for a thread that is none.
 */
struct fib_worker *fib_bell_hold(void);
void fib_bell_release(struct fib_worker *w);

#include "runtime/host.h"

/** One of the caller's own counts, which others only read. */
static inline void fib_worker_count(struct fib_worker *w, enum fib_stat i,
				    uint64_t n)
{
	fib_store(&w->counts[i], fib_load(&w->counts[i], relaxed) + n, relaxed);
}
/** These go into the counters. The worker itself, or when it is gone. */
void fib_worker_tell_counts(struct fib_worker *w);
/** The same, where they are not read from workers. */
static inline void fib_worker_tells(struct fib_worker *w)
{
	if (!FIB_HOST_ADDS_COUNTS)
		fib_worker_tell_counts(w);
}

#endif
