/*
 * Fibers of the runtime as a library: a function on a stack of its own. They
 * share the TLS of whatever worker they run on. Not in the preload build,
 * where fibers are the program's threads.
 */
#ifndef FIB_SPAWN_H
#define FIB_SPAWN_H

#include "runtime/sched.h"

/**
 * A runnable fiber that calls @fn(@arg) on @stack_size bytes above a guard
 * page, and ends when that returns. NULL: no memory. Any thread, any stack,
 * once the scheduler is started.
 */
struct fib *fib_spawn(void (*fn)(void *), void *arg, size_t stack_size);
/** struct fib_host.fiber_exit of such fibers. */
void fib_spawn_exit(struct fib *f);

#endif
