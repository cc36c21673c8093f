/*
 * A thread that takes a semaphore again as soon as it has given it back, and sleeps while it
 * has it: others that wait get it in between, also where they have one processor with it.
 *
 * t-case: wait
 * t-case: timed
 */
#include "t.h"

#include <stdbool.h>

enum { N = 4, ROUNDS = 3 };

static sem_t sem;
static int left = N; /* the semaphore's */
static bool timed;

static void take(void)
{
	struct timespec ts = { .tv_sec = 1l << 32 };

	CHECK_0(timed ? sem_timedwait(&sem, &ts) : sem_wait(&sem));
}

static void *waits(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		take();
		left -= i == ROUNDS - 1;
		CHECK_0(sem_post(&sem));
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[N];
	bool go_on;

	CHECK(argc == 2);
	timed = !strcmp(argv[1], "timed");
	CHECK_0(sem_init(&sem, 0, 0));
	for (int i = 0; i < N; i++)
		t[i] = t_thread(waits, NULL);
	do {
		/* It has work to do, by the clock: others run, and find nothing. */
		CHECK_0(usleep(1000));
		go_on = left > 0;
		CHECK_0(sem_post(&sem));
		take();
	} while (go_on);
	for (int i = 0; i < N; i++)
		t_join(t[i]);
	t_say("all had it");
	return 0;
}
