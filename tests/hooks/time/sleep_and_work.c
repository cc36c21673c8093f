/* Sleepers are on time while other threads compute without a break. */
#include "t.h"

static volatile int stop;

static void *compute(void *arg)
{
	volatile unsigned x = 1;

	while (!stop)
		x = x * 1664525u + 1013904223u;
	return arg;
}

static void *sleeper(void *arg)
{
	for (int i = 0; i < 5; i++) {
		struct timespec ts = { 0, 20 * T_MS };
		long long t0 = t_now();

		CHECK(nanosleep(&ts, NULL) == 0);
		T_TOOK(t0, 20 * T_MS);
	}
	return arg;
}

int main(void)
{
	pthread_t c[3], s[4];

	for (int i = 0; i < 3; i++)
		c[i] = t_thread(compute, NULL);
	for (int i = 0; i < 4; i++)
		s[i] = t_thread(sleeper, NULL);
	for (int i = 0; i < 4; i++)
		t_join(s[i]);
	stop = 1;
	for (int i = 0; i < 3; i++)
		t_join(c[i]);
	t_say("on time beside computing threads");
	return 0;
}
