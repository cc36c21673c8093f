/*
 * Without the runtime: an ordinary process with one kernel thread. A fork child
 * is one until it creates a thread.
 *
 * A process whose first thread is the only one left, and changes what belongs
 * to a kernel thread, becomes such a process itself: natively it has one kernel
 * thread, so nothing of it may be left that has not made the change, and nothing
 * may make calls of its own, which a filter may forbid.
 */
#include <linux/futex.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/report/report.h"
#include "hooks/signal/signal.h"
#include "hooks/thread/thread.h"
#include "runtime/futex.h"
#include "runtime/hidden.h"

void fib_runtime_fork_child(struct fib *f, bool cleared,
			    const struct fib_acts *few)
{
	bool filtered = fib_filtered();

	fib_locks_forget();
	fib_sched_forget(&fib_sched);
	fib_iom_reset(&fib_sched);
	fib_fd_close_hidden(!filtered);
	fib_fd_known_reset();
	fib_futex_reset();
	fib_reset_all();
	fib_stats_at_exit(-1);
	fib_main_fiber = NULL;
	fib_store(&f->attention, 0, relaxed);
	f->thread.work = NULL;
	f->call.own_files = false;
	f->call.plain = 0;
	f->thread.confined = false;
	f->hook.restore_mask = FIB_MASK_NONE;
	if (fib_libc.fork_child)
		fib_libc.fork_child();
	fib_signal_fork_child(f, cleared, few);
}

/* What natively would be in the kernel's queue goes there. All are blocked. */
static void give_back_signals(struct fib *f)
{
	long pid = fib_raw(SYS_getpid);
	siginfo_t info;
	int sig;

	while ((sig = fib_signal_dequeue_process(~0ull, &info)))
		fib_raw(SYS_rt_sigqueueinfo, pid, sig, &info);
	while ((sig = fib_signal_dequeue(f, ~0ull, &info)))
		fib_raw(SYS_rt_tgsigqueueinfo, pid, pid, sig, &info);
}

/* Does another thread of the program exist, or end just now? */
static bool alone(struct fib *self)
{
	uint32_t n = fib_high_water();

	for (uint32_t i = 0; i < n; i++) {
		struct fib *f = fib_at(i);

		if (f != self && fib_load(&f->tid, acquire))
			return false;
	}
	/* Its creator, if any, is gone as well; and it is on its way out. */
	while (fib_threads_live() != 1)
		fib_raw(SYS_sched_yield);
	return true;
}

bool fib_runtime_leave(void)
{
	struct fib *f = fib_self();
	uint64_t all = ~0ull;

	if (f != fib_main_fiber || !alone(f) || fib_dedicate())
		return false;
	fib_signal_no_kicks();
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &all, 0, 8);
	fib_sched_end_others(&fib_sched);
	give_back_signals(f);
	fib_raw(SYS_set_tid_address, f->thread.clear_tid);
	if (f->thread.robust_head)
		fib_raw(SYS_set_robust_list, f->thread.robust_head,
			sizeof(struct robust_list_head));
	fib_stats_keep();
	fib_runtime_fork_child(f, false, NULL);
	fib_stats_resume();
	return true;
}
