/* prctl: what belongs to a fiber, to its kernel thread, or to the process. */
#include <linux/prctl.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/process/process.h"
#include "hooks/thread/thread.h"
#include "runtime/aside.h"

/* --- the name: what ps shows is that of the first kernel thread ------------- */

/* It is that of the first kernel thread. */
void fib_set_process_name(const char *name)
{
	bool here = fib_raw(SYS_gettid) == fib_raw(SYS_getpid);
	size_t n = 0;

	while (n < FIB_NAME_MAX && name[n])
		n++;
	if (!here && fib_write_aside("/proc/self/comm", name, n) >= 0)
		return;
	/* Not if it is dumpable no more: then it has to be done there. */
	if (here || (fib_self() == fib_main_fiber && !fib_bind_self()))
		fib_raw(SYS_prctl, PR_SET_NAME, name);
}

static long set_name(struct fib *f, const char *user)
{
	char name[FIB_NAME_MAX] = { 0 };

	for (int i = 0; i < FIB_NAME_MAX - 1; i++) {
		if (fib_copy(&name[i], &user[i], 1))
			return -EFAULT;
		if (!name[i])
			break;
	}
	memcpy(f->name, name, sizeof(name));
	if (f == fib_main_fiber)
		fib_set_process_name(f->name);
	return 0;
}

/* --- of the kernel thread -------------------------------------------------- */

static long dedicated(long op, long a, long b, long c, long d)
{
	return fib_dedicated_call(SYS_prctl, (long[6]){ op, a, b, c, d });
}

/* The second argument of PR_SCHED_CORE is a thread's id, or a group's. */
static long sched_core(long cmd, long id, long type, long d)
{
	struct fib *f = id ? fib_by_tid((int)id) : fib_self();

	if (type == 0 /* PIDTYPE_PID */ && f) {
		id = fib_dedicated_tid(f);
		if (id < 0)
			return id;
	} else if (f && id) {
		id = fib_raw(SYS_getpid);
	}
	return dedicated(PR_SCHED_CORE, cmd, id, type, d);
}

static long of_kernel_thread(int op, long a, long b, long c, long d)
{
	switch (op) {
	case PR_SCHED_CORE:
		return sched_core(a, b, c, d);
	case PR_CAP_AMBIENT:
		if (a == PR_CAP_AMBIENT_IS_SET)
			break;
		return dedicated(op, a, b, c, d);
	case PR_SET_SECCOMP:
		return fib_filter_install(SYS_prctl,
					  (long[6]){ op, a, b, c, d });
	case PR_SET_PDEATHSIG:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMING:
	case PR_CAPBSET_DROP:
	case PR_SET_TSC:
	case PR_SET_SECUREBITS:
	case PR_SET_TIMERSLACK:
	case PR_MCE_KILL:
	case PR_SET_NO_NEW_PRIVS:
	case PR_SET_SPECULATION_CTRL:
	case PR_SET_IO_FLUSHER:
		return dedicated(op, a, b, c, d);
	}
	return fib_raw(SYS_prctl, op, a, b, c, d);
}

/*
 * A thread begins with none. Main may have had it before there was another one:
 * then it is the first kernel thread's.
 */
static long get_pdeathsig(struct fib *f, long a)
{
	int none = 0;

	if (!f->bound && (f != fib_main_fiber || fib_bind_self()))
		return fib_copy((void *)a, &none, sizeof(none));
	return fib_raw(SYS_prctl, PR_GET_PDEATHSIG, a);
}

long fib_sys_prctl(int op, long a, long b, long c, long d)
{
	struct fib *f = fib_self();

	switch (op) {
	case PR_SET_NAME:
		return set_name(f, (const char *)a);
	case PR_GET_NAME:
		return fib_copy((void *)a, f->name, FIB_NAME_MAX);
	/* Its ranges are of code, and libc's calls are made from ours. */
	case PR_SET_SYSCALL_USER_DISPATCH:
		return -EINVAL;
	/* The library reads it, and so does the clock of the vDSO. */
	case PR_SET_TSC:
		if (a == PR_TSC_SIGSEGV)
			return -EINVAL;
		break;
	case PR_GET_PDEATHSIG:
		return get_pdeathsig(f, a);
	case PR_GET_TID_ADDRESS:
		return fib_copy((void *)a, &f->thread.clear_tid,
				sizeof(f->thread.clear_tid));
	}
	return of_kernel_thread(op, a, b, c, d);
}
