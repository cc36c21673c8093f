/* Threads are made and joined by many threads at once; stacks are reused. */
#include "t.h"

enum { MAKERS = 8, TURNS = 400 };

static __thread char untouched[256];

static void *short_life(void *arg)
{
	char *p = malloc(1000 + (size_t)(intptr_t)arg);

	CHECK(p);
	for (size_t i = 0; i < sizeof(untouched); i++)
		CHECK(untouched[i] == 0);
	memset(untouched, 1, sizeof(untouched));
	memset(p, 2, 1000);
	free(p);
	return (void *)((intptr_t)arg + 1);
}

static void *maker(void *arg)
{
	for (int i = 0; i < TURNS; i++)
		CHECK((intptr_t)t_join(t_thread(short_life,
						(void *)(intptr_t)i)) == i + 1);
	return arg;
}

int main(void)
{
	pthread_t th[MAKERS];

	for (int i = 0; i < MAKERS; i++)
		th[i] = t_thread(maker, NULL);
	for (int i = 0; i < MAKERS; i++)
		t_join(th[i]);
	t_say("%d threads", MAKERS * TURNS);
	return 0;
}
