/* Latencies in a table, without keeping each. */
#ifndef HIST_H
#define HIST_H

#include <stdint.h>

/* Latency classes: 16 to an octave, so 6 % wide. */
#define HIST_SUB_BITS 4
#define HIST_SUB      (1 << HIST_SUB_BITS)
#define HIST_SIZE     (64 * HIST_SUB)

static uint64_t hist[HIST_SIZE];

static void hist_add(uint64_t ns)
{
	int shift;

	if (ns < HIST_SUB) {
		hist[ns]++;
		return;
	}
	shift = 63 - __builtin_clzll(ns) - HIST_SUB_BITS;
	hist[(shift + 1) * HIST_SUB + (int)((ns >> shift) & (HIST_SUB - 1))]++;
}

/* Microseconds, of all that were added: the middle of the quantile's class. */
static double hist_quantile(double q, uint64_t count)
{
	uint64_t rank, seen = 0;
	int i, shift;

	rank = (uint64_t)(q * (double)count);
	for (i = 0; i < HIST_SIZE; i++) {
		seen += hist[i];
		if (seen > rank)
			break;
	}
	if (i == HIST_SIZE)
		return 0;
	if (i < HIST_SUB)
		return i / 1e3;
	shift = i / HIST_SUB - 1;
	return (HIST_SUB + i % HIST_SUB + 0.5) * (double)(1ull << shift) / 1e3;
}

#endif
