/*
 * Signals that come while a call ends, to a thread that then makes no more
 * calls until their handlers have run. One handler waits for the other, too.
 * t-case: both
 * t-case: nested
 */
#include "t.h"

/*
 * Under chaos a worker may be taken from who is to send, while the other one spins
 * for a whole tick of the monitor: then as many as there is time for.
 */
enum { ROUNDS = 3000, LEAST = 100 };
#define TIME (4 * T_SEC)

static volatile int rounds = ROUNDS;

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
	for (int i = 1; i <= rounds; i++) {
		ready = i;
		sched_yield();
		while (hits1 < i || hits2 < i)
			;
	}
	return arg;
}

int main(int argc, char **argv)
{
	long long until = t_now() + TIME;
	pthread_t th;

	CHECK(argc == 2);
	nested = argv[1][0] == 'n';
	t_handle(SIGUSR1, on_1, 0);
	t_handle(SIGUSR2, on_2, 0);
	th = t_thread(target, NULL);
	for (int i = 1; i <= rounds; i++) {
		while (ready < i)
			sched_yield();
		if (i >= LEAST && t_now() > until)
			rounds = i;
		CHECK_0(pthread_kill(th, SIGUSR1));
		CHECK_0(pthread_kill(th, SIGUSR2));
	}
	t_join(th);
	CHECK(hits1 == rounds && hits2 == rounds);
	t_say("each of them");
	return 0;
}
