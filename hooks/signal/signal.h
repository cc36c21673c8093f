/*
 * Signals: who gets them, and where handlers run. This is what others may use;
 * the system calls stand in hooks/sigcalls/, the states of a signal and who
 * moves it on in the README beside this.
 *
 * The kernel knows workers, the program knows fibers. So:
 *
 * - Masks are the fibers'; no system call changes one. Workers have every
 *   asynchronous signal blocked for good. Only the six that faults raise and
 *   KICK are open.
 * - Actions are the program's, in a table here (state.c) and, but for the faults
 *   and libc's own two, in the kernel as well: default actions, exec and fork
 *   see what they would natively.
 * - A signal for one fiber (tgkill, raise, SIGPIPE, ...) is queued at it. One for
 *   the process stays in the kernel until the receiver (receiver.c) finds a fiber
 *   that does not block it, main first, as kernel/signal.c does.
 * - A sender queues, sets attention, wakes the fiber if it is parked, and kicks
 *   the worker if it is running:
 *
 *	sender				fiber f
 *	------				-------
 *	queue, pending |= bit		end of a hook:
 *	attention = 1		(A)	in_hook = 0		(B)
 *	wake(f)				attention? then deliver
 *	f->on: kick that worker
 *
 *   A park ends on attention. A hook's end looks at attention after (B). In
 *   the program's own code, in_hook is 0, and the kick's handler diverts the
 *   fiber. In between nothing is lost, since the kick comes after (A): either
 *   its handler sees in_hook == 0, or the fiber passes (B) later.
 * - Handlers run on the fiber's own stack (or its sigaltstack), called from the
 *   end of a hook, or from a copy of the kernel's frame if the fiber was
 *   interrupted in its own code. They are ordinary code of the fiber: they may
 *   block, migrate, longjmp, unwind.
 * - Default actions wait for no fiber: default.c.
 *
 * Two locks. fib_sig_lock guards the actions and all queues; it is never held while
 * a handler runs, and ranks above the scheduler's. forward_lock (forward.c) is
 * held while signals go from the process to fibers, and is taken before it.
 *
 * "A fiber": the caller is one, in a hook and on its own stack, and holds no lock
 * of the runtime. "Any thread": any kernel thread of ours, on any stack, without
 * these two locks. Only what says so may be called by a handler of the kernel's.
 */
#ifndef FIB_SIGNAL_H
#define FIB_SIGNAL_H

#include "hooks/core/hook.h"
#include "hooks/core/threads.h"

/* Signals 32 and 33 are libc's: SIGCANCEL, SIGSETXID. We kick with 33. */
#define FIB_SIGCANCEL	32
#define FIB_KICK	33
#define FIB_SIGRTMIN	32
#define FIB_SIG(n)	(1ull << ((n)-1))
#define FIB_UNBLOCKABLE (FIB_SIG(SIGKILL) | FIB_SIG(SIGSTOP))

/* Raised by faults: the only ones but KICK that are open in workers. */
#define FIB_FAULTS                                                             \
	(FIB_SIG(SIGSEGV) | FIB_SIG(SIGBUS) | FIB_SIG(SIGFPE) |                \
	 FIB_SIG(SIGILL) | FIB_SIG(SIGTRAP) | FIB_SIG(SIGSYS))

#define FIB_SIG_STOPS (FIB_SIG(SIGTSTP) | FIB_SIG(SIGTTIN) | FIB_SIG(SIGTTOU))

/* Of a worker, for the kernel's handler. */
#define FIB_ALTSTACK_SIZE (64ul * 1024)

struct fib_kernel_sigaction {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	uint64_t mask;
};

/* In the kernel one more is ours: FIB_FAULTS, and FIB_KICK. */
#define FIB_ACTS_FEW 6

/* --- setup.c: kernel threads, processes, programs ------------------------- */

/** What signals ask of the families above. */
struct fib_signal_host {
	/** In a hook of @f, which had attention: what else is asked of it? */
	void (*attention)(struct fib *f);
	/** In a kick's handler, on worker @w, or NULL: the monitor's thread. */
	void (*kicked)(struct fib_worker *w);
	/** May the library make calls that programs seldom make: fib_fd_asks(). */
	bool (*asks)(void);
	/** A default action is about to end the process. fib_sig_lock is held. */
	void (*process_end)(void);
};

/**
 * The process's actions, and the caller's mask and alternate stack, are now those
 * of @main_fiber and the program. All signals are blocked. Once, at the start.
 */
void fib_signal_init(struct fib *main_fiber, uint64_t mask,
		     const struct fib_signal_host *host);
/** The process's id since then: a fork child has its own when it starts anew. */
extern int fib_signal_pid;
/** The caller is the kernel thread of @w, or the monitor (NULL): mask and stack. */
void fib_signal_thread_init(struct fib_worker *w);
/** What a worker blocks. */
uint64_t fib_signal_worker_mask(void);
/** The actions that are not plain defaults, or plainly ignored, if they are few. */
struct fib_acts {
	uint32_t changes; /* of the table, before */
	unsigned n;
	int sig[FIB_ACTS_FEW];
	struct fib_kernel_sigaction act[FIB_ACTS_FEW];
};
/** False: they are more, and a child has less to do if it begins with ours. */
bool fib_signal_few_acts(struct fib_acts *few);
/** Are they what they were? A sigaction() that has returned since is seen. */
bool fib_signal_acts_stand(const struct fib_acts *few);
/**
 * In a fork child: the kernel's state becomes what the program expects of @f. @cleared: but
 * for actions, which the program has had CLONE_CLEAR_SIGHAND take away. @few: that was done
 * here, and these are the program's; or NULL.
 */
void fib_signal_fork_child(struct fib *f, bool cleared,
			   const struct fib_acts *few);
/**
 * In a child that has our memory, and actions of its own: these are the program's, as
 * above. If it has an alternate stack, that is @f's; else that is NULL.
 */
void fib_signal_vfork_child(const struct fib *f, bool cleared,
			    const struct fib_acts *few);
/**
 * Before an exec of @f, the caller: the kernel gets what the new program starts
 * with. False: something is to be delivered first.
 */
bool fib_signal_exec_begin(struct fib *f);
/** The exec came back: as before. */
void fib_signal_exec_failed(struct fib *f);
/** The caller's kernel thread has taken its last kick. */
void fib_signal_no_kicks(void);
/** What the kernel has pending for the process, SIGSTOP included. Any thread. */
uint64_t fib_signal_kernel_pending(void);

/* --- kick.c: a fiber is to look at what has come -------------------------- */

/** Interrupt @w's kernel thread: it looks what there is to do. Any thread. */
void fib_signal_kick(struct fib_worker *w);
/** @f is to call fib_signal_deliver() soon, wherever it is. Any thread. */
void fib_attention_set(struct fib *f);
/** Others run in the place of the fiber that @w runs. Any thread. */
void fib_signal_preempt(struct fib_worker *w);
/** The same, if it is in a call: the program's own code is left alone. Any thread. */
void fib_signal_preempt_call(struct fib_worker *w);
/* What has asked for that, in sig.preempt. */
enum { FIB_PREEMPT_CALL = 1, FIB_PREEMPT_ANY = 2 };
/** For chaos: interrupt some worker for nothing, and preempt it perhaps. */
void fib_signal_idle_kick(void);
/** pthread_cancel() has marked the thread @tid, which was fiber @f. A fiber. */
void fib_signal_cancel(struct fib *f, int tid);

/* --- queue.c: what is pending --------------------------------------------- */

/**
 * Send @sig to @f, as tgkill() does. @process: it was sent to the process, and any
 * fiber would do. 0, -EAGAIN without memory, -ESRCH if @f has ended, or does not want
 * what was sent to the process. Any thread.
 */
int fib_signal_send(struct fib *f, int sig, const siginfo_t *info,
		    bool process);
/**
 * A call of @f, the caller, has raised @sig: @by_kernel, on its kernel thread,
 * which has it pending; or it was not made by the kernel.
 */
void fib_signal_raise(struct fib *f, int sig, bool by_kernel);
/** The same, if it has raised one of @set on its kernel thread. */
void fib_signal_raised(struct fib *f, uint64_t set);
/** The next of @set that is pending for @f, and is no more; 0: none. */
int fib_signal_dequeue(struct fib *f, uint64_t set, siginfo_t *info);
/** The same of what is pending for the process here, not in the kernel. */
int fib_signal_dequeue_process(uint64_t set, siginfo_t *info);
/** What is pending for the process here, not in the kernel. */
uint64_t fib_signal_process_pending(void);
/** Would one more be above RLIMIT_SIGPENDING: queued here, or a timer? Any thread. */
bool fib_signal_one_too_many(void);
/** Is any queued here? Any thread. */
bool fib_signal_any_queued(void);
/** Does @f not block @sig, or wait for it? wants_signal() of the kernel. */
bool fib_signal_wants(struct fib *f, int sig);

/* --- target.c, timer.c: who gets what was sent to the process ------------- */

/** The fiber that would get @sig, sent to the process; NULL: all block it. */
struct fib *fib_signal_target(int sig);
/**
 * @f, the caller, has slept in a sigwait() until @sig came, which was sent to the process:
 * another one is woken as well, if @f blocks @sig otherwise.
 */
void fib_signal_wake_next(struct fib *f, int sig);
/**
 * Before a call that makes a child, and after it: @f has made @pid, or none (< 0). A call
 * in which the child may take its time does not @begin.
 */
void fib_signal_child_begins(void);
void fib_signal_child_made(struct fib *f, int pid, bool began);
/** For CLONE_PARENT_SETTID: who has made it is known when it runs. */
int *fib_signal_child_number(struct fib *f);
/** Before a child is made that is to send @sig when it ends; 0: none. */
void fib_signal_child_exits(int sig);
/** Send @sig to the process. False: all block it, and it is nowhere yet. */
bool fib_signal_send_process(int sig, const siginfo_t *info);
/** A timer that sends @sig to one thread is about to be made. */
void fib_signal_timer_expect(int sig);
/** A timer on a CPU clock that sends @sig to the process is about to be made. */
void fib_signal_timer_counts_cpu(int sig);
/** How the kernel's timers do: by its release. Else they are taken for older ones. */
void fib_signal_ask_release(void);
/** What any timer of one thread has ever sent. Any thread. */
uint64_t fib_signal_timer_signals(void);
/** How many timers of any kind there are. Any thread. */
uint32_t fib_signal_timers(void);
/** So many are there more, or fewer. Any thread. */
void fib_signal_timers_add(int n);
/** Timer @id signals thread @tid. False: there are too many. */
bool fib_signal_timer_add(int id, int tid);
void fib_signal_timer_remove(int id);
/** The overruns of what it sent last; -1: the kernel knows. */
int fib_signal_timer_overrun(int id);
/** In a fork child, which has none, and whose first one has the first id again. */
void fib_signal_timer_forget(void);

/* --- shown.c: what the program's signalfds show ---------------------------- */

/** What any signalfd of the program's has ever shown. Any thread. */
uint64_t fib_signal_shown(void);
/** @set is that so far. Once, at the start, before fib_signal_init(). */
void fib_signal_shown_init(uint64_t set);
/** @sig is pending for the process in the kernel: 0 or -errno. Any thread. */
long fib_signal_to_kernel(int sig, const siginfo_t *info);

/* --- forward.c, receiver.c: from the kernel's queue to fibers ------------- */

/** Opens the receiver's signalfd: it, or -errno. */
int fib_receiver_init(void);
/** The signalfd is readable, or somebody poked. The monitor's thread alone. */
void fib_receiver_run(void);
/** The same for default actions only: the monitor's thread, waiting for a lock. */
void fib_receiver_run_defaults(void);
/**
 * @sig was sent to the process, all block it, and the kernel's queue is not the
 * place for it: it is pending here. A fiber, or the receiver.
 */
void fib_signal_pend_process(int sig, const siginfo_t *info);
/** Does one of @sig, sent to the process, wait for some fiber to want it? A fiber. */
bool fib_signal_is_before(int sig);
/** All block @sig: the receiver does not watch what the kernel holds of it. */
void fib_signal_unwatch(int sig);
/** A fiber wants @set from now on: what is not watched is forwarded. A fiber. */
void fib_signal_rewatch(uint64_t set);
/** What of @set was sent to the process so far is now with its fiber. A fiber. */
void fib_signal_sync(uint64_t set);
/**
 * @sig, SIGTTIN or SIGTTOU, is sent to the caller's group in the kernel's place, and is
 * with its fiber. A fiber.
 */
void fib_signal_send_group(int sig);
/**
 * As fib_signal_sync() for what has a handler that @f, the caller, would run: what another
 * process did before it did what the caller's call now tells of.
 */
void fib_signal_sync_handled(struct fib *f);
/**
 * @sig is sent: stop signals and SIGCONT end what pends of each other anywhere, as by
 * prepare_signal() of the kernel, whose queue does not see what fibers have. A fiber.
 */
void fib_signal_prepare(int sig);
/**
 * The program has a signalfd that shows @set: what of it is pending here, for the
 * process or for @f, the caller, and all block, goes where it is seen.
 */
void fib_signal_show(struct fib *f, uint64_t set);
/**
 * What timers of single threads have sent of @set, and pends in the kernel for the
 * process, is with these threads. A fiber.
 */
void fib_signal_take_timers(uint64_t set);
/**
 * timer_settime() or timer_delete() of timer @id, and what it has sent before. A fiber.
 */
long fib_signal_timer_call(int id, long nr, const long a[6]);
/**
 * The next of @set that @f, the caller, may accept, and is no more; 0: none. *@process: it
 * was sent to the process.
 */
int fib_signal_accept(struct fib *f, uint64_t set, siginfo_t *info,
		      bool *process);
/** @f is gone: what was sent to the process and waited at it, others get. */
void fib_signal_exit(struct fib *f);

/** How many SIGCONT have come: what is pending is counted. Without locks. */
uint32_t fib_signal_continues(void);
/** The same without a system call: what is pending is not. */
uint32_t fib_signal_continued(void);

/* --- stop.c: a stop ends calls -------------------------------------------- */

/**
 * Was there a stop that calls do not know of yet? For who finds by himself that the kernel has made
 * his call anew, before he tells others. Any thread; without locks.
 */
void fib_signal_look_for_stop(void);
/** @w's sleep has ended by a signal, or by a stop. */
void fib_signal_interrupted(struct fib_worker *w);
/**
 * The call under way ends with EINTR when the process is stopped in its wait. What a stop
 * has done to it stays: it may have been woken beside that, and wait once more.
 */
static inline void fib_stop_ends(void)
{
	struct fib *f = fib_self();
	uint8_t stop = fib_load(&f->io.stop, relaxed);

	if (stop != FIB_STOP_ENDED && stop != FIB_STOP_REPEATED)
		fib_cas(&f->io.stop, &stop, FIB_STOP_ENDS, seq_cst);
}
/** It begins anew then. Without a fence: the wait has a locked instruction of its own. */
static inline void fib_stop_repeats(void)
{
	fib_store(&fib_self()->io.stop, FIB_STOP_REPEATS, relaxed);
}
/** So it does, unless it ends: it may be non-blocking by then, or ask for something else. */
static inline void fib_stop_may_repeat(void)
{
	if (fib_load(&fib_self()->io.stop, relaxed) == FIB_STOP_NOTHING)
		fib_stop_repeats();
}
/** Has it ended? */
static inline bool fib_stop_ended(void)
{
	return fib_load(&fib_self()->io.stop, relaxed) == FIB_STOP_ENDED;
}
/** Has it ended, or is it to begin anew? */
static inline bool fib_stop_came(void)
{
	return fib_stop_ended() || fib_load(&fib_self()->io.stop, relaxed) ==
					   FIB_STOP_REPEATED;
}
/** How long the process was stopped, which has ended the caller's wait, in ns: runtime/nap.h. */
uint64_t fib_signal_stop_lasted(void);
/** What a stop has done to @f, the caller, is seen; others that it has woken come out first. */
void fib_signal_stop_over(struct fib *f);
/**
 * Call @nr, in the kernel: fib_raw_intr(), which tells what a kick was from what
 * the kernel ends by itself.
 */
long fib_signal_raw_intr(struct fib *f, long nr, const long a[6]);

/* --- mask.c. A fiber; @f is the caller ------------------------------------ */

/** @f's mask has been written, or a sigwait() of its has ended. */
void fib_signal_mask_changed(struct fib *f);
/** The same; it does not block @set any more. */
void fib_signal_unblocked(struct fib *f, uint64_t set);
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
void fib_signal_mask_restore(struct fib *f);

/* --- action.c, state.c: actions ------------------------------------------- */

/** The program's action for @sig. Any thread, also in a kernel's handler. */
struct fib_kernel_sigaction fib_signal_action(int sig);
/** rt_sigaction(): 0 or -errno. A fiber. */
int fib_signal_set_action(int sig, const struct fib_kernel_sigaction *new,
			  struct fib_kernel_sigaction *old);
/** The signals for which the program has a handler. */
extern _Atomic uint64_t fib_signal_handled;
/** Those of them that @f does not block. */
static inline uint64_t fib_signal_handles(const struct fib *f)
{
	return fib_load(&fib_signal_handled, relaxed) &
	       ~fib_load(&f->sig.mask, relaxed);
}
/** default.c: the default action of @sig, whatever the program says. Any thread. */
void fib_signal_force(int sig);

/* --- deliver.c. A fiber; @f is the caller --------------------------------- */

/** What a signal finds the fiber doing. */
enum fib_finding {
	FIB_FINDS_NO_CALL, /* its own code, or a call that has had its effect */
	FIB_FINDS_EINTR,   /* one that ends when a handler has run, */
	FIB_FINDS_RESTART, /* is repeated if the handler has SA_RESTART, */
	FIB_FINDS_AGAIN,   /* is repeated in any case */
};

/** Run the handlers of what is pending and not blocked. Is the call repeated? */
bool fib_signal_deliver(struct fib *f, enum fib_finding finding);
/** SIGCANCEL alone, to a fiber whose call has had no effect: may unwind. */
void fib_signal_deliver_cancel(struct fib *f);
/**
 * What asked for attention has been seen to, and the call goes on. False: there
 * is a handler to run first.
 */
bool fib_attention_clear(struct fib *f);
/** The end of a hook that fib_hook_enter() has begun. Handlers run. */
void fib_hook_leave(struct fib *f);

/* --- altstack.c ----------------------------------------------------------- */

#define FIB_SS_AUTODISARM (1u << 31)

/** Is @sp on @f's alternate stack: on_sig_stack() of the kernel. */
static inline bool fib_altstack_has(const struct fib *f, uintptr_t sp)
{
	return sp > f->sig.altstack_sp &&
	       sp - f->sig.altstack_sp <= f->sig.altstack_size;
}

/** The same, for a handler that begins now. */
static inline bool fib_altstack_in_use(const struct fib *f, uintptr_t sp)
{
	return !((unsigned)f->sig.altstack_flags & FIB_SS_AUTODISARM) &&
	       fib_altstack_has(f, sp);
}

/** sigaltstack() with @sp: 0 or -errno. @least: what its size must be. */
int fib_altstack_set(struct fib *f, const stack_t *ss, uintptr_t sp,
		     size_t least);
/** What a frame tells of it, and sigreturn gives back. */
stack_t fib_altstack_get(const struct fib *f);

#endif
