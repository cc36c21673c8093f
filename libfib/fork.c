/*
 * fork(2). The child has the calling thread alone, so whatever needs another
 * one is gone: the schedulers of the parent, and what runs on them. The child
 * may make new ones. What all threads share is locked around the fork, or made
 * anew; the memory of a scheduler that is gone stays, for at that instant it may
 * have been anything.
 *
 * A fiber of a scheduler that has forked goes on in the child as the thread's own
 * flow of control, as a thread does, and when it returns the process ends.
 */
#include <pthread.h>
#include "runtime/futex.h"
#include "libfib/lib.h"
#include "runtime/stack.h"

static void lock_all(void)
{
	fib_scheds_lock();
	fib_slab_lock();
	fib_stack_lock();
}

static void unlock_all(void)
{
	fib_stack_unlock();
	fib_slab_unlock();
	fib_scheds_unlock();
}

static void in_child(void)
{
	fib_locks_forget();
	fib_futex_reset();
	fib_thread_forked();
	fib_tasks_forked();
	fib_scheds_forked();
	unlock_all();
}

__attribute__((constructor)) static void init(void)
{
	pthread_atfork(lock_all, unlock_all, in_child);
}
