/*
 * Parking inside a hook body, with signals and cancellation.
 *
 * Cancellation. A call that came through an exported symbol is a cancellation
 * point of its own. libc's wrapper, which it replaces, would make the thread's
 * cancel type asynchronous around the system call, and lose what the call had
 * just received. Here pthread_cancel() is exported as well: libc's own notes the
 * cancel in the thread, then the fiber is marked (cancelled) and gets attention,
 * which ends a park. So a cancel acts at a call's beginning, or in place of a
 * park, and never after a call that succeeded:
 *
 *	fib_cancel_begin()	cancelled: libc's pthread_testcancel(), which
 *				unwinds unless cancels are disabled; nothing
 *				is published yet
 *	publish, park		ends on attention
 *	retract
 *	fib_cancel_end()	the same again
 *
 * (A rewritten site sits inside libc's wrapper, where the type is asynchronous:
 * pthread_cancel() sends SIGCANCEL, and its handler unwinds, from
 * fib_cancel_end() as well.)
 */
#include "hooks/hooks.h"
#include "runtime/chaos.h"

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

void fib_cancel_begin(void)
{
	test_cancel(fib_self());
}

bool fib_cancel_is_near(void)
{
	struct fib *f = fib_self();

	return fib_load(&f->cancelled, acquire) ||
	       (fib_load(&f->sigpend, relaxed) & 1ull << 31);
}

void fib_cancel_end(void)
{
	struct fib *f = fib_self();

	if (fib_likely(!fib_cancel_is_near()))
		return;
	test_cancel(f);
	fib_signal_deliver_cancel(f);
}

int fib_io_wait(struct fib_io *io)
{
	int r;

	fib_cancel_begin();
	r = fib_io_park(io);
	if (fib_unlikely(fib_cancel_is_near()))
		fib_io_end(io);
	fib_cancel_end();
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
