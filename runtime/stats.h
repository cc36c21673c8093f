/*
 * Counters. Rows live in stats.def; each is one relaxed atomic, so they may
 * be counted anywhere, a signal handler included.
 */
#ifndef FIB_STATS_H
#define FIB_STATS_H

enum fib_stat {
#define FIB_STAT(name, text) FIB_STAT_##name,
#include "runtime/stats.def"
#undef FIB_STAT
	FIB_STATS
};

#define fib_count(name)                                                        \
	((void)fib_add(&fib_symtab.stats[FIB_STAT_##name], 1, relaxed))

/** Name of counter @i as it is printed. */
const char *fib_stat_name(unsigned i);

#endif
