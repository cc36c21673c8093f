/*
 * Timers that signal one thread.
 *
 * SIGEV_THREAD_ID names a thread that the kernel does not know. The kernel
 * signals the process instead, and the receiver finds the fiber by the timer's
 * id, which the signal carries (si_code SI_TIMER).
 *
 * The kernel counts the overruns of what it has in its queue. What has left that
 * for the fiber's and is still there is the same signal, and counts on here.
 *
 * In the kernel's queue it is the process's, where nobody but its thread may find it:
 * who looks there gives what others have to them first (fib_signal_take_timers()).
 */
#include <sys/utsname.h>
#include "hooks/signal/state.h"
#include "runtime/digits.h"

#define TIMERS 1024
#define DROPS  13 /* Linux 6.13 */

static struct thread_timer {
	_Atomic int used; /* timer id + 1 */
	_Atomic int tid;
	_Atomic int
		overrun; /* of the last one that was dequeued; -1: the kernel
			  * knows, which has dequeued none for us */
	struct fib_siginfo_node *queued; /* at its thread. fib_sig_lock */
} timers[TIMERS] FIB_LARGE;
static _Atomic int made;	       /* of any kind, that were seen */
static _Atomic uint32_t high;	       /* no more were ever in use */
static _Atomic uint64_t timer_signals; /* what any of them ever sent */
static _Atomic uint64_t cpu_signals;   /* timers on CPU clocks, to the process */

uint32_t fib_signal_timers(void)
{
	int n = fib_load(&made, relaxed);

	return n > 0 ? (uint32_t)n : 0;
}

void fib_signal_timers_add(int n)
{
	fib_add(&made, n, relaxed);
}

void fib_signal_timer_counts_cpu(int sig)
{
	if (sig >= 1 && sig <= 64)
		fib_or(&cpu_signals, FIB_SIG(sig), seq_cst);
}

bool fib_sig_is_by_cpu(int sig, const siginfo_t *info)
{
	switch (info->si_code) {
	case SI_KERNEL: /* setitimer(), RLIMIT_CPU, RLIMIT_RTTIME */
		return sig == SIGPROF || sig == SIGVTALRM || sig == SIGXCPU;
	case SI_TIMER:
		return fib_load(&cpu_signals, seq_cst) & FIB_SIG(sig);
	}
	return false;
}

uint64_t fib_signal_timer_signals(void)
{
	return fib_load(&timer_signals, seq_cst);
}

static _Atomic bool drops;

void fib_signal_ask_release(void)
{
	struct utsname u;
	const char *p = u.release;
	uint64_t major, minor = 0;

	if (fib_raw(SYS_uname, &u))
		return;
	major = fib_get_decimal(&p);
	if (*p++ == '.')
		minor = fib_get_decimal(&p);
	fib_store(&drops, major > 6 || (major == 6 && minor >= DROPS), relaxed);
}

bool fib_sig_timers_drop(void)
{
	return fib_load(&drops, relaxed);
}

void fib_signal_timer_expect(int sig)
{
	if (sig >= 1 && sig <= 64)
		fib_or(&timer_signals, FIB_SIG(sig), seq_cst);
}

bool fib_signal_timer_add(int id, int tid)
{
	uint32_t n = fib_load(&high, relaxed);

	for (uint32_t i = 0; i < TIMERS; i++) {
		struct thread_timer *t = &timers[i];
		int none = 0;

		if (!fib_cas(&t->used, &none, id + 1, seq_cst))
			continue;
		fib_store(&t->overrun, -1, relaxed);
		fib_store(&t->tid, tid, release);
		while (n <= i && !fib_cas(&high, &n, i + 1, release))
			;
		return true;
	}
	return false;
}

static struct thread_timer *find(int id)
{
	uint32_t n = fib_load(&high, acquire);

	for (struct thread_timer *t = timers; t < timers + n; t++)
		if (fib_load(&t->used, relaxed) == id + 1)
			return t;
	return NULL;
}

struct fib_siginfo_node **fib_sig_timer_queued(int id)
{
	struct thread_timer *t = find(id);

	return t ? &t->queued : NULL;
}

void fib_signal_timer_remove(int id)
{
	struct thread_timer *t = find(id);

	if (t)
		fib_store(&t->used, 0, seq_cst);
}

void fib_signal_timer_forget(void)
{
	fib_store(&made, 0, relaxed);
	fib_store(&cpu_signals, 0, relaxed);
	if (!fib_xchg(&timer_signals, 0, relaxed))
		return;
	memset(timers, 0, sizeof(timers));
	fib_store(&high, 0, relaxed);
}

bool fib_sig_timer_target(const siginfo_t *info, struct fib **f)
{
	struct thread_timer *t =
		info->si_code == SI_TIMER ? find(info->si_timerid) : NULL;

	if (t)
		*f = fib_by_tid(fib_load(&t->tid, acquire));
	return t;
}

bool fib_sig_timers_block(int sig)
{
	uint32_t n = fib_load(&high, acquire);

	if (fib_likely(!(fib_signal_timer_signals() & FIB_SIG(sig))))
		return false;
	for (struct thread_timer *t = timers; t < timers + n; t++)
		if (fib_load(&t->used, relaxed) &&
		    fib_sig_blocks(fib_by_tid(fib_load(&t->tid, acquire)), sig))
			return true;
	return false;
}

void fib_sig_timer_taken(int id)
{
	struct thread_timer *t = find(id);
	int kernels = -1;

	if (t)
		fib_cas(&t->overrun, &kernels, 0, relaxed);
}

void fib_sig_timer_reset(int id)
{
	struct thread_timer *t = find(id);

	if (t)
		fib_store(&t->overrun, -1, relaxed);
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
