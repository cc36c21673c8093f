/* What signal.c, sigqueue.c and sigsetup.c share, and nobody else. */
#ifndef FIB_SIGSTATE_H
#define FIB_SIGSTATE_H

#include "hooks/signal.h"

struct fib_siginfo_node {
	struct fib_siginfo_node *next;
	siginfo_t info;
	bool process; /* any fiber would do */
};

extern struct fib_lock fib_sig_lock; /* the table below, and all queues */
extern struct fib_kernel_sigaction fib_sig_act[65];
extern int fib_sig_pid;

void fib_signal_queues_init(void);
/* fib_sig_act[@sig] has been written. */
void fib_signal_note_handler(int sig);

static inline void fib_sig_kernel_mask(uint64_t mask)
{
	fib_raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, 0, 8);
}

/* sigdefault.c: is the action of @sig the default one, and does something? */
bool fib_sig_is_default(int sig);
/* Does @sig, for @f, not even wait until @f has time for it? */
bool fib_sig_acts_now(struct fib *f, int sig);
/* Take the default action of @sig, on the calling kernel thread. */
void fib_sig_default_locked(int sig, const siginfo_t *info);
/* sigsetup.c: the kernel's handler for @sig is ours. */
void fib_sig_install_entry(int sig);
/* sigqueue.c: none of @set is pending for any fiber, or kept, any more. */
void fib_sig_flush_locked(uint64_t set);

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

#endif
