/*
 * Executors and tasks: what they know of each other.
 *
 *	executor.c	any executor: what it has accepted, shutdown
 *	pool.c		threads with a queue: new-thread, async, looper
 *	task.c		tasks, and how they get back to their executor
 *
 * Work
 * ----
 * What an executor executes is a struct fib_work: a function, or the next step
 * of a task. It is counted from when it is accepted until the function
 * returns, or the task ends, however often that waits meanwhile. A shutdown
 * closes the door and waits for the count to become zero; to drop what is
 * queued, it leaves a mark, by which what has not begun ends when its turn
 * comes, without having been called. So nothing is ever taken out of a queue,
 * and tasks that have begun come to their end in both cases: there is no way
 * to take a C function's frames down from outside.
 */
#ifndef FIB_EXECUTOR_H
#define FIB_EXECUTOR_H

#include "libfib/parker.h"

struct fib_work {
	struct fib_list link; /* for a queue of the executor's */
	void (*run)(struct fib_work *w);
	struct fib_executor *ex;
};

#define FIB_EX_CLOSED 1ull
#define FIB_EX_DROP   2ull
#define FIB_EX_ONE    4ull

struct fib_executor {
	struct fib_sched *sched; /* what it is backed by; else: */
	struct fib_executor_ops ops;
	void *self;
	/*
	 * Queue @w from any stack and under any lock, or say false if that
	 * takes more, a new thread say. NULL: it always does.
	 */
	bool (*try_execute)(void *self, struct fib_work *w);
	_Atomic uint32_t refs; /* the program's, and one for each task */
	_Atomic uint64_t load; /* FIB_EX_ONE for each accepted; marks */
	_Atomic long dropped;
	struct fib_lock lock; /* the following, and the end of a shutdown */
	bool ending, ended;
	struct fib_list waiters;
};

/* --- executor.c
 * --------------------------------------------------------------- */

/** Count one more: 0 or -ESHUTDOWN. */
int fib_executor_accept(struct fib_executor *ex);
/** One less. Without a reference, @ex must not be touched after that. */
void fib_executor_release(struct fib_executor *ex);
/** Is what has not begun to be dropped? Counts it then. */
bool fib_executor_drops(struct fib_executor *ex);
void fib_executor_put(struct fib_executor *ex);
/** Hand accepted work over: 0 or what the executor refuses it with. */
int fib_executor_push(struct fib_executor *ex, struct fib_work *w);
/** The work that the caller is part of, or NULL. */
struct fib_work *fib_work_current(void);
/** fib_task_start(), with a callback for its end, called in any case. */
int fib_task_start_then(struct fib_task **out, struct fib_executor *ex,
			long (*fn)(void *), void *arg,
			void (*on_end)(long, void *), void *end_arg);
/** Is the caller a part of @t? */
bool fib_task_is_caller(struct fib_task *t);
/** What executors are given to call; @work is a struct fib_work. */
void fib_work_run(void *work);

#endif
