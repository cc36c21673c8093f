/* See kinds.h. */
#include <pthread.h>
#include <stdlib.h>
#include "tests/libfib/kinds.h"

/* An executor of the program's own: a thread for each step, called "own". */
struct call {
	void (*fn)(void *);
	void *arg;
};

static void *own_thread(void *arg)
{
	struct call c = *(struct call *)arg;

	free(arg);
	pthread_setname_np(pthread_self(), "own");
	c.fn(c.arg);
	return NULL;
}

static _Atomic int own_refuses, own_error;

void own_refuse(int times, int error)
{
	own_error = error;
	own_refuses = times;
}

static int own_execute(void *self, void (*fn)(void *), void *arg)
{
	struct call *c = malloc(sizeof(*c));
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	/* so many times, from now on */
	if (own_refuses && atomic_fetch_sub(&own_refuses, 1) > 0) {
		free(c);
		return own_error;
	}
	c->fn = fn;
	c->arg = arg;
	/* Detached from the start: the process may end before it is. */
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, own_thread, c);
	pthread_attr_destroy(&attr);
	return r ? -EAGAIN : 0;
}

static const struct fib_executor_ops own_ops = { .execute = own_execute };
static const char *const prefix[KINDS] = { "fib-thread", "fib-async", "loop",
					   "test_", "own" };

struct fib_executor *make(enum kind kind, struct fib_sched *sched)
{
	struct fib_executor *e = NULL;

	switch (kind) {
	case NEW_THREAD:
		OK(fib_executor_new_thread(&e));
		break;
	case ASYNC:
		OK(fib_executor_async(&e, 2));
		break;
	case LOOPER:
		OK(fib_executor_looper(&e, "loop"));
		break;
	case SCHED:
		OK(fib_executor_sched(&e, sched));
		break;
	default:
		OK(fib_executor_create(&e, &own_ops, NULL));
	}
	return e;
}

void here(enum kind kind)
{
	char name[16];

	pthread_getname_np(pthread_self(), name, 16);
	ck_assert_msg(strncmp(name, prefix[kind], strlen(prefix[kind])) == 0,
		      "on %s, not on %s", name, prefix[kind]);
}
