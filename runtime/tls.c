/*
 * The runtime as a library: workers are found through TLS, and have TLS.
 *
 * A fiber that parks may go on in another thread, so no address of a thread
 * variable may live across a park. The compiler does not know that; it knows
 * nothing of what happens in a function that it may not inline, and asks it
 * again each time (qemu's coroutine-tls.h has the story).
 */
#ifndef FIB_PRELOAD
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include "runtime/sched.h"

static __thread struct fib_worker *worker;

__attribute__((noinline)) struct fib_worker *fib_worker_self(void)
{
	__asm__ volatile("");
	return worker;
}

__attribute__((noinline)) struct fib *fib_self(void)
{
	__asm__ volatile("");
	return worker ? worker->cur : NULL;
}

__attribute__((noinline)) void fib_worker_set(struct fib_worker *w)
{
	__asm__ volatile("");
	worker = w;
}

struct start {
	void (*fn)(void *);
	void *arg;
	_Atomic int *tid;
	_Atomic int ready;
};

static void *thread_main(void *arg)
{
	struct start *s = arg;
	void (*fn)(void *) = s->fn;
	void *fn_arg = s->arg;

	fib_store(s->tid, (int)fib_raw(SYS_gettid), relaxed);
	/* Once ready is seen, the starter's frame is gone. */
	fib_store(&s->ready, 1, release);
	fib_raw(SYS_futex, &s->ready, FUTEX_WAKE_PRIVATE, 1);
	fn(fn_arg);
	return NULL;
}

void fib_thread_end(void)
{
	pthread_exit(NULL);
}

long fib_thread_start(void *stack_top, _Atomic int *tid, void (*fn)(void *),
		      void *arg)
{
	struct start s = { .fn = fn, .arg = arg, .tid = tid };
	sigset_t all, old;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, thread_main, &s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r)
		return -r;
	pthread_detach(thread);
	while (!fib_load(&s.ready, acquire))
		fib_raw(SYS_futex, &s.ready, FUTEX_WAIT_PRIVATE, 0, 0);
	return fib_load(tid, relaxed);
}
#endif
