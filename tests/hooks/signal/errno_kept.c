/*
 * Handlers run at any place of computing threads: registers, flags, vector
 * and x87 state are put back exactly.
 */
#include "poke.h"

static volatile int hits;

static void on_sig(int sig)
{
	volatile double d = sig;
	int saved = errno;

	for (int i = 0; i < 20; i++)
		d = d * 1.5 + i;
	errno = saved;
	hits++;
}

static double compute(int n)
{
	double s = 0;
	long double ld = 1;

	for (int i = 1; i < n; i++) {
		s += 1.0 / ((double)i * i);
		ld = ld * 1.0000001L + 0.5L;
	}
	return s + (double)ld;
}

int main(void)
{
	struct t_poker poker;
	double want;

	t_be_threaded();
	t_handle(SIGUSR1, on_sig, SA_RESTART);
	want = compute(100000);
	t_poke(&poker, SIGUSR1, T_FROM_CHILD);
	errno = 4242;
	while (hits < 20) {
		CHECK(compute(100000) == want);
		CHECK(errno == 4242);
	}
	t_unpoke(&poker);
	t_say("same results under signals");
	return 0;
}
