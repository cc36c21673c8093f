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

static inline bool fib_sig_ignored_by_default(int sig)
{
	return sig == SIGCHLD || sig == SIGURG || sig == SIGWINCH ||
	       sig == SIGCONT;
}

#endif
