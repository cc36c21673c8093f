/* Sending signals: kill(), tgkill() and their like. */
#include <sys/ioctl.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/sigcalls/sigcalls.h"
#include "hooks/signal/signal.h"

static siginfo_t info_from_us(int sig, int code)
{
	siginfo_t info;

	memset(&info, 0, sizeof(info));
	info.si_signo = sig;
	info.si_code = code;
	info.si_pid = fib_signal_pid;
	info.si_uid = (uid_t)fib_raw(SYS_getuid);
	return info;
}

/*
 * raise(SIGSTOP) and its like: the caller's kernel thread stops before it is back
 * from the kernel, and takes the others along. Sent to the process, it might be
 * another one that has to run first. What has it go on is handled when it returns.
 */
static long stop(void)
{
	long r;

	fib_signal_prepare(SIGSTOP);
	r = fib_raw(SYS_tgkill, fib_signal_pid, fib_raw(SYS_gettid), SIGSTOP);
	fib_signal_sync(~0ull);
	return r;
}

/* @sig has been sent to threads of ours: it may have stopped the process. */
static void went_on(int sig)
{
	if (sig && (FIB_SIG(sig) & FIB_SIG_STOPS))
		fib_signal_sync(~0ull);
}

/* So for the own group: some kernel thread of ours has yet to take it. */
static long wait_stopped(long r)
{
	while (r == 0 && (fib_signal_kernel_pending() & FIB_SIG(SIGSTOP)))
		fib_raw(SYS_sched_yield);
	fib_signal_sync(~0ull);
	return r;
}

static bool may_be_caught(int sig)
{
	return sig >= 1 && sig <= 64 && sig != SIGKILL && sig != SIGSTOP;
}

/* send_signal_locked() of the kernel: no more real-time signals than that. */
static bool too_many(int sig, const siginfo_t *info)
{
	return sig >= FIB_SIGRTMIN && info->si_code != SI_USER &&
	       fib_signal_one_too_many();
}

/* What a timer has sent of @sig is its thread's alone: the same is another one. */
static void apart_from_timers(int sig)
{
	if (fib_unlikely(fib_signal_timer_signals() & FIB_SIG(sig)))
		fib_signal_take_timers(FIB_SIG(sig));
}

/* False: all block it, or others are before it: the kernel's queue is its place. */
static bool to_own_process(int sig, const siginfo_t *info)
{
	fib_signal_prepare(sig);
	apart_from_timers(sig);
	if (sig >= FIB_SIGRTMIN && fib_signal_is_before(sig))
		return false;
	if (fib_signal_send_process(sig, info)) {
		went_on(sig);
		return true;
	}
	if (FIB_SIG(sig) & FIB_FAULTS) {
		fib_signal_pend_process(sig, info);
		return true;
	}
	fib_signal_unwatch(sig);
	return false;
}

/* It is in the kernel's queue now: a fiber may have begun to want it. */
static long in_kernel(long r, int sig)
{
	if (r == 0 && sig) {
		fib_signal_sync(FIB_SIG(sig));
		went_on(sig);
	}
	return r;
}

/* To several processes, or nobody knows to which: one that is ours is delivered. */
static long sent_by_kernel(long r, int sig)
{
	if (sig == SIGSTOP)
		return wait_stopped(r);
	if (r == 0) {
		fib_signal_sync(~0ull);
		went_on(sig);
	}
	return r;
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
		pid = fib_signal_pid;
	if (pid == fib_signal_pid && may_be_caught(sig)) {
		info = info_from_us(sig, SI_USER);
		if (to_own_process(sig, &info))
			return 0;
	}
	if (pid == fib_signal_pid && sig == SIGSTOP)
		return stop();
	/* The own group, or all: one is delivered when kill() returns. */
	if (pid > 0)
		return in_kernel(fib_raw(SYS_kill, pid, sig),
				 pid == fib_signal_pid ? sig : 0);
	return sent_by_kernel(fib_raw(SYS_kill, pid, sig), sig);
}

static long to_signalfd(int sig, const siginfo_t *info)
{
	fib_signal_unwatch(sig);
	return in_kernel(fib_signal_to_kernel(sig, info), sig);
}

static long to_fiber(struct fib *f, int sig, const siginfo_t *info)
{
	long r;

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
		return fib_raw(SYS_kill, fib_signal_pid, sig);
	if (fib_signalfd_shows(sig))
		return to_signalfd(sig, info);
	if (too_many(sig, info))
		return -EAGAIN;
	fib_signal_prepare(sig);
	apart_from_timers(sig);
	r = fib_signal_send(f, sig, info, false);
	went_on(sig);
	return r;
}

/*
 * Main has ended before the process, and @tid is its. The kernel's first thread goes on here:
 * a signal to it would be another one's. Natively nobody gets it. (SIGCONT is for all.)
 */
static bool is_gone(int tid, int sig)
{
	return tid == fib_signal_pid && !fib_main_fiber && sig != SIGCONT &&
	       sig >= 0 && sig <= 64;
}

long fib_sys_tgkill(int tgid, int tid, int sig)
{
	struct fib *f = tgid == fib_signal_pid ? fib_by_tid(tid) : NULL;
	siginfo_t info;

	if (!f && tgid == tid && is_gone(tid, sig))
		return 0;
	if (!f)
		return fib_raw(SYS_tgkill, tgid, tid, sig);
	info = info_from_us(sig, SI_TKILL);
	return to_fiber(f, sig, &info);
}

long fib_sys_tkill(int tid, int sig)
{
	struct fib *f = fib_by_tid(tid);
	siginfo_t info;

	if (!f && is_gone(tid, sig))
		return 0;
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
static long copy_info(siginfo_t *info, const void *user, int tid)
{
	memset(info, 0, sizeof(*info));
	if (fib_copy(info, user, INFO_SIZE))
		return -EFAULT;
	if ((info->si_code >= 0 || info->si_code == SI_TKILL) &&
	    tid != fib_own_tid())
		return -EPERM;
	return 0;
}

static long queue_for_process(int sig, siginfo_t *info)
{
	if (sig == SIGSTOP)
		return stop();
	if (!may_be_caught(sig))
		return fib_raw(SYS_kill, fib_signal_pid, sig);
	info->si_signo = sig;
	if (too_many(sig, info))
		return -EAGAIN;
	if (to_own_process(sig, info))
		return 0;
	return in_kernel(fib_signal_to_kernel(sig, info), sig);
}

long fib_sys_rt_sigqueueinfo(int pid, int sig, void *user)
{
	siginfo_t info;
	long r = copy_info(&info, user, pid);

	if (r)
		return r;
	if (!fib_by_tid(pid) && pid != fib_signal_pid)
		return fib_raw(SYS_rt_sigqueueinfo, pid, sig, user);
	return queue_for_process(sig, &info);
}

long fib_sys_rt_tgsigqueueinfo(int tgid, int tid, int sig, void *user)
{
	struct fib *f = tgid == fib_signal_pid ? fib_by_tid(tid) : NULL;
	siginfo_t info;
	bool none = tgid <= 0 || tid <= 0;
	long r = copy_info(&info, user, none ? fib_own_tid() : tid);

	if (r || none)
		return r ? r : -EINVAL;
	if (!f && fib_by_tid(tid))
		return -ESRCH; /* of another process, it says */
	if (!f && tgid == tid && is_gone(tid, sig))
		return 0;
	if (!f)
		return fib_raw(SYS_rt_tgsigqueueinfo, tgid, tid, sig, user);
	return to_fiber(f, sig, &info);
}

/* --- by a descriptor ----------------------------------------------------- */

/* linux/pidfd.h: flags of Linux 6.9, ioctl of 6.13, numbers of 6.14 */
#define TO_THREAD      1u	/* PIDFD_SIGNAL_THREAD */
#define TO_PROCESS     2u	/* PIDFD_SIGNAL_THREAD_GROUP */
#define ITSELF_THREAD  (-10000) /* PIDFD_SELF_THREAD */
#define ITSELF_PROCESS (-10001) /* PIDFD_SELF_THREAD_GROUP */

struct pidfd_info {
	uint64_t mask, cgroup;
	uint32_t pid, others[11];
};
#define PIDFD_INFO_PID 1
#define PIDFD_GET_INFO _IOWR(0xff, 11, struct pidfd_info)
_Static_assert(sizeof(struct pidfd_info) == 64, "the smallest that it takes");

int fib_pidfd_tid(int pidfd)
{
	struct pidfd_info info = { .mask = PIDFD_INFO_PID };

	if (pidfd == ITSELF_THREAD)
		return fib_own_tid();
	if (pidfd == ITSELF_PROCESS)
		return fib_signal_pid;
	return fib_raw(SYS_ioctl, pidfd, PIDFD_GET_INFO, &info) ? 0 :
								  (int)info.pid;
}

long fib_sys_pidfd_send_signal(int pidfd, int sig, void *user, unsigned flags)
{
	int tid = fib_pidfd_tid(pidfd);
	struct fib *f = tid ? fib_by_tid(tid) : NULL;
	bool thread =
		flags == TO_THREAD || (flags == 0 && pidfd == ITSELF_THREAD);
	siginfo_t info;
	long r;

	if (!f || (flags & ~(TO_THREAD | TO_PROCESS)))
		return sent_by_kernel(
			fib_raw(SYS_pidfd_send_signal, pidfd, sig, user, flags),
			sig);
	/* Does it know the flags, or the number? */
	r = fib_raw(SYS_pidfd_send_signal, pidfd, 0, NULL, flags);
	if (r)
		return r;
	info = info_from_us(sig, thread ? SI_TKILL : SI_USER);
	if (user) {
		r = copy_info(&info, user, tid);
		if (r != -EFAULT && info.si_signo != sig)
			r = -EINVAL;
		if (r)
			return r;
	}
	return thread ? to_fiber(f, sig, &info) : queue_for_process(sig, &info);
}
