/*
 * A timer whose signal is ignored when it expires: what comes of it when the signal has a
 * handler again. Linux 6.13 and later put a periodic one by until then, others do not.
 *
 * t-case: process
 * t-case: thread
 */
#include "t.h"

#define LONG 1000 /* seconds: it expires once */

static volatile int hits, overrun;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	hits++;
	overrun = info->si_overrun;
}

static void expire(timer_t timer, time_t interval)
{
	struct itimerspec it = { .it_value = { 0, 1 },
				 .it_interval = { interval, 0 } };

	CHECK(timer_settime(timer, 0, &it, NULL) == 0);
	do
		CHECK(timer_gettime(timer, &it) == 0);
	while (interval ? it.it_value.tv_sec < 1 : it.it_value.tv_nsec != 0);
}

static int pends(int sig)
{
	sigset_t set;

	CHECK(sigpending(&set) == 0);
	return sigismember(&set, sig);
}

static void *run(void *thread)
{
	struct sigaction handled = { .sa_sigaction = on_signal,
				     .sa_flags = SA_SIGINFO };
	struct sigaction ignored = { .sa_handler = SIG_IGN };
	struct sigevent ev = { .sigev_signo = SIGUSR1 };
	sigset_t set;
	timer_t timer;

	ev.sigev_notify = thread ? SIGEV_THREAD_ID : SIGEV_SIGNAL;
	ev._sigev_un._tid = gettid();
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	for (int periodic = 0; periodic <= 1; periodic++) {
		hits = 0;
		CHECK(sigaction(SIGUSR1, &ignored, NULL) == 0);
		expire(timer, periodic * LONG);
		CHECK(sigaction(SIGUSR1, &handled, NULL) == 0);
		t_say("periodic %d: handled %d, overrun %d", periodic, hits,
		      overrun);
	}
	/* It pends when it becomes ignored. */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int periodic = 0; periodic <= 1; periodic++) {
		hits = 0;
		expire(timer, periodic * LONG);
		CHECK(sigaction(SIGUSR1, &ignored, NULL) == 0);
		t_say("ignored: pends %d", pends(SIGUSR1));
		CHECK(sigaction(SIGUSR1, &handled, NULL) == 0);
		t_say("handled: pends %d", pends(SIGUSR1));
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		t_say("open: handled %d", hits);
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	}
	CHECK(timer_delete(timer) == 0);
	return NULL;
}

int main(int argc, char **argv)
{
	t_be_threaded();
	run(argc > 1 && !strcmp(argv[1], "thread") ? &argc : NULL);
	return 0;
}
