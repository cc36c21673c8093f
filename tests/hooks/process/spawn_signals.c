/*
 * Signals arrive while children are spawned: no handler runs in a child
 * that still shares our memory, none is lost here.
 */
#include "poke.h"
#include <spawn.h>

extern char **environ;

static volatile int hits, elsewhere;
static pid_t me;

static void on_sig(int sig)
{
	(void)sig;
	if (getpid() != me)
		elsewhere++;
	hits++;
}

int main(void)
{
	char *argv[] = { "true", NULL };
	struct t_poker a, b;

	me = getpid();
	t_be_threaded();
	t_handle(SIGUSR1, on_sig, SA_RESTART);
	t_handle(SIGUSR2, on_sig, SA_RESTART);
	t_poke(&a, SIGUSR1, T_FROM_CHILD);
	t_poke(&b, SIGUSR2, T_FROM_THREAD);
	for (int i = 0; i < 40; i++) {
		pid_t pid;

		CHECK_0(posix_spawnp(&pid, "true", NULL, NULL, argv, environ));
		t_wait_ok(pid);
	}
	while (hits < 10)
		t_settle();
	t_unpoke(&a);
	t_unpoke(&b);
	CHECK(elsewhere == 0);
	t_say("40 children");
	return 0;
}
