/* Actions: what changes them, and what a delivery finds. */
#include "hooks/signal/state.h"

/* UAPI_SA_FLAGS of include/linux/signal_types.h */
#define KNOWN_FLAGS                                                            \
	(SA_NOCLDSTOP | SA_NOCLDWAIT | SA_SIGINFO | SA_ONSTACK | SA_RESTART |  \
	 SA_NODEFER | (unsigned)SA_RESETHAND | FIB_SA_RESTORER |               \
	 0x800 /* SA_EXPOSE_TAGBITS */)

int fib_signal_set_action(int sig, const struct fib_kernel_sigaction *new,
			  struct fib_kernel_sigaction *old)
{
	long r = 0;

	fib_lock(&fib_sig_lock);
	*old = fib_sig_act[sig];
	if (!(FIB_SIG(sig) & FIB_FAULTS) && sig != FIB_SIGCANCEL &&
	    sig != FIB_KICK)
		r = fib_raw(SYS_rt_sigaction, sig, new, old, 8);
	if (r == 0 && new) {
		/* As do_sigaction() of kernel/signal.c does for the others. */
		fib_sig_act[sig] = *new;
		fib_sig_act[sig].mask &= ~FIB_UNBLOCKABLE;
		fib_sig_act[sig].flags &= KNOWN_FLAGS;
		fib_sig_cancel_set |= sig == FIB_SIGCANCEL;
		fib_sig_update_handled(sig);
		if (fib_sig_is_ignored(sig))
			fib_sig_flush_locked(FIB_SIG(sig));
	}
	fib_unlock(&fib_sig_lock);
	return (int)r;
}

struct fib_kernel_sigaction fib_sig_delivery_action(int sig,
						    const siginfo_t *info)
{
	struct fib_kernel_sigaction a;

	fib_lock(&fib_sig_lock);
	a = fib_sig_act[sig];
	if (fib_sig_is_default(sig)) {
		fib_sig_default_locked(sig, info);
	} else if ((a.flags & SA_RESETHAND) && a.handler > 1) {
		/* Flags and mask stay. */
		fib_sig_act[sig].handler = (uintptr_t)SIG_DFL;
		fib_sig_update_handled(sig);
		if (!(FIB_SIG(sig) & FIB_FAULTS) &&
		    !fib_sig_ignored_by_default(sig))
			fib_raw(SYS_rt_sigaction, sig, &fib_sig_act[sig], 0, 8);
	}
	fib_unlock(&fib_sig_lock);
	return a;
}
