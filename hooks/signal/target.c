/* For whom a signal is that was sent to the process: which fiber. */
#include "hooks/signal/state.h"
#include "runtime/cputime.h"

#define LOCK_MS 200

/*
 * A sigwait() accepts one: who has one in its queue takes no other one along, which
 * somebody else may wait for, or find with a signalfd.
 */
static bool would_take(struct fib *f, int sig)
{
	if (!fib_load(&f->tid, acquire) || !fib_signal_wants(f, sig))
		return false;
	return !(fib_load(&f->sig.mask, seq_cst) & FIB_SIG(sig)) ||
	       !(fib_load(&f->sig.pending, seq_cst) &
		 fib_load(&f->sig.awaited, seq_cst));
}

/* Whose turn it is, if main does not take it: who had the last one, complete_signal(). */
static _Atomic uint32_t turn;

struct fib *fib_signal_target(int sig)
{
	struct fib *f = fib_main_fiber;
	uint32_t n = fib_high_water(), at = fib_load(&turn, relaxed);

	if (f && would_take(f, sig))
		return f;
	for (uint32_t i = 0; i < n; i++, at++) {
		if (at >= n)
			at = 0;
		f = fib_at(at);
		if (would_take(f, sig))
			return f;
	}
	return NULL;
}

static void had_its_turn(const struct fib *f)
{
	if (f != fib_main_fiber)
		fib_store(&turn, f->index, relaxed);
}

/*
 * The kernel counts CPU time where it is used, and there an interval timer's
 * signal goes first (check_cpu_itimer()): that makes a profile. Here, to whose
 * thread has used most since it last had one: forward_lock is held.
 */
static struct fib *target_by_cpu(int sig)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	struct fib_worker *most = NULL;
	struct fib *target = NULL;
	uint64_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = fib_sched.worker[i];
		struct fib *f = fib_load(fib_shared(&w->cur), relaxed);
		uint64_t ns;

		if (!f || fib_load(&w->gone, relaxed) ||
		    fib_load(&w->blocking, relaxed) ||
		    !fib_load(&f->tid, acquire) || !fib_signal_wants(f, sig))
			continue;
		ns = fib_cpu_thread_ns(fib_load(&w->tid, relaxed)) -
		     w->sig.profiled_ns;
		if (most && ns <= used)
			continue;
		used = ns;
		most = w;
		target = f;
	}
	if (most)
		most->sig.profiled_ns += used;
	return target;
}

bool fib_sig_send_process(int sig, const siginfo_t *info, bool pended)
{
	struct fib *timed;
	bool cpu = info->si_code == SI_KERNEL &&
		   (sig == SIGPROF || sig == SIGVTALRM);

	if (fib_sig_timer_target(info, &timed)) {
		if (timed)
			fib_signal_send(timed, sig, info, false);
		return true;
	}
	for (;;) {
		struct fib *f = cpu ? target_by_cpu(sig) : NULL;

		if (!f)
			f = fib_signal_target(sig);
		if (!f)
			return false;
		if (fib_sig_send(f, sig, info, true, pended) != -ESRCH) {
			had_its_turn(f);
			return true;
		}
	}
}

bool fib_signal_send_process(int sig, const siginfo_t *info)
{
	return fib_sig_send_process(sig, info, false);
}

/* For a timer of one thread any other one's mask says nothing. */
static bool default_at_once(int sig)
{
	struct fib *f = fib_signal_timer_signals() & FIB_SIG(sig) ?
				NULL :
				fib_signal_target(sig);

	return f && fib_sig_default_at_once(f, sig);
}

void fib_sig_default_process(uint64_t pending)
{
	pending &= fib_signal_worker_mask();
	for (; pending; pending &= pending - 1) {
		int sig = __builtin_ctzll(pending) + 1;
		bool locked;

		if (!default_at_once(sig))
			continue;
		locked = fib_lock_within(&fib_sig_lock, LOCK_MS);
		if (default_at_once(sig))
			fib_sig_default_locked(sig, NULL);
		if (locked)
			fib_unlock(&fib_sig_lock);
	}
}
