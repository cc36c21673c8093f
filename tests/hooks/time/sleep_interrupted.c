/*
 * A handler ends a sleep: EINTR with the time left, sleep's return value,
 * also under SA_RESTART; blocked and ignored signals do not.
 * t-case: thread
 * t-case: child
 */
#include "poke.h"

static volatile int hits;

static void on_sig(int sig)
{
	(void)sig;
	hits++;
}

int main(int argc, char **argv)
{
	enum t_poke_from from =
		argc > 1 && argv[1][0] == 'c' ? T_FROM_CHILD : T_FROM_THREAD;
	struct timespec ts, rem;
	struct t_poker poker;
	sigset_t block;
	long long t0;

	t_be_threaded();
	for (int restart = 0; restart < 2; restart++) {
		t_handle(SIGUSR1, on_sig, restart ? SA_RESTART : 0);
		hits = 0;
		t_poke(&poker, SIGUSR1, from);
		ts = t_ts(100 * T_SEC);
		CHECK_ERR(nanosleep(&ts, &rem), EINTR);
		CHECK(rem.tv_sec >= 97 && rem.tv_sec <= 100);
		rem = t_ts(0);
		CHECK_RC(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &rem), EINTR);
		CHECK(rem.tv_sec >= 97 && rem.tv_sec <= 100);
		ts = t_in(CLOCK_REALTIME, 100 * T_SEC);
		rem = (struct timespec){ 77, 77 };
		CHECK_RC(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts,
					 &rem),
			 EINTR);
		CHECK(rem.tv_sec == 77 && rem.tv_nsec == 77);
		CHECK_ERR(usleep(100000000), EINTR);
		unsigned left = sleep(100);
		CHECK(left >= 97 && left <= 99); /* whole seconds */
		t_unpoke(&poker);
		CHECK(hits >= 5);
		t_say("%s: five sleeps interrupted",
		      restart ? "SA_RESTART" : "no restart");
	}
	t_handle(SIGUSR1, SIG_IGN, 0);
	t_poke(&poker, SIGUSR1, from);
	t0 = t_now();
	ts = t_ts(60 * T_MS);
	CHECK(nanosleep(&ts, NULL) == 0);
	T_TOOK(t0, 60 * T_MS);
	t_unpoke(&poker);
	t_say("ignored: sleeps on");

	t_handle(SIGUSR1, on_sig, 0);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &block, NULL));
	hits = 0;
	t_poke(&poker, SIGUSR1, from);
	t0 = t_now();
	CHECK(nanosleep(&ts, NULL) == 0);
	T_TOOK(t0, 60 * T_MS);
	t_unpoke(&poker);
	CHECK(hits == 0);
	CHECK_0(pthread_sigmask(SIG_UNBLOCK, &block, NULL));
	CHECK(hits == 1);
	t_say("blocked: sleeps on, delivered after");
	return 0;
}
