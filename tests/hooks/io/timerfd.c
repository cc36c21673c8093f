/* timerfd: one shot, periodic, absolute, several readers, nonblocking. */
#include "t.h"
#include <sys/timerfd.h>

static void *one(void *arg)
{
	uint64_t v;

	CHECK(read(*(int *)arg, &v, sizeof(v)) == sizeof(v));
	return (void *)(intptr_t)v;
}

int main(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec it = { { 0, 0 }, { 0, 30 * T_MS } };
	long long t0;
	pthread_t th[3];
	uint64_t v, sum = 0;

	CHECK(fd >= 0);
	t0 = t_now();
	CHECK(timerfd_settime(fd, 0, &it, NULL) == 0);
	CHECK((intptr_t)t_join(t_thread(one, &fd)) == 1);
	T_TOOK(t0, 30 * T_MS);
	t_say("one shot");

	it = (struct itimerspec){ { 0, 5 * T_MS }, { 0, 5 * T_MS } };
	t0 = t_now();
	CHECK(timerfd_settime(fd, 0, &it, NULL) == 0);
	while (sum < 10) {
		CHECK(read(fd, &v, sizeof(v)) == sizeof(v));
		CHECK(v >= 1);
		sum += v;
	}
	T_TOOK(t0, 50 * T_MS);
	t_say("periodic");
	for (int i = 0; i < 3; i++)
		th[i] = t_thread(one, &fd);
	for (int i = 0; i < 3; i++)
		CHECK((intptr_t)t_join(th[i]) >= 1);
	t_say("three readers, each got a tick");

	it = (struct itimerspec){ { 0, 0 }, t_in(CLOCK_MONOTONIC, 20 * T_MS) };
	t0 = t_now();
	CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME, &it, NULL) == 0);
	CHECK((intptr_t)t_join(t_thread(one, &fd)) == 1);
	T_TOOK(t0, 19 * T_MS);
	t_say("absolute");

	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERR(read(fd, &v, sizeof(v)), EAGAIN);
	t_say("nonblocking: EAGAIN");
	return 0;
}
