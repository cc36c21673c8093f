/*
 * SIGPIPE with its default action, from a write in a thread.
 * t-expect: signal PIPE
 */
#include "t.h"

static void *work(void *arg)
{
	int p[2];

	t_pair(p);
	t_close(p[0]);
	t_say("writing");
	write(p[1], "x", 1);
	t_say("never here");
	return arg;
}

int main(void)
{
	t_join(t_thread(work, NULL));
	return 0;
}
