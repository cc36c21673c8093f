/*
 * Signals that come while a call ends, to a thread that then makes no more
 * calls until their handlers have run. One handler waits for the other, too.
 * t-case: both
 * t-case: nested
 */
#include "t.h"

enum { ROUNDS = 3000 };

static volatile int ready, hits1, hits2, nested;

static void on_1(int sig)
{
	(void)sig;
	hits1++;
	while (nested && hits2 < hits1)
		;
}

static void on_2(int sig)
{
	(void)sig;
	hits2++;
}

static void *target(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++) {
		ready = i;
		sched_yield();
		while (hits1 < i || hits2 < i)
			;
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th;

	CHECK(argc == 2);
	nested = argv[1][0] == 'n';
	t_handle(SIGUSR1, on_1, 0);
	t_handle(SIGUSR2, on_2, 0);
	th = t_thread(target, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		while (ready < i)
			sched_yield();
		CHECK_0(pthread_kill(th, SIGUSR1));
		CHECK_0(pthread_kill(th, SIGUSR2));
	}
	t_join(th);
	t_say("%d %d", hits1, hits2);
	return 0;
}
