/*
 * Timers that signal one thread.
 *
 * SIGEV_THREAD_ID names a thread that the kernel does not know. The kernel
 * signals the process instead, and the receiver finds the fiber by the timer's
 * id, which the signal carries (si_code SI_TIMER).
 *
 * The kernel counts the overruns of what it has in its queue. What has left that
 * for the fiber's and is still there is the same signal, and counts on here.
 */
#include "hooks/signal/state.h"

#define TIMERS 1024

static struct thread_timer {
	_Atomic int used; /* timer id + 1 */
	_Atomic int tid;
	_Atomic int
		overrun; /* of the last one that was dequeued; -1: none was */
} timers[TIMERS];
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
	for (struct thread_timer *t = timers; t < timers + TIMERS; t++) {
		int none = 0;

		if (fib_cas(&t->used, &none, id + 1, seq_cst)) {
			fib_store(&t->overrun, -1, relaxed);
			fib_store(&t->tid, tid, release);
			return true;
		}
	}
	return false;
}

static struct thread_timer *find(int id)
{
	for (struct thread_timer *t = timers; t < timers + TIMERS; t++)
		if (fib_load(&t->used, relaxed) == id + 1)
			return t;
	return NULL;
}

void fib_signal_timer_remove(int id)
{
	struct thread_timer *t = find(id);

	if (t)
		fib_store(&t->used, 0, seq_cst);
}

void fib_signal_timer_forget(void)
{
	if (fib_xchg(&timer_signals, 0, relaxed))
		memset(timers, 0, sizeof(timers));
}

bool fib_sig_timer_target(const siginfo_t *info, struct fib **f)
{
	struct thread_timer *t =
		info->si_code == SI_TIMER ? find(info->si_timerid) : NULL;

	if (t)
		*f = fib_by_tid(fib_load(&t->tid, acquire));
	return t;
}

void fib_sig_timer_dequeued(const siginfo_t *info)
{
	struct thread_timer *t = find(info->si_timerid);

	if (t)
		fib_store(&t->overrun, info->si_overrun, relaxed);
}

int fib_signal_timer_overrun(int id)
{
	struct thread_timer *t = find(id);

	return t ? fib_load(&t->overrun, relaxed) : -1;
}
