/*
 * A scheduler whose only thread is the caller's: everything runs inside
 * fib_sched_stop(), and then main() goes on.
 *
 * Three contexts take part: main() on the thread's own stack, the scheduler's
 * loop, and each task's fiber.
 */
#include <fib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct fib_sched *sched;
static pthread_t main_thread;

static void child(void *arg)
{
	printf("a child of task %d\n", *(int *)arg);
}

static void task(void *arg)
{
	int *n = arg;

	printf("task %d begins on %s\n", *n,
	       pthread_equal(pthread_self(), main_thread) ? "main's thread" :
							    "another thread");
	if (*n == 1)
		fib_sched_submit(sched, child, n, FIB_ANY_THREAD);
	fib_yield_ready();
	printf("task %d ends\n", *n);
}

int main(void)
{
	int n[3] = { 0, 1, 2 };
	int err;

	main_thread = pthread_self();
	err = fib_sched_create(&sched, 1, true, "caller");
	if (err) {
		fprintf(stderr, "fib_sched_create: %s\n", strerror(-err));
		return 1;
	}
	fib_sched_start(sched);
	for (int i = 0; i < 3; i++)
		fib_sched_submit(sched, task, &n[i], FIB_ANY_THREAD);
	printf("nothing has run yet\n");
	err = fib_sched_stop(sched);
	printf("main goes on, stop returned %d\n", err);
	fib_sched_destroy(sched);
	return 0;
}
