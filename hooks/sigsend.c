/* Sending signals, and waiting for them without a handler. */
#include <sys/resource.h>
#include "hooks/signal.h"

static int own_pid(void)
{
	return (int)fib_raw(SYS_getpid);
}

static siginfo_t info_from_us(int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	info.si_pid = own_pid();
	info.si_uid = (uid_t)fib_raw(SYS_getuid);
	return info;
}

/*
 * raise(SIGSTOP) and its like: the caller's kernel thread stops before it is back
 * from the kernel, and takes the others along. Sent to the process, it might be
 * another one that has to run first.
 */
static long stop(void)
{
	return fib_raw(SYS_tgkill, own_pid(), fib_raw(SYS_gettid), SIGSTOP);
}

/* So for the own group: some kernel thread of ours has yet to take it. */
static long stopped(long r)
{
	while (r == 0 && (fib_signal_queue_of_process() & FIB_SIG(SIGSTOP)))
		fib_raw(SYS_sched_yield);
	return r;
}

static bool ordinary(int sig)
{
	return sig >= 1 && sig <= 64 && sig != SIGKILL && sig != SIGSTOP;
}

static long settled(long r, uint64_t set)
{
	fib_signal_settle(set);
	return r;
}

/* send_signal_locked() of the kernel: no more real-time signals than that. */
static bool too_many(int sig, const siginfo_t *info)
{
	struct rlimit lim = { .rlim_cur = RLIM_INFINITY };

	if (sig < FIB_SIGRTMIN || info->si_code == SI_USER)
		return false;
	fib_raw(SYS_prlimit64, 0, RLIMIT_SIGPENDING, 0, &lim);
	return fib_signal_queued() >= lim.rlim_cur;
}

static void drop_stops(void)
{
	uint64_t set = FIB_SIG_STOPS;
	struct timespec now = { 0, 0 };

	while (fib_raw(SYS_rt_sigtimedwait, &set, 0, &now, 8) > 0)
		;
}

/* False: all block it, and the kernel's queue is the place for it. */
static bool to_own_process(int sig, const siginfo_t *info)
{
	/* prepare_signal(): the kernel's queue does not see what goes to a fiber. */
	if (sig == SIGCONT)
		drop_stops();
	if (fib_signal_route(sig, info))
		return true;
	if (FIB_SIG(sig) & FIB_FAULTS) {
		fib_signal_hold(sig, info);
		return true;
	}
	fib_signal_leave(sig);
	return false;
}

/*
 * A signal to the own process need not go round through the receiver: if it is
 * for the caller, its handler has run when kill() returns.
 */
long fib_sys_kill(int pid, int sig)
{
	siginfo_t info;

	/* The kernel takes any thread's id for its process. */
	if (fib_by_tid(pid))
		pid = own_pid();
	if (pid == own_pid() && ordinary(sig)) {
		info = info_from_us(sig, SI_USER);
		if (to_own_process(sig, &info))
			return 0;
	}
	if (pid == own_pid() && sig == SIGSTOP)
		return stop();
	/* To the own group, or all: one has been delivered when kill() returns.
	 */
	if (pid > 0)
		return fib_raw(SYS_kill, pid, sig);
	if (sig == SIGSTOP)
		return stopped(fib_raw(SYS_kill, pid, sig));
	return settled(fib_raw(SYS_kill, pid, sig), ~0ull);
}

/*
 * A signal that is directed at a fiber waits in the fiber's own queue, where a
 * signalfd does not see it. So if the program has a signalfd for it, and all
 * block it, it is sent to the process instead, and waits in the kernel: whoever
 * polls or reads the signalfd finds it there. (Its si_code is SI_USER then: the
 * kernel lets only a process's first thread say SI_TKILL.)
 */
static _Atomic uint64_t signalfds; /* what any of them ever showed */

static bool shown(int sig)
{
	return (fib_load(&signalfds, seq_cst) & FIB_SIG(sig)) &&
	       !fib_signal_wanted(sig) &&
	       (fib_procfs_signalfds() & FIB_SIG(sig));
}

void fib_signalfd_init(void)
{
	fib_store(&signalfds, fib_procfs_signalfds(), relaxed);
}

static long made_signalfd(long r, const uint64_t *mask)
{
	uint64_t set;

	if (r >= 0 && !fib_copy(&set, mask, sizeof(set)))
		fib_or(&signalfds, set, seq_cst);
	return r;
}

long fib_sys_signalfd(int fd, const uint64_t *mask, size_t size)
{
	return made_signalfd(fib_raw(SYS_signalfd, fd, mask, size), mask);
}

long fib_sys_signalfd4(int fd, const uint64_t *mask, size_t size, int flags)
{
	return made_signalfd(fib_raw(SYS_signalfd4, fd, mask, size, flags),
			     mask);
}

/* Into the kernel's queue, which keeps its own codes to itself. */
static long to_kernel(int sig, const siginfo_t *info)
{
	if (info->si_code < 0 && info->si_code != SI_TKILL)
		return fib_raw(SYS_rt_sigqueueinfo, own_pid(), sig, info);
	return fib_raw(SYS_kill, own_pid(), sig);
}

static long to_signalfd(int sig, const siginfo_t *info)
{
	fib_signal_leave(sig);
	return to_kernel(sig, info);
}

static long to_fiber(struct fib *f, int sig, const siginfo_t *info)
{
	if (sig < 0 || sig > 64)
		return -EINVAL;
	if (sig == 0)
		return 0;
	/* NPTL's setxid takes an error for a thread that is ending. */
	if (sig == FIB_KICK)
		return -ESRCH;
	if (sig == SIGSTOP)
		return stop();
	if (sig == SIGKILL)
		return fib_raw(SYS_kill, own_pid(), sig);
	if (shown(sig))
		return to_signalfd(sig, info);
	if (too_many(sig, info))
		return -EAGAIN;
	return fib_signal_send(f, sig, info, false);
}

long fib_sys_tgkill(int tgid, int tid, int sig)
{
	struct fib *f = tgid == own_pid() ? fib_by_tid(tid) : NULL;
	siginfo_t info;

	if (!f)
		return fib_raw(SYS_tgkill, tgid, tid, sig);
	info = info_from_us(sig, SI_TKILL);
	return to_fiber(f, sig, &info);
}

long fib_sys_tkill(int tid, int sig)
{
	struct fib *f = fib_by_tid(tid);
	siginfo_t info;

	if (!f)
		return fib_raw(SYS_tkill, tid, sig);
	info = info_from_us(sig, SI_TKILL);
	return to_fiber(f, sig, &info);
}

#define INFO_SIZE 48 /* struct kernel_siginfo: so much is read */

/*
 * What a call that queues @user says: 0 or -errno. Codes that are the kernel's
 * own, a thread may queue for itself alone: do_rt_sigqueueinfo().
 */
static long fetch_info(siginfo_t *info, const void *user, int tid)
{
	memset(info, 0, sizeof(*info));
	if (fib_copy(info, user, INFO_SIZE))
		return -EFAULT;
	if ((info->si_code >= 0 || info->si_code == SI_TKILL) &&
	    tid != fib_sys_gettid())
		return -EPERM;
	return 0;
}

long fib_sys_rt_sigqueueinfo(int pid, int sig, void *user)
{
	siginfo_t info;
	long r = fetch_info(&info, user, pid);

	if (r)
		return r;
	if (!fib_by_tid(pid) && pid != own_pid())
		return fib_raw(SYS_rt_sigqueueinfo, pid, sig, user);
	if (sig == SIGSTOP)
		return stop();
	if (!ordinary(sig))
		return fib_raw(SYS_kill, own_pid(), sig);
	info.si_signo = sig;
	if (too_many(sig, &info))
		return -EAGAIN;
	return to_own_process(sig, &info) ? 0 : to_kernel(sig, &info);
}

long fib_sys_rt_tgsigqueueinfo(int tgid, int tid, int sig, void *user)
{
	struct fib *f = tgid == own_pid() ? fib_by_tid(tid) : NULL;
	siginfo_t info;
	bool none = tgid <= 0 || tid <= 0;
	long r = fetch_info(&info, user, none ? (int)fib_sys_gettid() : tid);

	if (r || none)
		return r ? r : -EINVAL;
	if (!f && fib_by_tid(tid))
		return -ESRCH; /* of another process, it says */
	if (!f)
		return fib_raw(SYS_rt_tgsigqueueinfo, tgid, tid, sig, user);
	return to_fiber(f, sig, &info);
}

/* --- timers that signal one thread ---------------------------------------- */

/*
 * SIGEV_THREAD_ID names a thread that the kernel does not know. The kernel
 * signals the process instead, and the receiver finds the fiber by the timer's
 * id, which the signal carries (si_code SI_TIMER).
 */
#define TIMERS 1024

static struct {
	_Atomic int used; /* timer id + 1 */
	_Atomic int tid;
} thread_timer[TIMERS];
static _Atomic uint64_t timer_signals; /* what any of them ever sent */

bool fib_signal_has_timer(int sig)
{
	return fib_load(&timer_signals, seq_cst) & FIB_SIG(sig);
}

long fib_sys_timer_create(int clock, struct sigevent *ev, int *id)
{
	struct sigevent copy;
	struct fib *f;
	long r = fib_clock_dedicate(&clock);
	int got;

	if (r)
		return r;
	if (!ev || fib_copy(&copy, ev, sizeof(copy)) ||
	    copy.sigev_notify != SIGEV_THREAD_ID)
		return fib_raw(SYS_timer_create, clock, ev, id);
	f = fib_by_tid(copy._sigev_un._tid);
	if (!f)
		return fib_raw(SYS_timer_create, clock, ev, id);
	copy.sigev_notify = SIGEV_SIGNAL;
	if (copy.sigev_signo >= 1 && copy.sigev_signo <= 64)
		fib_or(&timer_signals, FIB_SIG(copy.sigev_signo), seq_cst);
	r = fib_raw(SYS_timer_create, clock, &copy, &got);
	if (r)
		return r;
	for (unsigned i = 0; i < TIMERS; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&thread_timer[i].used, &none,
						   got + 1)) {
			fib_store(&thread_timer[i].tid,
				  fib_load(&f->tid, relaxed), release);
			return fib_copy(id, &got, sizeof(got));
		}
	}
	fib_raw(SYS_timer_delete, got);
	return -EAGAIN;
}

/* A timer that has been stopped sends nothing more. */
long fib_sys_timer_delete(int id)
{
	for (unsigned i = 0; i < TIMERS; i++) {
		int want = id + 1;

		if (atomic_compare_exchange_strong(&thread_timer[i].used, &want,
						   0))
			break;
	}
	return settled(fib_raw(SYS_timer_delete, id), ~0ull);
}

long fib_sys_timer_settime(int id, int flags, const void *new, void *old)
{
	return settled(fib_raw(SYS_timer_settime, id, flags, new, old), ~0ull);
}

long fib_sys_setitimer(int which, const void *new, void *old)
{
	return settled(fib_raw(SYS_setitimer, which, new, old),
		       FIB_SIG(SIGALRM) | FIB_SIG(SIGVTALRM) |
			       FIB_SIG(SIGPROF));
}

long fib_sys_alarm(unsigned seconds)
{
	return settled(fib_raw(SYS_alarm, seconds), FIB_SIG(SIGALRM));
}

struct fib *fib_signal_timer_target(const siginfo_t *info)
{
	if (info->si_code != SI_TIMER)
		return NULL;
	for (unsigned i = 0; i < TIMERS; i++)
		if (fib_load(&thread_timer[i].used, relaxed) ==
		    info->si_timerid + 1)
			return fib_by_tid(
				fib_load(&thread_timer[i].tid, acquire));
	return NULL;
}

/* --- waiting ------------------------------------------------------------- */

long fib_sys_pause(void)
{
	int r = fib_wait_until(FIB_NEVER, FIB_WAIT_SIGNAL);

	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

long fib_sys_rt_sigsuspend(const uint64_t *mask, size_t size)
{
	uint64_t set;

	if (size != 8)
		return -EINVAL;
	if (fib_copy(&set, mask, sizeof(set)))
		return -EFAULT;
	fib_signal_mask_for_call(set);
	return fib_sys_pause();
}

/* In the fiber's own queue, or left in the kernel's for the process? */
static int take(struct fib *f, uint64_t set, siginfo_t *info)
{
	struct timespec now = { 0, 0 };
	int sig = fib_signal_take(f, set, info);
	long r;

	if (!sig)
		sig = fib_signal_kept(set, info);
	if (sig)
		return sig;
	r = fib_raw(SYS_rt_sigtimedwait, &set, info, &now, 8);
	return r > 0 ? (int)r : 0;
}

long fib_sys_rt_sigtimedwait(const uint64_t *user_set, void *user_info,
			     const struct timespec *ts, size_t size)
{
	struct fib *f = fib_self();
	struct fib_timer timer = { 0 };
	uint64_t deadline = FIB_NEVER, set;
	siginfo_t info;
	int64_t ns;
	int sig = 0;
	long r = 0;

	if (size != 8)
		return -EINVAL;
	if (fib_copy(&set, user_set, sizeof(set)))
		return -EFAULT;
	/* SIGCANCEL's number is that of libc's timer threads as well. */
	set &= ~(FIB_UNBLOCKABLE | FIB_SIG(FIB_KICK));
	if (ts) {
		ns = fib_timespec_ns(ts);
		if (ns < 0)
			return ns;
		deadline = fib_deadline_in((uint64_t)ns);
	}
	fib_cancel_begin();
	f->wait = FIB_WAIT_SIGNAL;
	f->wait_deadline = deadline;
	fib_store(&f->sigwait, set, seq_cst);
	if (deadline != FIB_NEVER)
		r = fib_timer_arm(&timer, f, deadline);
	while (r == 0 && !(sig = take(f, set, &info))) {
		/* (A) of signal.c sets it again for what comes from now on */
		fib_xchg(&f->attention, 0, seq_cst);
		if ((sig = take(f, set, &info)))
			break;
		fib_signal_recheck(set);
		if ((fib_load(&f->sigpend, relaxed) &
		     ~fib_load(&f->sigmask, relaxed)) ||
		    fib_work_pending(f))
			r = -EINTR;
		else if (deadline != FIB_NEVER &&
			 fib_load(&timer.fired, acquire))
			r = -EAGAIN;
		else
			fib_park();
	}
	fib_store(&f->sigwait, 0, seq_cst);
	f->wait = FIB_WAIT_NONE;
	fib_timer_disarm(&timer);
	if (!sig)
		sig = fib_signal_take(f, set, &info);
	fib_signal_mask_changed(f);
	if (sig)
		fib_signal_recheck(FIB_SIG(sig));
	if (!sig) {
		fib_cancel_end();
		return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
	}
	if (user_info && fib_copy(user_info, &info, sizeof(info)))
		return -EFAULT;
	return sig;
}
