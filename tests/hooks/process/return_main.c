/*
 * main returns while threads are blocked, sleep and compute.
 * t-expect: exit 17
 */
#include "t.h"

static int p[2];
static volatile unsigned sink;

static void *blocked(void *arg)
{
	t_eof(p[0]);
	return arg;
}

static void *sleeps(void *arg)
{
	sleep(1000);
	return arg;
}

static void *computes(void *arg)
{
	for (;;)
		sink++;
	return arg;
}

int main(void)
{
	t_pipe(p);
	for (int i = 0; i < 20; i++)
		t_thread(i % 2 ? blocked : sleeps, NULL);
	for (int i = 0; i < 3; i++)
		t_thread(computes, NULL);
	t_settle();
	printf("returning\n");
	return 17;
}
