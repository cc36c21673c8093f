/*
 * Descriptors, timers, and calls that block a fiber alone.
 * A part of fib.h, which is to be included: its conventions hold.
 */
#ifndef FIB_IO_H
#define FIB_IO_H

#ifndef FIB_H
#error "include <fib.h>"
#endif

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
 * -EINTR. They are cancellation points: fib_cancel().
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
/** At least @ns. 0, -ENOMEM, -ECANCELED. */
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
 * no memory and EAI_AGAIN where there is no thread to be had; or -ETIMEDOUT
 * or -ECANCELED, which are none of them. The thread ends when the look-up does.
 */
FIB_API int fib_getaddrinfo(const char *node, const char *service,
			    const struct addrinfo *hints,
			    struct addrinfo **result, uint64_t timeout_ns);

#endif
