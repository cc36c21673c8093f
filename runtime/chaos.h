/*
 * Chaos: named points where, if a seed is given, the runtime does on purpose
 * what else happens seldom: a thread is held up, a fiber migrates, a park ends
 * without a wake-up, a slow path is taken. Nothing that a point does is against
 * a rule of the runtime, so a program must not be able to tell.
 *
 *	FIB_CHAOS_POINT(name)		a delay; may stand under a lock
 *	FIB_CHAOS_ODDS(name, n)		true once in @n: take the unusual way
 *
 * Off, a point costs a load and a branch that is never taken. On, the seed and
 * a count of all points passed decide; which thread passes when is the
 * machine's business, so a seed finds a failure again only in most cases.
 */
#ifndef FIB_CHAOS_H
#define FIB_CHAOS_H

#include "runtime/base.h"

extern bool fib_chaos_on __attribute__((visibility("hidden")));

/**
 * From now on there is chaos, with @seed; 0: none. @only: names of points,
 * separated by commas; behind a '-' all but these; or NULL for all. Before any thread
 * is started.
 */
void fib_chaos_init(uint64_t seed, const char *only);
/** A number below @below. Any thread, any stack, under any lock. */
uint64_t fib_chaos_number(uint64_t below);
void fib_chaos_delay(const char *point) __attribute__((cold));
bool fib_chaos_odds(const char *point, unsigned n) __attribute__((cold));

#define FIB_CHAOS_POINT(name)                                                  \
	do {                                                                   \
		if (fib_unlikely(fib_chaos_on))                                \
			fib_chaos_delay(#name);                                \
	} while (0)
#define FIB_CHAOS_ODDS(name, n)                                                \
	(fib_unlikely(fib_chaos_on) && fib_chaos_odds(#name, n))

#endif
