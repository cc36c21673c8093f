/*
 * The threads of the program: which fiber has which id, how many there are, which
 * of them are unlike the others.
 *
 * A mutex that is shared between processes and knows its owner (robust, PI,
 * recursive, error-checking) gives the id to other processes and to the kernel,
 * which looks for it when a process dies. Once the program makes an attribute
 * for such a mutex, new threads are dedicated and have the id of their kernel
 * thread; main, if it is on the first one, becomes so as well. The others keep
 * what they have.
 *
 * A fiber that is apart has a kernel thread to itself (sched.h, "Dedicated
 * fibers") and attributes of its own. No locks: counters and flags are atomic.
 * Any thread may ask; what is said of the caller is for a fiber in a hook.
 */
#ifndef FIB_THREADS_H
#define FIB_THREADS_H

#include "runtime/sched.h"

/** The program's first thread; NULL when it has ended. */
extern struct fib *fib_main_fiber;

void fib_tids_init(void);
/** The fiber with that id, or NULL. */
struct fib *fib_by_tid(int tid);
/**
 * Is @tid of one that is at its very end: not to be found any more, but libc does not know
 * yet? The kernel still knows such a thread, and does to it what is asked.
 */
bool fib_ends_now(int tid);
/** The caller's id. */
static inline int fib_own_tid(void)
{
	return fib_load(&fib_self()->tid, relaxed);
}
/** The id for @f, which is about to begin. */
int fib_new_tid(const struct fib *f);
/** New threads have ids that the kernel knows. Any thread. */
void fib_tids_real(bool active);
bool fib_tids_are_real(void);

/** @f, which has its id, is about to run. */
void fib_thread_began(const struct fib *f);
/** The caller is about to let go who waits for its end. Is it the last one? */
bool fib_thread_is_last(void);
/** @f has no id any more. */
void fib_thread_ended(const struct fib *f);
/** Fibers of the program that have not ended. */
int fib_threads_live(void);

/**
 * Bind the caller to a kernel thread that is unlike the others, or will be: 0 or
 * -errno. What it creates inherits from that one.
 */
int fib_dedicate(void);
/** @f, which is bound and does not end meanwhile, is unlike the others. */
void fib_set_apart(struct fib *f);
/** The kernel's id of a thread that is not dedicated; 0: there is none. */
int fib_common_tid(void);
/** Has the caller a higher priority than those have? */
bool fib_is_above(void);
/**
 * The caller, an event loop, has a kernel thread to itself from now on; unless there
 * are very many such, or no thread is to be had.
 */
void fib_bind_loop(void);
/** How many more there may be. */
int fib_loops_left(void);
/** The caller has changed what its kernel thread may do. */
void fib_rights_changed(void);
/** Are the other kernel threads to be replaced by such as may do no more? */
bool fib_threads_renew(void);
/**
 * The caller's kernel thread is under a filter from now on, which others are not
 * under. @strict: read, write, exit and sigreturn are left (SECCOMP_MODE_STRICT).
 * @confines: kernel threads of ours could not live under it, or that is not known.
 */
void fib_filter_used(bool strict, bool confines);

#endif
