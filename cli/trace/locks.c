/* Which words were waited for during a trace, and for how long: see trace.h. */
#include <stdlib.h>
#include <string.h>
#include "cli/trace/trace.h"

struct wait {
	uint64_t addr, cycles;
};

static struct wait *waits;
static size_t nwaits;

static void add(uint64_t addr, uint64_t cycles)
{
	if (nwaits % 4096 == 0)
		waits = dump_grow(waits, nwaits * sizeof(*waits),
				  4096 * sizeof(*waits));
	waits[nwaits++] =
		(struct wait){ addr, (int64_t)cycles > 0 ? cycles : 0 };
}

/* From each park to the next event of that fiber. */
static void find_waits(void)
{
	struct wait *since = dump_grow(NULL, 0, FIB_MAX * sizeof(*since));

	memset(since, 0, FIB_MAX * sizeof(*since));
	for (size_t i = 0; i < trace_nrecords; i++) {
		const struct fib_trace_event *e = &trace_records[i].e;
		struct wait *s = &since[e->fiber];

		if (s->addr)
			add(s->addr, e->cycles - s->cycles);
		s->addr = 0;
		if (e->what == FIB_TRACE_PARK && e->wait == FIB_WAIT_FUTEX)
			*s = (struct wait){ e->arg, e->cycles };
	}
	for (size_t i = 0; i < FIB_MAX; i++)
		if (since[i].addr)
			add(since[i].addr, trace_end - since[i].cycles);
	free(since);
}

static int by_addr(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_total(const void *a, const void *b)
{
	const struct trace_lock *x = a, *y = b;

	return x->total < y->total ? 1 : x->total > y->total ? -1 : 0;
}

size_t trace_locks(struct trace_lock **out)
{
	double s = trace_us_of_cycle() / 1e6;
	struct trace_lock *locks = NULL;
	size_t n = 0;

	trace_sort();
	find_waits();
	if (nwaits)
		qsort(waits, nwaits, sizeof(*waits), by_addr);
	for (size_t i = 0; i < nwaits; i++) {
		double took = (double)waits[i].cycles * s;

		if (!n || locks[n - 1].addr != waits[i].addr) {
			if (n % 256 == 0)
				locks = dump_grow(locks, n * sizeof(*locks),
						  256 * sizeof(*locks));
			locks[n++] =
				(struct trace_lock){ .addr = waits[i].addr };
		}
		locks[n - 1].waits++;
		locks[n - 1].total += took;
		if (took > locks[n - 1].longest)
			locks[n - 1].longest = took;
	}
	if (n)
		qsort(locks, n, sizeof(*locks), by_total);
	*out = locks;
	return n;
}
