/*
 * Threads that compute for 2 ms at a time, and yield in between, as many as keep all
 * processors busy: who has slept runs when one of these spells is over, and not after
 * many. Nor do they starve beside threads whose turns are short, and never end.
 *
 * t-case: sleep
 * t-case: beside
 */
#include "t.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { N = 4, ROUNDS = 15, SPELLS = 20 };

/* Some 60 turns of one worker take 120 ms. */
#define SPELL_NS (2 * T_MS)
#define BOUND_NS (50 * T_MS)

static atomic_bool stop;
static atomic_int spells;

static void *compute(void *arg)
{
	while (!atomic_load(&stop)) {
		long long end = t_now() + SPELL_NS;

		while (t_now() < end)
			;
		atomic_fetch_add(&spells, 1);
		sched_yield();
	}
	return arg;
}

static void *yield(void *arg)
{
	while (!atomic_load(&stop))
		sched_yield();
	return arg;
}

static int by_size(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return x < y ? -1 : x > y;
}

/* The sleep is what is measured: of 15 of 1 ms, how long did the one in the middle take? */
static void measure(void)
{
	long long ns[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		long long began = t_now();

		CHECK(usleep(1000) == 0);
		ns[i] = t_now() - began;
	}
	qsort(ns, ROUNDS, sizeof(*ns), by_size);
	if (ns[ROUNDS / 2] > BOUND_NS)
		t_say("%lld ms", ns[ROUNDS / 2] / T_MS);
}

int main(int argc, char **argv)
{
	pthread_t t[N];
	bool beside;

	CHECK(argc == 2);
	beside = !strcmp(argv[1], "beside");
	for (int i = 0; i < N; i++)
		t[i] = t_thread(beside && i ? yield : compute, NULL);
	if (beside)
		while (atomic_load(&spells) < SPELLS)
			sched_yield();
	else
		measure();
	atomic_store(&stop, true);
	for (int i = 0; i < N; i++)
		t_join(t[i]);
	t_say("in time");
	return 0;
}
