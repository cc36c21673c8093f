/*
 * fib.h: fibers for C. The public interface of libfib.
 *
 *	fiber		a function on a stack of its own, that can be left in
 *			its midst and entered again
 *	scheduler	runs any number of fibers on N threads; it is an
 *			IOManager as well: descriptors and timers
 *	blocking calls	read, write, accept, connect, sleep, mutex, condition,
 *			semaphore, channel: they hold up the fiber alone
 *	executor	where a function runs: a new thread, a pool, a looper,
 *			a scheduler
 *	task		a function with a result, bound to an executor
 *
 * Conventions
 * -----------
 * Results are >= 0, or a negative errno value; errno itself is not written. A
 * bad argument (NULL, a descriptor out of range, an unknown flag) is -EINVAL
 * where nothing else is said, and never ends the process. Objects are opaque
 * and made by *_create(), which stores them only when it returns 0; they are
 * given back with *_destroy(). A pointer to anything else must not be used as one:
 * nobody can tell. (Fibers that have been destroyed can be told, and schedulers
 * by fib_sched_destroy().) What waits may be cancelled: -ECANCELED, where it is
 * not said. Mutex, condition and semaphore lie in storage of
 * the caller's. Times are nanoseconds of CLOCK_MONOTONIC; a timeout counts from
 * the call, 0 does not wait, FIB_NEVER waits for ever; for one in between a
 * timer is armed, and where there is no memory for it the result is -ENOMEM.
 *
 * Thread safety: every function may be called by any thread and any fiber at
 * any time, unless its comment says otherwise. None may be called by a signal
 * handler, and none is a cancellation point.
 *
 * Fibers and thread variables
 * ---------------------------
 * A fiber runs with the TLS of the thread that resumes it. After each call that
 * may park (all that wait, yield, or resume) it may be in another thread: an
 * address of a thread variable must not be kept across one, and compilers do
 * keep them, so read thread variables in a function that is not inlined. errno
 * is the exception: each fiber has a value of its own, which is saved when
 * it is left and put back when it goes on. A pthread mutex must not be held
 * across such a call either: use struct fib_mutex. Rounding mode and masks of
 * floating point are a fiber's own; the flags of past exceptions are not.
 *
 * What holds for any code that may go on in another thread holds for C++ too: an
 * exception may be thrown and caught in a fiber, and pass through frames that
 * have parked; but no fiber may park in a catch block or in a destructor that an
 * exception runs, since the C++ library knows of exceptions under way by thread.
 * None may leave the fiber's function, nor may pthread_exit() be called in it.
 *
 * Signal handlers run on the stack of the fiber that the thread is in, unless
 * the thread has an alternate one: leave room for them. Threads of executors and
 * of the library's own have all signals blocked; those of a scheduler inherit
 * the mask of whoever starts it.
 *
 * fork() and exit()
 * -----------------
 * A child has the calling thread alone: the schedulers of the parent are gone
 * (-EINVAL), and what has threads or runs on one, executors and tasks, must not be
 * used any more. It may make new ones. A scheduled fiber that has forked goes on
 * as the thread's own flow of control; when it returns, the child ends as by
 * exit(0). A process may end at any time, whatever is parked.
 *
 * Under libfibhook.so the scheduler's threads are fibers of its own. The two
 * have one source and share no state.
 */
#ifndef FIB_H
#define FIB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef FIB_API
#define FIB_API __attribute__((visibility("default")))
#endif

#define FIB_NEVER UINT64_MAX

struct fib;
struct fib_sched;
struct addrinfo; /* <netdb.h> */

/* --- fibers ---------------------------------------------------------------- */

#define FIB_NAME_MAX	  16 /* with the terminating zero */
#define FIB_STACK_DEFAULT (128ul * 1024)
#define FIB_STACK_MIN	  (16ul * 1024)

/* Where a fiber stands. */
enum fib_state {
	FIB_FREE = 0,	 /* there is none (any more) */
	FIB_READY = 1,	 /* may run: new, reset, yielded as ready, or queued */
	FIB_RUNNING = 2, /* on a thread, or it has resumed one that is */
	FIB_PARKED = 3,	 /* held: waits to be made ready, or to be resumed */
	FIB_TERM = 4	 /* its function has returned */
};

/**
 * fib_create - make a fiber that will call @fn(@arg)
 * @out:	the fiber, READY, not in any scheduler
 * @stack_size:	bytes, rounded up to pages; 0 for FIB_STACK_DEFAULT. Memory is
 *		touched on demand, and a guard page lies below.
 *
 * 0, -EINVAL (no @fn, or below FIB_STACK_MIN), -ENOMEM, -EAGAIN (too many).
 */
FIB_API int fib_create(struct fib **out, void (*fn)(void *), void *arg,
		       size_t stack_size);

/**
 * fib_destroy - give a fiber and its stack back
 *
 * Only one that never ran since it was created or reset, or that is TERM, can
 * be destroyed: others still have frames on their stack. 0; -EBUSY: it runs,
 * is queued or parked; -EINVAL: not a fiber, or already destroyed.
 */
FIB_API int fib_destroy(struct fib *f);

/**
 * fib_detach - let a fiber be destroyed when its function returns
 *
 * The handle must not be used after that. 0, or -EINVAL. One that is TERM is
 * destroyed at once.
 */
FIB_API int fib_detach(struct fib *f);

/**
 * fib_reset - a new function for a fiber that is TERM or never ran, on the same
 * stack. It is READY then, and keeps its id. 0, -EBUSY, -EINVAL.
 */
FIB_API int fib_reset(struct fib *f, void (*fn)(void *), void *arg);

/**
 * fib_resume - run @f by hand, in the calling thread, until it yields or ends
 *
 * The caller may be a thread's main fiber, or any fiber, a scheduled one as
 * well: @f then runs on top of it. A blocking call in @f parks that scheduled
 * fiber with all on top of it; where there is none, it blocks the thread.
 *
 * 0: @f has yielded (PARKED or READY) or ended (TERM). -EBUSY: it runs already,
 * here or in another thread, or belongs to a scheduler. -EINVAL: it is TERM.
 */
FIB_API int fib_resume(struct fib *f);

/**
 * fib_yield - hold: leave the calling fiber until somebody lets it go on
 *
 * One that was resumed by hand returns to its resumer, and is PARKED until the
 * next fib_resume(). A scheduled one has arranged its own wake-up before (an
 * event, a timer, a place where others find it) and is PARKED until
 * fib_ready(), fib_sched_submit_fiber() or the event. A wake-up that comes
 * before the call makes it return at once; several count as one; there are no
 * other reasons for which it returns. 0; -ECANCELED: what it has arranged is still
 * to come, and may be a pending event; -EPERM in a thread's main fiber.
 */
FIB_API int fib_yield(void);

/**
 * fib_yield_ready - let others run first; the fiber is queued again
 *
 * A scheduled one goes behind all that its thread has queued, and all that was
 * submitted from outside the scheduler by then and no thread has taken yet; one
 * that is pinned takes turns with those that are not. One that was resumed by
 * hand returns to its resumer, and is READY. 0, or -EPERM in a thread's main
 * fiber.
 */
FIB_API int fib_yield_ready(void);

/**
 * fib_ready - wake a scheduled fiber that holds, or is about to
 *
 * It is queued in its own scheduler, once, after it has left its stack. 0;
 * -EINVAL: not a fiber, or one that belongs to no scheduler.
 */
FIB_API int fib_ready(struct fib *f);

/**
 * fib_cancel - have a scheduled fiber leave its waits
 *
 * From now on each call that is a cancellation point ends with -ECANCELED in @f,
 * the one that it waits in included, and has done nothing then; what it has got
 * already it returns. It is for @f to see to its end. Cancellation points are
 * all calls that wait, but for those of a mutex, fib_sched_stop(),
 * fib_guard_destroy(), fib_group_destroy(), and the end of executors; they look
 * at once, also where they would not wait. fib_yield_ready() is none. What waits
 * in the kernel, since epoll(7) does not know the file, is not left.
 *
 * With what runs on top of @f by hand. For good, until fib_reset(). 0; -EINVAL:
 * not a fiber, or one that belongs to no scheduler.
 */
FIB_API int fib_cancel(struct fib *f);
/** Is the calling fiber cancelled, and no shield up? For one that computes. */
FIB_API bool fib_canceled(void);
/**
 * fib_shield_enter - until fib_shield_leave() waits go on to their end, whether the
 * fiber is cancelled or not: to clean up. They nest. On a thread's own stack they
 * do nothing. 0; -EINVAL: it is not up.
 */
FIB_API int fib_shield_enter(void);
FIB_API int fib_shield_leave(void);

/**
 * fib_current - the calling fiber; never NULL but without memory. On a thread's
 * own stack it is the thread's main fiber, made by the first call; it lives as
 * long as the thread, is RUNNING, and cannot be resumed or destroyed.
 */
FIB_API struct fib *fib_current(void);
/** State of @f, an instant ago; FIB_FREE for NULL. */
FIB_API enum fib_state fib_state(const struct fib *f);
/**
 * A number above 0 that no other fiber of the process ever has; 0 for one that
 * does not exist.
 */
FIB_API uint64_t fib_id(const struct fib *f);
/** Name of @f; "" at first. The string is @f's. */
FIB_API const char *fib_name(const struct fib *f);
/** Give @f a name, cut to FIB_NAME_MAX. 0 or -EINVAL. */
FIB_API int fib_set_name(struct fib *f, const char *name);
/**
 * Fibers that exist: created or submitted, and not destroyed. Main fibers of
 * threads do not count.
 */
FIB_API size_t fib_total(void);

/* --- values of a fiber's own ------------------------------------------------ */

#define FIB_LOCAL_MAX 256

/**
 * fib_local_create - a key, under which each fiber has a value, NULL at first
 * @destroy:	called with a value that is not NULL when its fiber ends, in the
 *		fiber, in any order; up to four times, if destructors set values.
 *		NULL: nothing is
 *
 * A thread's main fiber ends with its thread, but not by exit(3); what is resumed
 * by hand has values of its own. 0; -EAGAIN: there are FIB_LOCAL_MAX; -EINVAL.
 */
FIB_API int fib_local_create(unsigned *key, void (*destroy)(void *value));
/** Give a key back; values are forgotten, not destroyed. 0, -EINVAL. */
FIB_API int fib_local_delete(unsigned key);
/** The calling fiber's value; NULL where there is none. */
FIB_API void *fib_local_get(unsigned key);
/** 0, -EINVAL, -ENOMEM. */
FIB_API int fib_local_set(unsigned key, void *value);

/* --- finding faults ---------------------------------------------------------- */

/**
 * fib_dump - write a list of all fibers to @fd: number, name, state, scheduler,
 * what each waits for, and where
 *
 * A fiber that does not run has its frames with it, as OBJECT+OFFSET for
 * addr2line(1), by its frame pointers: frames of code without these are left out.
 * The fibers go on meanwhile, so each line is of one instant, an instant ago. May
 * be called by a signal handler, and takes no lock. 0; what write(2) says; -EPERM: a
 * filter forbids process_vm_readv(2).
 */
FIB_API int fib_dump(int fd);

/**
 * fib_tell_overflow - when a fiber overflows its stack, name it on stderr
 *
 * Takes SIGSEGV, on an alternate signal stack of each thread that runs fibers from
 * now on, the calling one included: call it before schedulers and executors are
 * made. What else faults goes to the handler that was there before, and so does an
 * overflow, when it has been told. A thread that has an alternate stack keeps its
 * own; none has SIGSEGV blocked any more. 0 or -errno.
 */
FIB_API int fib_tell_overflow(void);

/**
 * The version of the library that runs, "MAJOR.MINOR.PATCH". Never NULL, and
 * never freed. Any thread, any signal handler.
 */
FIB_API const char *fib_version(void);

/* --- scheduler ------------------------------------------------------------- */

#define FIB_ANY_THREAD (-1)

/**
 * fib_sched_create - make a scheduler of @threads threads
 * @threads:	1 to FIB_THREADS_MAX
 * @use_caller:	the calling thread is one of them, and takes part while it is
 *		in fib_sched_stop()
 * @name:	its threads are called NAME_0, NAME_1, ...; NULL: "fib"
 *
 * Thread number i is NAME_i. The caller is the last one, number @threads - 1,
 * and keeps its own name. Nothing runs before fib_sched_start(). 0, -EINVAL,
 * -ENOMEM, -EMFILE and what else epoll_create1(2) fails with.
 */
FIB_API int fib_sched_create(struct fib_sched **out, unsigned threads,
			     bool use_caller, const char *name);
#define FIB_THREADS_MAX 1024

/**
 * 0; -EBUSY: it runs, or there is work in it (fibers, events, timers). -EINVAL:
 * there is none, or none any more.
 */
FIB_API int fib_sched_destroy(struct fib_sched *s);

/**
 * fib_sched_set_stack_size - of fibers that are made for submitted functions;
 * for those that have not begun. FIB_STACK_DEFAULT at first. 0 or -EINVAL.
 */
FIB_API int fib_sched_set_stack_size(struct fib_sched *s, size_t bytes);

/**
 * fib_sched_set_auto_stop - end by itself
 *
 * The threads end when the last work has ended. A scheduler that has not had
 * any yet waits for it. fib_sched_stop() is then still to be called: it
 * returns at once, or when the work is done. 0; -EBUSY once it is started.
 */
FIB_API int fib_sched_set_auto_stop(struct fib_sched *s, bool on);

/**
 * fib_sched_start - start the threads. What was submitted before runs now.
 *
 * With use_caller there is one thread less, and with @threads = 1 none at all.
 * 0; -EALREADY: it runs. -EAGAIN: no threads to be had, and none was left.
 */
FIB_API int fib_sched_start(struct fib_sched *s);

/**
 * fib_sched_stop - run to the end, and end the threads
 *
 * Returns when every task has ended, those that tasks have submitted included,
 * no event is pending and no timer armed (fib_iom_cancel_pending() ends the
 * wait for the last two), and the threads are gone. With use_caller, the
 * caller's thread works as well. What is submitted from outside after the end
 * waits for the next start. A second call returns 0 at once; one that comes
 * during the first waits for the same end. fib_sched_start() may follow. It waits
 * for ever where fibers wait for each other: fib_dump() lists who waits where.
 *
 * 0; -EPERM: with use_caller, from any thread but the one that created it (with
 * a fiber of another scheduler as the caller, the thread it was in);
 * -EDEADLK: from one of the scheduler's own fibers.
 */
FIB_API int fib_sched_stop(struct fib_sched *s);

/**
 * fib_sched_submit - run @fn(@arg) in a fiber
 * @thread:	number of the thread that alone may run it, or FIB_ANY_THREAD
 *
 * Tasks submitted from outside the scheduler begin in the order of submission,
 * on one thread; so do those of one fiber. Before start and after the end of stop
 * they stay queued. A thread is woken only if one sleeps. 0, -EINVAL, -EAGAIN
 * (too many fibers), -ENOMEM.
 */
FIB_API int fib_sched_submit(struct fib_sched *s, void (*fn)(void *), void *arg,
			     int thread);

/**
 * fib_sched_submit_fiber - hand a fiber over to the scheduler, until it ends
 *
 * For a READY fiber of no scheduler, or one that was resumed by hand and has
 * yielded; with a fiber that is in this scheduler already, the same as
 * fib_ready() (@thread is not looked at then). The caller keeps the handle and
 * destroys or resets the fiber when it is TERM; or fib_detach()es it.
 *
 * 0; -EBUSY: it runs by hand, or is in another scheduler; -EINVAL: it is TERM,
 * or a main fiber.
 */
FIB_API int fib_sched_submit_fiber(struct fib_sched *s, struct fib *f,
				   int thread);

/* One of a batch: either a function, or a fiber. */
struct fib_job {
	void (*fn)(void *);
	void *arg;
	struct fib *fib; /* NULL: @fn */
	int thread;	 /* or FIB_ANY_THREAD */
};

/**
 * fib_sched_submit_batch - submit @n jobs, all or none, in order
 *
 * 0, or the error of the first that cannot be; then none was submitted.
 */
FIB_API int fib_sched_submit_batch(struct fib_sched *s,
				   const struct fib_job *jobs, size_t n);

/** The scheduler whose fiber the caller is, or NULL. */
FIB_API struct fib_sched *fib_sched_current(void);
/** Number of the scheduler's thread that the caller is on, or -1. */
FIB_API int fib_sched_thread(void);
FIB_API const char *fib_sched_name(const struct fib_sched *s);

/* A look at a scheduler; the figures are of one instant each. */
struct fib_sched_info {
	bool running;	  /* started, and not at its end */
	unsigned threads; /* as created */
	unsigned active;  /* threads that run a fiber */
	unsigned idle;	  /* threads that sleep in epoll_wait */
	size_t fibers;	  /* queued, running or parked in it */
	size_t events;	  /* pending */
	size_t timers;	  /* armed */
	uint64_t tickles; /* sleeping threads that were woken for work, ever */
};
/** 0 or -EINVAL. */
FIB_API int fib_sched_info(const struct fib_sched *s,
			   struct fib_sched_info *info);

#include "fib/io.h"
#include "fib/sync.h"
#include "fib/task.h"

#ifdef __cplusplus
}
#endif

#endif
