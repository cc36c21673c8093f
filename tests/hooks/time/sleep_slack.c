/*
 * What is left of a sleep that a signal ends counts the timer's slack, as the kernel's own
 * does: of the thread that has set one, or has it from who created it. Nobody else is
 * late for it: a thread runs beside one that spins.
 *
 * t-case: own
 * t-case: first
 * t-case: spin
 */
#include <sched.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include "poke.h"

enum { SLACK_S = 50 };

static void handler(int sig)
{
	(void)sig;
}

static void set_slack(void)
{
	CHECK(prctl(PR_SET_TIMERSLACK, SLACK_S * T_SEC) == 0);
}

static void *sleeps(void *arg)
{
	struct timespec ts = t_ts(100 * T_SEC), left;

	if (arg)
		set_slack();
	CHECK_ERR(nanosleep(&ts, &left), EINTR);
	CHECK(left.tv_sec >= 100 && left.tv_sec <= 100 + SLACK_S);
	CHECK_RC(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &left), EINTR);
	CHECK(left.tv_sec >= 100 && left.tv_sec <= 100 + SLACK_S);
	CHECK(sleep(100) >= 100);
	return NULL;
}

static void *spins(void *arg)
{
	atomic_int *go_on = arg;

	while (*go_on)
		continue;
	return NULL;
}

static int beside_one_that_spins(void)
{
	static atomic_int go_on = 1;
	pthread_t th;

	set_slack();
	th = t_thread(spins, &go_on);
	sched_yield();
	go_on = 0;
	t_join(th);
	t_say("beside one that spins");
	return 0;
}

int main(int argc, char **argv)
{
	int own = argc > 1 && !strcmp(argv[1], "own");
	struct t_poker poker;
	sigset_t set;

	if (argc > 1 && !strcmp(argv[1], "spin"))
		return beside_one_that_spins();
	t_handle(SIGUSR1, handler, 0);
	t_poke(&poker, SIGUSR1, T_FROM_CHILD);
	if (!own)
		set_slack();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	if (own) {
		pthread_t th = t_thread(sleeps, &poker);

		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		t_join(th);
	} else {
		t_be_threaded();
		sleeps(NULL);
	}
	t_unpoke(&poker);
	t_say("the slack is left");
	return 0;
}
