/*
 * Threads: their birth and end (thread.c, robust.c), what belongs to one kernel
 * thread (dedicated.c), calls that name a thread (tids.c), calls that one fiber
 * makes for another (taskwork.c), and life without the runtime (leave.c).
 *
 * work_lock (taskwork.c) guards all fibers' lists of work; nothing is locked
 * under it. What is known of threads by id and number is in hooks/core/threads.h.
 */
#ifndef FIB_THREAD_H
#define FIB_THREAD_H

#include "runtime/sched.h"

/* --- thread.c, robust.c: birth and end -------------------------------------- */

/**
 * clone with CLONE_THREAD, by a fiber in a hook: the id of the new one, or -errno.
 * @stack: the low end, or 0, where that is not told.
 */
int fib_thread_clone_fiber(const struct fib_regs *regs, unsigned long flags,
			   uintptr_t stack_top, int *ptid, int *ctid,
			   unsigned long tls, uintptr_t stack);
/** The runtime's: @f has ended. On its worker's stack. */
void fib_thread_gone(struct fib *f);
/** The mutexes that @f held have other owners now. */
void fib_robust_exit(struct fib *f);
/** The process ends, since its last fiber has. */
void fib_end_process(int status);

/* --- leave.c ---------------------------------------------------------------- */

/**
 * The caller is main, and alone: it is an ordinary process with one kernel
 * thread from now on, and no fiber any more. False: it is not, or cannot be.
 */
bool fib_runtime_leave(void);
/** The calling process is a fork child, and was fiber @f: fib_signal_fork_child(). */
struct fib_acts;
void fib_runtime_fork_child(struct fib *f, bool cleared,
			    const struct fib_acts *few);

/* --- dedicated.c ------------------------------------------------------------ */

/** The id by which the kernel is asked about fiber @tid; 0: the caller's. */
int fib_kernel_tid(int tid);
/** Fiber @f gets a kernel thread of its own: that one's id, or -errno. */
int fib_dedicated_tid(struct fib *f);
/** Call @nr on the caller's kernel thread, for good. */
long fib_dedicated_call(long nr, const long a[6]);

/* --- taskwork.c ------------------------------------------------------------- */

/**
 * Fiber @f, which is not the caller, makes call @nr on a kernel thread of its
 * own. Returns the call's result; -ESRCH if @f ends before, -EAGAIN if there
 * is no kernel thread to be had. Parks.
 */
long fib_taskwork_call(struct fib *f, long nr, const long a[6]);
/** Fiber @f, which is bound, is apart from now on; false: it is not @tid any more. */
bool fib_taskwork_apart(struct fib *f, int tid);
/** Do what others asked of the calling fiber @f. */
void fib_taskwork_run(struct fib *f);
/** @f is gone, its tid zero. */
void fib_taskwork_exit(struct fib *f);
static inline bool fib_taskwork_pending(struct fib *f)
{
	return fib_load(fib_shared(&f->thread.work), relaxed) != NULL ||
	       fib_load(&f->thread.renews, relaxed);
}
void fib_taskwork_init(void);

#endif
