/*
 * The receiver: signals that come to the process from outside.
 *
 * It lives in the monitor's thread and polls a signalfd. A readable signalfd
 * says that something is pending, and takes nothing: each pending signal is
 * dequeued only if some fiber takes it. What all fibers block stays in the
 * kernel's queue, where sigpending, the program's own signalfd and exec find
 * it, and leaves the signalfd's set, so that poll does not spin. left says
 * which; a fiber that begins to accept one of these fetches it by itself, so
 * that it has been delivered when the call that unblocked it returns:
 *
 *	receiver			fiber
 *	--------			-----
 *	lock				mask = new, or one taken
 *	does a fiber take it?		fence
 *	no: left |= bit			left & bit, or locked:
 *	unlock				    lock, look, unlock
 *
 * Who comes to the lock second sees what the other one has done, and who finds
 * it free was first.
 */
#include <features.h>
#include <sys/signalfd.h>
#include "hooks/signal.h"
#include "runtime/chaos.h"
#include "runtime/cputime.h"

static int fd = -1;
static _Atomic uint64_t left;
static struct fib_lock fetch_lock;

static uint64_t watched(void)
{
	return fib_signal_worker_mask();
}

struct fib *fib_signal_pick(int sig)
{
	struct fib *f = fib_main_fiber;
	uint32_t n = fib_high_water();

	if (f && fib_load(&f->tid, acquire) && fib_signal_accepts(f, sig))
		return f;
	for (uint32_t i = 0; i < n; i++) {
		f = fib_at(i);
		if (fib_load(&f->tid, acquire) && fib_signal_accepts(f, sig))
			return f;
	}
	return NULL;
}

bool fib_signal_wanted(int sig)
{
	return fib_signal_pick(sig) != NULL;
}

/*
 * The kernel counts CPU time where it is used, and there an interval timer's
 * signal goes first (check_cpu_itimer()): that makes a profile. Here, to whose
 * thread has used most since it last had one: fetch_lock is held.
 */
static struct fib *pick_running(int sig)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	struct fib_worker *most = NULL;
	struct fib *picked = NULL;
	uint64_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = fib_sched.worker[i];
		struct fib *f = __atomic_load_n(&w->cur, __ATOMIC_RELAXED);
		uint64_t ns;

		if (!f || fib_load(&w->gone, relaxed) ||
		    fib_load(&w->blocking, relaxed) ||
		    !fib_load(&f->tid, acquire) || !fib_signal_accepts(f, sig))
			continue;
		ns = fib_cpu_thread_ns(fib_load(&w->tid, relaxed)) -
		     w->profiled_ns;
		if (most && ns <= used)
			continue;
		used = ns;
		most = w;
		picked = f;
	}
	if (most)
		most->profiled_ns += used;
	return picked;
}

bool fib_signal_route(int sig, const siginfo_t *info)
{
	struct fib *timed = fib_signal_timer_target(info);
	bool cpu = info->si_code == SI_KERNEL &&
		   (sig == SIGPROF || sig == SIGVTALRM);

	if (timed) {
		fib_signal_send(timed, sig, info, false);
		return true;
	}
	for (;;) {
		struct fib *f = cpu ? pick_running(sig) : NULL;

		if (!f)
			f = fib_signal_pick(sig);

		if (!f)
			return false;
		if (fib_signal_send(f, sig, info, true) != -ESRCH)
			return true;
	}
}

/*
 * Is there a fiber that would handle it now? One that has it pending, and has
 * not come to it yet, takes one at a time: the rest stays with the kernel, which
 * counts a timer's overruns until its signal is dequeued. Who takes one looks at
 * left after that.
 */
static bool takes(int sig)
{
	struct fib *f = fib_signal_pick(sig);

	return f && !(fib_load(&f->sigpend, seq_cst) & FIB_SIG(sig));
}

static bool fetch_one_locked(int sig)
{
	uint64_t set = FIB_SIG(sig);
	struct timespec now = { 0, 0 };
	siginfo_t info;

	if (fib_signal_kept(set, &info) != sig &&
	    fib_raw(SYS_rt_sigtimedwait, &set, &info, &now, 8) != sig)
		return false;
	if (!fib_signal_route(sig, &info)) {
		FIB_CHAOS_POINT(signal_kept);
		/* Blocked just now. */
		fib_signal_keep(sig, &info);
	}
	return true;
}

/*
 * A timer may send what is ignored faster than it is thrown away: there is an end
 * to it, and the signalfd says that there is more.
 */
#define AT_ONCE 64

static void look_at_locked(int sig)
{
	for (int i = 0; i < AT_ONCE; i++) {
		if (!takes(sig)) {
			FIB_CHAOS_POINT(signal_left);
			fib_or(&left, FIB_SIG(sig), seq_cst);
			return;
		}
		if (!fetch_one_locked(sig))
			return;
	}
}

static void fetch_locked(uint64_t set)
{
	for (; set; set &= set - 1)
		look_at_locked(__builtin_ctzll(set) + 1);
}

/*
 * The signals of faults are open in workers, for the faults. One that somebody
 * sent is no fault: the kernel's handler, which may have interrupted anything,
 * leaves it here. As in a queue of the kernel's, there is one of a kind.
 */
static _Atomic uint64_t claimed, arrived;
static siginfo_t arrived_info[FIB_SIGRTMIN];

void fib_signal_arrived(int sig, const siginfo_t *info)
{
	if (fib_or(&claimed, FIB_SIG(sig), acquire) & FIB_SIG(sig))
		return;
	arrived_info[sig] = *info;
	fib_or(&arrived, FIB_SIG(sig), release);
	fib_monitor_poke();
}

void fib_signal_hold(int sig, const siginfo_t *info)
{
	fib_lock(&fetch_lock);
	fib_signal_keep(sig, info);
	fetch_locked(FIB_SIG(sig));
	fib_unlock(&fetch_lock);
}

static void take_arrived(void)
{
	uint64_t set = fib_xchg(&arrived, 0, acquire);

	for (; set; set &= set - 1) {
		int sig = __builtin_ctzll(set) + 1;
		siginfo_t info = arrived_info[sig];

		fib_and(&claimed, ~FIB_SIG(sig), release);
		if (!fib_signal_route(sig, &info))
			fib_signal_hold(sig, &info);
	}
}

/* Two who fetch at once would turn the queue's order round. */
void fib_signal_fetch(uint64_t set)
{
	if (!set)
		return;
	fib_lock(&fetch_lock);
	fetch_locked(set);
	fib_unlock(&fetch_lock);
}

/*
 * The receiver takes some time. Who must not return before a signal that it
 * caused, or stopped the source of, has been sent on, waits here for what is
 * under way and takes the rest itself.
 */
void fib_signal_settle(uint64_t set)
{
	uint64_t pending = 0;

	if (fib_unlikely(fib_load(&arrived, relaxed)))
		take_arrived();
	/* Under a filter it cannot ask: the receiver comes to it. */
	if (!fib_filtered())
		fib_raw(SYS_rt_sigpending, &pending, 8);
	/* What is not pending any more was taken by who holds the lock since
	 * before. */
	if (fib_load(&fetch_lock.word, acquire)) {
		fib_lock(&fetch_lock);
		fib_unlock(&fetch_lock);
	}
	fib_signal_fetch(pending & set & watched());
}

void fib_signal_catch_up(struct fib *f)
{
	fib_signal_settle(fib_load(&fib_signal_handled, relaxed) &
			  ~fib_load(&f->sigmask, relaxed));
}

void fib_signal_leave(int sig)
{
	fib_or(&left, FIB_SIG(sig), seq_cst);
}

void fib_signal_recheck(uint64_t set)
{
	uint64_t found;

	fib_fence(seq_cst);
	if (!(fib_load(&left, relaxed) & set) &&
	    !fib_load(&fetch_lock.word, relaxed))
		return;
	if (fib_unlikely(fib_filtered())) {
		fib_and(&left, ~set, seq_cst);
		fib_monitor_poke();
		return;
	}
	fib_lock(&fetch_lock);
	found = fib_load(&left, relaxed) & set;
	fib_and(&left, ~found, seq_cst);
	fetch_locked(found);
	fib_unlock(&fetch_lock);
	/* The signalfd watches them again. */
	if (found)
		fib_monitor_poke();
}

void fib_receive_urgent(void)
{
	uint64_t pending = 0;

	fib_raw(SYS_rt_sigpending, &pending, 8);
	fib_signal_take_defaults(pending);
}

void fib_receive(void)
{
	uint64_t pending = 0, set;

	fib_receive_urgent();
	take_arrived();
	fib_raw(SYS_rt_sigpending, &pending, 8);
	pending &= watched();
	fib_and(&left, pending | fib_signal_kept_set(), seq_cst);
	fib_signal_fetch(pending);
	set = watched() & ~fib_load(&left, relaxed);
	fib_raw(SYS_signalfd4, fd, &set, 8, SFD_CLOEXEC | SFD_NONBLOCK);
}

int fib_receiver_init(void)
{
	uint64_t set = watched();

	fib_store(&left, 0, relaxed);
	fib_store(&claimed, 0, relaxed);
	fib_store(&arrived, 0, relaxed);
	fib_store(&fetch_lock.word, 0, relaxed);
	fib_store(&fib_step, "signalfd4", relaxed);
	fd = fib_fd_hide((int)fib_raw(SYS_signalfd4, -1, &set, 8,
				      SFD_CLOEXEC | SFD_NONBLOCK));
	return fd;
}
