/*
 * The hooks: one body, fib_sys_NAME(), for each call in hooks.def, with the
 * semantics of the kernel's call: >= 0 or -errno. Both doors (exported symbol
 * and rewritten site) lead here, through fib_hook_call().
 *
 * A body runs on the fiber's stack, on some worker, and may park; after a park
 * the worker may be another one. It calls no libc function and no malloc. It
 * may end with one of the codes below instead of a result; fib_hook_call()
 * then looks for signals and turns the code into EINTR or a repetition, as the
 * kernel does on its way back to user mode (kernel/signal.c).
 */
#ifndef FIB_HOOKS_H
#define FIB_HOOKS_H

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include "runtime/fault.h"
#include "runtime/futex.h"
#include "runtime/io.h"
#include "runtime/sched.h"
#include "runtime/stack.h"
#include "runtime/timer.h"

/* include/linux/errno.h of the kernel */
#define FIB_ERESTARTSYS	   512 /* EINTR, or again under SA_RESTART */
#define FIB_ERESTARTNOINTR 513 /* again, whatever ran */
#define FIB_ERESTARTNOHAND 514 /* EINTR if a handler ran, else again */

#define FIB_RESTART 1
/* Another process may be behind what it brings: tells(), in dispatch.c. */
#define FIB_TELLS    2
#define FIB_TELLS_FD 4 /* if its first argument is such a descriptor */
/* Left to the kernel for a fiber with descriptors of its own: fd.c. */
#define FIB_FILES 8
/* Left to the kernel for a fiber whose kernel thread is under a filter. */
#define FIB_PLAIN 16

#define FIB_HOOK0(nm, fl)		  long fib_sys_##nm(void);
#define FIB_HOOK1(nm, t1, a1, fl)	  long fib_sys_##nm(t1 a1);
#define FIB_HOOK2(nm, t1, a1, t2, a2, fl) long fib_sys_##nm(t1 a1, t2 a2);
#define FIB_HOOK3(nm, t1, a1, t2, a2, t3, a3, fl)                              \
	long fib_sys_##nm(t1 a1, t2 a2, t3 a3);
#define FIB_HOOK4(nm, t1, a1, t2, a2, t3, a3, t4, a4, fl)                      \
	long fib_sys_##nm(t1 a1, t2 a2, t3 a3, t4 a4);
#define FIB_HOOK5(nm, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, fl)              \
	long fib_sys_##nm(t1 a1, t2 a2, t3 a3, t4 a4, t5 a5);
#define FIB_HOOK6(nm, t1, a1, t2, a2, t3, a3, t4, a4, t5, a5, t6, a6, fl)      \
	long fib_sys_##nm(t1 a1, t2 a2, t3 a3, t4 a4, t5 a5, t6 a6);
#include "hooks/hooks.def"
#undef FIB_HOOK0
#undef FIB_HOOK1
#undef FIB_HOOK2
#undef FIB_HOOK3
#undef FIB_HOOK4
#undef FIB_HOOK5
#undef FIB_HOOK6

/* --- dispatch.c: the way in ---------------------------------------------- */

/** Call @nr for fiber @f, with signals looked after. */
long fib_hook_call(struct fib *f, unsigned nr, const long a[6], uint8_t door,
		   struct fib_regs *regs);
/**
 * Around what else a fiber has the runtime do: in between no handler runs, and
 * it is not preempted. It may hold the runtime's locks there.
 */
void fib_hook_enter(struct fib *f);
void fib_hook_leave(struct fib *f);
/** The kernel's own answer, in the midst of a body. */
static inline long fib_pass(long nr, const long a[6])
{
	return fib_raw6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
/** Name of call @nr, or NULL. */
const char *fib_call_name(unsigned nr);

/*
 * What the preload layer lends: libc's own functions, for the symbol door's
 * cancellation points. May unwind the stack instead of returning.
 */
struct fib_libc {
	void (*testcancel)(void);
	int (*setcancelstate)(int state, int *old);
	void (*fork_child)(void); /* in the child, when all else is reset */
	uintptr_t syscall_from, syscall_to; /* the function syscall() */
};
extern struct fib_libc fib_libc;

/* --- wait.c: parking inside a body --------------------------------------- */

/** fib_io_park(), as a cancellation point: it may unwind. */
int fib_io_wait(struct fib_io *io);

/** Park until @deadline_ns or a signal: -ETIMEDOUT or -EINTR. */
int fib_wait_until(uint64_t deadline_ns, uint8_t why);

/**
 * A call that blocks in the kernel, and has no other form. Others get a worker;
 * a signal to the fiber ends it with -EINTR.
 */
long fib_blocking(long nr, const long a[6]);
/** Where a thread at @rip goes on when it is kicked; @rip itself mostly. */
uintptr_t fib_raw_intr_fixup(uintptr_t rip);

/* Around every interruptible park; see wait.c. */
void fib_cancel_begin(void);
/** Of a call that has had no effect, or a part of it (fib_part_done()). */
void fib_cancel_end(void);
/** May fib_cancel_end() unwind? Then leave things in order first. */
bool fib_cancel_is_near(void);
/** The call has had a part of its effect: a cancel may only cut it short. */
static inline void fib_part_done(void)
{
	fib_self()->part = true;
}
/** Is it to be cut short? */
bool fib_cancel_cuts(void);

/** Deadline of a call that waits @ns from now; kept when it is repeated. */
uint64_t fib_deadline_in(uint64_t ns);
/** ns until @deadline_ns, 0 if it has passed. */
uint64_t fib_ns_left(uint64_t deadline_ns);
/** The same in *@ts, as an argument for the kernel: @ts, or 0 for FIB_NEVER. */
long fib_time_left(uint64_t deadline_ns, struct timespec *ts);
/** The program's *@ts in ns; -EINVAL, -EFAULT. */
int64_t fib_timespec_ns(const struct timespec *ts);
/** *@tv, which is valid, in ns; INT64_MAX at most. */
uint64_t fib_timeval_ns(const struct timeval *tv);
/** @ns as a timespec to the program's *@ts: 0 or -EFAULT. */
int fib_timespec_put(struct timespec *ts, uint64_t ns);

/* --- cputime.c ----------------------------------------------------------- */

/**
 * *@clock, if it is the CPU clock of a fiber, becomes the kernel's name for
 * that of its kernel thread, and the fiber dedicated. 0 or -errno.
 */
int fib_clock_dedicate(int *clock);

/* --- fd.c: what is known of a descriptor --------------------------------- */

/** Slot of @fd with kind and attributes up to date; NULL: leave it alone. */
struct fib_fd *fib_fd_know(int fd);
/**
 * The kernel says that @s is not what it was: the number has been closed and
 * used again since fib_fd_know(). As that, for the file that it is now.
 */
struct fib_fd *fib_fd_relearn(struct fib_fd *s);
/** SO_RCVLOWAT is set on some socket. */
extern _Atomic bool fib_fd_lowat_used;
/** Does a read of @s wait for more than one byte? */
bool fib_fd_lowat(struct fib_fd *s);
/** Is there a limit to how long calls on @s may wait? */
bool fib_fd_timed(struct fib_fd *s);
/** Does the program want EAGAIN from @s? */
bool fib_fd_nonblock(struct fib_fd *s);
/** Deadline for a call on @s: from SO_RCVTIMEO or SO_SNDTIMEO. */
uint64_t fib_fd_deadline(struct fib_fd *s, uint8_t ev);
/** A descriptor that is known to be new, and ours alone. */
void fib_fd_born(int fd, uint8_t kind);
/** One that accept() made of @listener. */
void fib_fd_accepted(int fd, const struct fib_fd *listener);
/** setsockopt() has set a time limit of @fd: below 0, no call waits. */
void fib_fd_limited(int fd, uint8_t ev, bool negative);
/** Attributes of other slots may have changed as well. */
void fib_fd_changed(void);
/** Has the program asked for signals from descriptors? */
bool fib_fd_signals(void);
/** The caller, which is dedicated, has descriptors of its own from now on. */
void fib_fd_unshared(void);
/** From now on descriptors may be shared with another process. */
void fib_fd_shared(void);
bool fib_fd_may_be_shared(void);

/* --- signal.c, receiver.c ------------------------------------------------ */

void fib_signal_init(struct fib *main_fiber, uint64_t mask);
/** Masks of a kernel thread of ours. */
void fib_signal_thread_init(struct fib_worker *w);
/** What a signal finds the fiber doing. */
enum fib_finding {
	FIB_FINDS_NO_CALL, /* its own code, or a call that has had its effect */
	FIB_FINDS_EINTR,   /* one that ends when a handler has run, */
	FIB_FINDS_RESTART, /* is repeated if the handler has SA_RESTART, */
	FIB_FINDS_AGAIN,   /* is repeated in any case */
};
/**
 * Run what is pending and not blocked. Is the call to be repeated?
 */
bool fib_signal_deliver(struct fib *f, enum fib_finding finding);
/** SIGCANCEL alone, to a fiber whose call has had no effect: may unwind. */
void fib_signal_deliver_cancel(struct fib *f);
/** Queue @sig for @f, as from tgkill. -errno. */
int fib_signal_send(struct fib *f, int sig, const siginfo_t *info,
		    bool process);
/** A call of fiber @f, the caller, has raised @sig: on its kernel thread, or
 * not. */
void fib_signal_raised(struct fib *f, int sig, bool by_kernel);
/** The signals for which the program has a handler. */
extern _Atomic uint64_t fib_signal_handled;
/** What was sent to the process so far, and has a handler in @f, is with its
 * fiber. */
void fib_signal_catch_up(struct fib *f);
/** In a fork child: the kernel's state becomes what the program expects. */
void fib_signal_fork_child(struct fib *f);
/** Before and after an exec that may fail. */
/** False: deliver what is pending first. */
bool fib_signal_exec_begin(struct fib *f);
void fib_signal_exec_failed(struct fib *f);
/** The caller's kernel thread has taken its last kick. */
void fib_signal_no_kicks(void);
/** The fiber is gone: what was meant for the process goes to another. */
void fib_signal_exit(struct fib *f);
/** Interrupt @w's kernel thread: it looks what there is to do. Any thread. */
void fib_signal_kick(struct fib_worker *w);
/** Others run in the place of the fiber that @w runs. Any thread. */
void fib_signal_preempt(struct fib_worker *w);
/** For chaos: interrupt some worker for nothing, and preempt it perhaps. */
void fib_signal_idle_kick(void);
/** Attention, but no handler is to run: it is seen to. False: one is. */
bool fib_signal_attend(struct fib *f);
/** @f is to call fib_signal_deliver() soon, wherever it is. */
void fib_signal_attention(struct fib *f);
/** pthread_cancel() has marked the thread @tid, which was fiber @f. */
void fib_signal_cancelled(struct fib *f, int tid);
uint64_t fib_signal_worker_mask(void);
void fib_signal_mask_changed(struct fib *f);
/** The caller's mask is @set until the call under way has ended. */
void fib_signal_mask_for_call(uint64_t set);
/**
 * The same from fib_signal_mask_open() on, which comes when the call has nothing
 * to return: what is ready goes before signals that the mask lets in.
 */
void fib_signal_mask_later(uint64_t set);
/** -FIB_ERESTARTNOHAND: a handler is to run. 0: none, or there is no mask. */
long fib_signal_mask_open(void);
/** The call has ended: the caller's mask is what it was. */
void fib_signal_mask_back(struct fib *f);

/* --- thread.c, process.c ------------------------------------------------- */

struct fib *fib_by_tid(int tid);
void fib_thread_gone(struct fib *f);
/** Fibers of the program that have not ended. */
int fib_threads_live(void);
int fib_thread_clone_fiber(const struct fib_regs *regs, unsigned long flags,
			   uintptr_t stack_top, int *ptid, int *ctid,
			   unsigned long tls);
void fib_tids_init(void);
/** New threads have ids that the kernel knows; see thread.c. Any thread. */
void fib_tids_real(bool active);
bool fib_tids_are_real(void);
/** What ps shows: the name of the first kernel thread. */
void fib_set_process_name(const char *name);
/**
 * The caller is main, and alone: it is an ordinary process with one kernel
 * thread from now on, and no fiber any more. False: it is not, or cannot be.
 */
bool fib_runtime_leave(void);
/** The calling process is a fork child, and was fiber @f. */
void fib_runtime_fork_child(struct fib *f);
extern struct fib *fib_main_fiber;
/** clone, clone3 and fork from where no fiber is: regs->rax is set. */
bool fib_clone_foreign(struct fib_regs *regs);
/** Counters go to @fd when the process ends; -1: nowhere. */
void fib_stats_at_exit(int fd);
void fib_stats_print(int fd);
bool fib_stats_wanted(void);
/** Around fib_runtime_fork_child(), where it is none. */
void fib_stats_keep(void);
void fib_stats_resume(void);
/** The process ends after it has left the runtime. */
void fib_stats_left(void);
/** The process is about to end. */
void fib_stats_end(void);
/** Its last fiber has ended. */
void fib_end_process(int status);

/* --- identity.c ----------------------------------------------------------- */

/** In a kick's handler: make the change of identity that is under way. */
void fib_identity_follow(struct fib_worker *w);
void fib_identity_init(void);
/**
 * The caller is about to clone worker @w, or the monitor (NULL), from its own
 * kernel thread, with kicks blocked and workers_lock held.
 */
void fib_identity_inherit(struct fib_worker *w);
/** @w is the caller's, and has set gone. */
void fib_identity_leave(struct fib_worker *w);

/* --- taskwork.c ------------------------------------------------------------ */

/**
 * Fiber @f, which is not the caller, makes call @nr on a kernel thread of its
 * own. Returns the call's result; -ESRCH if @f ends before, -EAGAIN if there
 * is no kernel thread to be had. Parks.
 */
long fib_work_call(struct fib *f, long nr, const long a[6]);
/** Do what others asked of the calling fiber @f. */
void fib_work_run(struct fib *f);
/** @f is gone, its tid zero. */
void fib_work_exit(struct fib *f);
static inline bool fib_work_pending(struct fib *f)
{
	return __atomic_load_n(&f->work, __ATOMIC_RELAXED) != NULL ||
	       fib_load(&f->renews, relaxed);
}
void fib_work_init(void);

/* --- filter.c -------------------------------------------------------------- */

struct fib_filter_report {
	const char *call; /* that is denied, or kills; NULL: it has no name */
	bool killed;	  /* not only denied */
	bool may_log;	  /* write and fstat do not kill */
};

/**
 * Could the runtime live under the filters in force, and the one that call @nr
 * would install (0: none)? 0; -EPERM: no; other: it could not be tried. All
 * signals are blocked. @inherited: not the program's own, so far as is known.
 */
int fib_filter_try(struct fib_filter_report *report, long nr, const long a[6],
		   bool inherited);
/** prctl or seccomp @nr, which puts the caller's kernel thread under a filter. */
long fib_filter_install(long nr, const long a[6]);
/** Call @nr had result @r, on behalf of another fiber. */
void fib_filter_noted(long nr, long r);

/* --- dedicated.c ----------------------------------------------------------- */

/** The id by which the kernel is asked about fiber @tid; 0: the caller's. */
int fib_kernel_tid(int tid);
/**
 * Bind the caller to a kernel thread that is unlike the others, or will be: 0,
 * or -EAGAIN. What it creates inherits from that one.
 */
int fib_dedicate(void);
/** The caller has changed what its kernel thread may do. */
void fib_rights_changed(void);
/** The caller is under a filter that others are not under. */
void fib_filter_used(void);
/** Fiber @f gets a kernel thread of its own: that one's id, or -errno. */
int fib_dedicated_tid(struct fib *f);
/** Call @nr on the caller's kernel thread, for good. */
long fib_dedicated_call(long nr, const long a[6]);
/** prctl, for operations that may belong to the kernel thread. */
long fib_prctl_dedicated(int op, long a, long b, long c, long d);

/* --- sites.c ------------------------------------------------------------- */

/** The fiber on @w holds it up: count where. The monitor's thread alone. */
void fib_site_note(struct fib_worker *w);

/* --- jobs.c -------------------------------------------------------------- */

/**
 * Before a call on a terminal, perhaps: 0, or what it returns to a process in
 * the background.
 */
long fib_job_io(struct fib_fd *s, uint8_t ev);
long fib_job_ioctl(int fd, unsigned cmd);

/* --- stuck.c ------------------------------------------------------------- */

/** Tell of a worker, or the monitor (NULL), that is stuck in the runtime. */
void fib_stuck_tell(struct fib_worker *w, bool spins);

/* --- procfs.c ------------------------------------------------------------ */

#define FIB_PROCFS_PATH 128
/**
 * Is @path, to be opened with @flags, about the calling thread alone? Then the
 * caller becomes dedicated, and *@to is what the kernel calls it.
 */
bool fib_procfs_of_thread(const char *path, int flags,
			  char to[FIB_PROCFS_PATH]);
/** The signals that the process's signalfds show. */
uint64_t fib_procfs_signalfds(void);

/* --- futex.c ------------------------------------------------------------- */

/** Scan the mappings once, then keep track. */
void fib_shared_init(void);
void fib_shared_map(uintptr_t addr, size_t len, bool shared);
/** What shmat() mapped at @addr is gone. */
void fib_shared_detach(uintptr_t addr);
/** Too much is not known: from now on any word may be shared. */
void fib_shared_lose(void);
bool fib_shared_at(uintptr_t addr);
/** FUTEX_WAKE from a thread that is no fiber. */
long fib_futex_foreign(const long a[6]);

#endif
