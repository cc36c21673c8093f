/*
 * Of the handlers that run when a call is interrupted, the first one's
 * SA_RESTART decides: the second signal, whose handler has none, comes while the
 * first handler runs and is blocked until that returns.
 */
#include "t.h"
#include "poke.h"

static int to[2];

static void first(int sig)
{
	(void)sig;
	CHECK(raise(SIGUSR2) == 0);
}

/* The read that is begun again finds this. */
static void second(int sig)
{
	(void)sig;
	t_put(to[1], 'x');
}

int main(void)
{
	struct sigaction sa = { .sa_handler = first, .sa_flags = SA_RESTART };
	struct t_poker poker;
	char c;

	t_be_threaded();
	t_pipe(to);
	t_handle(SIGUSR2, second, 0);
	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	t_poke(&poker, SIGUSR1, T_FROM_THREAD);
	for (int i = 0; i < 50; i++) {
		CHECK(read(to[0], &c, 1) == 1);
		CHECK(c == 'x');
	}
	t_unpoke(&poker);
	t_say("50 reads");
	return 0;
}
