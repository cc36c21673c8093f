/*
 * What the program's signalfds show: the kernel's queue for the process, and
 * nothing else. What waits here instead, at a fiber or for the process, is not
 * seen there; so once the program has had a signalfd for it, and while all block
 * it, its place is the kernel's queue.
 */
#include "hooks/signal/state.h"

static _Atomic uint64_t shown; /* what any signalfd ever showed */

uint64_t fib_signal_shown(void)
{
	return fib_load(&shown, seq_cst);
}

void fib_signal_shown_init(uint64_t set)
{
	fib_store(&shown, set, relaxed);
}

/*
 * The kernel lets a process's first thread alone send with the codes that are the
 * kernel's own, as it were from somebody else: otherwise they become SI_QUEUE, and
 * what a tgkill() of ours has sent is as from kill().
 */
long fib_signal_to_kernel(int sig, const siginfo_t *info)
{
	long pid = fib_raw(SYS_getpid), r;
	siginfo_t queued = *info;

	if ((info->si_code == SI_USER || info->si_code == SI_TKILL) &&
	    info->si_pid == pid)
		return fib_raw(SYS_kill, pid, sig);
	r = fib_raw(SYS_rt_sigqueueinfo, pid, sig, info);
	queued.si_code = SI_QUEUE;
	return r != -EPERM ?
		       r :
		       fib_raw(SYS_rt_sigqueueinfo, pid, sig, &queued);
}

/* The kernel may hold it: no worker blocks those of faults. */
bool fib_sig_may_show(int sig)
{
	uint64_t set = fib_signal_shown() & fib_signal_worker_mask() &
		       ~FIB_SIG(FIB_SIGCANCEL);

	return (set & FIB_SIG(sig)) && fib_sig_host->asks() &&
	       !fib_signal_target(sig);
}

#define AT_ONCE 64

void fib_sig_show(int sig)
{
	struct timespec now = { 0, 0 };
	uint64_t set = FIB_SIG(sig), came;
	siginfo_t info;

	if (!(fib_signal_process_pending() & set) || !fib_sig_may_show(sig))
		return;
	/* What the kernel has of it came later. */
	for (int i = 0; sig >= FIB_SIGRTMIN && i < AT_ONCE; i++) {
		if (fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) != sig)
			break;
		fib_sig_queue_process(sig, &info, 0);
	}
	while (fib_sig_dequeue_process(set, &info, &came) == sig) {
		if (fib_signal_to_kernel(sig, &info) == 0)
			continue;
		fib_sig_queue_process(sig, &info, came);
		return;
	}
}

void fib_sig_shown_add(struct fib *f, uint64_t set)
{
	uint64_t mask = fib_load(&f->sig.mask, relaxed);
	siginfo_t info;

	fib_or(&shown, set, seq_cst);
	for (set &= fib_load(&f->sig.pending, relaxed) & mask; set;
	     set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;

		if (!fib_sig_may_show(sig))
			continue;
		while (fib_signal_dequeue(f, FIB_SIG(sig), &info))
			fib_sig_queue_process(sig, &info, 0);
	}
}
