/*
 * Processes: fork, exec, exit (process.c), waiting for children (children.c),
 * set*id on all kernel threads (identity.c), seccomp filters (filter.c), prctl
 * (prctl.c).
 *
 * change_lock (identity.c) is held over a whole change of identity; under it
 * comes workers_lock of the scheduler.
 */
#ifndef FIB_PROCESS_H
#define FIB_PROCESS_H

#include "runtime/sched.h"

/** clone, clone3 and fork from where no fiber is: regs->rax is set. */
bool fib_clone_foreign(struct fib_regs *regs);
/** The name that ps shows. Before the start, or for main. */
void fib_set_process_name(const char *name);

/* --- identity.c ------------------------------------------------------------- */

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

/* --- filter.c --------------------------------------------------------------- */

struct fib_filter_report {
	const char *call; /* that is denied, or kills; NULL: it has no name */
	bool killed;	  /* not only denied */
	bool may_log;	  /* write and fstat do not kill */
	bool may_ask;	  /* fib_fd_may_ask */
	bool may_end;	  /* with @nr: nor does exit_group, nor another try */
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

#endif
