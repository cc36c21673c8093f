/*
 * A scheduler with one thread, whose fibers switch to each other directly: they
 * wake each other, yield, sleep, end and begin, while other threads wake them
 * and submit more.
 */
#include "libfib/lib.h"
#include "tests/stress/stress.h"

#define SITTERS 24
#define ROUNDS	400
#define CANARY	32

/* Called once, and not again before it has answered: no call may be lost. */
struct sitter {
	struct fib *_Atomic fib;
	_Atomic uint64_t called, answered;
};

static uint64_t seed;
static struct fib_sched *alone;
static struct sitter sitter[SITTERS];
static _Atomic int sitting;
static _Atomic uint64_t born, ended;

static void child(void *arg)
{
	fib_add(&ended, 1, relaxed);
}

/* No more than it gets done: ThreadSanitizer is slow to make one. */
static void bear(void)
{
	if (fib_load(&born, relaxed) - fib_load(&ended, relaxed) >=
	    STRESS_FEW(64))
		return;
	fib_add(&born, 1, relaxed);
	stress_check(fib_sched_submit(alone, child, NULL, FIB_ANY_THREAD) == 0);
}

static void call_one(struct rnd *r)
{
	struct sitter *s = &sitter[rnd(r, SITTERS)];
	struct fib *f = fib_load(&s->fib, acquire);
	uint64_t n = fib_load(&s->answered, acquire);

	if (f && fib_cas(&s->called, &n, n + 1, seq_cst))
		fib_wake(f);
}

static void wait_for_call(struct sitter *s)
{
	uint64_t n = fib_load(&s->answered, relaxed);

	while (fib_load(&s->called, acquire) == n)
		fib_park();
	fib_store(&s->answered, n + 1, release);
}

/* All that a fiber can do, and its stack and errno are as they were. */
static void act(struct sitter *s, struct rnd *r)
{
	volatile uint64_t canary[CANARY];
	uint64_t mark = rnd(r, 1u << 30);

	for (int i = 0; i < CANARY; i++)
		canary[i] = mark + (uint64_t)i;
	fib_errno_restore((int)mark);
	switch (rnd(r, 5)) {
	case 0:
		wait_for_call(s);
		break;
	case 1:
		call_one(r);
		break;
	case 2:
		stress_check(fib_yield_ready() == 0);
		break;
	case 3:
		bear();
		break;
	default:
		stress_check(fib_sleep(rnd(r, 20 * USEC)) == 0);
	}
	stress_check(fib_self() == fib_load(&s->fib, relaxed));
	stress_check(fib_state(fib_self()) == FIB_RUNNING);
	stress_check(fib_errno_save() == (int)mark);
	for (int i = 0; i < CANARY; i++)
		stress_check(canary[i] == mark + (uint64_t)i);
}

static void sit(void *arg)
{
	struct sitter *s = arg;
	struct rnd r = rnd_from(seed, (uint64_t)(s - sitter));

	fib_store(&s->fib, fib_self(), release);
	for (int i = 0; i < STRESS_FEW(ROUNDS); i++) {
		act(s, &r);
		stress_progress();
	}
	fib_sub(&sitting, 1, release);
}

static void call_thread(void *arg)
{
	struct rnd r = rnd_from(seed, 1000);

	while (fib_load(&sitting, acquire)) {
		call_one(&r);
		if (rnd(&r, 16) == 0)
			bear();
		stress_burn(rnd(&r, 5 * USEC));
	}
	stress_done();
}

static void call_fiber(void *arg)
{
	struct rnd r = rnd_from(seed, 1001);

	while (fib_load(&sitting, acquire)) {
		call_one(&r);
		stress_dawdle(&r);
		fib_sched_yield();
	}
	stress_done();
}

static void run_direct(uint64_t s)
{
	seed = s;
	fib_store(&sitting, SITTERS, relaxed);
	stress_check(fib_sched_create(&alone, 1, false, "alone") == 0);
	for (int i = 0; i < SITTERS; i++)
		stress_check(fib_sched_submit(alone, sit, &sitter[i],
					      FIB_ANY_THREAD) == 0);
	stress_thread(call_thread, NULL);
	stress_go(call_fiber, NULL);
	stress_check(fib_sched_start(alone) == 0);
	stress_join();
	stress_check(fib_sched_stop(alone) == 0);
	stress_check(fib_load(&ended, relaxed) == fib_load(&born, relaxed));
	stress_check(fib_sched_destroy(alone) == 0);
}

const struct scenario stress_direct = { "direct", run_direct };
