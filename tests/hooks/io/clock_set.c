/*
 * TFD_TIMER_CANCEL_ON_SET: who waits for a timer of CLOCK_REALTIME gets ECANCELED
 * when that clock is set. Here it is, by a nanosecond and back.
 */
#include "../calls.h"
#include <sys/timerfd.h>
#include <sys/timex.h>

static long ticks(void *fd)
{
	uint64_t n;
	long r = read(*(int *)fd, &n, sizeof(n));

	return r == sizeof(n) ? (long)n : r;
}

static long watch(void *fd)
{
	struct pollfd p = { *(int *)fd, POLLIN, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

static int set_clock(long ns)
{
	struct timex t = { .modes = ADJ_SETOFFSET | ADJ_NANO };

	t.time.tv_sec = ns < 0 ? -1 : 0;
	t.time.tv_usec = ns < 0 ? ns + T_SEC : ns;
	return adjtimex(&t) < 0 ? -1 : 0;
}

static void far(int fd)
{
	struct itimerspec it = { .it_value =
					 t_in(CLOCK_REALTIME, 1000 * T_SEC) };

	CHECK(timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
			      &it, NULL) == 0);
}

int main(void)
{
	int fd = timerfd_create(CLOCK_REALTIME, 0);
	int other = timerfd_create(CLOCK_REALTIME, 0);
	struct itimerspec it = { .it_value = { 1000, 0 } };
	struct t_call c, p, d;

	CHECK(timerfd_settime(other, 0, &it, NULL) == 0);
	if (set_clock(1))
		t_skip("the clock may not be set here");
	CHECK(set_clock(-1) == 0);
	far(fd);
	t_begin(&c, ticks, &fd);
	t_begin(&d, watch, &other);
	t_waits(&c);
	CHECK(set_clock(1) == 0);
	t_ended("who reads", &c);
	t_waits(&d);
	t_say("the other timer goes on");
	far(fd);
	t_begin(&p, watch, &fd);
	t_waits(&p);
	CHECK(set_clock(-1) == 0);
	t_ended("who polls", &p);
	T_RESULT("who comes later", ticks(&fd));
	t_begin(&c, ticks, &fd);
	t_waits(&c);
	it.it_value = t_ts(T_MS);
	CHECK(timerfd_settime(other, 0, &it, NULL) == 0);
	t_ended("the other, in the end", &d);
	CHECK(timerfd_settime(fd, 0, &it, NULL) == 0);
	t_ended("armed anew", &c);
	return 0;
}
