/*
 * Default actions: the process ends, or stops.
 *
 * The kernel needs no willing thread for them: a fatal signal that one thread
 * does not block ends the process as it is sent. Nor do they wait for a fiber
 * here. Who would queue such a signal, the sender in the process or the
 * receiver, takes the action at once, on its own kernel thread: it has the
 * kernel deliver the signal there, whose action is the default one in the kernel
 * too. So core flag, wait status, orphaned process groups, tracers and the
 * immunity of a namespace's first process are the kernel's business, and when
 * kill() or raise() returns the process has been stopped and continued.
 *
 * The action must not change meanwhile, or the kernel would run a handler
 * of the program's where no fiber is:
 *
 *	who delivers			sigaction()
 *	------------			-----------
 *	lock fib_sig_lock		lock fib_sig_lock
 *	still SIG_DFL? then open	tell the kernel, write fib_sig_act[]
 *	the mask for it, close it	unlock
 *	unlock
 *
 * What stops is stopped under the lock; so is everybody who may want it.
 *
 * The receiver takes no other lock before it has looked for such signals, and
 * looks for them while it waits for one (fib_late()). Where even fib_sig_lock
 * is not to be had for a while (target.c), no action can change any more, and it does
 * without.
 */
#include "hooks/signal/state.h"

/* SIG_KERNEL_COREDUMP_MASK of include/linux/signal.h */
#define CORES                                                                  \
	(FIB_FAULTS | FIB_SIG(SIGQUIT) | FIB_SIG(SIGABRT) | FIB_SIG(SIGXCPU) | \
	 FIB_SIG(SIGXFSZ))

bool fib_sig_is_default(int sig)
{
	return fib_sig_act[sig].handler == (uintptr_t)SIG_DFL &&
	       sig != FIB_SIGCANCEL && sig != FIB_KICK &&
	       !fib_sig_ignored_by_default(sig);
}

/*
 * As sig_fatal() and complete_signal() of the kernel: what ends the process
 * without a core does so even if @f waits for it with sigwait(), but blocks it
 * not.
 */
bool fib_sig_default_at_once(struct fib *f, int sig)
{
	uint64_t set = FIB_SIG(sig);

	return fib_sig_is_default(sig) &&
	       !(fib_load(&f->sig.mask, seq_cst) & set) &&
	       (!(set & (FIB_SIG_STOPS | CORES)) ||
		!(fib_load(&f->sig.awaited, seq_cst) & set));
}

/* To this kernel thread, as it came. */
static void send_here(int sig, const siginfo_t *info)
{
	long pid = fib_raw(SYS_getpid), tid = fib_raw(SYS_gettid);

	/* A real-time signal may be one too many for its user. */
	if (fib_raw(SYS_rt_tgsigqueueinfo, pid, tid, sig, info) < 0)
		fib_raw(SYS_kill, pid, sig);
}

/* With @info: it was taken from the kernel, or never was there. */
void fib_sig_default_locked(int sig, const siginfo_t *info)
{
	const struct fib_kernel_sigaction dfl = { .handler = 0 };
	bool fault = FIB_SIG(sig) & FIB_FAULTS;
	struct fib_kernel_sigaction entry;
	uint64_t old;

	if (!(FIB_SIG(sig) & FIB_SIG_STOPS))
		fib_sig_host->process_end();
	if (fault)
		fib_raw(SYS_rt_sigaction, sig, &dfl, &entry, 8);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, 0, &old, 8);
	if (info)
		send_here(sig, info);
	fib_sig_kernel_mask(old & ~FIB_SIG(sig));
	/* Stopped, and continued; or a tracer has dropped it. */
	fib_sig_kernel_mask(old);
	if (fault)
		fib_raw(SYS_rt_sigaction, sig, &entry, 0, 8);
}

/* As fib_signal_continues(), without its lock. */
static uint32_t continues(void)
{
	uint64_t pending = 0;

	fib_raw(SYS_rt_sigpending, &pending, 8);
	return fib_signal_continued() + !!(pending & FIB_SIG(SIGCONT));
}

/*
 * An orphaned process group does not stop, and the first process of a namespace does not
 * end. But whom the kernel has woken for that is awake, and its call ends. (What has
 * stopped and goes on ends calls by itself: stop.c.)
 */
bool fib_sig_default_of_locked(struct fib *f, int sig, const siginfo_t *info)
{
	bool asks = !fib_filtered();
	uint32_t n = asks ? continues() : 0;

	fib_sig_default_locked(sig, info);
	if (!asks || continues() != n)
		return false;
	fib_sig_end_call(f);
	return true;
}

void fib_signal_force(int sig)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = SI_KERNEL;
	fib_lock(&fib_sig_lock);
	if (!(FIB_SIG(sig) & FIB_FAULTS))
		fib_sig_kernel_action(sig, (uintptr_t)SIG_DFL);
	fib_sig_default_locked(sig, &info);
	fib_unlock(&fib_sig_lock);
}
