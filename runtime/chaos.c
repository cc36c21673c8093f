/* Chaos, see chaos.h. */
#include <time.h>
#include "runtime/chaos.h"
#include "runtime/sched.h"

#define GOLDEN	  0x9e3779b97f4a7c15ull
#define SPIN_MAX  400	 /* turns of a busy wait, 40 ns or so each */
#define SLEEP_MAX 300000 /* ns; on top of that, what a scheduler adds */

bool fib_chaos_on;
static uint64_t the_seed;
static char only[256];
static bool all_but;
static _Atomic uint64_t turn;

void fib_chaos_init(uint64_t seed, const char *names)
{
	unsigned i = 0;

	all_but = names && *names == '-';
	if (all_but)
		names++;
	for (; names && names[i] && i < sizeof(only) - 1; i++)
		only[i] = names[i];
	only[i] = 0;
	the_seed = seed;
	fib_chaos_on = seed != 0;
}

/* splitmix64 of a common counter */
uint64_t fib_chaos_number(uint64_t below)
{
	uint64_t x = the_seed + GOLDEN * (fib_add(&turn, 1, relaxed) + 1);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return ((x ^ (x >> 31)) >> 20) % below;
}

static bool named(const char *point)
{
	const char *p = only;

	for (;;) {
		unsigned i = 0;

		while (point[i] && p[i] == point[i])
			i++;
		if (!point[i] && (!p[i] || p[i] == ','))
			return true;
		while (*p && *p != ',')
			p++;
		if (!*p++)
			return false;
	}
}

static bool chosen(const char *point)
{
	return !*only || named(point) != all_but;
}

void fib_chaos_delay(const char *point)
{
	struct timespec ts = { 0, 0 };
	uint64_t n = fib_chaos_number(1024);

	/* Under a filter of the program's there are no calls to spare. */
	if (n >= 256 || !chosen(point) || fib_filtered())
		return;
	if (n == 0) {
		ts.tv_nsec = (long)fib_chaos_number(SLEEP_MAX);
		fib_raw(SYS_nanosleep, &ts, 0);
	} else if (n < 16) {
		fib_raw(SYS_sched_yield);
	} else {
		for (n = fib_chaos_number(SPIN_MAX); n; n--)
			fib_cpu_relax();
	}
}

bool fib_chaos_odds(const char *point, unsigned n)
{
	return fib_chaos_number(n) == 0 && chosen(point) && !fib_filtered();
}
