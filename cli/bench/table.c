/* Medians, spreads and ratios of what was measured, and the table of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "cli/bench/bench.h"
#include "cli/cli.h"

const struct bench_name bench_names[BENCH_FIGURES] = {
	[BENCH_RPS] = { "requests", "/s", "requests_per_second", 0 },
	[BENCH_P50] = { "latency, median", "us", "p50_us", 0 },
	[BENCH_P99] = { "latency, 99 %", "us", "p99_us", 0 },
	[BENCH_CPU] = { "CPU a request", "us", "cpu_us_per_request", 2 },
	[BENCH_CALLS] = { "system calls a request", "",
			  "system_calls_per_request", 2 },
	[BENCH_THREADS] = { "kernel threads", "", "kernel_threads", 0 },
	[BENCH_RSS] = { "memory, resident", "KB", "resident_kb", 0 },
	[BENCH_PTE] = { "page tables", "KB", "page_tables_kb", 0 },
	[BENCH_STACKS] = { "kernel stacks", "KB", "kernel_stacks_kb", 0 },
	[BENCH_SWITCHES] = { "context switches a request", "",
			     "context_switches_per_request", 2 },
	[BENCH_REQUESTS] = { "requests, in all", "", "requests", 0 },
};

static int by_size(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static struct bench_sum sum(double *val, unsigned n)
{
	struct bench_sum s = { NAN, NAN, NAN, NAN };

	if (!n)
		return s;
	qsort(val, n, sizeof(*val), by_size);
	s.least = val[0];
	s.most = val[n - 1];
	s.median = n % 2 ? val[n / 2] : (val[n / 2 - 1] + val[n / 2]) / 2;
	if (s.median > 0 && n > 1)
		s.spread = (s.most - s.least) / s.median;
	return s;
}

struct bench_sum bench_sum(enum bench_figure f, enum bench_mode m)
{
	double val[BENCH_ROUNDS];
	unsigned n = 0;

	for (unsigned i = 0; i < bench.rounds; i++)
		if (!isnan(bench.val[f][m][i]))
			val[n++] = bench.val[f][m][i];
	return sum(val, n);
}

struct bench_sum bench_ratio(enum bench_figure f)
{
	double val[BENCH_ROUNDS];
	unsigned n = 0;

	for (unsigned i = 0; i < bench.rounds; i++) {
		double u = bench.val[f][UNHOOKED][i];
		double h = bench.val[f][HOOKED][i];

		if (u > 0 && !isnan(h))
			val[n++] = h / u;
	}
	return sum(val, n);
}

const char *bench_number(double val, int decimals)
{
	static char ring[4][32];
	static unsigned next;
	char *out = ring[next++ % 4];

	if (isnan(val))
		strcpy(out, "-");
	else
		snprintf(out, sizeof(*ring), "%.*f", decimals, val);
	return out;
}

static const char *percent(double spread)
{
	static char ring[4][32];
	static unsigned next;
	char *out = ring[next++ % 4];

	if (isnan(spread))
		strcpy(out, "-");
	else
		snprintf(out, sizeof(*ring), "%.0f%%", 100 * spread);
	return out;
}

void bench_table(FILE *to)
{
	fprintf(to, "%-30s %11s %7s %11s %7s %7s %7s\n", "", "unhooked",
		"spread", "hooked", "spread", "ratio", "spread");
	for (int f = 0; f < BENCH_FIGURES; f++) {
		const struct bench_name *n = &bench_names[f];
		struct bench_sum u = bench_sum(f, UNHOOKED);
		struct bench_sum h = bench_sum(f, HOOKED);
		struct bench_sum r = bench_ratio(f);
		char title[64];

		snprintf(title, sizeof(title), "%s%s%s", n->title,
			 *n->unit && *n->unit != '/' ? ", " : "", n->unit);
		fprintf(to, "%-30s %11s %7s %11s %7s %7s %7s\n", title,
			bench_number(u.median, n->decimals), percent(u.spread),
			bench_number(h.median, n->decimals), percent(h.spread),
			bench_number(r.median, 2), percent(r.spread));
	}
	fputc('\n', to);
	for (unsigned i = 0; i < bench.nnotes; i++)
		fprintf(to, "%s\n", bench.notes[i]);
}
