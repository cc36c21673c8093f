/*
 * Waiting for children: wait4 and waitid. Who wait for the same stand in line,
 * and the first of them waits on io_uring, or on a kernel thread.
 */
#include <fcntl.h>
#include <sys/wait.h>
#include "hooks/core/hook.h"
#include "hooks/process/process.h"
#include "hooks/signal/signal.h"
#include "hooks/sigcalls/sigcalls.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"
#include "runtime/uring.h"

/* SIGCHLD comes before the wait for its child is over (do_notify_parent()), and
 * so does what the child has sent; also where none is left, by SA_NOCLDWAIT. */
static long reaped(long r)
{
	if (r >= 0 || r == -ECHILD)
		fib_signal_sync(~0ull);
	return r;
}

/* Threads that wait for the same children do so in line, but for bound ones, which
 * wait in the kernel. */
static struct fib_place *line_for(struct fib_place *p)
{
	return fib_self()->bound ? NULL : p;
}

/*
 * A group of 0 is the one that the process is in when the call begins; after a stop it
 * begins anew. (To others that makes no difference, but in who looks first.)
 */
static void name_group(long nr, long a[6])
{
	long group;

	if (nr == SYS_wait4 ? a[0] : a[0] != P_PGID || a[1])
		return;
	fib_stop_may_repeat();
	group = fib_raw(SYS_getpgid, 0);
	if (nr != SYS_wait4)
		a[1] = group;
	else if (group > 1) /* -1 is any child */
		a[0] = -group;
}

/*
 * Until there may be something: 0, -EINTR. All threads of a process have the same
 * children, so any of them may look, but for __WNOTHREAD. -ENOSYS: the call is to
 * be made, on a kernel thread.
 */
static long await_child(long nr, const long a[6])
{
	long type = a[0], id = a[1], options = a[3], r;

	if (nr == SYS_wait4) {
		type = a[0] == -1 ? P_ALL : a[0] > 0 ? P_PID : P_PGID;
		id = a[0] > 0 ? a[0] : -a[0];
		options = a[2] | WEXITED;
	}
	if ((options & __WNOTHREAD) || !fib_uring_allowed())
		return -ENOSYS;
	fib_cancel_begin();
	r = fib_uring_child_wait((int)type, (int)id, (int)options | WNOWAIT,
				 fib_wait_goes_on);
	if (r == 0)
		fib_signal_sync_handled(fib_self());
	if (r == -EINTR)
		fib_cancel_end();
	return r;
}

/* Who has a kernel thread to himself may wait there without a try, if nothing is to end that. */
static bool looks_first(long nr, const long a[6], const struct fib_place *p)
{
	return p || nr != SYS_wait4 || (a[2] & WNOHANG) ||
	       fib_load(&fib_self()->attention, acquire);
}

/*
 * As do_wait() of the kernel, which looks at the children before it looks at
 * signals: a child's SIGCHLD does not end the wait for that child. The kernel
 * does so here as well, but what has ended its wait may be a kick whose signal
 * was handled long ago, and the SIGCHLD come after it. @attention says whether
 * there was a signal before the last try.
 */
static long wait_for(long nr, long a[6], struct fib_place *p,
		     bool (*try)(const long a[6], long *r))
{
	bool inside = false, attention = false, tried = looks_first(nr, a, p);
	long r;

	while (!tried || !try(a, &r)) {
		tried = true;
		name_group(nr, a);
		if (attention) {
			r = -EINTR;
			break;
		}
		if (p && !p->in_line) {
			attention = fib_line_stand(p, FIB_NEVER) != 0;
			continue;
		}
		r = p ? await_child(nr, a) : -ENOSYS;
		if (r != -ENOSYS) {
			attention = r == -EINTR;
			continue;
		}
		r = fib_blocking(nr, a);
		if (r != -EINTR && !(inside && r == -FIB_ERESTARTNOINTR))
			break;
		inside = true;
		attention = fib_load(&fib_self()->attention, acquire);
	}
	if (p)
		fib_line_leave(p);
	return nr == SYS_wait4 && r == 0 ? 0 : reaped(r);
}

static bool try_wait4(const long a[6], long *r)
{
	*r = fib_raw(SYS_wait4, a[0], a[1], a[2] | WNOHANG, a[3]);
	return *r || (a[2] & WNOHANG);
}

/*
 * Only where it can say which child is an empty try told from a result. What is
 * written where a result does not fit, and whether the child is gone then, is the
 * kernel's to say: it makes the call itself once there is a result.
 */
static bool try_waitid(const long a[6], long *r)
{
	siginfo_t own = { .si_signo = 0 };
	long options = a[3] | WNOHANG;
	int pid;

	if (!a[2]) {
		*r = fib_raw(SYS_waitid, a[0], a[1], &own, options, a[4]);
		return *r || own.si_pid;
	}
	*r = fib_raw(SYS_waitid, a[0], a[1], &own, options | WNOWAIT, 0);
	if (*r == 0 && !own.si_pid)
		return false;
	*r = fib_raw(SYS_waitid, a[0], a[1], a[2], options, a[4]);
	if (*r || fib_copy(&pid, &((siginfo_t *)a[2])->si_pid, sizeof(pid)))
		return true;
	/* 0: another thread was faster. */
	return pid;
}

/*
 * The children of main that it has from before its first thread are the first kernel
 * thread's, on which others run as well: these have none, and a kernel thread of
 * their own says so.
 */
static void for_own_children(int options)
{
	if (options & __WNOTHREAD)
		fib_bind_self();
}

long fib_sys_wait4(int pid, int *status, int options, void *usage)
{
	struct fib_place p = { .key = { SYS_wait4, (uint64_t)pid,
					(uint64_t)options } };

	for_own_children(options);
	return wait_for(SYS_wait4,
			(long[6]){ pid, (long)status, options, (long)usage },
			line_for(&p), try_wait4);
}

#define PIDFD 3 /* P_PIDFD, from glibc 2.36 on */

/*
 * A pidfd's number may be another's when the wait goes on: its child is waited for.
 * Not where the descriptor says that nobody waits, which is the kernel's to tell.
 */
static void name_child(long a[6])
{
	long flags;
	int pid;

	if (fib_filtered())
		return;
	pid = fib_pidfd_tid((int)a[1]);
	flags = fib_raw(SYS_fcntl, a[1], F_GETFL, 0);
	if (pid && flags >= 0 && !(flags & O_NONBLOCK)) {
		a[0] = P_PID;
		a[1] = pid;
	}
}

long fib_sys_waitid(int type, int id, void *info, int options, void *usage)
{
	long a[6] = { type, id, (long)info, options, (long)usage }, r;
	struct fib_place p;

	for_own_children(options);
	if (options & WNOHANG)
		return reaped(fib_pass(SYS_waitid, a));
	if (type == PIDFD) {
		if (try_waitid(a, &r))
			return reaped(r);
		fib_stop_repeats(); /* by its number */
		name_child(a);
	}
	p = (struct fib_place){ .key = { SYS_waitid, (uint64_t)a[0],
					 (uint64_t)a[1], (uint64_t)options } };
	return wait_for(SYS_waitid, a, a[0] <= P_PGID ? line_for(&p) : NULL,
			try_waitid);
}
