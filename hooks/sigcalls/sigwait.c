/* Waiting for signals, without a handler or until one has run. */
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"
#include "hooks/wait/wait.h"
#include "runtime/timer.h"

long fib_sys_pause(void)
{
	int r = fib_wait_until(FIB_NEVER, FIB_WAIT_SIGNAL);

	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

long fib_sys_rt_sigsuspend(const uint64_t *mask, size_t size)
{
	uint64_t set;

	if (size != 8)
		return -EINVAL;
	if (fib_copy(&set, mask, sizeof(set)))
		return -EFAULT;
	fib_signal_mask_for_call(set);
	return fib_sys_pause();
}

/* One of @set into *@info, and its number; or 0, and why not in *@r. */
static int await_one(struct fib *f, uint64_t set, uint64_t deadline,
		     siginfo_t *info, long *r)
{
	struct fib_timer timer = { 0 };
	bool slept = false, process;
	int sig = 0;

	*r = 0;
	if (deadline != FIB_NEVER)
		*r = fib_timer_arm(&timer, f, deadline);
	while (*r == 0 && !(sig = fib_signal_accept(f, set, info, &process))) {
		slept = true;
		/* (A) of signal.h sets it again for what comes from now on */
		fib_xchg(&f->attention, 0, seq_cst);
		if ((sig = fib_signal_accept(f, set, info, &process)))
			break;
		fib_signal_rewatch(set);
		if ((fib_load(&f->sig.pending, relaxed) &
		     ~fib_load(&f->sig.mask, relaxed)) ||
		    fib_stop_ended() ||
		    fib_taskwork_pending(f))
			*r = -EINTR;
		else if (deadline != FIB_NEVER &&
			 fib_load(&timer.fired, acquire))
			*r = -EAGAIN;
		else
			fib_park();
	}
	fib_store(&f->sig.awaited, 0, seq_cst);
	f->wait = FIB_WAIT_NONE;
	fib_timer_disarm(&timer);
	if (sig && slept && process)
		fib_signal_wake_next(f, sig);
	return sig ? sig : fib_signal_dequeue(f, set, info);
}

static long accepted(int sig, const siginfo_t *info, void *user_info)
{
	if (user_info && fib_copy(user_info, info, sizeof(*info)))
		return -EFAULT;
	return sig;
}

/* As do_sigtimedwait() of the kernel, which looks once, and does not sleep. */
static long accept_now(struct fib *f, uint64_t set, void *user_info)
{
	bool process;
	siginfo_t info;
	int sig = fib_signal_accept(f, set, &info, &process);

	if (!sig)
		return -EAGAIN;
	fib_signal_rewatch(FIB_SIG(sig));
	return accepted(sig, &info, user_info);
}

long fib_sys_rt_sigtimedwait(const uint64_t *user_set, void *user_info,
			     const struct timespec *ts, size_t size)
{
	struct fib *f = fib_self();
	uint64_t deadline = FIB_NEVER, set;
	siginfo_t info;
	int64_t ns;
	int sig;
	long r;

	if (size != 8)
		return -EINVAL;
	if (fib_copy(&set, user_set, sizeof(set)))
		return -EFAULT;
	/* SIGCANCEL's number is that of libc's timer threads as well. */
	set &= ~(FIB_UNBLOCKABLE | FIB_SIG(FIB_KICK));
	if (ts) {
		ns = fib_timespec_ns(ts);
		if (ns < 0)
			return ns;
		if (ns == 0)
			return accept_now(f, set, user_info);
		deadline = fib_deadline_in((uint64_t)ns);
	}
	fib_cancel_begin();
	f->wait = FIB_WAIT_SIGNAL;
	f->wait_deadline = deadline;
	fib_stop_ends(); /* and who awaits something may be woken for nothing */
	fib_store(&f->sig.awaited, set, seq_cst);
	sig = await_one(f, set, deadline, &info, &r);
	fib_signal_mask_changed(f);
	if (sig)
		fib_signal_rewatch(FIB_SIG(sig));
	if (!sig) {
		fib_cancel_end();
		return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
	}
	return accepted(sig, &info, user_info);
}
