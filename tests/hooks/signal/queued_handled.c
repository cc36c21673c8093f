/*
 * Of a real-time signal that is sent to the process several times while all block it, all
 * are handled, in order, when the call that opens the mask returns. What the rounds before
 * have left for the library to do goes on beside it.
 *
 * t-no-stats
 */
#include "t.h"

enum { ROUNDS = 10000, SENT = 3 };

static int got[SENT];
static volatile int hits;

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)uc;
	if (hits < SENT)
		got[hits] = info->si_value.sival_int;
	hits++;
}

static void *run(void *unused)
{
	struct sigaction sa = { .sa_sigaction = on_signal,
				.sa_flags = SA_SIGINFO };
	sigset_t set;

	(void)unused;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	CHECK(sigaction(SIGRTMIN + 4, &sa, NULL) == 0);
	for (int round = 0; round < ROUNDS; round++) {
		hits = 0;
		for (int i = 1; i <= SENT; i++)
			CHECK(sigqueue(getpid(), SIGRTMIN + 4,
				       (union sigval){ i }) == 0);
		CHECK_0(pthread_sigmask(SIG_UNBLOCK, &set, NULL));
		CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
		CHECK(hits == SENT);
		for (int i = 0; i < SENT; i++)
			CHECK(got[i] == i + 1);
	}
	return NULL;
}

int main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 4);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &set, NULL));
	t_join(t_thread(run, NULL));
	t_say("handled");
	return 0;
}
