/* Fibers that keep their worker: the monitor sees to the others. */
#include <time.h>
#include "tests/stress/stress.h"

static uint64_t seed;

/*
 * --- spawn: the maker keeps its worker until what it made has run ----------
 *
 * With a worker idle this may not take until the monitor's next look, and
 * with none it must not take for ever.
 */

static _Atomic int spawning;

static void raise_flag(void *arg)
{
	fib_store((_Atomic bool *)arg, true, release);
	stress_done();
}

static void spawn(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);
	_Atomic bool flag[30] = { 0 };

	for (int i = 0; i < 30; i++) {
		stress_go(raise_flag, &flag[i]);
		/* now and then it is run in turn */
		while (!fib_load(&flag[i], acquire))
			if (rnd(&r, 4) == 0 && i % 2)
				fib_sched_yield();
			else
				fib_cpu_relax();
		stress_progress();
		stress_dawdle(&r);
	}
	fib_sub(&spawning, 1, relaxed);
	stress_done();
}

static void run_in_circles(void *arg)
{
	while (fib_load(&spawning, relaxed))
		fib_sched_yield();
	stress_done();
}

static void run_spawn(uint64_t s)
{
	struct rnd r = rnd_from(s, 0);
	uint64_t n = 1 + rnd(&r, 3), circles = rnd(&r, 2);

	seed = s;
	fib_store(&spawning, (int)n, relaxed);
	if (circles)
		stress_go(run_in_circles, NULL);
	for (uintptr_t i = 1; i <= n; i++)
		stress_go(spawn, (void *)i);
}

const struct scenario stress_spawn = { "spawn", run_spawn };

/* --- block: workers come and go -------------------------------------------- */

static void block(void *arg)
{
	struct rnd r = rnd_from(seed, (uintptr_t)arg);

	for (int i = 0; i < 6; i++) {
		struct timespec ts = { 0, (long)rnd(&r, 15 * MSEC) };
		struct fib_timer t = { 0 };
		uint64_t end;

		switch (rnd(&r, 4)) {
		case 0:
			fib_raw(SYS_nanosleep, &ts, 0);
			break;
		case 1:
			fib_block_enter(false);
			fib_raw(SYS_nanosleep, &ts, 0);
			fib_block_leave();
			break;
		case 2:
			stress_burn(rnd(&r, 15 * MSEC));
			break;
		default:
			end = fib_now_ns() + rnd(&r, 3 * MSEC);
			stress_check(!fib_timer_arm(&t, fib_self(), end));
			while (!fib_load(&t.fired, acquire))
				fib_park();
			fib_timer_disarm(&t);
		}
		stress_progress();
		stress_dawdle(&r);
	}
	stress_done();
}

static void run_block(uint64_t s)
{
	seed = s;
	for (uintptr_t i = 0; i < 12; i++)
		stress_go(block, (void *)i);
}

const struct scenario stress_block = { "block", run_block };
