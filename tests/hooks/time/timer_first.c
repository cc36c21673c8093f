/*
 * A timer on its CPU clock that main has made before there is another thread: it
 * counts what main uses, and not what others do. There are many timers.
 */
#include "t.h"

enum { MANY = 60 };

static volatile int came;

static void handler(int sig)
{
	(void)sig;
	came++;
}

static void *use_cpu(void *arg)
{
	long long end = t_now() + 200 * T_MS;

	while (t_now() < end)
		;
	return arg;
}

int main(void)
{
	struct sigevent ev = { .sigev_notify = SIGEV_NONE };
	struct itimerspec its = { t_ts(10 * T_MS), t_ts(10 * T_MS) };
	timer_t timer, other;
	pthread_t th[2];

	for (int i = 0; i < MANY; i++)
		CHECK(timer_create(CLOCK_MONOTONIC, &ev, &other) == 0);
	ev.sigev_notify = SIGEV_SIGNAL;
	ev.sigev_signo = SIGUSR1;
	t_handle(SIGUSR1, handler, SA_RESTART);
	CHECK(timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &timer) == 0);
	CHECK(timer_settime(timer, 0, &its, NULL) == 0);
	for (int i = 0; i < 2; i++)
		th[i] = t_thread(use_cpu, NULL);
	for (int i = 0; i < 2; i++)
		t_join(th[i]);
	/* Threads are created, and joined, in some CPU time as well. */
	CHECK(came <= 2);
	while (came < 5)
		use_cpu(NULL);
	CHECK(timer_delete(timer) == 0);
	t_say("counted for main alone");
	return 0;
}
