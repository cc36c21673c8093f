/* Sending signals: kill(), tgkill() and their like. */
#include <sys/resource.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/sigcalls/sigcalls.h"
#include "hooks/signal/signal.h"

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
static long wait_stopped(long r)
{
	while (r == 0 && (fib_signal_kernel_pending() & FIB_SIG(SIGSTOP)))
		fib_raw(SYS_sched_yield);
	return r;
}

static bool may_be_caught(int sig)
{
	return sig >= 1 && sig <= 64 && sig != SIGKILL && sig != SIGSTOP;
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
	if (fib_signal_send_process(sig, info))
		return true;
	if (FIB_SIG(sig) & FIB_FAULTS) {
		fib_signal_pend_process(sig, info);
		return true;
	}
	fib_signal_unwatch(sig);
	return false;
}

/*
 * A signal to the own process need not go round through the receiver: if it is
 * for the caller, its handler has run when kill() returns.
 */
long fib_sys_kill(int pid, int sig)
{
	siginfo_t info;
	long r;

	/* The kernel takes any thread's id for its process. */
	if (fib_by_tid(pid))
		pid = own_pid();
	if (pid == own_pid() && may_be_caught(sig)) {
		info = info_from_us(sig, SI_USER);
		if (to_own_process(sig, &info))
			return 0;
	}
	if (pid == own_pid() && sig == SIGSTOP)
		return stop();
	/* The own group, or all: one is delivered when kill() returns. */
	if (pid > 0)
		return fib_raw(SYS_kill, pid, sig);
	if (sig == SIGSTOP)
		return wait_stopped(fib_raw(SYS_kill, pid, sig));
	r = fib_raw(SYS_kill, pid, sig);
	fib_signal_sync(~0ull);
	return r;
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
	fib_signal_unwatch(sig);
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
	if (fib_signalfd_shows(sig))
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

long fib_sys_rt_sigqueueinfo(int pid, int sig, void *user)
{
	siginfo_t info;
	long r = copy_info(&info, user, pid);

	if (r)
		return r;
	if (!fib_by_tid(pid) && pid != own_pid())
		return fib_raw(SYS_rt_sigqueueinfo, pid, sig, user);
	if (sig == SIGSTOP)
		return stop();
	if (!may_be_caught(sig))
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
	long r = copy_info(&info, user, none ? fib_own_tid() : tid);

	if (r || none)
		return r ? r : -EINVAL;
	if (!f && fib_by_tid(tid))
		return -ESRCH; /* of another process, it says */
	if (!f)
		return fib_raw(SYS_rt_tgsigqueueinfo, tgid, tid, sig, user);
	return to_fiber(f, sig, &info);
}
