/*
 * What threads have had of their stacks is free memory again soon after their end, be
 * it that libc keeps the stack or unmaps it; and the next thread may use it at once.
 */
#include "t.h"

enum { ALIVE = 8, ROUNDS = 5, DEEP = 4 << 20 };

static pthread_barrier_t all;

static int __attribute__((noinline)) dig(void)
{
	volatile char room[DEEP];

	for (int i = 0; i < DEEP; i += 4096)
		room[i] = 1;
	return room[DEEP / 2];
}

static void *deep(void *arg)
{
	CHECK(dig() == 1);
	pthread_barrier_wait(&all);
	return arg;
}

/* Private memory that is there, in kB. */
static long resident(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kb = -1;

	CHECK(f);
	while (fgets(line, sizeof(line), f) &&
	       sscanf(line, "RssAnon: %ld kB", &kb) != 1)
		;
	CHECK(kb >= 0 && fclose(f) == 0);
	return kb;
}

static void burst(int n)
{
	pthread_t th[ALIVE];

	CHECK(pthread_barrier_init(&all, NULL, (unsigned)n) == 0);
	for (int i = 0; i < n; i++)
		th[i] = t_thread(deep, NULL);
	for (int i = 0; i < n; i++)
		t_join(th[i]);
}

static void goes_back(const char *what, long before)
{
	uint64_t t0 = t_now();

	while (resident() > before + DEEP / 2048 && t_now() - t0 < 5000 * T_MS)
		t_settle();
	CHECK(resident() <= before + DEEP / 2048);
	t_say("%s: given back", what);
}

int main(void)
{
	long before = resident();

	burst(1);
	goes_back("one", before);
	burst(ALIVE);
	goes_back("several", before);
	for (int i = 0; i < ROUNDS; i++)
		burst(1 + i % ALIVE);
	goes_back("in turn", before);
	return 0;
}
