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
 */
#include <pthread.h>
#include "hooks/hooks.h"
#include "runtime/chaos.h"

/* What lies on the stack that may be unwound. */
static void let_go(struct fib *f)
{
	if (f->hold)
		fib_iom_let_go(f->hold);
	f->hold = NULL;
}

static void test_cancel(struct fib *f)
{
	if (fib_likely(!fib_load(&f->cancelled, acquire)) ||
	    f->door != FIB_DOOR_SYMBOL || !fib_libc.testcancel)
		return;
	/* If it unwinds, cleanup handlers are the program's own code. */
	fib_store(&f->in_hook, 0, relaxed);
	fib_barrier();
	fib_libc.testcancel();
	fib_barrier();
	fib_store(&f->in_hook, 1, relaxed);
	fib_barrier();
}

static bool signal_waits(const struct fib *f)
{
	return fib_load(&f->sigpend, relaxed) & 1ull << 31;
}

bool fib_cancel_is_near(void)
{
	struct fib *f = fib_self();

	return fib_load(&f->cancelled, acquire) || signal_waits(f);
}

void fib_cancel_begin(void)
{
	struct fib *f = fib_self();

	if (fib_likely(!fib_cancel_is_near()) || f->part)
		return;
	let_go(f);
	/* The signal may be what tells libc that there is a cancel. */
	fib_signal_deliver_cancel(f);
	test_cancel(f);
}

void fib_cancel_end(void)
{
	fib_cancel_begin();
}

bool fib_cancel_cuts(void)
{
	struct fib *f = fib_self();
	int state = PTHREAD_CANCEL_DISABLE;

	if (!f->part || !fib_cancel_is_near())
		return false;
	if (f->door != FIB_DOOR_SYMBOL || f->cancel_async)
		return signal_waits(f);
	/* Is it enabled? In the deferred type neither call acts. */
	fib_libc.setcancelstate(state, &state);
	fib_libc.setcancelstate(state, &(int){ 0 });
	return state == PTHREAD_CANCEL_ENABLE;
}

int fib_io_wait(struct fib_io *io)
{
	int r;

	fib_cancel_begin();
	r = fib_io_park(io);
	if (fib_unlikely(fib_cancel_is_near())) {
		fib_io_end(io);
		fib_cancel_end();
	}
	return r;
}

long fib_blocking(long nr, const long a[6])
{
	struct fib *f = fib_self();
	long r;

	fib_cancel_begin();
	f->blocking_sp = (uintptr_t)__builtin_frame_address(0);
	fib_block_enter();
	r = fib_raw_intr(&f->attention, nr, a);
	fib_block_leave();
	f->blocking_sp = 0;
	FIB_CHAOS_POINT(block_ended);
	if (r != -EINTR && r != -FIB_ERESTARTNOINTR)
		fib_signal_catch_up(f);
	if (r < 0)
		fib_cancel_end();
	return r;
}

extern const char fib_raw_intr_begin[], fib_raw_intr_syscall[],
	fib_raw_intr_stop[];

uintptr_t fib_raw_intr_fixup(uintptr_t rip)
{
	if (rip >= (uintptr_t)fib_raw_intr_begin &&
	    rip <= (uintptr_t)fib_raw_intr_syscall)
		return (uintptr_t)fib_raw_intr_stop;
	return rip;
}

static bool never(const void *arg)
{
	return false;
}

int fib_wait_until(uint64_t deadline_ns, uint8_t why)
{
	int r;

	fib_cancel_begin();
	r = fib_park_until(never, NULL, deadline_ns, why, 0);
	if (r == -EINTR)
		fib_cancel_end();
	return r;
}

uint64_t fib_deadline_in(uint64_t ns)
{
	struct fib *f = fib_self();

	if (!f->restarted)
		f->restart_deadline = fib_ns_add(fib_now_ns(), ns);
	return f->restart_deadline;
}

uint64_t fib_ns_left(uint64_t deadline_ns)
{
	uint64_t now = fib_now_ns();

	return deadline_ns > now ? deadline_ns - now : 0;
}

long fib_time_left(uint64_t deadline_ns, struct timespec *ts)
{
	uint64_t left = fib_ns_left(deadline_ns);

	if (deadline_ns == FIB_NEVER)
		return 0;
	ts->tv_sec = (time_t)(left / FIB_NSEC_PER_SEC);
	ts->tv_nsec = (long)(left % FIB_NSEC_PER_SEC);
	return (long)ts;
}

int fib_timespec_put(struct timespec *user, uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / FIB_NSEC_PER_SEC),
			       (long)(ns % FIB_NSEC_PER_SEC) };

	return fib_copy(user, &ts, sizeof(ts));
}

int64_t fib_timespec_ns(const struct timespec *user)
{
	struct timespec copy, *ts = &copy;

	if (fib_copy(ts, user, sizeof(copy)))
		return -EFAULT;
	if (ts->tv_sec < 0 || ts->tv_nsec < 0 ||
	    ts->tv_nsec >= (long)FIB_NSEC_PER_SEC)
		return -EINVAL;
	if (ts->tv_sec >= INT64_MAX / (int64_t)FIB_NSEC_PER_SEC)
		return INT64_MAX;
	return ts->tv_sec * (int64_t)FIB_NSEC_PER_SEC + ts->tv_nsec;
}

uint64_t fib_timeval_ns(const struct timeval *tv)
{
	uint64_t ns = (uint64_t)tv->tv_usec * 1000;

	if (tv->tv_sec >= INT64_MAX / (int64_t)FIB_NSEC_PER_SEC)
		return INT64_MAX;
	return (uint64_t)tv->tv_sec * FIB_NSEC_PER_SEC + ns;
}
