/*
 * Shared by signal.c (delivery), sigqueue.c (queues and kicks), sigsetup.c,
 * sigentry.c (the kernel's handler), sigcalls.c and sigsend.c (the calls) and
 * receiver.c (what comes from outside).
 */
#ifndef FIB_SIGNAL_H
#define FIB_SIGNAL_H

#include "hooks/hooks.h"

/* Signals 32 and 33 are libc's: SIGCANCEL, SIGSETXID. We kick with 33. */
#define FIB_SIGCANCEL	32
#define FIB_KICK	33
#define FIB_SIGRTMIN	32
#define FIB_SIG(n)	(1ull << ((n)-1))
#define FIB_UNBLOCKABLE (FIB_SIG(SIGKILL) | FIB_SIG(SIGSTOP))
#define FIB_SA_RESTORER 0x04000000

struct fib_kernel_sigaction {
	uintptr_t handler;
	unsigned long flags;
	uintptr_t restorer;
	uint64_t mask;
};

/* Raised by faults: the only ones but KICK that are open in workers. */
#define FIB_FAULTS                                                             \
	(FIB_SIG(SIGSEGV) | FIB_SIG(SIGBUS) | FIB_SIG(SIGFPE) |                \
	 FIB_SIG(SIGILL) | FIB_SIG(SIGTRAP) | FIB_SIG(SIGSYS))

#define FIB_SIG_STOPS (FIB_SIG(SIGTSTP) | FIB_SIG(SIGTTIN) | FIB_SIG(SIGTTOU))

#define FIB_ALTSTACK_SIZE (64ul * 1024)

/* --- signal.c, sigqueue.c: actions, queues, delivery --------------------------------- */

/** The program's action for @sig. */
struct fib_kernel_sigaction fib_signal_action(int sig);
/**
 * The same, for a delivery: SA_RESETHAND has its effect, and a default action
 * has been taken.
 */
struct fib_kernel_sigaction fib_signal_take_action(int sig,
						   const siginfo_t *info);
/** rt_sigaction: 0 or -errno. */
int fib_signal_set_action(int sig, const struct fib_kernel_sigaction *new,
			  struct fib_kernel_sigaction *old);
/** What the kernel itself does with @sig: SIG_DFL or SIG_IGN. */
void fib_signal_kernel_action(int sig, uintptr_t handler);
#define FIB_SS_AUTODISARM (1u << 31)

/** Is @sp on @f's alternate stack: on_sig_stack() of the kernel. */
static inline bool fib_altstack_has(const struct fib *f, uintptr_t sp)
{
	return sp > f->altstack_sp && sp - f->altstack_sp <= f->altstack_size;
}

static inline bool fib_altstack_in_use(const struct fib *f, uintptr_t sp)
{
	return !((unsigned)f->altstack_flags & FIB_SS_AUTODISARM) &&
	       fib_altstack_has(f, sp);
}

/** sigaltstack with @sp: 0 or -errno. @least: what its size must be. */
int fib_altstack_set(struct fib *f, const stack_t *ss, uintptr_t sp,
		     size_t least);
/** What a frame tells of it, and sigreturn gives back. */
stack_t fib_altstack_get(const struct fib *f);
/** Does a handler with @flags go to @f's alternate stack, from @sp? */
bool fib_signal_on_altstack(const struct fib *f, unsigned long flags,
			    uintptr_t sp);
/**
 * The kernel would lay a frame at *@frame, and @fp_size bytes of registers at the
 * result, for a handler that begins below @sp.
 */
uintptr_t fib_sigframe_place(uintptr_t sp, size_t fp_size, uintptr_t *frame);
/**
 * Run the handler @a of @sig, now, in @f. May not return. @again: it finds the
 * thread at the system call that is to be made (again), not behind it.
 */
void fib_signal_handle(struct fib *f, int sig, siginfo_t *info,
		       const struct fib_kernel_sigaction *a, bool again);
/** sigentry.c: the kernel's handler for faults and kicks. */
void fib_signal_entry(int sig, siginfo_t *info, void *uc);
/** Is @sig open to @f, or waited for by it? */
bool fib_signal_accepts(struct fib *f, int sig);
/** The default action of @sig, whatever the program says. */
void fib_signal_force(int sig);
/**
 * The default actions of those of @pending, in the kernel's queue for the
 * process, that some fiber does not block. The monitor alone.
 */
void fib_signal_take_defaults(uint64_t pending);
/** The fiber that would get @sig, sent to the process, or NULL. */
struct fib *fib_signal_pick(int sig);
/**
 * @sig was sent to the process: to the fiber that natively would get it.
 * False: all block it.
 */
bool fib_signal_route(int sig, const siginfo_t *info);
/** Does any fiber accept @sig? */
bool fib_signal_wanted(int sig);
/** The calling fiber accepts @set now: fetch what the kernel holds of it. */
void fib_signal_recheck(uint64_t set);
/** @f's mask has opened for @opened. */
void fib_signal_opened(struct fib *f, uint64_t opened);
/** The kernel holds @set for the process: to whom it belongs. */
void fib_signal_fetch(uint64_t set);
/** What of @set was sent to the process so far is now in a fiber's queue. */
void fib_signal_settle(uint64_t set);
/** @sig has been taken from the kernel, and all block it now. */
void fib_signal_keep(int sig, const siginfo_t *info);
uint64_t fib_signal_kept_set(void);
/** How many are in the queues of all fibers, and kept. */
uint32_t fib_signal_queued(void);
/** One of @set that was kept; 0: there is none. */
int fib_signal_kept(uint64_t set, siginfo_t *info);
/** What @f has of the process's, and blocks by now, is another one's. */
void fib_signal_give_back(struct fib *f);
/** @sig was sent to the process, and all block it: it is to stay pending. */
void fib_signal_hold(int sig, const siginfo_t *info);
/** One of the FIB_FAULTS was sent by somebody. For a signal handler. */
void fib_signal_arrived(int sig, const siginfo_t *info);
/** @sig is about to be left in the kernel's queue, since all block it. */
void fib_signal_leave(int sig);
/** The lowest signal of @set that is pending for @f; 0: none. */
int fib_signal_take(struct fib *f, uint64_t set, siginfo_t *info);

/** Is there a timer that sends @sig to one thread? */
bool fib_signal_has_timer(int sig);
/** The fiber that the timer behind @info was made for, or NULL. */
struct fib *fib_signal_timer_target(const siginfo_t *info);

/** What is pending for the process, SIGSTOP included. */
uint64_t fib_signal_queue_of_process(void);

/** sigsend.c: find the signalfds that there are. */
void fib_signalfd_init(void);

/* receiver.c */
int fib_receiver_init(void);
void fib_receive(void);
/** In the monitor's thread, which waits for a lock. */
void fib_receive_urgent(void);

#endif
