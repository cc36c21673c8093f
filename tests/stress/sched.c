/* Storms of fibers, timers against wake-ups. */
#include "tests/stress/stress.h"

static uint64_t seed;

/* --- steal: a few fibers make thousands ----------------------------------- */

#define MAKERS 4
#define MADE   1500

static _Atomic uint8_t ran[MAKERS * MADE];

static void be(void *arg)
{
	uintptr_t i = (uintptr_t)arg;
	struct rnd r = rnd_from(seed, i);

	stress_dawdle(&r);
	stress_check(fib_add(&ran[i], 1, relaxed) == 0);
	stress_done();
}

static void make(void *arg)
{
	uintptr_t first = (uintptr_t)arg * MADE;

	for (uintptr_t i = 0; i < STRESS_FEW(MADE); i++)
		stress_go(be, (void *)(first + i));
	stress_done();
}

static void run_steal(uint64_t s)
{
	seed = s;
	for (uintptr_t i = 0; i < MAKERS; i++)
		stress_go(make, (void *)i);
	stress_join();
	for (unsigned i = 0; i < MAKERS; i++)
		stress_check(fib_load(&ran[i * MADE], relaxed) == 1);
}

const struct scenario stress_steal = { "steal", run_steal };

/* --- timer: time limits against wake-ups ----------------------------------- */

#define NAPPERS 40
#define NAPS	60

struct napper {
	struct fib *_Atomic fib;
	_Atomic uint64_t called;
};

static struct napper napper[NAPPERS];
static _Atomic int napping;

static void nap(void *arg)
{
	struct napper *n = arg;
	struct rnd r = rnd_from(seed, (uint64_t)(n - napper));
	uint64_t answered = 0;

	fib_store(&n->fib, fib_self(), release);
	for (int i = 0; i < NAPS; i++) {
		uint64_t end = fib_now_ns() + rnd(&r, 300 * USEC);
		struct fib_timer t = { 0 };
		bool fired;

		stress_check(!fib_timer_arm(&t, fib_self(), end));
		for (;;) {
			uint64_t called = fib_load(&n->called, acquire);

			fired = fib_load(&t.fired, acquire);
			if (fired || called != answered) {
				answered = called;
				break;
			}
			fib_park();
		}
		stress_check(!fired || fib_now_ns() >= end);
		if (rnd(&r, 2))
			stress_dawdle(&r);
		fib_timer_disarm(&t);
		if (!fired && !fib_load(&t.fired, acquire)) {
			/* never armed again: it may not fire now */
			stress_dawdle(&r);
			stress_check(!fib_load(&t.fired, acquire));
		}
		stress_progress();
	}
	fib_sub(&napping, 1, release);
	stress_done();
}

static void call_one(struct rnd *r)
{
	struct napper *n = &napper[rnd(r, NAPPERS)];
	struct fib *f = fib_load(&n->fib, acquire);

	if (f) {
		fib_add(&n->called, 1, release);
		fib_wake(f);
	}
}

static void call_fiber(void *arg)
{
	struct rnd r = rnd_from(seed, 1000);

	while (fib_load(&napping, acquire)) {
		call_one(&r);
		fib_sched_yield();
	}
	stress_done();
}

static void call_thread(void *arg)
{
	struct rnd r = rnd_from(seed, 1001);

	while (fib_load(&napping, acquire)) {
		call_one(&r);
		stress_burn(rnd(&r, 20 * USEC));
	}
	stress_done();
}

static void run_timer(uint64_t s)
{
	struct rnd r = rnd_from(s, 0);

	seed = s;
	fib_store(&napping, NAPPERS, relaxed);
	for (int i = 0; i < NAPPERS; i++)
		stress_go(nap, &napper[i]);
	/* in one run of four nobody calls, and time alone ends the naps */
	if (rnd(&r, 4))
		stress_go(call_fiber, NULL);
	if (rnd(&r, 2))
		stress_thread(call_thread, NULL);
}

const struct scenario stress_timer = { "timer", run_timer };
