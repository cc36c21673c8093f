/* pselect's mask is in force exactly while it waits. */
#include "poke.h"
#include <sys/select.h>

static volatile int hits;

static void on_sig(int sig)
{
	(void)sig;
	hits++;
}

int main(void)
{
	sigset_t block, now, empty;
	struct timespec ts = { 0, 5 * T_MS };
	struct t_poker poker;
	fd_set r;
	int p[2];

	t_be_threaded();
	t_pipe(p);
	t_handle(SIGUSR2, on_sig, 0);
	sigemptyset(&empty);
	sigemptyset(&block);
	sigaddset(&block, SIGUSR2);
	CHECK_0(pthread_sigmask(SIG_BLOCK, &block, NULL));
	t_poke(&poker, SIGUSR2, T_FROM_CHILD);
	for (int i = 0; i < 20; i++) {
		int before = hits;

		CHECK(select(0, NULL, NULL, NULL,
			     &(struct timeval){ 0, 1000 }) == 0);
		CHECK(hits == before);
		FD_ZERO(&r);
		FD_SET(p[0], &r);
		CHECK_ERR(pselect(p[0] + 1, &r, NULL, NULL, NULL, &empty),
			  EINTR);
		CHECK(hits > before);
		before = hits;
		CHECK_0(pthread_sigmask(SIG_BLOCK, NULL, &now));
		CHECK(sigismember(&now, SIGUSR2) == 1);
		CHECK(pselect(0, NULL, NULL, NULL, &ts, NULL) == 0);
		CHECK(hits == before);
	}
	t_unpoke(&poker);
	t_say("20 turns");
	return 0;
}
