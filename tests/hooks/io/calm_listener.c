/*
 * A thread waits in accept at a listener that is older than the first thread, so that
 * another process might change its flags: that is looked for each few milliseconds at
 * first. Where it waits for longer, others that compute are disturbed less often.
 */
#include "t.h"
#include <sys/resource.h>

enum { SPAN_MS = 100, TURNS = 18 };

static void *acceptor(void *arg)
{
	int fd = accept(*(int *)arg, NULL, NULL);

	CHECK(fd >= 0);
	t_close(fd);
	return NULL;
}

/* How often a thread of the kernel's has gone to sleep while this one computes. */
static long turns(void)
{
	long long end = t_now() + SPAN_MS * T_MS;
	struct rusage before, after;

	CHECK_0(getrusage(RUSAGE_SELF, &before));
	while (t_now() < end)
		;
	CHECK_0(getrusage(RUSAGE_SELF, &after));
	return after.ru_nvcsw - before.ru_nvcsw;
}

int main(void)
{
	int port, fd = t_listen(&port), c;
	pthread_t th = t_thread(acceptor, &fd);

	t_settle();
	/* At some time: a machine under load has its own reasons. */
	while (turns() >= TURNS)
		;
	c = t_connect(port);
	t_join(th);
	t_close(c);
	t_say("quiet");
	return 0;
}
