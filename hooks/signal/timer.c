/*
 * Timers that signal one thread.
 *
 * SIGEV_THREAD_ID names a thread that the kernel does not know. The kernel
 * signals the process instead, and the receiver finds the fiber by the timer's
 * id, which the signal carries (si_code SI_TIMER).
 */
#include "hooks/signal/state.h"

#define TIMERS 1024

static struct {
	_Atomic int used; /* timer id + 1 */
	_Atomic int tid;
} thread_timer[TIMERS];
static _Atomic uint64_t timer_signals; /* what any of them ever sent */

bool fib_sig_has_timer(int sig)
{
	return fib_load(&timer_signals, seq_cst) & FIB_SIG(sig);
}

void fib_signal_timer_expect(int sig)
{
	if (sig >= 1 && sig <= 64)
		fib_or(&timer_signals, FIB_SIG(sig), seq_cst);
}

bool fib_signal_timer_add(int id, int tid)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		int none = 0;

		if (fib_cas(&thread_timer[i].used, &none, id + 1, seq_cst)) {
			fib_store(&thread_timer[i].tid, tid, release);
			return true;
		}
	}
	return false;
}

void fib_signal_timer_remove(int id)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		int want = id + 1;

		if (fib_cas(&thread_timer[i].used, &want, 0, seq_cst))
			break;
	}
}

void fib_signal_timer_forget(void)
{
	if (fib_xchg(&timer_signals, 0, relaxed))
		memset(thread_timer, 0, sizeof(thread_timer));
}

bool fib_sig_timer_target(const siginfo_t *info, struct fib **f)
{
	if (info->si_code != SI_TIMER)
		return false;
	for (unsigned i = 0; i < TIMERS; i++)
		if (fib_load(&thread_timer[i].used, relaxed) ==
		    info->si_timerid + 1) {
			*f = fib_by_tid(
				fib_load(&thread_timer[i].tid, acquire));
			return true;
		}
	return false;
}
