/*
 * The overruns of a timer whose signal's handler takes longer than its interval:
 * no expiration is lost, and none is counted twice.
 *
 * t-case: alarm
 * t-case: rt
 */
#include "t.h"

#define INTERVAL (2 * T_MS)
#define WANTED	 200

static timer_t timer;
static volatile long expired;
static volatile sig_atomic_t nested;
static volatile long long ended;
static int expected;

static void on_signal(int sig)
{
	struct itimerspec never = { 0 };
	long long now = t_now();

	CHECK(sig == expected && !nested++);
	expired += 1 + timer_getoverrun(timer);
	if (expired >= WANTED) {
		timer_settime(timer, 0, &never, NULL);
		ended = now;
	}
	while (t_now() < now + 5 * INTERVAL)
		;
	nested--;
}

static void *waits(void *fd)
{
	t_get(*(int *)fd);
	return NULL;
}

int main(int argc, char **argv)
{
	int sig = argc > 1 && !strcmp(argv[1], "rt") ? SIGRTMIN + 2 : SIGALRM;
	long long began, intervals;
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = sig };
	struct itimerspec every = { t_ts(INTERVAL), t_ts(INTERVAL) };
	sigset_t all, old;
	pthread_t th;
	int p[2];

	t_pipe(p);
	sigfillset(&all);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &all, &old));
	th = t_thread(waits, &p[0]);
	CHECK_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
	expected = sig;
	t_handle(sig, on_signal, SA_RESTART);
	CHECK_0(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	began = t_now();
	CHECK_0(timer_settime(timer, 0, &every, NULL));
	while (!ended)
		;
	/* Some may expire between what the kernel counted and the handler. */
	intervals = (ended - began) / INTERVAL;
	CHECK(expired <= intervals && expired >= intervals * 9 / 10);
	t_put(p[1], 'x');
	t_join(th);
	CHECK_0(timer_delete(timer));
	return 0;
}
