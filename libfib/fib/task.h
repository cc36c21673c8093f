/*
 * Executors, tasks, groups of tasks.
 * A part of fib.h, which is to be included: its conventions hold.
 */
#ifndef FIB_TASK_H
#define FIB_TASK_H

#ifndef FIB_H
#error "include <fib.h>"
#endif

/* --- executors ----------------------------------------------------------------- */

/* Something that executes functions, in a place and order of its own. */
struct fib_executor;

/* One that the program makes. */
struct fib_executor_ops {
	/*
	 * Have @fn(@arg) called once: 0 or -errno. Any thread; for the later
	 * steps of tasks a thread of the library's, which it should not hold
	 * up. Such a step is offered again if it is refused with -EAGAIN or
	 * -ENOMEM; any other error ends the task with -ECANCELED, and its stack
	 * is not given back.
	 */
	int (*execute)(void *self, void (*fn)(void *), void *arg);
	/* Once, after all has been executed. NULL: there is nothing to do. */
	void (*destroy)(void *self);
};

/** An executor from @ops and @self. 0, -EINVAL, -ENOMEM. */
FIB_API int fib_executor_create(struct fib_executor **out,
				const struct fib_executor_ops *ops, void *self);
/** Each function in a new thread. */
FIB_API int fib_executor_new_thread(struct fib_executor **out);
/**
 * A pool for work that blocks: up to @max threads, started as they are needed
 * and ended after a while without work. What comes on top is queued.
 */
FIB_API int fib_executor_async(struct fib_executor **out, unsigned max);
/** One thread called @name (NULL: "fib-looper"), in the order of submission. */
FIB_API int fib_executor_looper(struct fib_executor **out, const char *name);
/** Fibers of @s, which outlives the executor, and runs until it has ended. */
FIB_API int fib_executor_sched(struct fib_executor **out, struct fib_sched *s);

/** 0; -ESHUTDOWN: it was shut down; -EAGAIN, -ENOMEM, or its own error. */
FIB_API int fib_executor_execute(struct fib_executor *ex, void (*fn)(void *),
				 void *arg);
/**
 * fib_executor_shutdown - take no more work
 * @drain:	what is queued is still executed; else it is dropped
 *
 * What has begun comes to its end in both cases, tasks that wait included.
 * Tasks that an executor drops end with -ECANCELED. Returns when its threads
 * have ended. The number dropped; -EDEADLK: from what it executes.
 */
FIB_API long fib_executor_shutdown(struct fib_executor *ex, bool drain);
/** Shut down (with drain) where that was not done, and free. 0, -EDEADLK. */
FIB_API int fib_executor_destroy(struct fib_executor *ex);

/* --- tasks ----------------------------------------------------------------------- */

/*
 * A task is a fiber that is bound to an executor: it starts there, and after
 * each call that waits it goes on there. Its result is a long; below 0 it is an
 * error, a negative errno value, which who awaits it gets.
 */
struct fib_task;

/**
 * fib_task_start - run @fn(@arg) as a task on @ex
 * @out:	to await it; NULL: nobody will. With a handle, fib_task_put().
 *
 * 0, -EINVAL, -ENOMEM, and what the executor refuses it with.
 */
FIB_API int fib_task_start(struct fib_task **out, struct fib_executor *ex,
			   long (*fn)(void *), void *arg);
/** Give the handle back; the task goes on. */
FIB_API void fib_task_put(struct fib_task *t);
/**
 * Wait for @t to end: its result. For tasks, fibers and threads; several may.
 * A task that awaits itself, or a callback of its, gets -EDEADLK.
 */
FIB_API long fib_task_await(struct fib_task *t);
/** The same; -ETIMEDOUT is the caller's then, and the task goes on. */
FIB_API int fib_task_await_for(struct fib_task *t, uint64_t timeout_ns,
			       long *result);
/**
 * Call @fn(result, @arg) on the task's executor when it has ended: then if the
 * result is >= 0, catch if it is below, finally in both cases. In the order in
 * which they were added, before those who await the task go on. Once it has
 * ended, it is called as soon as may be. 0, -EINVAL, -ENOMEM, and then also what
 * the executor refuses it with.
 */
FIB_API int fib_task_then(struct fib_task *t, void (*fn)(long, void *),
			  void *arg);
FIB_API int fib_task_catch(struct fib_task *t, void (*fn)(long, void *),
			   void *arg);
FIB_API int fib_task_finally(struct fib_task *t, void (*fn)(long, void *),
			     void *arg);
/**
 * fib_task_cancel - fib_cancel(), for a task: its function sees to its end. One
 * that has not begun ends with -ECANCELED. Callbacks are called as ever, and may
 * wait. 0, also where it has ended; -EINVAL.
 */
FIB_API int fib_task_cancel(struct fib_task *t);
/** The calling task's executor, or NULL. */
FIB_API struct fib_executor *fib_task_executor(void);

/* --- groups ---------------------------------------------------------------------- */

/* Tasks that are started one by one, and awaited and cancelled together. */
struct fib_group;

/** A group of tasks on @ex, which outlives it. 0, -EINVAL, -ENOMEM. */
FIB_API int fib_group_create(struct fib_group **out, struct fib_executor *ex);
/**
 * Cancel those that run, wait for them to end, and free the group: no cancellation
 * point. 0; -EDEADLK: from one of its own; -EINVAL.
 */
FIB_API int fib_group_destroy(struct fib_group *g);
/**
 * Start a member, as fib_task_start() does; a member may start others. 0;
 * -ECANCELED: the group is cancelled; what fib_task_start() says.
 */
FIB_API int fib_group_start(struct fib_group *g, long (*fn)(void *), void *arg);
/**
 * Wait until no member runs. *@error, unless NULL, is the first result below 0 that
 * any has ended with, or 0. 0, -ETIMEDOUT, -EINVAL, -ENOMEM; -EDEADLK: from one of
 * its own.
 */
FIB_API int fib_group_all(struct fib_group *g, long *error,
			  uint64_t timeout_ns);
/**
 * Wait until one has ended, which nobody has been told of: each is told once, in
 * the order of their ends, as *@result and the *@arg that it was started with.
 * 0; -ENOENT: there is none any more; -ETIMEDOUT, -EINVAL, -ENOMEM.
 */
FIB_API int fib_group_any(struct fib_group *g, long *result, void **arg,
			  uint64_t timeout_ns);
/** fib_task_cancel() for each that runs, and no more are started. 0, -EINVAL. */
FIB_API int fib_group_cancel(struct fib_group *g);

#endif
