/*
 * exit() from a thread: the status, atexit in reverse order, stdio flushed,
 * while main and others are blocked.
 * t-expect: exit 23
 */
#include "t.h"

static int p[2];

static void *blocked(void *arg)
{
	t_eof(p[0]);
	return arg;
}

static void first(void)
{
	t_say("registered first, run last");
}

static void second(void)
{
	printf("buffered in an atexit handler\n");
	t_settle();
	fflush(stdout);
}

static void *leaves(void *arg)
{
	t_settle();
	exit(23);
	return arg;
}

int main(void)
{
	t_pipe(p);
	CHECK(atexit(first) == 0);
	CHECK(atexit(second) == 0);
	for (int i = 0; i < 5; i++)
		t_thread(blocked, NULL);
	t_thread(leaves, NULL);
	t_eof(p[0]);
	return 1;
}
