/*
 * The runtime as a C library: what lies behind libfib/fib.h.
 *
 *	thread.c	what a thread knows: its worker, its fibers, a cache
 *	fibers.c	fibers, by hand and scheduled
 *	schedulers.c	schedulers: threads, submitting, start and stop
 *	events.c	events of descriptors
 *	timers.c	timers with callbacks, guards
 *	select.c	waiting for channels, descriptors and a time at once
 *	group.c		tasks that are awaited together
 *	local.c		values of a fiber's own
 *	dump.c		a list of all fibers
 *	overflow.c	who has overflowed its stack
 *	cancel.c	cancelling fibers, shields
 *	blocking.c	blocking calls
 *	wait.c		the same for children, signals, names of hosts
 *	word.c		waiting for a word; mutex, semaphore
 *	cond.c		conditions
 *	outside.c	queueing for one thread alone, and from outside
 *	direct.c	switching from fiber to fiber, past the loop
 *	fork.c		what is left in a child process
 *
 * Who owns a fiber
 * ----------------
 * One word, life, says who may touch its stack. Nobody (0): it may be resumed by
 * hand, handed over to a scheduler, reset or destroyed. HAND: somebody is doing
 * one of these. SCHED: a scheduler has it until it ends. Each change is one
 * compare and swap, so of two who want a fiber one is refused.
 *
 * Three contexts
 * --------------
 * A thread's own stack (main fiber), a worker's (where the scheduler's loop
 * runs), a fiber's. A task parks into the loop; the loop of a thread that a
 * scheduler made runs on that thread's own stack, and that of the caller on a
 * stack of its own, which fib_sched_stop() switches to and which switches back
 * to it in the end.
 *
 *	main() --stop()--> loop <--> fiber <--resume/yield--> fiber by hand
 *	       <--at end--
 *
 * Where the scheduler has one thread, a fiber that parks goes straight to the
 * next one where it can (direct.h).
 *
 * What is resumed by hand lies on top of the fiber that resumed it: when it
 * parks, the whole pile does, and fib_self() is the one at the bottom, which
 * the scheduler knows.
 */
#ifndef FIB_LIB_H
#define FIB_LIB_H

#include "runtime/sched.h"
#include "runtime/timer.h"

enum fib_life {
	FIB_LIFE_HAND = 1,     /* being resumed, reset or destroyed */
	FIB_LIFE_SCHED = 2,    /* belongs to a scheduler, or to an executor */
	FIB_LIFE_DETACHED = 4, /* nobody has a handle: gone when it ends */
	FIB_LIFE_TERM = 8,     /* its function has returned */
	FIB_LIFE_MAIN = 16,    /* a thread's own flow of control */
	FIB_LIFE_BEGUN = 32,   /* there are frames on its stack */
};

/*
 * The result of a call that may wait, at the end of a public function: no jump,
 * so that a backtrace of who waits there shows what the program has called.
 */
#define fib_called(r)                                                          \
	({                                                                     \
		__typeof__(r) r_ = (r);                                        \
		__asm__ volatile("");                                          \
		r_;                                                            \
	})

/* --- thread.c ---------------------------------------------------------------- */

/** The innermost fiber, NULL on a thread's own stack. */
struct fib *fib_top(void);
void fib_top_set(struct fib *f);
/** An entry for a fiber, and a stack with its guard page; from a cache. */
struct fib *fib_entry_get(void);
void fib_entry_put(struct fib *f);
void *fib_stack_get(size_t size);
void fib_stack_put(void *stack, size_t size);
/** In a fork child: the caller is no worker any more. */
void fib_thread_forked(void);

/* --- fibers.c ---------------------------------------------------------------- */

/** Make sure that @f has a context to run: 0 or -ENOMEM. */
int fib_prepare(struct fib *f);
/** A fiber that nobody has a handle to, for @s. NULL: too many. */
struct fib *fib_make(struct fib_sched *s, void (*fn)(void *), void *arg,
		     int thread);
/** On the worker's stack: @f has ended, and left its own for good. */
void fib_ended(struct fib *f);
/** A runnable fiber of the caller's scheduler. NULL: no memory. */
struct fib *fib_spawn(void (*fn)(void *), void *arg, size_t stack_size);

/* --- cancel.c ---------------------------------------------------------------- */

/** Where a call begins that ends with -ECANCELED: is it to? */
static inline bool fib_canceled_here(void)
{
	struct fib *f = fib_self();

	return f && fib_unlikely(fib_host_attention(f));
}
/** Until fib_unshield() of what it returns, waits go on to their end. */
static inline struct fib *fib_shield(void)
{
	struct fib *f = fib_self();

	if (f)
		fib_add(&f->attention, FIB_SHIELD, relaxed);
	return f;
}
static inline void fib_unshield(struct fib *f)
{
	if (f)
		fib_sub(&f->attention, FIB_SHIELD, relaxed);
}
/** Fiber @f, which runs until the caller lets it. */
void fib_cancel_fiber(struct fib *f);

/* --- local.c ----------------------------------------------------------------- */

/** @f, the caller, ends: call the destructors, and free the table. */
void fib_local_end(struct fib *f);

/* --- dump.c, overflow.c: for a signal handler as well -------------------------- */

/* A line that is being written. */
struct fib_text {
	int fd;
	unsigned length;
	char at[256];
};
void fib_text_put(struct fib_text *t, const char *s);
void fib_text_number(struct fib_text *t, uint64_t n, unsigned base);
/** A fiber: its number, and its name if it has one. */
void fib_text_fiber(struct fib_text *t, uint64_t id, const char *name);
/** To the descriptor: 0 or -errno. */
int fib_text_end(struct fib_text *t);

/** Somebody wants overflows told: the thread needs a stack for that. */
extern _Atomic bool fib_overflow_told;
void fib_altstack_make(void);
static inline void fib_altstack_ensure(void)
{
	if (fib_unlikely(fib_load(&fib_overflow_told, relaxed)))
		fib_altstack_make();
}
/** The thread ends. */
void fib_altstack_drop(void);

/* --- outside.c --------------------------------------------------------------- */

/** Queue @f, which is pinned, for its worker. */
void fib_push_pinned(struct fib_sched *s, struct fib *f);
/** Let those go first that sleep and have pinned fibers. */
void fib_make_way(struct fib_worker *w);
/** By a thread that is none of @s's, which may come to its end meanwhile. */
void fib_queue_from_outside(struct fib_sched *s, struct fib *f);

/* --- schedulers.c ------------------------------------------------------------ */

static inline void fib_work_begin(struct fib_sched *s)
{
	fib_add(&s->lib.work, 1, relaxed);
}
/** One fiber, event or timer less. */
void fib_work_end(struct fib_sched *s);
/*
 * Who sees first that it has come to its end says so for all. If each looked for
 * itself, a fiber for one thread alone might come from outside when that has
 * ended and another has not, which would wait for it.
 */
static inline bool fib_sched_at_end(struct fib_sched *s)
{
	int phase = fib_load(&s->lib.phase, seq_cst);

	if (phase == FIB_STOPPING && !fib_load(&s->lib.work, seq_cst) &&
	    fib_cas(&s->lib.phase, &phase, FIB_ENDED, seq_cst))
		return true;
	return phase == FIB_ENDED;
}
/** There was no memory for the stack of @f: it waits for another's. */
void fib_starve(struct fib_sched *s, struct fib *f);
/** A stack came free: the next one's turn. */
void fib_feed(struct fib_sched *s);
/** A thread of the library's own that runs what belongs to no scheduler. */
struct fib_sched *fib_sched_service(void);
/** All of them: for fib_sched_each(), and for who reads it from outside. */
extern struct fib_list fib_scheds;
/** Call @fn for each scheduler; none is destroyed meanwhile. */
void fib_sched_each(void (*fn)(struct fib_sched *s, void *arg), void *arg);
int fib_sched_check_thread(const struct fib_sched *s, int thread);
/** One that was there before a fork has no threads in the child. */
static inline bool fib_sched_exists(const struct fib_sched *s)
{
	return s && s->lib.threads;
}
/** Around a fork: none comes or goes. In the child there are none. */
void fib_scheds_lock(void);
void fib_scheds_unlock(void);
void fib_scheds_forked(void);

/* --- task.c ------------------------------------------------------------------ */

/** In a fork child. */
void fib_tasks_forked(void);

/* --- events.c ----------------------------------------------------------------- */

struct fib_fd;
/** Fire what is pending of @events. */
void fib_events_fire_locked(struct fib_fd *slot, uint8_t events);
/** Nobody uses @s any more. */
void fib_iom_fini(struct fib_sched *s);

/* --- blocking.c -------------------------------------------------------------- */

/* A call that waits for its timeout_ns. */
extern const struct fib_io_rules fib_io_timed;

/* --- timers.c ----------------------------------------------------------------- */

/** Forget all timers; how many were armed. */
long fib_timers_cancel(struct fib_sched *s);
/** The first of the heap is one that will fire: before a worker sleeps. */
void fib_timers_settle(struct fib_sched *s);
void fib_timers_fini(struct fib_sched *s);

/* --- word.c ------------------------------------------------------------------ */

/**
 * Wait while *@word == @val; a fiber parks, a thread sleeps. 0 when woken,
 * -EAGAIN when it differs, -ETIMEDOUT, -ENOMEM, and -ECANCELED from the second.
 */
int fib_word_wait(uint32_t *word, uint32_t val, uint64_t deadline_ns);
int fib_word_wait_or_cancel(uint32_t *word, uint32_t val, uint64_t deadline_ns);
/** A thread alone, in the kernel: what it answers, 0 when woken. */
long fib_thread_wait(const void *word, uint32_t val, uint64_t deadline_ns);
/** Wake up to @n of either kind. */
void fib_word_wake(uint32_t *word, int n);
/** The deadline of a call that waits @timeout_ns. */
static inline uint64_t fib_deadline(uint64_t timeout_ns)
{
	return timeout_ns == FIB_NEVER ? FIB_NEVER :
					 fib_ns_add(fib_now_ns(), timeout_ns);
}
/** And what is left of it: FIB_NEVER, or 0. */
static inline uint64_t fib_timeout_left(uint64_t deadline_ns)
{
	return deadline_ns == FIB_NEVER ? FIB_NEVER : fib_ns_left(deadline_ns);
}

#endif
