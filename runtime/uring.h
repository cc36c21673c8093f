/*
 * Waits whose end only the kernel knows, of any number of fibers, on one kernel
 * thread: io_uring's. Futex waits, which are each in the kernel's own queue
 * then (io_uring/futex.c of Linux): counted by who wakes, in the order they came,
 * moved by FUTEX_REQUEUE, as if a thread of its own waited for each. And waits for
 * children (io_uring/waitid.c), which take nothing away: who is told that there is one
 * looks for itself.
 *
 * Requests are the kernel thread's that submits them, and its task work brings
 * what becomes of them. So one thread does both, the server: a worker that is
 * bound to a fiber of its own, which no program sees, as the messenger is. It is
 * made when it is first needed, and has the ring to itself, which is in no table
 * of descriptors (IORING_SETUP_REGISTERED_FD_ONLY) and in no fork child. It sleeps
 * in io_uring_enter(); a request for the word bell, in the same ring, is what others
 * wake it by.
 *
 *	fiber				server
 *	-----				------
 *	(A) push a wait to todo		(C) asleep = 1
 *	    bell++			(D) seen = bell
 *	(B) asleep? FUTEX_WAKE bell	(E) take all of todo: a request for each
 *	park until done, or it		    no request for bell? one, if it is seen
 *	  is to leave:			(F) io_uring_enter(): submits, sleeps
 *	(G) push a cancel, ring		    asleep = 0
 *	    park until both are done	(H) for each that ended: its result,
 *					    done = 1, wake its fiber
 *
 * - Nothing is left in todo while the server sleeps. Who finds asleep 0 at (B) has
 *   pushed before (C), so (E) finds it. Who finds it 1 wakes; where that comes too
 *   early, since the request for bell is still to be made at (F), bell is not seen any
 *   more, or was read at (D) after the push, and then (E) finds it. Each wakes for
 *   itself: another one's wake-up may have come too early.
 * - Whether a wait ended by a wake-up, or by a cancel, the kernel decides under the
 *   lock of its queue: one that was woken is not cancelled any more, and the result
 *   says so. A fiber that was woken returns 0, whatever else has come, as natively.
 * - A wait lies on its fiber's stack. It is done when its result is there and
 *   no cancel of it is in todo (G). What the server has made of a cancel by then may
 *   come to the kernel late, but before all that is pushed later, by the order
 *   of the queue, and finds nobody.
 * - A limit by the clock that may be set is a second request, linked to the wait's,
 *   which it cancels (io_uring/timeout.c): by its name, as all cancels do, and perhaps
 *   after the wait has ended. So the wait is done when both results are there; what lies
 *   at its place next has the same name.
 *   Where the kernel has memory for the first of the two alone, that one waits without
 *   a limit: the server cancels it until it has ended, and the caller waits in a
 *   call of its own.
 *
 * What the kernel cannot do is not done here: no such ring or request, no memory for
 * it, more than LIMIT at once. Then the answer is -ENOSYS, and the caller waits
 * in a call of its own.
 *
 * tests/model/uring.pml has (A) to (H). For a host that has bare threads. Locks:
 * docs/LOCKS.md.
 */
#ifndef FIB_URING_H
#define FIB_URING_H

#include <stdbool.h>
#include <stdint.h>

struct fib;

/** May there be one, from now on? No thread is made yet. */
void fib_uring_allow(bool may);
/** Never, whoever allows it. Before the first fiber. */
void fib_uring_leave_out(void);
bool fib_uring_allowed(void);
/**
 * Wait for a wake-up of *@uaddr, a word of memory that is shared, by one of
 * @bitset, if it is @val: 0, -EAGAIN: it is not; -ETIMEDOUT: at @deadline_ns, or
 * when CLOCK_REALTIME, whoever sets it, is @real_ns; -EINTR, as fib_park_until(),
 * unless @goes_on(the caller); -ENOSYS: not to be had, nobody has waited. Fibers
 * that are not bound.
 */
long fib_uring_futex_wait(uint32_t *uaddr, uint32_t val, uint32_t bitset,
			  uint64_t deadline_ns, uint64_t real_ns,
			  bool (*goes_on)(struct fib *f));
/**
 * Wait until waitid() with these arguments, made by any thread of the process, would
 * return: 0, perhaps another fiber was faster; -EINTR and -ENOSYS as above. @options
 * have WNOWAIT, and not __WNOTHREAD. Fibers that are not bound.
 */
long fib_uring_child_wait(int type, int id, int options,
			  bool (*goes_on)(struct fib *f));
/**
 * connect() without waiting (uring_try.c): what comes of it; -EINPROGRESS: it is
 * under way; -EALREADY: it was before. -ENOSYS: it was not made. Fibers that are
 * not bound, nor under a filter.
 */
long fib_uring_connect(int fd, const void *addr, unsigned len);
/**
 * accept4() without waiting, with its arguments @a but for the descriptor: -EAGAIN:
 * there is no connection. *@more: the socket, one of TCP, has others, for sure if it
 * says no. -ENOSYS: it was not made. For whom fib_uring_connect() is.
 */
long fib_uring_accept(int fd, const long a[6], bool *more);
/** Nobody is in one of the two any more, after they were forbidden. */
void fib_uring_await_tries(void);
/**
 * A filter comes, for all threads, which may not know these calls: there is no ring
 * any more when this returns. All waits end, with -ENOSYS those that were not
 * woken. Fibers.
 */
void fib_uring_stop(void);
/** The same, and the server's kernel thread has ended. All fibers are bound. */
void fib_uring_quit(void);
/** The last fiber: the server is to end, if there is one; its worker is joined. */
void fib_uring_end(void);
/** In a fork child; and of what a worker had. */
void fib_uring_forget(void);
struct fib_tries;
void fib_uring_forget_tries(struct fib_tries *t);

#endif
