/*
 * Seccomp filters: a program is never killed by a call that is the library's
 * alone, and is told no errno of one.
 *
 * In force before the start (inherited, or the program's own): nobody can read
 * a filter, so it is tried. A child makes each call that the runtime needs, with
 * arguments that do nothing, and notes how far it comes. If it is killed, or a
 * call is denied that nothing can replace, the program runs unhooked. The child
 * is made by clone3, as the thread is that the program is about to create: a
 * filter cannot see more of it than that. Its parent waits in that same call
 * (CLONE_VFORK), since it may not be allowed another one.
 *
 * Installed later, by a fiber: it is tried in the same way, with what it takes to
 * try once more, to know whether threads of ours may be made from there one day
 * (hooks/core/threads.c). The fiber has a kernel thread to itself (dedicated.c),
 * and no need for ways around blocking. Its calls go to the kernel as they are
 * (FIB_PLAIN), and what it has to tell the unfiltered threads goes through a
 * futex (fib_messenger, monitor.c). Left are the calls in docs/SECURITY.md.
 * What it creates is bound as well, and inherits the filter.
 *
 * For all threads (TSYNC): the workers would be under it as well. It is tried
 * as above, with the new filter on top; where they could not live, every fiber is
 * dedicated and installs it on its own, and the library's threads go without.
 */
#include <limits.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/process/process.h"
#include "hooks/thread/thread.h"
#include "runtime/uring.h"

#define FILTER_TSYNC	1 /* SECCOMP_FILTER_FLAG_TSYNC, */
#define FILTER_LISTENER 8 /* _NEW_LISTENER */

struct probe {
	short nr;
	bool needed; /* there is no way around it */
	short want;  /* 0: any success */
	long a[6];
};

/* Where answers go; and what is asked with, which no answer before may change. */
static char room[FIB_PAGE] FIB_LARGE __attribute__((aligned(FIB_PAGE)));
static const char zeroes[128] __attribute__((aligned(8)));
/* Arguments that are addresses: a table of these would be relocated at each start. */
#define ROOM   LONG_MIN
#define ZEROES (LONG_MIN + 1)
#define STATUS (LONG_MIN + 2)
#define ROOT   (LONG_MIN + 3)
#define EMPTY  (LONG_MIN + 4)

static long address(long arg)
{
	switch (arg) {
	case ROOM:
		return (long)room;
	case ZEROES:
		return (long)zeroes;
	case STATUS:
		return (long)"/proc/self/status";
	case ROOT:
		return (long)"/";
	case EMPTY:
		return (long)"";
	}
	return arg;
}

#define THREAD_FLAGS                                                           \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_THREAD | CLONE_SYSVSEM |    \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID) /* EINVAL: no SIGHAND */

#define WAIT4 4
#define LOG   3 /* what a message needs */
#define REFUSED 0x100 /* status of a child that cannot install the filter */

static const struct probe probes[] = {
	/* no core file of the child */
	{ SYS_prlimit64, false, 0, { 0, RLIMIT_CORE, ZEROES } },
	{ SYS_fstat, true, -EBADF, { -1, ROOM } },
	{ SYS_getpid, true, 0, { 0 } },
	{ SYS_write, true, -EBADF, { -1, ZEROES, 0 } },
	{ SYS_wait4, false, -ECHILD, { -1, 0, 0x40000001 } },
	{ SYS_openat, true, 0, { -100, STATUS, 02000000 } },
	{ SYS_read, true, -EBADF, { -1, ROOM, 0 } },
	{ SYS_close, true, -EBADF, { -1 } },
	{ SYS_fcntl, true, -EBADF, { -1, 3 } },
	{ SYS_close_range, false, -EINVAL, { 1, 0, 0 } },
	{ SYS_lseek, false, -EBADF, { -1 } },
	{ SYS_pwrite64, true, -EBADF, { -1, ZEROES, 0, 0 } },
	{ SYS_readlink, false, -EINVAL, { ROOT, ROOM, 0 } },
	{ SYS_fstatfs, false, -EBADF, { -1, ROOM } },
	{ SYS_getdents64, false, -EBADF, { -1, ROOM, 0 } },
	{ SYS_mmap, true, 0, { 0, FIB_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1 } },
	{ SYS_mprotect, false, 0,
	  { ROOM, FIB_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC } },
	{ SYS_madvise, true, 0, { ROOM, 0, MADV_DONTNEED } },
	{ SYS_munmap, true, -EINVAL, { ROOM, 0 } },
	{ SYS_mremap, false, -EINVAL, { ROOM, 0, 0, -1 } },
	{ SYS_memfd_create, false, -EINVAL, { EMPTY, -1 } },
	{ SYS_ftruncate, false, -EBADF, { -1, 0 } },
	{ SYS_membarrier, false, 0, { 0 } },
	{ SYS_arch_prctl, false, -EINVAL, { 0x5005, ROOM } },
	{ FIB_CPU_BASES_CALL, true, 0, { FIB_CPU_BASES_ASK, ROOM } },
	{ SYS_prctl, true, 0, { PR_GET_NAME, ROOM } },
	{ SYS_futex, true, 0, { ROOM, 129, 1 } },
	{ SYS_rt_sigprocmask, true, 0, { 0, 0, 0, 8 } },
	{ SYS_rt_sigaction, true, 0, { 10, 0, 0, 8 } },
	{ SYS_sigaltstack, true, 0, { 0, 0 } },
	{ SYS_rt_sigpending, true, 0, { ROOM, 8 } },
	{ SYS_rt_sigtimedwait, true, -EAGAIN, { ZEROES, 0, ZEROES, 8 } },
	{ SYS_rt_tgsigqueueinfo, true, -EINVAL, { -1, -1, 0, ZEROES } },
	{ SYS_tgkill, true, -EINVAL, { -1, -1, 0 } },
	{ SYS_gettid, true, 0, { 0 } },
	{ SYS_getuid, false, 0, { 0 } },
	{ SYS_geteuid, false, 0, { 0 } },
	{ SYS_clock_gettime, false, 0, { 0, ROOM } },
	{ SYS_getrandom, false, 0, { ROOM, 0, 0 } },
	{ SYS_sched_yield, false, 0, { 0 } },
	{ SYS_sched_getaffinity, false, 0, { 0, 128, ROOM } },
	{ SYS_get_robust_list, false, 0, { 0, ROOM, ROOM } },
	{ SYS_rseq, false, -EINVAL, { 0, 0, -1 } },
	{ SYS_clone, true, -EINVAL, { THREAD_FLAGS, ROOM, ROOM, ROOM } },
	{ SYS_epoll_create1, true, -EINVAL, { -1 } },
	{ SYS_epoll_ctl, true, -EBADF, { -1, 2, -1 } },
	{ SYS_epoll_wait, true, -EBADF, { -1, ROOM, 1, 0 } },
	{ SYS_epoll_pwait2, false, -EBADF, { -1, ROOM, 1, 0 } },
	{ SYS_eventfd2, true, -EINVAL, { 0, -1 } },
	{ SYS_signalfd4, true, -EINVAL, { -1, ZEROES, 8, -1 } },
	{ SYS_poll, true, 0, { 0, 0, 0 } },
	{ SYS_ppoll, true, 0, { 0, 0, ZEROES, 0, 8 } },
	{ SYS_pselect6, true, 0, { 0, 0, 0, 0, ZEROES } },
	{ SYS_preadv2, false, -EBADF, { -1, ROOM, 0, -1, -1 } },
	{ SYS_pwritev2, false, -EBADF, { -1, ROOM, 0, -1, -1 } },
	{ SYS_getsockopt, false, -EBADF, { -1, 1, 1, ROOM, ROOM } },
	{ SYS_recvfrom, false, -EBADF, { -1, ROOM, 0 } },
	{ SYS_recvmsg, false, -EBADF, { -1, ROOM } },
	{ SYS_sendto, false, -EBADF, { -1, ZEROES, 0 } },
	{ SYS_sendmsg, false, -EBADF, { -1, ZEROES } },
	{ SYS_accept4, false, -EBADF, { -1 } },
	{ SYS_dup3, false, -EINVAL, { -1, -1, 0 } },
};

/* What is asked only where nobody is killed for it: fib_fd_may_ask. */
static const struct probe extras[] = {
	{ SYS_kcmp, false, 0, { 0, 0, -1 } },
	{ SYS_getsockname, false, 0, { -1, ROOM, ROOM } },
	{ SYS_getpeername, false, 0, { -1, ROOM, ROOM } },
	{ SYS_getrusage, false, 0, { RUSAGE_THREAD, ROOM } },
	{ SYS_prctl, false, 0, { PR_GET_TSC, ROOM } },
	{ SYS_prctl, false, 0, { PR_GET_TIMERSLACK } },
	{ SYS_prctl, false, 0, { PR_SET_TIMERSLACK, FIB_SLACK_NS } },
	{ SYS_newfstatat, false, 0, { -1, ZEROES, ROOM, 0 } },
	{ SYS_inotify_init1, false, 0, { -1 } },
	{ SYS_inotify_add_watch, false, 0, { -1, ZEROES, 0 } },
	{ SYS_inotify_rm_watch, false, 0, { -1, -1 } },
	{ SYS_pipe2, false, 0, { ROOM, -1 } },
	{ SYS_kill, false, 0, { 0x7fffffff, 0 } },
	{ SYS_rt_sigqueueinfo, false, 0, { 0x7fffffff, 0, ZEROES } },
	{ SYS_ioctl, false, 0, { -1, 0, 0 } },
};

/* Shared with the child. */
struct outcome {
	volatile unsigned at;	  /* the probe it is at */
	volatile unsigned denied; /* 1 + one that is needed */
	volatile bool installed, done, again, extras;
};

/* What is it told? */
static long try(const struct probe *p)
{
	long a[6];

	for (unsigned i = 0; i < 6; i++)
		a[i] = address(p->a[i]);
	return fib_pass(p->nr, a);
}

static bool passed(const struct probe *p, long r)
{
	return p->want ? r == p->want : r >= 0;
}

/* A system call that the start, workers and switches make only without FSGSBASE. */
static bool sets_bases(const struct probe *p)
{
	return p->nr == FIB_CPU_BASES_CALL && p->needed;
}

static long make_child(bool by_clone)
{
	struct clone_args args = { .flags = CLONE_VFORK };
	long pid = fib_raw(SYS_clone3, &args, sizeof(args));

	/* Who hides clone3 looks at the flags of clone, which are odd here. */
	if (pid == -ENOSYS && by_clone)
		pid = fib_raw(SYS_clone, CLONE_VFORK);
	return pid;
}

/* Could another filter be tried under this one? */
static bool can_try_again(void)
{
	long pid = make_child(true);

	while (pid == 0)
		fib_raw(SYS_exit_group, 0);
	return pid > 0 && fib_raw(SYS_wait4, pid, 0, 0x40000000, 0) == pid;
}

static void __attribute__((noreturn))
child(struct outcome *o, long nr, const long a[6])
{
	/* Nobody is to find a core file of it. */
	if (nr)
		fib_raw(SYS_prctl, PR_SET_DUMPABLE, 0);
	if (nr && fib_pass(nr, a) < 0)
		fib_raw(SYS_exit_group, REFUSED >> 8);
	o->installed = true;
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(probes); i++) {
		const struct probe *p = &probes[i];

		if (sets_bases(p) && fib_cpu_sets_bases)
			continue;
		o->at = i;
		if (!passed(p, try(p)) && p->needed &&
		    !o->denied)
			o->denied = i + 1;
	}
	o->at = FIB_ARRAY_SIZE(probes);
	o->done = true;
	o->again = nr && can_try_again();
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(extras); i++)
		try(&extras[i]);
	o->extras = true;
	for (;;) {
		fib_raw(SYS_exit_group, 0);
		fib_raw(SYS_exit, 1);
	}
}

static const char *probe_name(unsigned i)
{
	static const struct {
		short nr;
		char name[16];
	} names[] = {
		{ SYS_fstat, "fstat" },
		{ SYS_mprotect, "mprotect" },
		{ SYS_madvise, "madvise" },
		{ SYS_prlimit64, "prlimit64" },
		{ SYS_membarrier, "membarrier" },
		{ SYS_arch_prctl, "arch_prctl" },
		{ SYS_memfd_create, "memfd_create" },
		{ SYS_ftruncate, "ftruncate" },
		{ SYS_lseek, "lseek" },
		{ SYS_close_range, "close_range" },
		{ SYS_pwrite64, "pwrite64" },
		{ SYS_readlink, "readlink" },
		{ SYS_fstatfs, "fstatfs" },
		{ SYS_getuid, "getuid" },
		{ SYS_geteuid, "geteuid" },
		{ SYS_getpid, "getpid" },
		{ SYS_getrandom, "getrandom" },
		{ SYS_epoll_create1, "epoll_create1" },
		{ SYS_epoll_ctl, "epoll_ctl" },
		{ SYS_eventfd2, "eventfd2" },
		{ SYS_preadv2, "preadv2" },
		{ SYS_pwritev2, "pwritev2" },
		{ SYS_getsockopt, "getsockopt" },
	};
	unsigned nr;

	if (i >= FIB_ARRAY_SIZE(probes))
		return NULL;
	nr = (unsigned)probes[i].nr;
	for (unsigned k = 0; k < FIB_ARRAY_SIZE(names); k++)
		if (nr == (unsigned)names[k].nr)
			return names[k].name;
	return fib_call_name(nr);
}

/* All signals are blocked: what is forced (SIGSYS) kills the child. */
int fib_filter_try(struct fib_filter_report *report, long nr, const long a[6],
		   bool inherited)
{
	struct outcome *o;
	int status = -1;
	long pid, at;

	*report = (struct fib_filter_report){ 0 };
	at = fib_raw(SYS_mmap, 0, FIB_PAGE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at < 0 && at > -4096)
		return (int)at;
	o = (struct outcome *)at;
	pid = make_child(inherited);
	if (pid == 0)
		child(o, nr, a);
	if (pid > 0) {
		/* Those that are in force allow it, if they let one try. */
		if (o->at > WAIT4 || nr)
			fib_raw(SYS_wait4, pid, &status,
				0x40000000 /* __WALL */, 0);
		report->may_end = o->again && status == 0;
		report->may_log = o->at > LOG;
		report->may_ask = o->extras;
		report->killed = o->installed && !o->done;
		report->call = probe_name(o->done ? o->denied - 1 : o->at);
		at = nr && !o->installed && status == REFUSED ? -EINVAL :
		     !o->done || o->denied		      ? -EPERM :
								0;
	} else {
		at = pid;
	}
	fib_raw(SYS_munmap, o, FIB_PAGE);
	return (int)at;
}

/* --- installed by a fiber ------------------------------------------------- */

/* SECCOMP_MODE_STRICT: read, write, exit and sigreturn are left. */
static bool is_strict(long nr, const long a[6])
{
	return nr == SYS_prctl ? a[1] == 1 : a[0] == 0;
}

/* Could the workers live under the filter that @nr installs? */
static bool workers_live(long nr, const long a[6],
			 struct fib_filter_report *report)
{
	long alone[6] = { a[0], a[1] & ~FILTER_TSYNC, a[2] };
	uint64_t all = ~0ull, mask;
	int r;

	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, 8);
	r = fib_filter_try(report, nr, alone, true);
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
	/* EINVAL: it cannot be installed; the kernel says why. */
	return r == 0 || r == -EINVAL;
}

/* Is a thread under it no model for ours (hooks/core/threads.c)? In doubt it is none. */
static bool confines(long nr, const long a[6])
{
	struct fib_filter_report report;

	/* Who is to answer the listener does not know of a child's calls. */
	if (fib_self()->thread.confined || is_strict(nr, a) ||
	    (nr == SYS_seccomp && (a[1] & FILTER_LISTENER)))
		return true;
	return !workers_live(nr, a, &report) || !report.may_end;
}

long fib_filter_install(long nr, const long a[6])
{
	bool confined;
	long r;

	if (fib_runtime_leave())
		return fib_pass(nr, a);
	r = fib_dedicate();
	if (r == 0)
		r = fib_messenger_start();
	if (r)
		return r;
	/* One may wake nobody, or be killed by what it has done. */
	fib_monitor_keep_awake();
	confined = confines(nr, a);
	r = fib_pass(nr, a);
	if (r < 0)
		return r;
	fib_filter_used(is_strict(nr, a), confined);
	fib_rights_changed();
	return r;
}

/* A fiber that begins meanwhile inherits from one that has it, or is found. */
static long install_on_each(long nr, const long a[6])
{
	const long alone[6] = { a[0], a[1] & ~FILTER_TSYNC, a[2] };
	const long privs[6] = { PR_SET_NO_NEW_PRIVS, 1 };
	bool no_privs = fib_raw(SYS_prctl, PR_GET_NO_NEW_PRIVS) == 1;
	struct fib *self = fib_self();
	int r = fib_messenger_start();

	if (r)
		return r;
	for (uint32_t i = 0; i < fib_high_water(); i++) {
		struct fib *f = fib_at(i);

		if (f == self || !fib_load(&f->tid, acquire))
			continue;
		if (no_privs)
			fib_taskwork_call(f, SYS_prctl, privs);
		fib_taskwork_call(f, nr, alone);
	}
	return fib_filter_install(nr, alone);
}

long fib_sys_seccomp(unsigned op, unsigned flags, void *args)
{
	const long a[6] = { op, flags, (long)args };
	struct fib_filter_report report;

	if (op > 1) /* only asks */
		return fib_pass(SYS_seccomp, a);
	fib_store(&fib_fd_may_ask, false, relaxed);
	if (op == 0 || !(flags & FILTER_TSYNC))
		return fib_filter_install(SYS_seccomp, a);
	if (fib_runtime_leave())
		return fib_pass(SYS_seccomp, a);
	/* Nobody would answer for the child: it is the supervisor's to judge. */
	if (flags & FILTER_LISTENER) {
		fib_self()->thread.confined = true;
		fib_uring_stop();
		return fib_pass(SYS_seccomp, a);
	}
	if (!fib_self()->thread.confined &&
	    workers_live(SYS_seccomp, a, &report)) {
		fib_uring_stop();
		return fib_pass(SYS_seccomp, a);
	}
	return install_on_each(SYS_seccomp, a);
}
