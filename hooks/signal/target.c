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

/*
 * Whose turn it is, if who comes first does not take it: who had the last one, as in
 * complete_signal() of the kernel.
 */
static _Atomic uint32_t turn;

static struct fib *target(int sig, struct fib *first)
{
	uint32_t n = fib_high_water(), at = fib_load(&turn, relaxed);
	struct fib *f = first;

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

struct fib *fib_signal_target(int sig)
{
	return target(sig, fib_main_fiber);
}

static bool wants(struct fib *f, int sig)
{
	return fib_load(&f->tid, acquire) && fib_signal_wants(f, sig);
}

static struct fib *next_who_wants(const struct fib *f, int sig)
{
	uint32_t n = fib_high_water(), at = f->index;

	for (uint32_t i = 1; i < n; i++) {
		if (++at >= n)
			at = 0;
		if (wants(fib_at(at), sig))
			return fib_at(at);
	}
	return NULL;
}

/*
 * Before do_sigtimedwait() of the kernel takes what it has slept for, it blocks that again.
 * It pends still, so retarget_shared_pending() wakes the next thread that wants it, which
 * finds nothing then. Its call ends, if it is one that signals end whatever their action.
 */
void fib_signal_wake_next(struct fib *f, int sig)
{
	struct fib *next = fib_sig_blocks(f, sig) ? next_who_wants(f, sig) :
						    NULL;

	if (!next)
		return;
	fib_lock(&fib_sig_lock);
	if (wants(next, sig))
		fib_sig_end_call(next);
	fib_unlock(&fib_sig_lock);
	fib_attention_set(next);
}

/*
 * Children, and which thread has made them: do_notify_parent() of the kernel sends to that
 * one, and main is no better than others then. Of those whose numbers are the same but
 * for a multiple of CHILDREN, the last one is known.
 */
#define CHILDREN 1024

static _Atomic uint64_t children[CHILDREN] FIB_LARGE; /* pid, tid */
static _Atomic uint64_t
	exit_signals;	   /* that clone() was told, beside SIGCHLD */
static _Atomic int making; /* calls that have not told yet */

/* For so long they are waited for, in all 10 ms. */
#define MAKING_TIMES 100
static const struct timespec making_nap = { 0, 100000 };

static _Atomic uint64_t *child(int pid)
{
	return &children[(unsigned)pid % CHILDREN];
}

void fib_signal_child_begins(void)
{
	fib_add(&making, 1, seq_cst);
}

int *fib_signal_child_number(struct fib *f)
{
	return (int *)&f->thread.child;
}

/* Who is making @pid: its number is there before it runs. */
static struct fib *who_makes(int pid)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (fib_load(&f->thread.child, acquire) == pid)
			return f;
	}
	return NULL;
}

void fib_signal_child_exits(int sig)
{
	if (sig > 0 && sig <= 64 && sig != SIGCHLD)
		fib_or(&exit_signals, FIB_SIG(sig), seq_cst);
}

void fib_signal_child_made(struct fib *f, int pid, bool began)
{
	if (pid > 0)
		fib_store(child(pid),
			  (uint64_t)pid << 32 |
				  (uint32_t)fib_load(&f->tid, relaxed),
			  release);
	fib_store(&f->thread.child, 0, release);
	if (began)
		fib_sub(&making, 1, seq_cst);
}

void fib_sig_children_forget(void)
{
	fib_store(&making, 0, relaxed);
}

/* Whom a signal of @info is for, if he takes it. A thread that has ended has left its children
 * to main. */
static struct fib *first_for(int sig, const siginfo_t *info)
{
	uint64_t known;
	struct fib *f = fib_self();

	/* One that goes off as it is set: posixtimer_get_target() of the kernel. */
	if (f && info->si_code == SI_TIMER &&
	    f->hook.call == SYS_timer_settime)
		return f;
	if ((sig != SIGCHLD &&
	     !(fib_load(&exit_signals, seq_cst) & FIB_SIG(sig))) ||
	    info->si_code < CLD_EXITED || info->si_code > CLD_CONTINUED)
		return fib_main_fiber;
	/* It may be faster than who has just made it, and is of less priority perhaps. */
	for (int i = 0; i < MAKING_TIMES; i++) {
		known = fib_load(child(info->si_pid), acquire);
		if (known >> 32 == (uint32_t)info->si_pid)
			break;
		f = who_makes(info->si_pid);
		if (f)
			return f;
		/* In between that one may have told. */
		if (i && !fib_load(&making, seq_cst))
			break;
		if (fib_load(&making, seq_cst))
			fib_raw(SYS_nanosleep, &making_nap, 0);
	}
	if (known >> 32 != (uint32_t)info->si_pid)
		return fib_main_fiber;
	f = fib_by_tid((int)(uint32_t)known);
	return f ? f : fib_main_fiber;
}

/*
 * The kernel counts CPU time where it is used, and there the signals of its limits and
 * timers go first (check_process_timers()): that makes a profile. Here, to whose
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

bool fib_sig_send_process(int sig, const siginfo_t *info, bool pended,
			  uint64_t came)
{
	struct fib *timed, *first;
	bool cpu = fib_sig_is_by_cpu(sig, info);

	if (fib_sig_timer_target(info, &timed)) {
		if (timed)
			fib_signal_send(timed, sig, info, false);
		return true;
	}
	first = first_for(sig, info);
	for (;;) {
		struct fib *f = cpu ? target_by_cpu(sig) : NULL;

		if (!f)
			f = target(sig, first);
		if (!f)
			return false;
		if (fib_sig_send(f, sig, info, first ? first : f, pended,
				 came) !=
		    -ESRCH) {
			if (f != first)
				fib_store(&turn, f->index, relaxed);
			return true;
		}
	}
}

bool fib_signal_send_process(int sig, const siginfo_t *info)
{
	return fib_sig_send_process(sig, info, false, 0);
}

/* Who would get it. For a timer of one thread any other one's mask says nothing. */
static struct fib *default_at_once(int sig)
{
	struct fib *f = fib_signal_timer_signals() & FIB_SIG(sig) ?
				NULL :
				fib_signal_target(sig);

	return f && fib_sig_default_at_once(f, sig) ? f : NULL;
}

void fib_sig_default_process(uint64_t pending)
{
	pending &= fib_signal_worker_mask();
	for (; pending; pending &= pending - 1) {
		int sig = __builtin_ctzll(pending) + 1;
		bool locked, ended;
		struct fib *f;

		if (!default_at_once(sig))
			continue;
		locked = fib_lock_within(&fib_sig_lock, LOCK_MS);
		f = default_at_once(sig);
		ended = f && fib_sig_default_of_locked(f, sig, NULL);
		if (locked)
			fib_unlock(&fib_sig_lock);
		if (ended)
			fib_attention_set(f);
	}
}
