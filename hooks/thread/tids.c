/*
 * Calls that name a thread, or a process by one of its threads, in an argument.
 *
 * The kernel takes any thread's id for its process in many of them, and does
 * not know a fiber's: it is told the process. Where the thread itself is meant,
 * it is told the kernel thread that the fiber then has to itself.
 * (Scheduling is in dedicated.c, clocks are in hooks/time/clocks.c, signals in
 * hooks/sigcalls/send.c.)
 */
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"
#include "runtime/iom.h"

#define PIDFD_THREAD O_EXCL /* linux/pidfd.h */

/* The process that @id names. */
static int process_of(int id)
{
	return fib_by_tid(id) ? fib_signal_pid : id;
}

/* --- capabilities ---------------------------------------------------------- */

/*
 * The header is the program's, and the kernel writes into it which version it
 * would like. Anybody's capabilities may be read; one sets one's own, 0 or by
 * name: libcap-ng does the latter.
 */
static long cap_call(long nr, struct __user_cap_header_struct *user, void *data,
		     int pid)
{
	struct __user_cap_header_struct h;
	uint32_t version;
	long r;

	if (fib_copy(&h, user, sizeof(h)))
		return fib_raw(nr, user, data);
	version = h.version;
	h.pid = pid;
	r = fib_raw(nr, &h, data);
	if (h.version != version &&
	    fib_copy(&user->version, &h.version, sizeof(h.version)))
		return -EFAULT;
	return r;
}

long fib_sys_capget(void *header, void *data)
{
	struct __user_cap_header_struct h;

	if (fib_copy(&h, header, sizeof(h)))
		return fib_raw(SYS_capget, header, data);
	return cap_call(SYS_capget, header, data,
			h.pid > 0 ? fib_kernel_tid(h.pid) : h.pid);
}

long fib_sys_capset(void *header, const void *data)
{
	struct __user_cap_header_struct h;
	long r;

	if (fib_copy(&h, header, sizeof(h)))
		return fib_raw(SYS_capset, header, data);
	if (!h.pid || fib_by_tid(h.pid) == fib_self()) {
		r = fib_runtime_leave() ? 0 : fib_dedicate();
		if (r)
			return r;
		r = cap_call(SYS_capset, header, (void *)data, 0);
		if (fib_self())
			fib_rights_changed();
		return r;
	}
	return cap_call(SYS_capset, header, (void *)data, h.pid);
}

/* --- processes ------------------------------------------------------------- */

long fib_sys_prlimit64(int pid, unsigned what, const void *new, void *old)
{
	long r = fib_raw(SYS_prlimit64, process_of(pid), what, new, old);

	/* Of another process, perhaps: it looks for itself. */
	if (r == 0 && new && what == RLIMIT_NOFILE)
		fib_iom_limit_changed(&fib_sched);
	return r;
}

long fib_sys_setrlimit(int resource, const void *new)
{
	/* Unlike prlimit(), it needs a limit, and reads that first. */
	long r = fib_raw(SYS_setrlimit, resource, new);

	if (r == 0 && resource == RLIMIT_NOFILE)
		fib_iom_limit_changed(&fib_sched);
	return r;
}

long fib_sys_getpgid(int pid)
{
	return fib_raw(SYS_getpgid, process_of(pid));
}

long fib_sys_getsid(int pid)
{
	return fib_raw(SYS_getsid, process_of(pid));
}

/* Only a process's first thread has its id. */
long fib_sys_setpgid(int pid, int group)
{
	struct fib *f = fib_by_tid(pid);

	if (f && pid != fib_signal_pid)
		return -EINVAL;
	return fib_raw(SYS_setpgid, pid, group);
}

long fib_sys_process_vm_readv(int pid, const void *to, unsigned long nto,
			      const void *from, unsigned long nfrom,
			      unsigned long flags)
{
	return fib_raw(SYS_process_vm_readv, process_of(pid), to, nto, from,
		       nfrom, flags);
}

long fib_sys_process_vm_writev(int pid, const void *from, unsigned long nfrom,
			       const void *to, unsigned long nto,
			       unsigned long flags)
{
	return fib_raw(SYS_process_vm_writev, process_of(pid), from, nfrom, to,
		       nto, flags);
}

/* Memory is the process's, so are these; the thread's own policy is not asked. */
long fib_sys_migrate_pages(int pid, unsigned long max, const void *from,
			   const void *to)
{
	return fib_raw(SYS_migrate_pages, process_of(pid), max, from, to);
}

long fib_sys_move_pages(int pid, unsigned long n, const void *pages,
			const void *nodes, void *status, int flags)
{
	return fib_raw(SYS_move_pages, process_of(pid), n, pages, nodes, status,
		       flags);
}

/*
 * One for a single thread of ours could neither tell of the fiber's end nor
 * signal it: EINVAL, as before Linux 6.9. Without that flag only the first
 * thread has one, and the kernel tells how it says no to others.
 */
long fib_sys_pidfd_open(int pid, unsigned flags)
{
	if (fib_by_tid(pid)) {
		if (flags & PIDFD_THREAD)
			return -EINVAL;
		if (pid != fib_signal_pid)
			pid = (int)fib_load(&fib_monitor_tid, relaxed);
	}
	return fib_raw(SYS_pidfd_open, pid, flags);
}

static int compared(int tid)
{
	int own = fib_by_tid(tid) ? fib_kernel_tid(tid) : tid;

	return own || !tid ? own : (int)fib_raw(SYS_gettid);
}

/* What is compared belongs to the process, or to dedicated fibers. */
long fib_sys_kcmp(int a, int b, int type, unsigned long i, unsigned long k)
{
	return fib_raw(SYS_kcmp, compared(a), compared(b), type, i, k);
}

/* --- threads --------------------------------------------------------------- */

/* @pid: 0, the caller, a thread's id, or less: a processor. */
long fib_sys_perf_event_open(void *attr, int pid, int cpu, int group,
			     unsigned long flags)
{
	struct fib *f = pid ? fib_by_tid(pid) : fib_self();

	if (pid >= 0 && f && !(flags & 4 /* PERF_FLAG_PID_CGROUP */)) {
		pid = fib_dedicated_tid(f);
		if (pid < 0)
			return pid;
	}
	return fib_raw(SYS_perf_event_open, attr, pid, cpu, group, flags);
}
