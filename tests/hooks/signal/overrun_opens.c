/*
 * A timer goes off time and again while its signal is blocked, and goes on when the mask
 * opens: no overrun is lost between its signals.
 */
#include "t.h"

#define ROUNDS	100
#define EACH_NS 30000
#define BLOCKED (3 * T_MS)

static timer_t timer;
static volatile int sum;

static void handler(int sig)
{
	(void)sig;
	sum += 1 + timer_getoverrun(timer);
}

int main(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGUSR1 };
	struct itimerspec its = { t_ts(EACH_NS), t_ts(EACH_NS) };
	struct itimerspec stop = { t_ts(0), t_ts(0) };
	sigset_t set, old;

	t_be_threaded();
	t_handle(SIGUSR1, handler, 0);
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	CHECK(sigemptyset(&set) == 0);
	CHECK(sigaddset(&set, SIGUSR1) == 0);
	for (int i = 0; i < ROUNDS; i++) {
		long long end;

		sum = 0;
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, &old));
		CHECK(timer_settime(timer, 0, &its, NULL) == 0);
		end = t_now() + BLOCKED;
		while (t_now() < end)
			;
		CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
		CHECK(sum >= BLOCKED / EACH_NS - 1);
		CHECK(timer_settime(timer, 0, &stop, NULL) == 0);
	}
	t_say("%d rounds", ROUNDS);
	return 0;
}
