/* Every sleeping call: not too early, not 200 ms late; errors at once. */
#include "t.h"

static void *check(void *arg)
{
	struct timespec ts = { 0, 20 * T_MS }, rem = { 77, 77 };
	long long t0 = t_now();

	CHECK(nanosleep(&ts, NULL) == 0);
	T_TOOK(t0, 20 * T_MS);
	t0 = t_now();
	CHECK(nanosleep(&ts, &rem) == 0);
	T_TOOK(t0, 20 * T_MS);
	CHECK(rem.tv_sec == 77);
	t0 = t_now();
	CHECK(usleep(20000) == 0);
	T_TOOK(t0, 20 * T_MS);
	t0 = t_now();
	CHECK_0(clock_nanosleep(CLOCK_REALTIME, 0, &ts, NULL));
	T_TOOK(t0, 20 * T_MS);
	t0 = t_now();
	CHECK_0(clock_nanosleep(CLOCK_BOOTTIME, 0, &ts, NULL));
	T_TOOK(t0, 20 * T_MS);
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC,
					    CLOCK_BOOTTIME, CLOCK_TAI };
	for (size_t i = 0; i < T_LEN(clocks); i++) {
		t0 = t_now();
		ts = t_in(clocks[i], 20 * T_MS);
		CHECK_0(clock_nanosleep(clocks[i], TIMER_ABSTIME, &ts, NULL));
		T_TOOK(t0, 20 * T_MS - 100000);
	}
	ts = t_in(CLOCK_MONOTONIC, -T_SEC);
	t0 = t_now();
	CHECK_0(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL));
	T_TOOK(t0, 0);
	ts = t_ts(0);
	CHECK(nanosleep(&ts, NULL) == 0);
	CHECK(sleep(0) == 0);
	CHECK(usleep(0) == 0);
	ts.tv_nsec = 1000000000;
	CHECK_ERR(nanosleep(&ts, NULL), EINVAL);
	CHECK_RC(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL), EINVAL);
	ts = (struct timespec){ -1, 0 };
	CHECK_ERR(nanosleep(&ts, NULL), EINVAL);
	CHECK_RC(clock_nanosleep(999, 0, &ts, NULL), EINVAL);
	CHECK_RC(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &ts, NULL),
		 EINVAL);
	struct timespec *volatile bad = (struct timespec *)16;
	CHECK_ERR(nanosleep(bad, NULL), EFAULT);
	return arg;
}

static void *second(void *arg)
{
	long long t0 = t_now();

	CHECK(sleep(1) == 0);
	T_TOOK(t0, T_SEC);
	return arg;
}

int main(void)
{
	pthread_t th[12];

	check(NULL);
	t_say("main");
	for (int i = 0; i < 8; i++)
		th[i] = t_thread(check, NULL);
	for (int i = 8; i < 12; i++)
		th[i] = t_thread(second, NULL);
	check(NULL);
	for (int i = 0; i < 12; i++)
		t_join(th[i]);
	t_say("threads");
	return 0;
}
