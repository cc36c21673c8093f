/* A thousand sleepers at once, each with its own time, each on time. */
#include "t.h"

enum { N = 1000 };

static long long start;

static void *sleeper(void *arg)
{
	long long want = (1 + (intptr_t)arg * 7919 % 300) * T_MS;
	struct timespec ts = t_ts(start + want);

	for (int i = 0; i < 2; i++) {
		CHECK_0(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts,
					NULL));
		T_TOOK(start, want);
		want += 100 * T_MS;
		ts = t_ts(start + want);
	}
	return NULL;
}

int main(void)
{
	static pthread_t th[N];

	start = t_now() + 100 * T_MS;
	for (int i = 0; i < N; i++)
		th[i] = t_small_thread(sleeper, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d sleepers", N);
	return 0;
}
