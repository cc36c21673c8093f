/*
 * How often all others have had their turn while one thread, which never waits,
 * made its calls: count.py. Without a wait a thread is not to have the worker
 * for itself, nor to get next to nothing where many are queued.
 *
 *	turn THREADS CALLS
 *
 * Prints the rounds of the others, the fewest and the most of some attempts: where
 * the machine is busy a worker may be replaced in between, or stand still.
 */
#include "t.h"
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { ATTEMPTS = 5 };

static atomic_bool over;
static atomic_long turns;

static void *takes_turns(void *arg)
{
	while (!atomic_load(&over)) {
		atomic_fetch_add(&turns, 1);
		CHECK(sched_yield() == 0);
	}
	return arg;
}

int main(int argc, char **argv)
{
	long threads = argc == 3 ? atol(argv[1]) : 0;
	pthread_t *th = calloc((size_t)threads, sizeof(*th));
	long least = LONG_MAX, most = 0;

	CHECK(threads > 0);
	for (long i = 0; i < threads; i++)
		th[i] = t_small_thread(takes_turns, NULL);
	while (atomic_load(&turns) < 2 * threads)
		CHECK(sched_yield() == 0);
	for (int i = 0; i < ATTEMPTS; i++) {
		long before = atomic_load(&turns), rounds;

		for (long n = atol(argv[2]); n > 0; n--)
			CHECK(getppid() > 0);
		rounds = (atomic_load(&turns) - before) / threads;
		least = rounds < least ? rounds : least;
		most = rounds > most ? rounds : most;
	}
	t_say("rounds=%ld-%ld", least, most);
	atomic_store(&over, true);
	for (long i = 0; i < threads; i++)
		t_join(th[i]);
	return 0;
}
