/*
 * CPU clocks of threads.
 *
 * The clock of a fiber is what it is metered for (runtime/cputime.h). Timers on
 * it, and what the kernel alone counts (RUSAGE_THREAD), want a kernel thread:
 * the fiber becomes dedicated.
 */
#include <sys/resource.h>
#include <time.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/thread/thread.h"
#include "hooks/time/time.h"
#include "runtime/cputime.h"

/*
 * linux/posix-timers_types.h: ~tid << 3 | per thread 4 | kind. libc's clock of
 * a thread has kind 2 (what the scheduler counts).
 */
#define PER_THREAD 4
#define KIND	   3
#define KIND_SCHED 2

/* The fiber whose clock that is, or NULL: the kernel knows. */
static struct fib *fiber_of(int clock)
{
	int tid = ~(clock >> 3);

	if (clock == CLOCK_THREAD_CPUTIME_ID)
		return fib_self();
	if (clock >= 0 || !(clock & PER_THREAD) || (clock & KIND) != KIND_SCHED)
		return NULL;
	return tid ? fib_by_tid(tid) : fib_self();
}

int fib_clock_dedicate(int *clock)
{
	struct fib *f = fiber_of(*clock);
	long tid;

	if (!f)
		return 0;
	tid = fib_dedicated_tid(f);
	if (tid < 0)
		return tid == -ESRCH ? -EINVAL : (int)tid;
	*clock = (int)(~(unsigned)tid << 3 | PER_THREAD | KIND_SCHED);
	return 0;
}

/*
 * Clocks that the kernel alone has: what a thread has used in user mode, and in all by
 * ticks; and, where it is asked for the time, a process's by the id of the thread that asks
 * (pid_for_clock()).
 */
static long ask_kernel(int clock, struct timespec *user)
{
	int tid = ~(clock >> 3);
	bool ours = clock < 0 && (clock & KIND) <= KIND_SCHED && tid &&
		    fib_by_tid(tid);

	if (ours && !(clock & PER_THREAD) && tid == fib_own_tid())
		clock = (int)(~0u << 3 | (unsigned)(clock & KIND));
	else if (ours && (clock & PER_THREAD)) {
		long its = fib_dedicated_tid(fib_by_tid(tid));

		if (its < 0)
			return its == -ESRCH ? -EINVAL : its;
		clock = (int)(~(unsigned)its << 3 | (unsigned)(clock & 7));
	}
	return fib_raw(SYS_clock_gettime, clock, user);
}

long fib_sys_clock_gettime(int clock, struct timespec *user)
{
	struct fib *f = fiber_of(clock);

	if (!f)
		return ask_kernel(clock, user);
	if (f == fib_self())
		fib_cpu_meter();
	return fib_timespec_put(user, fib_cpu_ns(f));
}

long fib_sys_clock_getres(int clock, struct timespec *user)
{
	return fib_raw(SYS_clock_getres,
		       fiber_of(clock) ? CLOCK_THREAD_CPUTIME_ID : clock, user);
}

long fib_sys_getrusage(int who, void *user)
{
	if (who == RUSAGE_THREAD && fib_dedicate())
		return -ENOMEM;
	return fib_raw(SYS_getrusage, who, user);
}
