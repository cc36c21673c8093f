/*
 * Threads with a queue: the executors that have threads of their own.
 *
 *			threads		one without work
 *	new-thread	no limit	ends, even if there is more to do
 *	async		@max		ends after @keep_ns
 *	looper		1		waits
 *
 * A thread that has nothing to do lies in a list, and what comes is handed to
 * the one that lay down last, which is still warm. The queue is not empty only
 * while no thread is idle and there are as many as may be.
 */
#ifndef FIB_POOL_H
#define FIB_POOL_H

#include "libfib/executor.h"

/** @keep_ns 0: each thread runs one work. NULL: no memory. */
struct fib_pool *fib_pool_create(unsigned max, uint64_t keep_ns,
				 const char *name);
/** See struct fib_executor. */
bool fib_pool_try(void *self, struct fib_work *w);
/* execute takes struct fib_work alone; destroy frees the pool. */
extern const struct fib_executor_ops fib_pool_ops;

#endif
