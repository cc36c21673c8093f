/*
 * Attention and kicks: how a fiber comes to look at its queue. The protocol is
 * drawn in signal.h.
 */
#include "hooks/signal/state.h"
#include "runtime/chaos.h"

_Atomic bool fib_sig_monitor_kicked;

/*
 * Not while it is in exec: a kick that was still pending when that is done would
 * find the default action, and end the new program.
 */
void fib_signal_kick(struct fib_worker *w)
{
	int tid;

	if (!w) {
		fib_store(&fib_sig_monitor_kicked, true, seq_cst);
		fib_raw(SYS_tgkill, fib_signal_pid,
			fib_load(&fib_monitor_tid, relaxed), FIB_KICK);
		return;
	}
	fib_lock(&w->sig.kick_lock);
	tid = fib_load(&w->tid, relaxed);
	if (tid && !w->sig.no_kick)
		fib_raw(SYS_tgkill, fib_signal_pid, tid, FIB_KICK);
	fib_unlock(&w->sig.kick_lock);
}

static void kick(struct fib *f)
{
	struct fib_worker *w = fib_load(&f->on, seq_cst);

	FIB_CHAOS_POINT(signal_kick);
	if (w && w != fib_worker_self())
		fib_signal_kick(w);
}

void fib_signal_idle_kick(void)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	struct fib_worker *w = fib_sched.worker[fib_chaos_number(n)];

	if (w->process
		    .strict) /* it may do next to nothing, and is never preempted */
		return;
	if (FIB_CHAOS_ODDS(preempt, 2))
		fib_signal_preempt(w);
	else if (!fib_load(&w->gone, relaxed))
		fib_signal_kick(w);
}

/*
 * As for a signal: code of the program is diverted, a call that blocks in the
 * kernel ends with EINTR and is repeated, since no handler runs. In between the
 * fiber yields. Without attention: a wait of ours goes on. Too late, this costs
 * the fiber a yield at another time.
 */
static void preempt(struct fib_worker *w, uint8_t what)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);

	if (!f || fib_load(&w->gone, relaxed))
		return;
	fib_or(&f->sig.preempt, what, seq_cst);
	fib_signal_kick(w);
}

void fib_signal_preempt(struct fib_worker *w)
{
	preempt(w, FIB_PREEMPT_ANY);
}

void fib_signal_preempt_call(struct fib_worker *w)
{
	preempt(w, FIB_PREEMPT_CALL);
}

void fib_attention_set(struct fib *f)
{
	fib_store(&f->attention, 1, seq_cst); /* (A) */
	FIB_CHAOS_POINT(attention);
	fib_wake(f);
	kick(f);
}

static bool turns(struct fib *f, uint8_t was, uint8_t is)
{
	return fib_load(&f->io.stop, seq_cst) == was &&
	       fib_cas(&f->io.stop, &was, is, seq_cst);
}

void fib_sig_end_call(struct fib *f)
{
	if (!turns(f, FIB_STOP_ENDS, FIB_STOP_ENDED))
		turns(f, FIB_STOP_REPEATS, FIB_STOP_REPEATED);
}

/* It may be gone by now, and another thread in its place. */
void fib_signal_cancel(struct fib *f, int tid)
{
	bool same;

	fib_lock(&fib_sig_lock);
	same = fib_load(&f->tid, relaxed) == tid;
	if (same)
		fib_store(&f->hook.cancelled, 1, seq_cst);
	fib_unlock(&fib_sig_lock);
	if (same)
		fib_attention_set(f);
}
