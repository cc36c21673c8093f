/* Random delays at the points of runtime/chaos.h. */
#include "tests/stress/chaos_control.h"
#include "tests/stress/stress.h"

static bool enabled;
static uint64_t chaos_seed;
static _Atomic uint64_t threads;
static __thread struct rnd source;

void fib_chaos_init(uint64_t seed, bool on)
{
	chaos_seed = seed;
	enabled = on;
}

/* Not inlined: a thread variable's address may not outlive a switch. */
__attribute__((noinline)) void fib_chaos(const char *point)
{
	uint64_t n;

	if (!enabled)
		return;
	if (!source.s)
		source = rnd_from(chaos_seed, fib_add(&threads, 1, relaxed));
	n = rnd(&source, 64);
	if (n == 0)
		sched_yield();
	else if (n < 16)
		for (n = rnd(&source, 400); n; n--)
			fib_cpu_relax();
}
