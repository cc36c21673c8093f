/*
 * RLIMIT_NOFILE is 0, by which the kernel polls no descriptor at all: a thread
 * that waits costs nothing for all that.
 */
#include "t.h"
#include <sys/resource.h>

enum { WAIT_MS = 500 };

static long long cpu_ns(void)
{
	struct rusage ru;

	CHECK(getrusage(RUSAGE_SELF, &ru) == 0);
	return (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * T_SEC +
	       (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000;
}

static void *waiter(void *arg)
{
	struct rlimit none = { 0, 0 };
	struct timespec ts = t_ts(WAIT_MS * T_MS);
	struct pollfd p = { .fd = -1 };
	long long before;

	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK_ERR(poll(&p, 1, 0), EINVAL);
	before = cpu_ns();
	CHECK_0(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
	CHECK(cpu_ns() - before < WAIT_MS * T_MS / 2);
	return arg;
}

int main(void)
{
	t_join(t_thread(waiter, NULL));
	t_say("waited");
	return 0;
}
