/*
 * What the files of hooks/signal/ share, and nobody else: names begin with
 * fib_sig_. Locks are told in signal.h; _locked means fib_sig_lock.
 */
#ifndef FIB_SIGSTATE_H
#define FIB_SIGSTATE_H

#include "hooks/signal/signal.h"

#define FIB_SA_RESTORER 0x04000000

/* queue.c */
struct fib_siginfo_node {
	struct fib_siginfo_node *next; /* of its kind */
	struct fib_siginfo_node *more; /* of the first: of the next kind, */
	struct fib_siginfo_node *last; /* and the last of its own */
	siginfo_t info;
	uint64_t came; /* those of a kind are in this order */
	struct fib_siginfo_node **timer; /* where its timer has it, or NULL */
	bool process; /* sent to the process: any fiber would do */
	bool stale;   /* of a timer that was set anew since */
	bool counted; /* by RLIMIT_SIGPENDING */
};

/* --- state.c --------------------------------------------------------------- */

extern struct fib_lock fib_sig_lock; /* the table below, and all queues */
extern struct fib_kernel_sigaction fib_sig_act[65];
extern bool
	fib_sig_cancel_set; /* SIGCANCEL's, of which the kernel has not been told */
extern _Atomic uint32_t fib_sig_changes; /* of the table, so far */
extern _Atomic uint32_t
	fib_sig_continues; /* SIGCONT that were dequeued; forward_lock */
extern const struct fib_signal_host *fib_sig_host;

/* fib_sig_act[@sig] has been written. */
void fib_sig_update_handled(int sig);
/* What the kernel itself does with @sig: SIG_DFL or SIG_IGN. */
void fib_sig_kernel_action(int sig, uintptr_t handler);

/* The kernel thread, from now on the program's alone, has what @f expects of it. */
void fib_sig_to_kernel(struct fib *f);

static inline void fib_sig_kernel_mask(uint64_t mask)
{
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

static inline bool fib_sig_ignored_by_default(int sig)
{
	return sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH ||
	       sig == SIGCONT;
}

static inline bool fib_sig_is_ignored(int sig)
{
	uintptr_t h = fib_sig_act[sig].handler;

	return h == (uintptr_t)SIG_IGN ||
	       (h == (uintptr_t)SIG_DFL && fib_sig_ignored_by_default(sig));
}

/* Does @f, if there is one, block @sig, whatever a sigwait() of its awaits? */
static inline bool fib_sig_blocks(const struct fib *f, int sig)
{
	return f && (fib_load(&f->sig.mask, relaxed) & FIB_SIG(sig));
}

/* What may be delivered anywhere: SIGCANCEL has its places (wait.c). */
static inline uint64_t fib_sig_deliverable(const struct fib *f)
{
	uint64_t open = ~fib_load(&f->sig.mask, relaxed);

	return f->thread.cancel_async ? open : open & ~FIB_SIG(FIB_SIGCANCEL);
}

static inline bool fib_sig_handler_waits(const struct fib *f)
{
	return fib_load(&f->sig.pending, relaxed) & fib_sig_deliverable(f);
}

/* What of @set the kernel dequeues before @sig: next_signal(). */
static inline uint64_t fib_sig_before(uint64_t set, int sig)
{
	uint64_t lower = FIB_SIG(sig) - 1;

	return set & (FIB_SIG(sig) & FIB_FAULTS ? FIB_FAULTS & lower :
						  FIB_FAULTS | lower);
}

/* --- default.c ------------------------------------------------------------- */

/* Is the action of @sig the default one, and does something? */
bool fib_sig_is_default(int sig);
/* Does @sig, for @f, not even wait until @f has time for it? */
bool fib_sig_default_at_once(struct fib *f, int sig);
/* Take the default action of @sig, on the calling kernel thread. */
void fib_sig_default_locked(int sig, const siginfo_t *info);
/* The same of one that @f was to get. True: without effect, and @f's call has ended. */
bool fib_sig_default_of_locked(struct fib *f, int sig, const siginfo_t *info);

/* --- queue.c --------------------------------------------------------------- */

void fib_sig_queues_init(void);
/* @sig, sent to the process, is pending here from now on. @came: 0 now, or as it was dequeued. */
void fib_sig_queue_process(int sig, const siginfo_t *info, uint64_t came);
/* As fib_signal_dequeue_process(), and when it @came. */
int fib_sig_dequeue_process(uint64_t set, siginfo_t *info, uint64_t *came);
const struct fib_siginfo_node *fib_sig_process_queue_locked(void);
/* Of what pends for the process here: what a timer has sent. */
uint64_t fib_sig_timed(void);
/* None of @set is pending here any more, for any fiber or for the process. */
void fib_sig_flush_locked(uint64_t set);
/*
 * As fib_signal_send(); @named: the thread that the kernel gives it to, for the process, or
 * NULL: for @f alone. @pended: for the process, until now. @came: as above.
 */
int fib_sig_send(struct fib *f, int sig, const siginfo_t *info,
		 const struct fib *named, bool pended, uint64_t came);
/* What of @set, pending for the process, would come before what @f has of it. */
uint64_t fib_sig_ahead(struct fib *f, uint64_t set);
/*
 * As fib_signal_dequeue(), for a handler: if it was sent to the process,
 * fib_sig_close_mask() is to follow.
 */
int fib_sig_dequeue(struct fib *f, uint64_t set, siginfo_t *info);
/* Of @sig, what was sent to the process leaves @f's queue. */
void fib_sig_drop_process(struct fib *f, int sig);
/* What was sent to the process, and may be in the queue of a fiber. */
uint64_t fib_sig_handed_out(void);
/* One that was sent to the process, is in @f's queue, and blocked by now. */
bool fib_sig_dequeue_blocked(struct fib *f, siginfo_t *info, uint64_t *came);
/* @f ends: one that is left in its queue; or true, there is none, and it is gone. */
bool fib_sig_close(struct fib *f, siginfo_t *info, bool *process,
		   uint64_t *came);
/* What @f has of @set, and its timers have set anew since, is over. */
void fib_sig_drop_stale(struct fib *f, uint64_t set);
/* Timer @id was set anew, or @deleted; what it had sent was with its thread. */
void fib_sig_timer_set(int id, bool deleted);

/* --- kick.c ---------------------------------------------------------------- */

/** What ends the monitor's sleep next is a kick. */
extern _Atomic bool fib_sig_monitor_kicked;

/*
 * @f's call is woken, and no handler will run: it ends, or begins anew, as by a stop.
 * fib_attention_set() is to follow.
 */
void fib_sig_end_call(struct fib *f);

/* --- action.c -------------------------------------------------------------- */

/*
 * The action with which @sig is delivered: SA_RESETHAND has had its effect (where the default
 * action is to ignore it, fib_sig_reset_ignored() is to follow), and a default action has been
 * taken.
 */
struct fib_kernel_sigaction fib_sig_delivery_action(int sig,
						    const siginfo_t *info);

/* --- timer.c, target.c ----------------------------------------------------- */

/* Where timer @id has its signal, while a thread has that; NULL: it has no thread. */
struct fib_siginfo_node **fib_sig_timer_queued(int id);
/* Does the kernel drop what a timer has sent that is set anew, or deleted? */
bool fib_sig_timers_drop(void);
/*
 * Is @info of a timer that signals one thread? Then it is for *@f, and for nobody if that
 * is NULL: the thread has ended.
 */
bool fib_sig_timer_target(const siginfo_t *info, struct fib **f);
/* Was it sent by what counts CPU time, in a thread that has used some? */
bool fib_sig_is_by_cpu(int sig, const siginfo_t *info);
/* Does a thread block @sig to which a timer may send it? */
bool fib_sig_timers_block(int sig);
/* The kernel has dequeued what timer @id has sent, and its thread has not yet. */
void fib_sig_timer_taken(int id);
/* Timer @id was set anew: there are no overruns, as by posix_timer_set_common(). */
void fib_sig_timer_reset(int id);
/* Its thread has dequeued @info, which timer_getoverrun() tells of. */
void fib_sig_timer_dequeued(const siginfo_t *info);
/* As fib_signal_send_process(); @pended and @came as for fib_sig_send(). */
bool fib_sig_send_process(int sig, const siginfo_t *info, bool pended,
			  uint64_t came);
/*
 * The default actions of those of @pending, in the kernel's queue for the process,
 * that some fiber does not block. The monitor's thread alone.
 */
void fib_sig_default_process(uint64_t pending);
/** In the child of a fork: nobody makes one there. */
void fib_sig_children_forget(void);

/* --- shown.c: forward_lock is held ----------------------------------------- */

/* A signalfd shows @sig, or has shown it, and all block it: to the kernel with it? */
bool fib_sig_may_show(int sig);
/* What of @sig is pending here, and nobody wants, goes where a signalfd shows it. */
void fib_sig_show(int sig);
/* Signalfds show @set from now on; what of it @f blocks is the process's. */
void fib_sig_shown_add(struct fib *f, uint64_t set);

/* --- forward.c ------------------------------------------------------------- */

/*
 * @f, the caller, does not block @set any more. What of that pends for the process is with
 * some fiber then; @f looks at the queues of others too, if it may be there (looks).
 */
void fib_sig_opened(struct fib *f, uint64_t set);
/* What others are forwarding is with its fibers. */
void fib_sig_await_forward(void);
/* As fib_sig_dequeue(), for one that looks there. */
int fib_sig_dequeue_any(struct fib *f, uint64_t set, siginfo_t *info);
/*
 * @mask is @f's from now on, which handles @info, or drops it: if that was sent to the
 * process, what has been sent since was the same.
 */
void fib_sig_close_mask(struct fib *f, const siginfo_t *info, uint64_t mask);
/* What @f has of the process's, and blocks by now, is another one's. */
void fib_sig_retarget(struct fib *f);
/* SA_RESETHAND has had its effect on @sig, which is ignored by default, and @f's to handle. */
void fib_sig_reset_ignored(struct fib *f, int sig);
/* One of the FIB_FAULTS was sent by somebody. In a kernel's handler. */
void fib_sig_post(int sig, const siginfo_t *info);
/* These are with their fibers, or pending here. */
void fib_sig_forward_posted(void);
/* The same of what pends in the kernel, as @pending was before, and is wanted. What did pend. */
uint64_t fib_sig_forward_pending(uint64_t pending);
/* What the receiver's signalfd is to tell of. */
uint64_t fib_sig_watched(void);
void fib_sig_forward_init(void);

/* --- stop.c ---------------------------------------------------------------- */

/** @n SIGCONT have come before, and none pends. */
void fib_sig_stop_init(uint32_t n);

/* --- receiver.c ------------------------------------------------------------ */

/*
 * Wait until the receiver has looked once more what is pending. The caller has a kernel
 * thread to itself.
 */
void fib_sig_await_receiver(void);

/* --- altstack.c, deliver.c, entry.c ---------------------------------------- */

/* Does a handler with @flags go to @f's alternate stack, from @sp? */
bool fib_altstack_wanted(const struct fib *f, unsigned long flags,
			 uintptr_t sp);
/*
 * Run the handler @a of @sig, now, in @f, the caller. May not return. @again: it
 * finds the thread at the system call that is to be made (again), not behind it.
 */
void fib_sig_run_handler(struct fib *f, int sig, siginfo_t *info,
			 const struct fib_kernel_sigaction *a, bool again);
/* The kernel's handler for faults and kicks, on a worker's alternate stack. */
void fib_sig_entry(int sig, siginfo_t *info, void *uc);

#endif
