/* Sleeping. */
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include <linux/prctl.h>

/*
 * The kernel's timers end up to the slack later, and it counts that as time left: who is
 * woken after one of three seconds by an alarm has two left, and not 1.99.
 */
static uint64_t slack_ns(void)
{
	long ns = fib_fd_asks() ? fib_raw(SYS_prctl, PR_GET_TIMERSLACK) :
				  FIB_SLACK_NS;

	return ns > 0 ? (uint64_t)ns : 0;
}

/*
 * hrtimer_nanosleep() of the kernel writes what is left whenever a signal wakes it, also where
 * no handler runs, and it goes on.
 */
static long sleep_until(uint64_t deadline, struct timespec *left)
{
	int r;

	if (left)
		fib_stop_repeats();
	r = fib_wait_until(deadline, FIB_WAIT_TIME);
	if (r == -ETIMEDOUT)
		return 0;
	if (r != -EINTR)
		return r;
	if (left) {
		uint64_t now = fib_now_ns();

		if (fib_stop_came())
			now -= fib_signal_stop_lasted();
		deadline = fib_ns_add(deadline, slack_ns());
		if (deadline > INT64_MAX)
			deadline = INT64_MAX; /* KTIME_MAX */
		if (fib_timespec_put(left, deadline > now ? deadline - now : 0))
			return -EFAULT;
	}
	return -FIB_ERESTARTNOHAND;
}

long fib_sys_nanosleep(const struct timespec *want, struct timespec *left)
{
	int64_t ns;

	ns = fib_timespec_ns(want);
	if (ns < 0)
		return ns;
	return sleep_until(fib_deadline_in((uint64_t)ns), left);
}

/*
 * Sleeps on the steppable clocks are converted to the monotonic one when they
 * begin: a clock that is set meanwhile does not move them.
 */
long fib_sys_clock_nanosleep(int clock, int flags, const struct timespec *want,
			     struct timespec *left)
{
	int64_t ns, now;

	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_MONOTONIC:
	case CLOCK_BOOTTIME:
	case CLOCK_TAI:
		break;
	default:
		return fib_blocking(
			SYS_clock_nanosleep,
			(long[6]){ clock, flags, (long)want, (long)left });
	}
	ns = fib_timespec_ns(want);
	if (ns < 0)
		return ns;
	if (!(flags & TIMER_ABSTIME))
		return sleep_until(fib_deadline_in((uint64_t)ns), left);
	now = fib_clock_ns(clock);
	if (now < 0)
		return now;
	return sleep_until(ns > now ? fib_deadline_in((uint64_t)(ns - now)) :
				      fib_now_ns(),
			   NULL);
}
