/*
 * Timers that run a function in a thread, in a process that has had some, and in its
 * fork child, where the kernel gives the same ids again.
 */
#include "t.h"

static sem_t ended;
static volatile int value;

static void on_end(union sigval v)
{
	value = v.sival_int;
	CHECK(sem_post(&ended) == 0);
}

static void expires(int n)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = on_end,
			       .sigev_value.sival_int = n };
	struct itimerspec it = { .it_value = { 0, T_MS } };
	struct timespec limit = t_in(CLOCK_REALTIME, 8 * T_SEC);
	timer_t t;

	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &t) == 0);
	CHECK(timer_settime(t, 0, &it, NULL) == 0);
	while (sem_timedwait(&ended, &limit))
		CHECK(errno == EINTR);
	CHECK(value == n);
}

int main(void)
{
	pid_t pid;

	CHECK(sem_init(&ended, 0, 0) == 0);
	expires(1);
	expires(2);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		expires(3);
		expires(4);
		_exit(0);
	}
	t_wait_ok(pid);
	expires(5);
	return 0;
}
