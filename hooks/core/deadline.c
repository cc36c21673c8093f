/* Time spans and deadlines, as the program and the kernel write them. */
#include "hooks/core/deadline.h"
#include "runtime/fault.h"
#include "runtime/sched.h"

uint64_t fib_deadline_in(uint64_t ns)
{
	struct fib *f = fib_self();

	if (!f->hook.restarted)
		f->io.restart_deadline = fib_ns_add(fib_now_ns(), ns);
	return f->io.restart_deadline;
}

long fib_time_left(uint64_t deadline_ns, struct timespec *ts)
{
	if (deadline_ns == FIB_NEVER)
		return 0;
	*ts = fib_timespec(fib_ns_left(deadline_ns));
	return (long)ts;
}

int fib_timespec_put(struct timespec *user, uint64_t ns)
{
	struct timespec ts = fib_timespec(ns);

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
