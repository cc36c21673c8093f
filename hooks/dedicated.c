/*
 * Calls about a kernel thread's own attributes: who changes one needs a kernel
 * thread to himself (sched.h, "Dedicated fibers").
 *
 * A thread id in an argument is a fiber's: 0 or the caller's own is the worker
 * that the caller is on; a dedicated fiber's is that of its worker. All that are
 * not dedicated have the same attributes, so what is asked about one is answered
 * for any worker. A change of another fiber's attributes is made by that
 * fiber (taskwork.c), but for one that asks for what it has.
 */
#include <linux/prctl.h>
#include <sched.h>
#include <sys/resource.h>
#include "hooks/hooks.h"

#define DEADLINE   6  /* SCHED_DEADLINE, linux/sched.h */
#define ATTR_WORDS 14 /* SCHED_ATTR_SIZE_VER1 / 4, linux/sched/types.h */

/* A worker that is not dedicated; the caller's if there is none. */
static int common_tid(void)
{
	struct fib_sched *s = fib_symtab.sched;

	for (uint32_t i = 0; i < fib_load(&s->workers, acquire); i++) {
		struct fib_worker *w = s->worker[i];

		if (!w->bound && !fib_load(&w->gone, relaxed))
			return fib_load(&w->tid, relaxed);
	}
	return 0;
}

/* What the kernel calls fiber @tid, to ask about it. */
static int kernel_tid(int tid)
{
	struct fib *self = fib_self(), *f = tid ? fib_by_tid(tid) : self;

	if (!f)
		return tid;
	if (f == self || (!f->bound && !self->bound))
		return 0;
	return f->bound ? fib_load(&f->bound->tid, relaxed) : common_tid();
}

long fib_dedicated_call(long nr, const long a[6])
{
	int r = fib_dedicate();

	return r ? r : fib_pass(nr, a);
}

static long dedicated5(long nr, long a, long b, long c, long d, long e)
{
	return fib_dedicated_call(nr, (long[6]){ a, b, c, d, e });
}

static long dedicated(long nr, long a, long b, long c, long d)
{
	return dedicated5(nr, a, b, c, d, 0);
}

/* Is @tid a fiber that has what all have that are not dedicated? */
static bool is_common(int tid)
{
	struct fib *self = fib_self(), *f = tid ? fib_by_tid(tid) : self;

	return f && !f->bound && !self->bound;
}

/* Call @nr, which changes the thread that argument @i names. */
static long change(long nr, unsigned i, long a[6])
{
	struct fib *self = fib_self();
	struct fib *f = a[i] ? fib_by_tid((int)a[i]) : self;

	if (!f)
		return fib_pass(nr, a);
	a[i] = 0;
	if (f == self)
		return fib_dedicated_call(nr, a);
	if (!f->bound)
		return fib_work_call(f, nr, a);
	a[i] = fib_load(&f->bound->tid, relaxed);
	return fib_pass(nr, a);
}

/* --- scheduling ---------------------------------------------------------- */

long fib_sys_sched_getaffinity(int tid, size_t len, void *mask)
{
	return fib_raw(SYS_sched_getaffinity, kernel_tid(tid), len, mask);
}

static bool same_mask(const void *user, size_t len)
{
	uint64_t now[16] = { 0 }, want[16] = { 0 };
	long n = fib_raw(SYS_sched_getaffinity, 0, sizeof(now), now);

	if (len > sizeof(want))
		len = sizeof(want);
	if (n < 0 || fib_copy(want, user, len))
		return false;
	return !memcmp(now, want, (size_t)n);
}

long fib_sys_sched_setaffinity(int tid, size_t len, const void *mask)
{
	if (is_common(tid) && same_mask(mask, len))
		return 0;
	return change(SYS_sched_setaffinity, 0,
		      (long[6]){ tid, (long)len, (long)mask });
}

long fib_sys_sched_getparam(int tid, void *param)
{
	return fib_raw(SYS_sched_getparam, kernel_tid(tid), param);
}

long fib_sys_sched_getscheduler(int tid)
{
	return fib_raw(SYS_sched_getscheduler, kernel_tid(tid));
}

long fib_sys_sched_rr_get_interval(int tid, void *ts)
{
	return fib_raw(SYS_sched_rr_get_interval, kernel_tid(tid), ts);
}

static bool same_policy(int policy, const void *user)
{
	int priority;

	return policy == fib_raw(SYS_sched_getscheduler, 0) &&
	       policy == SCHED_OTHER &&
	       !fib_copy(&priority, user, sizeof(priority)) && priority == 0;
}

/*
 * A real-time thread may keep its processor to itself. The monitor goes before
 * it, where it may: no signal would reach it otherwise.
 */
static void expect_policy(int policy)
{
	policy &= ~SCHED_RESET_ON_FORK;
	if (policy == SCHED_FIFO || policy == SCHED_RR || policy == DEADLINE)
		fib_monitor_urgent();
}

long fib_sys_sched_setscheduler(int tid, int policy, const void *param)
{
	if (is_common(tid) && same_policy(policy, param))
		return 0;
	expect_policy(policy);
	return change(SYS_sched_setscheduler, 0,
		      (long[6]){ tid, policy, (long)param });
}

long fib_sys_sched_setparam(int tid, const void *param)
{
	if (is_common(tid) && same_policy(SCHED_OTHER, param))
		return 0;
	return change(SYS_sched_setparam, 0, (long[6]){ tid, (long)param });
}

long fib_sys_sched_getattr(int tid, void *attr, unsigned size, unsigned flags)
{
	return fib_raw(SYS_sched_getattr, kernel_tid(tid), attr, size, flags);
}

/* GLib sets what it has read, once it makes a pool and then in each thread. */
static bool same_attr(const void *user)
{
	uint32_t want[ATTR_WORDS], now[ATTR_WORDS]; /* size, policy, ... */

	return !fib_copy(want, user, sizeof(*want)) && *want == sizeof(want) &&
	       !fib_copy(want, user, sizeof(want)) && want[1] == SCHED_OTHER &&
	       fib_raw(SYS_sched_getattr, 0, now, sizeof(now), 0) == 0 &&
	       !memcmp(want, now, sizeof(now));
}

long fib_sys_sched_setattr(int tid, void *attr, unsigned flags)
{
	uint32_t head[2]; /* size, policy */

	if (!flags && is_common(tid) && same_attr(attr))
		return 0;
	if (!fib_copy(head, attr, sizeof(head)))
		expect_policy((int)head[1]);
	return change(SYS_sched_setattr, 0,
		      (long[6]){ tid, (long)attr, flags });
}

long fib_sys_getpriority(int which, int who)
{
	if (which == PRIO_PROCESS)
		who = kernel_tid(who);
	return fib_raw(SYS_getpriority, which, who);
}

long fib_sys_setpriority(int which, int who, int nice)
{
	if (which != PRIO_PROCESS)
		return fib_raw(SYS_setpriority, which, who, nice);
	if (is_common(who) && fib_raw(SYS_getpriority, which, 0) == 20 - nice)
		return 0;
	return change(SYS_setpriority, 1, (long[6]){ which, who, nice });
}

/* IOPRIO_WHO_PROCESS is 1 */
long fib_sys_ioprio_get(int which, int who)
{
	if (which == 1)
		who = kernel_tid(who);
	return fib_raw(SYS_ioprio_get, which, who);
}

long fib_sys_ioprio_set(int which, int who, int prio)
{
	if (which != 1)
		return fib_raw(SYS_ioprio_set, which, who, prio);
	return change(SYS_ioprio_set, 1, (long[6]){ which, who, prio });
}

/* --- namespaces, privileges ----------------------------------------------- */

long fib_sys_unshare(int flags)
{
	long r = dedicated(SYS_unshare, flags, 0, 0, 0);

	if (r == 0 && (flags & CLONE_FILES))
		fib_fd_unshared();
	return r;
}

long fib_sys_setns(int fd, int type)
{
	return dedicated(SYS_setns, fd, type, 0, 0);
}

long fib_sys_capset(void *header, const void *data)
{
	return dedicated(SYS_capset, (long)header, (long)data, 0, 0);
}

long fib_sys_personality(unsigned long persona)
{
	if (persona == 0xffffffff)
		return fib_raw(SYS_personality, persona);
	return dedicated(SYS_personality, (long)persona, 0, 0, 0);
}

long fib_sys_setfsuid(int uid)
{
	if (uid == -1)
		return fib_raw(SYS_setfsuid, uid);
	return dedicated(SYS_setfsuid, uid, 0, 0, 0);
}

long fib_sys_setfsgid(int gid)
{
	if (gid == -1)
		return fib_raw(SYS_setfsgid, gid);
	return dedicated(SYS_setfsgid, gid, 0, 0, 0);
}

/* Op 2 and 3 only ask. */
long fib_sys_seccomp(unsigned op, unsigned flags, void *args)
{
	if (op > 1)
		return fib_raw(SYS_seccomp, op, flags, args);
	return dedicated(SYS_seccomp, op, flags, (long)args, 0);
}

long fib_sys_landlock_restrict_self(int fd, unsigned flags)
{
	return dedicated(SYS_landlock_restrict_self, fd, flags, 0, 0);
}

long fib_sys_set_mempolicy(int mode, const void *mask, unsigned long max)
{
	return dedicated(SYS_set_mempolicy, mode, (long)mask, (long)max, 0);
}

/* Keyrings belong to credentials, and these to a thread: keyrings(7). */
long fib_sys_add_key(const char *type, const char *name, const void *data,
		     size_t len, int ring)
{
	return dedicated5(SYS_add_key, (long)type, (long)name, (long)data,
			  (long)len, ring);
}

long fib_sys_request_key(const char *type, const char *name, const char *info,
			 int ring)
{
	return dedicated(SYS_request_key, (long)type, (long)name, (long)info,
			 ring);
}

long fib_sys_keyctl(int op, long a, long b, long c, long d)
{
	return dedicated5(SYS_keyctl, op, a, b, c, d);
}

/* A tracer is a thread, and all its requests must come from that one. */
long fib_sys_ptrace(long request, int pid, void *addr, void *data)
{
	return dedicated(SYS_ptrace, request, pid, (long)addr, (long)data);
}

long fib_prctl_dedicated(int op, long a, long b, long c, long d)
{
	switch (op) {
	case PR_SET_PDEATHSIG:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMING:
	case PR_SET_SECCOMP:
	case PR_CAPBSET_DROP:
	case PR_SET_TSC:
	case PR_SET_SECUREBITS:
	case PR_SET_TIMERSLACK:
	case PR_MCE_KILL:
	case PR_SET_NO_NEW_PRIVS:
	case PR_CAP_AMBIENT:
	case PR_SET_SPECULATION_CTRL:
	case PR_SET_IO_FLUSHER:
	case PR_SCHED_CORE:
		return dedicated5(SYS_prctl, op, a, b, c, d);
	}
	return fib_raw(SYS_prctl, op, a, b, c, d);
}
