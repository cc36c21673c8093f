/*
 * A timer is set anew while what it has sent to the process pends, and a thread has closed its
 * mask for that again: what it sends next has the place of the first, before others of the
 * same number, and is found by sigtimedwait().
 *
 * t-case: handled
 * t-case: accepted
 */
#include <time.h>
#include "t.h"

enum { NUMBER = 37 }; /* above SIGRTMIN */

static timer_t timer;
static int accepts;

static void fire(void)
{
	struct itimerspec at = { .it_value = { 0, 1 } };

	CHECK(timer_settime(timer, 0, &at, NULL) == 0);
	do
		CHECK(timer_gettime(timer, &at) == 0);
	while (at.it_value.tv_sec || at.it_value.tv_nsec);
}

static void on_queued(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	t_say("signal %d, code %d", sig, info->si_code);
}

static void on_other(int sig)
{
	struct timespec now = { 0, 0 };
	siginfo_t info = { .si_code = 0 };
	sigset_t set;

	(void)sig;
	CHECK(sigqueue(getpid(), NUMBER, (union sigval){ 5 }) == 0);
	fire();
	if (!accepts)
		return;
	sigemptyset(&set);
	sigaddset(&set, NUMBER);
	while (sigtimedwait(&set, &info, &now) == NUMBER)
		t_say("accepts code %d", info.si_code);
}

static void *run(void *unused)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = NUMBER };
	sigset_t both;

	(void)unused;
	sigemptyset(&both);
	sigaddset(&both, NUMBER);
	sigaddset(&both, SIGUSR1);
	CHECK(timer_create(CLOCK_MONOTONIC, &ev, &timer) == 0);
	for (int round = 0; round < 3; round++) {
		CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
		fire();
		CHECK(kill(getpid(), SIGUSR1) == 0);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &both, NULL));
		t_say("round %d", round);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction queued = { .sa_sigaction = on_queued,
				    .sa_flags = SA_SIGINFO };
	struct sigaction other = { .sa_handler = on_other };
	sigset_t both;

	accepts = argc > 1 && !strcmp(argv[1], "accepted");
	CHECK(SIGRTMIN < NUMBER);
	sigemptyset(&both);
	sigaddset(&both, NUMBER);
	sigaddset(&both, SIGUSR1);
	sigaddset(&other.sa_mask, NUMBER);
	CHECK(sigaction(NUMBER, &queued, NULL) == 0);
	CHECK(sigaction(SIGUSR1, &other, NULL) == 0);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &both, NULL));
	t_join(t_thread(run, NULL));
	return 0;
}
