/* Signal calls that change the program's state: actions, masks, stacks. */
#include "hooks/core/hook.h"
#include "hooks/signal/signal.h"
#include "regs_arch.h"

long fib_sys_rt_sigaction(int sig, const void *act, void *old, size_t size)
{
	struct fib_kernel_sigaction was, is;
	long r = 0;

	if (sig < 1 || sig > 64 || size != 8 ||
	    (act && fib_copy(&is, act, sizeof(is))))
		return fib_raw(SYS_rt_sigaction, sig, act, old, size);
	if (act) {
		const struct fib *f = fib_self();

		/* What has come is handled as it was until now. */
		fib_signal_sync(FIB_SIG(sig));
		if (fib_load(&f->sig.pending, acquire) & FIB_SIG(sig) &
		    ~fib_load(&f->sig.mask, relaxed))
			return -FIB_ERESTARTNOINTR;
	}
	r = fib_signal_set_action(sig, act ? &is : NULL, &was);
	if (r == 0 && act) {
		fib_signal_rewatch(FIB_SIG(sig));
		/* What timers have put by: posixtimer_sig_unignore(). */
		if (was.handler <= 1 && fib_signal_timers())
			fib_signal_sync(FIB_SIG(sig));
	}
	if (r == 0 && old)
		r = fib_copy(old, &was, sizeof(was));
	return r;
}

/*
 * pthread_create() closes the mask of its caller, and opens it again; so does the
 * new thread before it begins. What was open before has been looked at all the
 * time: in between neither has run a line of the program's, by which it could
 * know of a signal that it has not been given yet. What is pending is the
 * receiver's, as it is of a mask that is open.
 */
static bool only_reopens(struct fib *f, uint64_t opened)
{
	uint64_t open = f->sig.open;

	if (!f->thread.creating)
		f->sig.open = 0;
	return opened && !(opened & ~open);
}

long fib_sys_rt_sigprocmask(int how, const uint64_t *set, uint64_t *old,
			    size_t size)
{
	struct fib *f = fib_self();
	uint64_t was = fib_load(&f->sig.mask, relaxed), is = was;

	if (size != 8)
		return -EINVAL;
	if (set) {
		uint64_t s;

		if (fib_copy(&s, set, sizeof(s)))
			return -EFAULT;
		s &= ~FIB_UNBLOCKABLE;

		switch (how) {
		case SIG_BLOCK:
			is |= s;
			break;
		case SIG_UNBLOCK:
			is &= ~s;
			break;
		case SIG_SETMASK:
			is = s;
			break;
		default:
			return -EINVAL;
		}
	}
	if (is != was) {
		fib_store(&f->sig.mask, is, seq_cst);
		if (only_reopens(f, was & ~is))
			fib_signal_mask_changed(f);
		else if (was & ~is)
			fib_signal_unblocked(f, was & ~is);
		else if (fib_load(&f->sig.pending, relaxed) & is)
			fib_signal_mask_changed(f);
	}
	return old ? fib_copy(old, &was, sizeof(was)) : 0;
}

long fib_sys_rt_sigpending(uint64_t *set, size_t size)
{
	struct fib *f = fib_self();
	uint64_t in_kernel = 0;

	if (size > 8)
		return -EINVAL;
	fib_raw(SYS_rt_sigpending, &in_kernel, 8);
	if (fib_unlikely(in_kernel & fib_signal_timer_signals())) {
		fib_signal_take_timers(in_kernel);
		fib_raw(SYS_rt_sigpending, &in_kernel, 8);
	}
	in_kernel |= fib_load(&f->sig.pending, acquire) |
		     fib_signal_process_pending();
	in_kernel &= fib_load(&f->sig.mask, relaxed);
	return fib_copy(set, &in_kernel, size);
}

long fib_sys_sigaltstack(const void *set, void *old)
{
	struct fib *f = fib_self();
	uintptr_t sp = f->hook.regs ? (uintptr_t)f->hook.regs :
				      (uintptr_t)__builtin_frame_address(0);
	const stack_t is = fib_altstack_get(f);
	stack_t was, ss;
	int r = 0;

	memset(&was, 0, sizeof(was)); /* it has a gap, which is told as well */
	was.ss_sp = is.ss_sp;
	was.ss_size = is.ss_size;
	was.ss_flags = is.ss_flags & (int)FIB_SS_AUTODISARM;
	was.ss_flags |= !was.ss_size		   ? SS_DISABLE :
			fib_altstack_in_use(f, sp) ? SS_ONSTACK :
						     0;
	if (set && fib_copy(&ss, set, sizeof(ss)))
		return -EFAULT;
	if (set)
		r = fib_altstack_set(f, &ss, sp, 2048 /* MINSIGSTKSZ */);
	return r == 0 && old ? fib_copy(old, &was, sizeof(was)) : r;
}
