/*
 * Functions that a library behind this one has in libc's place are called, by threads
 * as well: read, write, poll, nanosleep. Two threads take turns in each.
 */
#include "t.h"
#include <poll.h>

#define TURNS 100

int shimlib_calls(void);

static int ring[2][2];

static void *turns(void *arg)
{
	int me = (int)(intptr_t)arg;
	struct pollfd p = { ring[me][0], POLLIN, 0 };
	struct timespec ts = t_ts(1000);
	char c;

	for (int i = 0; i < TURNS; i++) {
		if (i % 2)
			CHECK(poll(&p, 1, -1) == 1);
		CHECK(read(ring[me][0], &c, 1) == 1);
		CHECK(nanosleep(&ts, NULL) == 0);
		CHECK(write(ring[!me][1], &c, 1) == 1);
	}
	return NULL;
}

int main(void)
{
	long long t0;
	struct timespec ts = t_ts(400 * T_MS);
	pthread_t th[2];

	t_pipe(ring[0]);
	t_pipe(ring[1]);
	CHECK(write(ring[0][1], "x", 1) == 1);
	CHECK(shimlib_calls() == 1);
	for (int i = 0; i < 2; i++)
		th[i] = t_thread(turns, (void *)(intptr_t)i);
	for (int i = 0; i < 2; i++)
		t_join(th[i]);
	t_say("%d calls", shimlib_calls());
	t0 = t_now();
	CHECK(nanosleep(&ts, NULL) == 0);
	T_TOOK(t0, 200 * T_MS);
	t_say("half of it");
	return 0;
}
