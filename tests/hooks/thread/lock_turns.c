/*
 * A thread that makes all its calls while it holds a lock, and locks again as
 * soon as it has unlocked: others get the lock in between, also where they have
 * one processor with it, and its turns end where it has the lock.
 *
 * t-case: mutex
 * t-case: signals
 */
#include "t.h"

#include <stdbool.h>

enum { N = 4, ROUNDS = 3, CALLS = 100 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int ready, left = N;
static bool signals;

static void *waits(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		CHECK_0(pthread_mutex_lock(&mu));
		while (signals && !ready)
			CHECK_0(pthread_cond_wait(&cond, &mu));
		ready = 0;
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	CHECK_0(pthread_mutex_lock(&mu));
	left--;
	CHECK_0(pthread_mutex_unlock(&mu));
	return arg;
}

int main(int argc, char **argv)
{
	int fd = open("/dev/null", O_WRONLY);
	pthread_t t[N];
	bool go_on;

	CHECK(argc == 2 && fd >= 0);
	signals = !strcmp(argv[1], "signals");
	CHECK_0(pthread_mutex_lock(&mu));
	for (int i = 0; i < N; i++)
		t[i] = t_thread(waits, NULL);
	do {
		for (int i = 0; i < CALLS; i++)
			CHECK(write(fd, ".", 1) == 1);
		CHECK_0(pthread_mutex_unlock(&mu));
		CHECK_0(pthread_mutex_lock(&mu));
		go_on = left > 0;
		ready = 1;
		if (signals)
			CHECK_0(pthread_cond_signal(&cond));
	} while (go_on);
	CHECK_0(pthread_mutex_unlock(&mu));
	for (int i = 0; i < N; i++)
		t_join(t[i]);
	t_say("all had it");
	return 0;
}
