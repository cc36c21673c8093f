/* What is known of signals: the program's actions. signal.h has the whole picture. */
#include "hooks/signal/state.h"

struct fib_lock fib_sig_lock = FIB_LOCK(SIGNAL);
struct fib_kernel_sigaction fib_sig_act[65];
bool fib_sig_cancel_set;
_Atomic uint32_t fib_sig_changes;
_Atomic uint32_t fib_sig_continues;
int fib_signal_pid;
const struct fib_signal_host *fib_sig_host FIB_SEALED;
_Atomic uint64_t fib_signal_handled;

struct fib_kernel_sigaction fib_signal_action(int sig)
{
	return fib_sig_act[sig];
}

uint32_t fib_signal_continued(void)
{
	return fib_load(&fib_sig_continues, relaxed);
}

uint64_t fib_signal_worker_mask(void)
{
	return ~(FIB_FAULTS | FIB_SIG(FIB_KICK) | FIB_UNBLOCKABLE);
}

void fib_sig_update_handled(int sig)
{
	fib_add(&fib_sig_changes, 1, seq_cst);
	/* libc's own are sent within the process alone. */
	if (sig == FIB_SIGCANCEL || sig == FIB_KICK)
		return;
	if (fib_sig_act[sig].handler > 1)
		fib_or(&fib_signal_handled, FIB_SIG(sig), relaxed);
	else
		fib_and(&fib_signal_handled, ~FIB_SIG(sig), relaxed);
}

void fib_sig_kernel_action(int sig, uintptr_t handler)
{
	struct fib_kernel_sigaction a = { .handler = handler };

	fib_raw(SYS_rt_sigaction, sig, &a, 0, 8);
}
