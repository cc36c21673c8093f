/*
 * Parking inside a hook body, with signals and cancellation.
 *
 * A cancel acts where a call has had no effect, and never after one that has:
 * what a read got, what accept opened, a semaphore's wake-up would be lost.
 *
 *	fib_cancel_begin()	does one wait? nothing is published yet
 *	publish, park		ends on attention
 *	retract
 *	fib_cancel_end()	the same again, unless the call is done
 *
 * It is libc that acts. pthread_cancel() is exported: when libc's own has noted
 * the cancel in the thread, it marks the fiber (cancelled) and gives it attention,
 * which ends a park. Then
 *
 * - a call through an exported symbol, a cancellation point of its own, calls
 *   libc's pthread_testcancel(), which unwinds unless cancels are disabled;
 * - at a rewritten site the handler of SIGCANCEL is called. Until 2.40 libc's
 *   wrapper has made the cancel type asynchronous around its system call; that
 *   is what the handler goes by. Since 2.41 it goes by the place where it finds
 *   the thread: before the end of the one system call that is a cancellation
 *   point.
 *
 * The signal itself, if libc sends it, is left pending everywhere else, but for
 * a program that has chosen the asynchronous type (cancel_async). Natively,
 * until 2.40, it also acts between a call that has succeeded and the end of the
 * wrapper. There the wrapper waits, in a futex call, for a signal that was sent
 * before the type was set back; that call's fib_cancel_begin() delivers it.
 *
 * A call that has had a part of its effect is cut short by a cancel: it returns
 * what is done, and the next one acts.
 *
 * The cancel may not act (it is disabled, or the call is no cancellation point): libc's
 * handler returns. A signal that has ended the wait, as it ended it, has been handled
 * inside that handler by then, and the call ends, or begins anew, by that one's SA_RESTART
 * (io.handled): kept from fib_cancel_end() on, and not what fib_cancel_begin() has met.
 */
#ifndef FIB_WAIT_H
#define FIB_WAIT_H

#include "runtime/trywait.h"

/** fib_io_park(), as a cancellation point: it may unwind. */
int fib_io_wait(struct fib_io *io);

/** A park of the caller's, @f, was ended by what is for no handler and no cancel. */
bool fib_wait_goes_on(struct fib *f);

/**
 * The same of one that would begin anew by its numbers: it stays with its files. Not where
 * the caller is under a filter by then.
 */
bool fib_wait_stays(void);

/** Park until @deadline_ns or a signal: -ETIMEDOUT or -EINTR. */
int fib_wait_until(uint64_t deadline_ns, uint8_t why);

/**
 * A call that blocks in the kernel, and has no other form. Others get a worker;
 * a signal to the fiber ends it with -EINTR.
 */
long fib_blocking(long nr, const long a[6]);
/**
 * The same for a call that only tells of events: what other processes tell by
 * them is looked after by its FIB_TELLS (hooks.def).
 */
long fib_blocking_for_event(long nr, const long a[6]);
/** Is a connect() of TCP to @addr done at once, so that the kernel may make it? */
bool fib_connect_is_quick(const void *addr, size_t len);

/** fib_blocking(), and *@count, which the caller has raised, is one less after it. */
long fib_blocking_counted(long nr, const long a[6], _Atomic int *count);

/* Around every interruptible park. */
void fib_cancel_begin(void);
/** Of a call that has had no effect, or a part of it (fib_part_done()). */
void fib_cancel_end(void);
/** The call has had a part of its effect: a cancel may only cut it short. */
static inline void fib_part_done(void)
{
	fib_self()->io.part = true;
}
/** What has ended its wait, or cut it short, is for no handler and no cancel. */
bool fib_part_goes_on(void);

#endif
