/*
 * Calls about a kernel thread's own attributes: who changes one needs a kernel
 * thread to himself (sched.h, "Dedicated fibers").
 *
 * A thread id in an argument is a fiber's: 0 or the caller's own is the worker
 * that the caller is on; a dedicated fiber's is that of its worker. All that are
 * not dedicated have the same attributes, so what is asked about one is answered
 * for any worker. A change of another fiber's attributes is made by that
 * fiber (taskwork.c), but for one that asks for what it has; and by the caller, once
 * the other one is bound, or where the two may not do the same.
 */
#include <linux/close_range.h>
#include <sched.h>
#include <sys/resource.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/thread/thread.h"
#include "runtime/futex.h"

#define DEADLINE   6  /* SCHED_DEADLINE, linux/sched.h */
#define ATTR_WORDS 14 /* SCHED_ATTR_SIZE_VER1 / 4, linux/sched/types.h */

/*
 * The kernel thread that fiber @f, known as @tid, has to itself: its id, or 0 if
 * it shares one. -ESRCH: @f ends just now, and its worker may be another's.
 */
static int own_thread(const struct fib *f, int tid)
{
	struct fib_worker *w = fib_load(fib_shared(&f->bound), acquire);
	int r = w ? fib_load(&w->tid, acquire) : 0;

	fib_fence(acquire);
	return w && fib_load(&f->tid, relaxed) != tid ? -ESRCH : r;
}

/* What the kernel calls fiber @tid, to ask about it. */
int fib_kernel_tid(int tid)
{
	struct fib *self = fib_self(), *f = tid ? fib_by_tid(tid) : self;
	int own;

	if (!f && !fib_ends_now(tid))
		return tid;
	own = f && f != self ? own_thread(f, tid) : 0;
	if (own < 0)
		own = 0; /* it ends: as any */
	if (f == self || (!own && !self->thread.apart))
		return 0;
	return own ? own : fib_common_tid();
}

int fib_dedicated_tid(struct fib *f)
{
	int tid = fib_load(&f->tid, acquire), own;

	if (f == fib_self()) {
		own = fib_dedicate();
		return own ? own : (int)fib_raw(SYS_gettid);
	}
	own = own_thread(f, tid);
	/* It may be where nobody reaches it, as in vfork(). */
	if (own > 0 && !f->thread.apart && !fib_taskwork_apart(f, tid))
		own = -ESRCH;
	return own ? own :
		     (int)fib_taskwork_call(f, SYS_gettid, (long[6]){ 0 });
}

/* Not where and when it runs, but what it may do. */
static bool is_of_rights(long nr)
{
	switch (nr) {
	case SYS_sched_setaffinity:
	case SYS_sched_setscheduler:
	case SYS_sched_setparam:
	case SYS_sched_setattr:
	case SYS_setpriority:
	case SYS_ioprio_set:
	case SYS_set_mempolicy:
	case SYS_personality:
	case SYS_ptrace:
		return false;
	}
	return true;
}

long fib_dedicated_call(long nr, const long a[6])
{
	long r;

	if (fib_runtime_leave())
		return fib_pass(nr, a);
	r = fib_dedicate();
	if (r)
		return r;
	r = fib_pass(nr, a);
	if (r >= 0 && is_of_rights(nr))
		fib_rights_changed();
	return r;
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

	return f && !f->thread.apart && !self->thread.apart;
}

static long change_other(struct fib *f, long nr, unsigned i, long a[6])
{
	int own = own_thread(f, (int)a[i]);

	if (own < 0)
		return own;
	if (own || fib_self()->thread.apart) {
		own = fib_dedicated_tid(f);
		if (own < 0)
			return own;
		a[i] = own;
		return fib_pass(nr, a);
	}
	a[i] = 0;
	return fib_taskwork_call(f, nr, a);
}

/* Call @nr, which changes the thread that argument @i names. */
static long change(long nr, unsigned i, long a[6])
{
	struct fib *self = fib_self();
	struct fib *f = a[i] ? fib_by_tid((int)a[i]) : self;
	long r;

	if (!f)
		return fib_ends_now((int)a[i]) ? 0 : fib_pass(nr, a);
	if (f == self) {
		a[i] = 0;
		return fib_dedicated_call(nr, a);
	}
	r = change_other(f, nr, i, a);
	/* It ends just now. The kernel changes such a thread as well, to no avail. */
	return r == -ESRCH ? 0 : r;
}

/* --- scheduling ---------------------------------------------------------- */

static long change_priority(long nr, long a[6])
{
	long r = change(nr, 0, a);

	fib_futex_priority_changed();
	return r;
}

long fib_sys_sched_getaffinity(int tid, size_t len, void *mask)
{
	return fib_raw(SYS_sched_getaffinity, fib_kernel_tid(tid), len, mask);
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
	return fib_raw(SYS_sched_getparam, fib_kernel_tid(tid), param);
}

long fib_sys_sched_getscheduler(int tid)
{
	return fib_raw(SYS_sched_getscheduler, fib_kernel_tid(tid));
}

long fib_sys_sched_rr_get_interval(int tid, void *ts)
{
	return fib_raw(SYS_sched_rr_get_interval, fib_kernel_tid(tid), ts);
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
	return change_priority(SYS_sched_setscheduler,
			       (long[6]){ tid, policy, (long)param });
}

long fib_sys_sched_setparam(int tid, const void *param)
{
	if (is_common(tid) && same_policy(SCHED_OTHER, param))
		return 0;
	return change_priority(SYS_sched_setparam,
			       (long[6]){ tid, (long)param });
}

long fib_sys_sched_getattr(int tid, void *attr, unsigned size, unsigned flags)
{
	return fib_raw(SYS_sched_getattr, fib_kernel_tid(tid), attr, size,
		       flags);
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
	return change_priority(SYS_sched_setattr,
			       (long[6]){ tid, (long)attr, flags });
}

long fib_sys_getpriority(int which, int who)
{
	if (which == PRIO_PROCESS)
		who = fib_kernel_tid(who);
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
		who = fib_kernel_tid(who);
	return fib_raw(SYS_ioprio_get, which, who);
}

long fib_sys_ioprio_set(int which, int who, int prio)
{
	if (which != 1)
		return fib_raw(SYS_ioprio_set, which, who, prio);
	return change(SYS_ioprio_set, 1, (long[6]){ which, who, prio });
}

/* --- namespaces, privileges ----------------------------------------------- */

long fib_sys_unshare(unsigned long flags)
{
	long r = dedicated(SYS_unshare, (long)flags, 0, 0, 0);

	if (r == 0 && (flags & CLONE_FILES) && fib_self())
		fib_fd_unshared();
	return r;
}

long fib_sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	long r = 0;

	if (first > last ||
	    (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)))
		return fib_raw(SYS_close_range, first, last, flags);
	if (flags & CLOSE_RANGE_UNSHARE)
		r = fib_sys_unshare(CLONE_FILES);
	return r ? r : fib_fd_close_range(first, last, flags);
}

long fib_sys_setns(int fd, int type)
{
	return dedicated(SYS_setns, fd, type, 0, 0);
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

long fib_sys_landlock_restrict_self(int fd, unsigned flags)
{
	return dedicated(SYS_landlock_restrict_self, fd, flags, 0, 0);
}

long fib_sys_set_mempolicy(int mode, const void *mask, unsigned long max)
{
	return dedicated(SYS_set_mempolicy, mode, (long)mask, (long)max, 0);
}

/* Ports that a thread may use. */
long fib_sys_ioperm(unsigned long from, unsigned long n, int on)
{
	return dedicated(SYS_ioperm, (long)from, (long)n, on, 0);
}

long fib_sys_iopl(unsigned level)
{
	return dedicated(SYS_iopl, level, 0, 0, 0);
}

long fib_sys_lsm_set_self_attr(unsigned attr, void *ctx, unsigned size,
			       unsigned flags)
{
	return dedicated(SYS_lsm_set_self_attr, attr, (long)ctx, size, flags);
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
	if (fib_by_tid(pid)) /* no thread traces its own process */
		pid = (int)fib_raw(SYS_getpid);
	return dedicated(SYS_ptrace, request, pid, (long)addr, (long)data);
}
