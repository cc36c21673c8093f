/* Clocks of threads and of the process keep going the right way. */
#include "t.h"

static void *spin(void *arg)
{
	long long a = t_now_on(CLOCK_THREAD_CPUTIME_ID), b = a;
	long long p = t_now_on(CLOCK_PROCESS_CPUTIME_ID);

	while (b - a < 20 * T_MS)
		b = t_now_on(CLOCK_THREAD_CPUTIME_ID);
	CHECK(t_now_on(CLOCK_PROCESS_CPUTIME_ID) > p);
	return arg;
}

int main(void)
{
	pthread_t th[3];
	long long m = 0, r = 0;

	for (int i = 0; i < 3; i++)
		th[i] = t_thread(spin, NULL);
	for (int i = 0; i < 3; i++)
		t_join(th[i]);
	for (int i = 0; i < 1000; i++) {
		long long m2 = t_now_on(CLOCK_MONOTONIC),
			  r2 = t_now_on(CLOCK_REALTIME);

		CHECK(m2 >= m);
		CHECK(r2 > 0 && r >= 0);
		m = m2;
		r = r2;
		sched_yield();
	}
	t_say("clocks advance");
	return 0;
}
