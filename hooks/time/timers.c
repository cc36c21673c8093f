/* Timers, which signal the process or one thread of it. */
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/signal/signal.h"
#include "hooks/time/time.h"

/* A timer that has been set anew or stopped sends nothing more of before. */
static long synced(long r, uint64_t set)
{
	fib_signal_sync(set);
	return r;
}

/* linux/posix-timers_types.h: clocks of threads and processes, but not of descriptors. */
static bool counts_cpu(int clock)
{
	return clock == CLOCK_PROCESS_CPUTIME_ID ||
	       clock == CLOCK_THREAD_CPUTIME_ID ||
	       (clock < 0 && (clock & 7) != 3);
}

static long create(int clock, struct sigevent *ev, int *id)
{
	long r = fib_raw(SYS_timer_create, clock, ev, id);

	if (r == 0)
		fib_signal_timers_add(1);
	return r;
}

static long end(int id)
{
	long r = fib_signal_timer_call(id, SYS_timer_delete, (long[6]){ id });

	if (r == 0)
		fib_signal_timers_add(-1);
	return r;
}

/* The signal that it may send is made with it: alloc_posix_timer() of the kernel. */
long fib_sys_timer_create(int clock, struct sigevent *ev, int *id)
{
	struct sigevent copy;
	struct fib *f;
	long r = fib_clock_dedicate(&clock);
	int got;

	if (r)
		return r;
	if (fib_signal_any_queued() && fib_signal_one_too_many())
		return -EAGAIN;
	copy.sigev_signo = SIGALRM;
	copy.sigev_notify = SIGEV_SIGNAL;
	if (ev && fib_copy(&copy, ev, sizeof(copy)))
		return -EFAULT;
	if (counts_cpu(clock) && copy.sigev_notify == SIGEV_SIGNAL)
		fib_signal_timer_counts_cpu(copy.sigev_signo);
	if (copy.sigev_notify != SIGEV_THREAD_ID)
		return create(clock, ev, id);
	f = fib_by_tid(copy._sigev_un._tid);
	if (!f)
		return create(clock, ev, id);
	copy.sigev_notify = SIGEV_SIGNAL;
	fib_signal_timer_expect(copy.sigev_signo);
	r = create(clock, &copy, &got);
	if (r)
		return r;
	if (fib_signal_timer_add(got, fib_load(&f->tid, relaxed)))
		return fib_copy(id, &got, sizeof(got));
	end(got);
	return -EAGAIN;
}

long fib_sys_timer_delete(int id)
{
	long r = end(id);

	/* What it has sent is its thread's still. */
	fib_signal_timer_remove(id);
	return r;
}

long fib_sys_timer_settime(int id, int flags, const void *new, void *old)
{
	return fib_signal_timer_call(
		id, SYS_timer_settime,
		(long[6]){ id, flags, (long)new, (long)old });
}

long fib_sys_timer_getoverrun(int id)
{
	int n = fib_signal_timer_overrun(id);

	return n < 0 ? fib_raw(SYS_timer_getoverrun, id) : n;
}

long fib_sys_setitimer(int which, const void *new, void *old)
{
	return synced(fib_raw(SYS_setitimer, which, new, old),
		      FIB_SIG(SIGALRM) | FIB_SIG(SIGVTALRM) | FIB_SIG(SIGPROF));
}

long fib_sys_alarm(unsigned seconds)
{
	return synced(fib_raw(SYS_alarm, seconds), FIB_SIG(SIGALRM));
}
