/*
 * The same small costs in several fiber libraries: `LIBRARY NAME SECONDS`
 * prints nanoseconds of CPU time per operation. Each program defines benches[];
 * a row that a library has nothing for is left out, and then the status is 3.
 *
 *	latency	    a fiber submits a function and lets it run: both ways
 *	throughput  a function of 1000 that are submitted at once and run
 *	switch	    from one of two fibers to the other, through the scheduler
 *	resume	    the same by hand, without one
 *	create	    a fiber with a handle: created, run to its end, destroyed
 *	timer	    a timer with a callback: armed, and cancelled
 *	timed_wait  a wait with a timeout that is ended in time by another fiber
 *	channel	    a value there and one back, through two channels
 *	across	    a function is submitted to a scheduler in a thread of its own,
 *		    and wakes the fiber that waits for it: both ways
 *
 * All but the last run on one thread. A function is given a number of operations; that
 * number grows until they take long enough.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH	 1000
#define LONG_SEC 100 /* a timeout that never comes */

struct bench {
	const char *name;
	void (*run)(uint64_t n);
};

static uint64_t bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

#define bench_check(cond)                                                      \
	do {                                                                   \
		if (!(cond)) {                                                 \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__,     \
				#cond);                                        \
			exit(1);                                               \
		}                                                              \
	} while (0)

static double bench_measure(void (*run)(uint64_t), double seconds)
{
	uint64_t n = BATCH, want = (uint64_t)(seconds * 1e9), t;

	for (;;) {
		uint64_t t0 = bench_now();

		run(n);
		t = bench_now() - t0;
		if (t >= want)
			return (double)t / (double)n;
		n = t < want / 16 ? n * 8 : n * 2;
	}
}

/* In whatever is the library's first fiber. */
static int bench_main(int argc, char **argv, const struct bench *benches)
{
	double seconds = argc == 3 ? strtod(argv[2], NULL) : 0;

	if (!(seconds > 0.0001 && seconds <= 30)) {
		fprintf(stderr, "usage: %s NAME SECONDS\n", argv[0]);
		return 2;
	}
	for (; benches->name; benches++) {
		if (strcmp(benches->name, argv[1]) != 0)
			continue;
		/* The last resort: it ends the process. */
		alarm((unsigned)seconds * 8 + 30);
		printf("%.2f\n", bench_measure(benches->run, seconds));
		return 0;
	}
	return 3;
}

#endif
