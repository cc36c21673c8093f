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
 * given back with *_destroy(). Mutex, condition and semaphore lie in storage of
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
 * other reasons for which it returns. 0, or -EPERM in a thread's main fiber.
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

/** 0; -EBUSY: it runs, or there is work in it (fibers, events, timers). */
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
 * during the first waits for the same end. fib_sched_start() may follow.
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

/* --- IOManager: events of descriptors --------------------------------------- */

enum { FIB_EV_READ = 1, FIB_EV_WRITE = 2 };

/**
 * fib_iom_add_event - call @fn(@arg) in a fiber of @s, once, when @fd is ready
 * @event:	FIB_EV_READ or FIB_EV_WRITE
 * @fn:		NULL: wake the calling fiber instead, which then holds
 *		(fib_yield()); it must be one of @s
 *
 * Readiness is that of epoll: a descriptor that is ready now fires at once;
 * EOF, errors and hang-ups fire both. To get the next event, add it again.
 *
 * 0; -EEXIST: the descriptor has such an event already; -EBADF: it is not
 * open, or below 0; -EPERM: it cannot be polled, being always ready (a regular
 * file), or @fn is NULL and the caller no fiber of @s; -ENOMEM, -EAGAIN, -ENOSPC.
 */
FIB_API int fib_iom_add_event(struct fib_sched *s, int fd, int event,
			      void (*fn)(void *), void *arg);

/** Forget an event; it does not fire. 0; -ENOENT: none is pending. */
FIB_API int fib_iom_del_event(struct fib_sched *s, int fd, int event);

/** Fire an event now, and forget it. 0; -ENOENT: none is pending. */
FIB_API int fib_iom_cancel_event(struct fib_sched *s, int fd, int event);

/** fib_iom_cancel_event() for both; how many there were, or -EINVAL. */
FIB_API int fib_iom_cancel_all(struct fib_sched *s, int fd);

/**
 * fib_iom_cancel_pending - let a stop() go on: cancel every event of every
 * descriptor, and every timer (timers do not fire). How many there were.
 */
FIB_API long fib_iom_cancel_pending(struct fib_sched *s);

/** Number of pending events. 0 for NULL. */
FIB_API size_t fib_iom_pending(const struct fib_sched *s);

/**
 * fib_close - close(2), for a descriptor that fibers wait for
 *
 * Its events are cancelled in every scheduler, and fibers that are blocked in
 * fib_read() and the like on it return -EBADF. A descriptor that was given to a
 * blocking call of this library must be closed with this function, since
 * schedulers remember it; for events alone, close(2) will do, after
 * fib_iom_cancel_all(). 0 or -errno.
 */
FIB_API int fib_close(int fd);

/* --- timers ----------------------------------------------------------------- */

/* Refers to something that may end before a timer does. */
struct fib_guard;

FIB_API int fib_guard_create(struct fib_guard **out);
/**
 * fib_guard_destroy - from now on no timer of this guard fires
 *
 * Waits for callbacks that are running, but for the caller itself: what they
 * use may be freed then. Armed timers of the guard stay armed and end silently.
 * 0 or -EINVAL.
 */
FIB_API int fib_guard_destroy(struct fib_guard *g);

enum { FIB_TIMER_RECURRING = 1 };

/**
 * fib_timer_add - call @fn(@arg) in a fiber of @s, @ns from now
 * @flags:	0, or FIB_TIMER_RECURRING: again every @ns, which is not 0 then
 * @guard:	conditional: fires only while this lives. NULL: always
 *
 * Timers fire in the order of their deadlines, never early. A recurring one
 * keeps its beat: the next deadline is the last one plus @ns, but those that
 * have been missed altogether are left out. A scheduler that is not started
 * fires none; they are due when it starts.
 *
 * An id above 0, which no later timer of @s has; -EINVAL, -ENOMEM, -EAGAIN.
 */
FIB_API int64_t fib_timer_add(struct fib_sched *s, uint64_t ns, unsigned flags,
			      void (*fn)(void *), void *arg,
			      struct fib_guard *guard);

/**
 * Forget a timer. 0; -ENOENT: it has fired for the last time, or was cancelled.
 * A callback that has begun goes on.
 */
FIB_API int fib_timer_cancel(struct fib_sched *s, int64_t id);

/** Begin its time anew: due in its own ns from now. 0 or -ENOENT. */
FIB_API int fib_timer_refresh(struct fib_sched *s, int64_t id);

/**
 * Change its time to @ns, counted from now with @from_now, else from when it
 * was last armed. 0, -ENOENT, -EINVAL (0 for a recurring one).
 */
FIB_API int fib_timer_reset(struct fib_sched *s, int64_t id, uint64_t ns,
			    bool from_now);

/* --- blocking calls ---------------------------------------------------------- */

/*
 * They hold up the calling fiber, and no thread. Outside any scheduler they
 * hold up the thread. File status flags are neither needed nor changed (but see
 * fib_connect()); a descriptor with O_NONBLOCK is waited for as any other.
 * -ETIMEDOUT when the time is up; else what the system call of that name
 * returns, but never -EAGAIN (with a timeout of 0 it is -ETIMEDOUT) and never
 * -EINTR.
 *
 * The kernel has no non-blocking form of accept(2), nor of read(2) and write(2)
 * on what is neither socket nor pipe: poll(2) is asked first. The fibers of one
 * scheduler do that one after the other. Where another scheduler, thread or
 * process takes what the poll was about, the call holds up its thread until
 * there is more; with O_NONBLOCK on the descriptor it does not.
 */

/** read(2): at most @n bytes; 0 at the end. */
FIB_API long fib_read(int fd, void *buf, size_t n, uint64_t timeout_ns);
/**
 * write(2): some bytes, at least one; no SIGPIPE from a socket. Where poll(2)
 * tells of no room, on what is neither socket nor pipe, it sets O_NONBLOCK for
 * the instant of one try, as fib_connect() does.
 */
FIB_API long fib_write(int fd, const void *buf, size_t n, uint64_t timeout_ns);
/** All of @n: 0, or -errno of the first error; some may be written then. */
FIB_API int fib_write_all(int fd, const void *buf, size_t n,
			  uint64_t timeout_ns);
/** readv(2) and writev(2), as fib_read() and fib_write() are. */
FIB_API long fib_readv(int fd, const struct iovec *iov, int n,
		       uint64_t timeout_ns);
FIB_API long fib_writev(int fd, const struct iovec *iov, int n,
			uint64_t timeout_ns);
/**
 * recvfrom(2), sendto(2), recvmsg(2), sendmsg(2), for sockets; no SIGPIPE.
 * -EINVAL with MSG_WAITALL and MSG_FASTOPEN. MSG_ERRQUEUE never waits.
 */
FIB_API long fib_recvfrom(int fd, void *buf, size_t n, int flags,
			  struct sockaddr *addr, socklen_t *len,
			  uint64_t timeout_ns);
FIB_API long fib_sendto(int fd, const void *buf, size_t n, int flags,
			const struct sockaddr *addr, socklen_t len,
			uint64_t timeout_ns);
FIB_API long fib_recvmsg(int fd, struct msghdr *msg, int flags,
			 uint64_t timeout_ns);
FIB_API long fib_sendmsg(int fd, const struct msghdr *msg, int flags,
			 uint64_t timeout_ns);
/** accept4(2) with SOCK_CLOEXEC; @addr may be NULL. */
FIB_API int fib_accept(int fd, struct sockaddr *addr, socklen_t *len,
		       uint64_t timeout_ns);
/**
 * connect(2): 0 or -errno. After -ETIMEDOUT the attempt may go on.
 *
 * The kernel has no flag for one connect that does not block: on a descriptor
 * without O_NONBLOCK it is set for the instant of the system call, and a thread
 * or process that shares the open file description could see it. Nor does it say
 * when an AF_UNIX listener has room again: that is asked every 10 ms.
 */
FIB_API int fib_connect(int fd, const struct sockaddr *addr, socklen_t len,
			uint64_t timeout_ns);
/** Wait until @fd is ready for @event, as poll(2) sees it. 0 or -errno. */
FIB_API int fib_wait_fd(int fd, int event, uint64_t timeout_ns);
/** At least @ns. 0 or -ENOMEM. */
FIB_API int fib_sleep(uint64_t ns);

/**
 * fib_waitpid - wait for child @pid to end, and reap it: waitpid(2)
 * @status:	as of wait(2); may be NULL
 *
 * @pid; -ECHILD: it is no child of this process, or somebody else has reaped it;
 * -EINVAL: @pid is not above 0; -ETIMEDOUT; -EMFILE, -ENFILE, -ENOMEM: it takes
 * a descriptor. Without pidfd_open(2), Linux 5.3, it is asked every 10 ms.
 */
FIB_API int fib_waitpid(pid_t pid, int *status, uint64_t timeout_ns);

#if defined(_POSIX_C_SOURCE) && _POSIX_C_SOURCE >= 199309L
/**
 * fib_signal_wait - wait for a signal that is sent to the process: sigwaitinfo(2)
 * @info:	may be NULL
 *
 * The signals of @set must be blocked in all threads, the schedulers' included:
 * block them before these are started. Each is taken by one that waits. Its
 * number; -EINVAL, -ETIMEDOUT; -EMFILE, -ENFILE, -ENOMEM. Declared where
 * <signal.h> has the two types: not in strict ISO C.
 */
FIB_API int fib_signal_wait(const sigset_t *set, siginfo_t *info,
			    uint64_t timeout_ns);
#endif

/**
 * fib_getaddrinfo - look a name up, as getaddrinfo(3) does, in a thread of its
 * own; results are freed with freeaddrinfo(3)
 *
 * 0; one of getaddrinfo's own errors (gai_strerror(3)), EAI_MEMORY where there is
 * no memory and EAI_AGAIN where there is no thread to be had; or -ETIMEDOUT,
 * which is none of them. The thread ends when the look-up does.
 */
FIB_API int fib_getaddrinfo(const char *node, const char *service,
			    const struct addrinfo *hints,
			    struct addrinfo **result, uint64_t timeout_ns);

/* --- mutex, condition, semaphore --------------------------------------------- */

/*
 * Between fibers, of one or several schedulers, and threads. The fields are the
 * library's. Destroying needs no call: nobody may use it any more.
 */
struct fib_mutex {
	uint32_t word;
	uint32_t reserved;
	uint64_t owner;
};
#define FIB_MUTEX_INIT                                                         \
	{                                                                      \
		0, 0, 0                                                        \
	}

FIB_API void fib_mutex_init(struct fib_mutex *m);
/** 0; -EDEADLK: the caller has it. */
FIB_API int fib_mutex_lock(struct fib_mutex *m);
/** 0, -EBUSY. */
FIB_API int fib_mutex_trylock(struct fib_mutex *m);
/** 0, -EDEADLK, -ETIMEDOUT. */
FIB_API int fib_mutex_timedlock(struct fib_mutex *m, uint64_t timeout_ns);
/** 0; -EPERM: the caller does not have it. */
FIB_API int fib_mutex_unlock(struct fib_mutex *m);

struct fib_cond {
	uint32_t lock;
	uint32_t waiting;
	void *waiters[2];
};
#define FIB_COND_INIT                                                          \
	{                                                                      \
		0, 0,                                                          \
		{                                                              \
			0, 0                                                   \
		}                                                              \
	}

FIB_API void fib_cond_init(struct fib_cond *c);
/**
 * Give @m back, wait to be signalled, and take @m again: 0 or -ETIMEDOUT, with
 * @m held; -EPERM: the caller does not have @m. May return without a signal.
 */
FIB_API int fib_cond_wait(struct fib_cond *c, struct fib_mutex *m,
			  uint64_t timeout_ns);
/** 0. The mutex need not be held. */
FIB_API int fib_cond_signal(struct fib_cond *c);
FIB_API int fib_cond_broadcast(struct fib_cond *c);

struct fib_sem {
	uint32_t value;
	uint32_t waiters;
};
#define FIB_SEM_INIT(n)                                                        \
	{                                                                      \
		(n), 0                                                         \
	}

FIB_API void fib_sem_init(struct fib_sem *sem, uint32_t value);
/** Take one: 0 or -ETIMEDOUT (with a timeout of 0: there is none). */
FIB_API int fib_sem_wait(struct fib_sem *sem, uint64_t timeout_ns);
/** 0; -EOVERFLOW. */
FIB_API int fib_sem_post(struct fib_sem *sem);

/* --- channel ------------------------------------------------------------------ */

/* A queue of values of one size between any fibers, tasks and threads. */
struct fib_channel;

/**
 * fib_channel_create - for values of @size bytes, of which @capacity wait in it
 *
 * With @capacity 0 a send waits until a receiver has taken the value. 0,
 * -EINVAL, -ENOMEM.
 */
FIB_API int fib_channel_create(struct fib_channel **out, size_t size,
			       size_t capacity);
/** 0; -EBUSY: somebody waits in it. */
FIB_API int fib_channel_destroy(struct fib_channel *c);
/** Copy *@value in: 0, -ETIMEDOUT (not sent), -EPIPE: closed (not sent). */
FIB_API int fib_channel_send(struct fib_channel *c, const void *value,
			     uint64_t timeout_ns);
/**
 * Take the oldest value out, to *@value: 0, -ETIMEDOUT, -EPIPE: it is closed
 * and empty.
 */
FIB_API int fib_channel_recv(struct fib_channel *c, void *value,
			     uint64_t timeout_ns);
/** Nothing more is sent; what is in it can be received. 0. */
FIB_API int fib_channel_close(struct fib_channel *c);
/** Values that wait in it. */
FIB_API size_t fib_channel_count(const struct fib_channel *c);

/* --- executors ----------------------------------------------------------------- */

/* Something that executes functions, in a place and order of its own. */
struct fib_executor;

/* One that the program makes. */
struct fib_executor_ops {
	/*
	 * Have @fn(@arg) called once: 0 or -errno. Any thread; for the later
	 * steps of tasks a thread of the library's, which it should not hold
	 * up. Such a step is offered again if it is refused with -EAGAIN or
	 * -ENOMEM; any other error ends the task with -ECANCELED, and its stack
	 * is not given back.
	 */
	int (*execute)(void *self, void (*fn)(void *), void *arg);
	/* Once, after all has been executed. NULL: there is nothing to do. */
	void (*destroy)(void *self);
};

/** An executor from @ops and @self. 0, -EINVAL, -ENOMEM. */
FIB_API int fib_executor_create(struct fib_executor **out,
				const struct fib_executor_ops *ops, void *self);
/** Each function in a new thread. */
FIB_API int fib_executor_new_thread(struct fib_executor **out);
/**
 * A pool for work that blocks: up to @max threads, started as they are needed
 * and ended after a while without work. What comes on top is queued.
 */
FIB_API int fib_executor_async(struct fib_executor **out, unsigned max);
/** One thread called @name (NULL: "fib-looper"), in the order of submission. */
FIB_API int fib_executor_looper(struct fib_executor **out, const char *name);
/** Fibers of @s, which outlives the executor, and runs until it has ended. */
FIB_API int fib_executor_sched(struct fib_executor **out, struct fib_sched *s);

/** 0; -ESHUTDOWN: it was shut down; -EAGAIN, -ENOMEM, or its own error. */
FIB_API int fib_executor_execute(struct fib_executor *ex, void (*fn)(void *),
				 void *arg);
/**
 * fib_executor_shutdown - take no more work
 * @drain:	what is queued is still executed; else it is dropped
 *
 * What has begun comes to its end in both cases, tasks that wait included.
 * Tasks that an executor drops end with -ECANCELED. Returns when its threads
 * have ended. The number dropped; -EDEADLK: from what it executes.
 */
FIB_API long fib_executor_shutdown(struct fib_executor *ex, bool drain);
/** Shut down (with drain) where that was not done, and free. 0, -EDEADLK. */
FIB_API int fib_executor_destroy(struct fib_executor *ex);

/* --- tasks ----------------------------------------------------------------------- */

/*
 * A task is a fiber that is bound to an executor: it starts there, and after
 * each call that waits it goes on there. Its result is a long; below 0 it is an
 * error, a negative errno value, which who awaits it gets.
 */
struct fib_task;

/**
 * fib_task_start - run @fn(@arg) as a task on @ex
 * @out:	to await it; NULL: nobody will. With a handle, fib_task_put().
 *
 * 0, -EINVAL, -ENOMEM, and what the executor refuses it with.
 */
FIB_API int fib_task_start(struct fib_task **out, struct fib_executor *ex,
			   long (*fn)(void *), void *arg);
/** Give the handle back; the task goes on. */
FIB_API void fib_task_put(struct fib_task *t);
/**
 * Wait for @t to end: its result. For tasks, fibers and threads; several may.
 * A task that awaits itself, or a callback of its, gets -EDEADLK.
 */
FIB_API long fib_task_await(struct fib_task *t);
/** The same; -ETIMEDOUT is the caller's then, and the task goes on. */
FIB_API int fib_task_await_for(struct fib_task *t, uint64_t timeout_ns,
			       long *result);
/**
 * Call @fn(result, @arg) on the task's executor when it has ended: then if the
 * result is >= 0, catch if it is below, finally in both cases. In the order in
 * which they were added, before those who await the task go on. Once it has
 * ended, it is called as soon as may be. 0, -EINVAL, -ENOMEM, and then also what
 * the executor refuses it with.
 */
FIB_API int fib_task_then(struct fib_task *t, void (*fn)(long, void *),
			  void *arg);
FIB_API int fib_task_catch(struct fib_task *t, void (*fn)(long, void *),
			   void *arg);
FIB_API int fib_task_finally(struct fib_task *t, void (*fn)(long, void *),
			     void *arg);
/** The calling task's executor, or NULL. */
FIB_API struct fib_executor *fib_task_executor(void);

#ifdef __cplusplus
}
#endif

#endif
