/*
 * A group: four mirrors are asked for the same page, the first answer is taken, and
 * the others are cancelled. Each has a value of its own, which is freed when its
 * fiber ends, in whichever way.
 */
#include <fib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MS 1000000ull

static unsigned buffer;
static int freed;

static void free_buffer(void *p)
{
	free(p);
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
}

/* Mirror 3 is the nearest; the others take an hour. */
static long ask(void *arg)
{
	intptr_t mirror = (intptr_t)arg;
	int r;

	fib_local_set(buffer, malloc(1000));
	r = fib_sleep(mirror == 3 ? 10 * MS : 3600 * 1000 * MS);
	return r ? r : 200;
}

int main(void)
{
	struct fib_sched *s;
	struct fib_executor *ex;
	struct fib_group *g;
	void *mirror;
	long r, error;

	fib_tell_overflow();
	if (fib_local_create(&buffer, free_buffer) ||
	    fib_sched_create(&s, 2, false, "mirrors") || fib_sched_start(s) ||
	    fib_executor_sched(&ex, s) || fib_group_create(&g, ex))
		return 1;
	for (intptr_t i = 1; i <= 4; i++)
		fib_group_start(g, ask, (void *)i);
	if (fib_group_any(g, &r, &mirror, FIB_NEVER) == 0)
		printf("mirror %d: %ld\n", (int)(intptr_t)mirror, r);
	fib_group_cancel(g);
	fib_group_all(g, &error, FIB_NEVER);
	printf("the others: %ld\n", error);
	fib_group_destroy(g);
	fib_executor_destroy(ex);
	fib_sched_stop(s);
	fib_sched_destroy(s);
	printf("%d buffers freed\n", freed);
	return 0;
}
