/*
 * Starts, stops and starts again: schedulers of all sizes, by several threads at
 * once, while others submit to them and stop them as well.
 */
#include "libfib/lib.h"
#include "tests/stress/stress.h"

#define OWNERS 3
#define ROUNDS 25
#define JOBS   40
#define HELP   8

static uint64_t seed;

struct owned {
	struct fib_sched *s;
	uint64_t id;
	_Atomic uint64_t submitted, ran;
	_Atomic uint64_t round; /* in each the helper has so many jobs */
	_Atomic bool over;
};

static struct owned owned[OWNERS];

static void job(void *arg)
{
	struct owned *o = arg;

	if (fib_add(&o->ran, 1, relaxed) % 4 == 0)
		fib_yield_ready();
	stress_progress();
}

static void submit(struct owned *o, struct rnd *r, unsigned threads)
{
	int thread = rnd(r, 3) ? FIB_ANY_THREAD : (int)rnd(r, threads);

	fib_add(&o->submitted, 1, relaxed);
	stress_check(fib_sched_submit(o->s, job, o, thread) == 0);
}

/* While it starts, runs, stops; not so many that it never comes to its end. */
static void *helper(void *arg)
{
	struct owned *o = arg;
	struct rnd r = rnd_from(seed, 100 + o->id);

	for (uint64_t n = 0; !fib_load(&o->over, acquire);) {
		if (n / HELP < fib_load(&o->round, relaxed)) {
			submit(o, &r, 1);
			n++;
		}
		stress_dawdle_thread(&r);
	}
	return NULL;
}

/* What was submitted when it stopped has run, and nothing runs after it. */
static void rounds(struct owned *o, struct rnd *r, unsigned threads)
{
	for (int i = 0; i < (int)STRESS_FEW(ROUNDS); i++) {
		bool early = rnd(r, 2);
		uint64_t due, ran;

		fib_add(&o->round, 1, relaxed);
		for (int k = 0; early && k < JOBS; k++)
			submit(o, r, threads);
		stress_check(fib_sched_start(o->s) == 0);
		stress_check(fib_sched_start(o->s) == -EALREADY);
		for (int k = 0; !early && k < JOBS; k++)
			submit(o, r, threads);
		due = fib_load(&o->submitted, relaxed);
		stress_check(fib_sched_stop(o->s) == 0);
		ran = fib_load(&o->ran, relaxed);
		/* The helper may be between its count and its call. */
		stress_check(ran + 1 >= due);
		stress_dawdle_thread(r);
		stress_check(fib_load(&o->ran, relaxed) == ran);
		stress_progress();
	}
}

static void own(void *arg)
{
	struct owned *o = arg;
	struct rnd r = rnd_from(seed, o->id);
	unsigned threads = 1 + (unsigned)rnd(&r, 4);
	pthread_t t;

	stress_check(fib_sched_create(&o->s, threads, rnd(&r, 2), "again") ==
		     0);
	stress_check(pthread_create(&t, NULL, helper, o) == 0);
	rounds(o, &r, threads);
	fib_store(&o->over, true, release);
	stress_check(pthread_join(t, NULL) == 0);
	/* The rest. */
	stress_check(fib_sched_start(o->s) == 0);
	stress_check(fib_sched_stop(o->s) == 0);
	stress_check(fib_load(&o->ran, relaxed) ==
		     fib_load(&o->submitted, relaxed));
	stress_check(fib_sched_destroy(o->s) == 0);
	stress_done();
}

static void run(uint64_t s)
{
	seed = s;
	for (uint64_t i = 0; i < OWNERS; i++) {
		owned[i].id = i;
		stress_thread(own, &owned[i]);
	}
}

const struct scenario stress_restart = { "restart", run };
