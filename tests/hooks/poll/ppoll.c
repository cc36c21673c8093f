/* ppoll: nanosecond timeouts, a mask that holds only while it waits. */
#include "poke.h"

static volatile int hits;

static void on_sig(int sig)
{
	(void)sig;
	hits++;
}

int main(void)
{
	struct timespec ts = { 0, 25 * T_MS }, was;
	sigset_t block, old, empty;
	struct t_poker poker;
	struct pollfd pf;
	long long t0;
	int p[2];

	t_be_threaded();
	t_pipe(p);
	pf = (struct pollfd){ p[0], POLLIN, 0 };
	t0 = t_now();
	was = ts;
	CHECK(ppoll(&pf, 1, &ts, NULL) == 0);
	T_TOOK(t0, 25 * T_MS);
	CHECK(memcmp(&was, &ts, sizeof(ts)) == 0);
	ts = t_ts(0);
	CHECK(ppoll(&pf, 1, &ts, NULL) == 0);
	ts.tv_nsec = 1000000000;
	CHECK_ERR(ppoll(&pf, 1, &ts, NULL), EINVAL);
	ts = (struct timespec){ -1, 0 };
	CHECK_ERR(ppoll(&pf, 1, &ts, NULL), EINVAL);
	t_say("timeouts");

	t_handle(SIGUSR1, on_sig, SA_RESTART);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &block, &old));
	CHECK(kill(getpid(), SIGUSR1) == 0);
	ts = t_ts(5 * T_MS);
	CHECK(ppoll(&pf, 1, &ts, NULL) == 0);
	CHECK(hits == 0);
	sigemptyset(&empty);
	CHECK_ERR(ppoll(&pf, 1, NULL, &empty), EINTR);
	CHECK(hits == 1);
	CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &old));
	CHECK(sigismember(&old, SIGUSR1) == 1);
	t_say("pending signal taken inside, mask put back");

	/* A ready descriptor wins over a pending signal or loses: both done. */
	t_put(p[1], 'x');
	CHECK(ppoll(&pf, 1, NULL, &empty) == 1);
	t_get(p[0]);
	for (int from = 0; from < 2; from++) {
		hits = 0;
		t_poke(&poker, SIGUSR1, from ? T_FROM_CHILD : T_FROM_THREAD);
		CHECK_ERR(ppoll(&pf, 1, NULL, &empty), EINTR);
		CHECK(hits >= 1);
		t_unpoke(&poker);
	}
	t_say("interrupted from outside");
	return 0;
}
