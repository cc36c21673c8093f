/*
 * Pairs of fibers that take turns, so that their wake-ups are kept
 * (runtime/keep.h); and now and then one that does not leave its worker after
 * it, but waits there until the other has run: on another worker.
 */
#include "tests/stress/stress.h"

#define PAIRS 3
#define TURNS 1000

struct pair {
	struct fib *_Atomic fib[2];
	_Atomic unsigned turn; /* whose it is: odd and even */
	uint64_t sum;	       /* plain: the turn alone orders it */
};

static struct pair pair[PAIRS];
static uint64_t seed;
static _Atomic uint32_t staying;

/* There is one worker more than those who stay on theirs. */
static bool may_stay(void)
{
	uint32_t n = fib_sched_of(fib_worker_self())->target;

	if (fib_add(&staying, 1, seq_cst) + 1 < n)
		return true;
	fib_sub(&staying, 1, seq_cst);
	return false;
}

static void play(struct pair *p, unsigned me, struct rnd *r)
{
	for (unsigned i = me; i < STRESS_FEW(TURNS); i += 2) {
		bool stays;

		while (fib_load(&p->turn, acquire) != i)
			fib_park();
		p->sum += i;
		stays = !rnd(r, 64) && may_stay();
		if (!rnd(r, 128))
			stress_dawdle(r);
		fib_store(&p->turn, i + 1, seq_cst);
		fib_wake(fib_load(&p->fib[!me], acquire));
		stress_progress();
		if (!stays)
			continue;
		while (fib_load(&p->turn, acquire) == i + 1 &&
		       i + 1 < STRESS_FEW(TURNS))
			fib_cpu_relax();
		fib_sub(&staying, 1, seq_cst);
	}
}

static void player(void *arg)
{
	uintptr_t n = (uintptr_t)arg;
	struct pair *p = &pair[n / 2];
	struct rnd r = rnd_from(seed, n);

	fib_store(&p->fib[n % 2], fib_self(), release);
	while (!fib_load(&p->fib[!(n % 2)], acquire))
		fib_sched_yield();
	play(p, n % 2, &r);
	stress_done();
}

static void run_turns(uint64_t s)
{
	uint64_t turns = STRESS_FEW(TURNS);

	seed = s;
	for (uintptr_t n = 0; n < 2ul * PAIRS; n++)
		stress_go(player, (void *)n);
	stress_join();
	for (unsigned i = 0; i < PAIRS; i++)
		stress_check(pair[i].sum == turns * (turns - 1) / 2);
}

const struct scenario stress_turns = { "turns", run_turns };
