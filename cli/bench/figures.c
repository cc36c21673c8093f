/*
 * The figures that a load has printed. Each tool is known by a word that only it
 * prints, and has rows: what stands before or behind a number, and what the
 * number is.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cli/bench/bench.h"
#include "cli/cli.h"

#define OUTPUT_MAX (1 << 20) /* the last bytes of it are read */

enum what {
	REQUESTS,
	SECONDS,
	RPS,
	P50,
	P99,
	ERRORS,
	CLIENTS, /* mysqlslap: with QUERIES, REQUESTS */
	QUERIES,
	WHATS
};

enum how {
	BEHIND, /* the number is behind the words */
	BEFORE, /* the number is before the words */
	ADDED,	/* behind, and added to those before it */
	ADDED_BEFORE,
	LARGEST,
};

struct row {
	const char *words;
	enum what what;
	enum how how;
	double unit; /* of SECONDS in s, of P50 and P99 in us; 0: it is told */
};

#define TIME 0
#define MS   1e3
#define S    1e6

static const struct row ours[] = {
	{ "requests=", REQUESTS, ADDED, 1 },
	{ "seconds=", SECONDS, ADDED, 1 },
	{ "rps=", RPS, BEHIND, 1 },
	{ "p50_us=", P50, LARGEST, 1 },
	{ "p99_us=", P99, LARGEST, 1 },
	{ "errors=", ERRORS, ADDED, 1 },
	{ 0 },
};
static const struct row wrk[] = {
	{ " requests in ", REQUESTS, BEFORE, 1 },
	{ " requests in ", SECONDS, BEHIND, TIME },
	{ "Requests/sec:", RPS, BEHIND, 1 },
	{ "50%", P50, BEHIND, TIME },
	{ "99%", P99, BEHIND, TIME },
	{ "Non-2xx or 3xx responses:", ERRORS, ADDED, 1 },
	{ "Socket errors: connect ", ERRORS, ADDED, 1 },
	{ ", read ", ERRORS, ADDED, 1 },
	{ ", write ", ERRORS, ADDED, 1 },
	{ ", timeout ", ERRORS, ADDED, 1 },
	{ 0 },
};
static const struct row ab[] = {
	{ "Complete requests:", REQUESTS, BEHIND, 1 },
	{ "Time taken for tests:", SECONDS, BEHIND, 1 },
	{ "Requests per second:", RPS, BEHIND, 1 },
	{ "50%", P50, BEHIND, MS },
	{ "99%", P99, BEHIND, MS },
	{ "Failed requests:", ERRORS, ADDED, 1 },
	{ "Non-2xx responses:", ERRORS, ADDED, 1 },
	{ 0 },
};
static const struct row hey[] = {
	{ "Total:", SECONDS, BEHIND, 1 },
	{ "Requests/sec:", RPS, BEHIND, 1 },
	{ "50% in ", P50, BEHIND, S },
	{ "50%% in ", P50, BEHIND, S },
	{ "99% in ", P99, BEHIND, S },
	{ "99%% in ", P99, BEHIND, S },
	{ " responses", REQUESTS, ADDED_BEFORE, 1 },
	{ 0 },
};
static const struct row redis[] = {
	{ " requests completed in ", REQUESTS, ADDED_BEFORE, 1 },
	{ " requests completed in ", SECONDS, ADDED, 1 },
	{ " requests per second", RPS, BEFORE, 1 },
	{ ", p50=", P50, LARGEST, MS },
	{ 0 },
};
static const struct row mysqlslap[] = {
	{ "Average number of seconds to run all queries:", SECONDS, BEHIND, 1 },
	{ "Number of clients running queries:", CLIENTS, BEHIND, 1 },
	{ "Average number of queries per client:", QUERIES, BEHIND, 1 },
	{ 0 },
};
static const struct row sysbench[] = {
	{ "transactions:", REQUESTS, BEHIND, 1 },
	{ "total time:", SECONDS, BEHIND, TIME },
	{ "50th percentile:", P50, BEHIND, MS },
	{ "99th percentile:", P99, BEHIND, MS },
	{ 0 },
};
static const struct row pgbench[] = {
	{ "number of transactions actually processed:", REQUESTS, BEHIND, 1 },
	{ "number of failed transactions:", ERRORS, ADDED, 1 },
	{ "tps = ", RPS, BEHIND, 1 },
	{ 0 },
};

static const struct tool {
	const char *name, *known_by;
	const struct row *rows;
} tools[] = {
	{ "wrk", "requests in ", wrk },
	{ "ab", "ApacheBench", ab },
	{ "hey", "Response time histogram", hey },
	{ "redis-benchmark", "requests per second", redis },
	{ "mysqlslap", "seconds to run all queries", mysqlslap },
	{ "sysbench", "sysbench ", sysbench },
	{ "pgbench", "tps = ", pgbench },
	{ "NAME=VALUE", "requests=", ours },
};

/* --- numbers ------------------------------------------------------------------- */

/* A time with its unit, in us. */
static double read_time(const char *at)
{
	char *unit;
	double d = strtod(at, &unit);

	switch (*unit) {
	case 'u':
		return d;
	case 'm':
		return unit[1] == 's' ? d * 1e3 : d * 60e6;
	case 's':
		return d * 1e6;
	}
	return NAN;
}

/* The number that ends at @end. */
static double number_before(const char *line, const char *end)
{
	const char *at = end;

	while (at > line && strchr("0123456789.", at[-1]))
		at--;
	return at == end ? NAN : strtod(at, NULL);
}

static double number(const struct row *r, const char *line, const char *at)
{
	const char *behind = at + strlen(r->words);
	char *end;
	double d;

	if (r->how == BEFORE || r->how == ADDED_BEFORE)
		return number_before(line, at);
	if (r->unit == TIME)
		return r->what == SECONDS ? read_time(behind) / 1e6 :
					    read_time(behind);
	d = strtod(behind, &end);
	return end == behind ? NAN : d * r->unit;
}

static void put(double *val, enum how how, double d)
{
	if (isnan(d))
		return;
	if (isnan(*val) || how == BEHIND || how == BEFORE)
		*val = d;
	else if (how == LARGEST)
		*val = d > *val ? d : *val;
	else
		*val += d;
}

/* --- lines ---------------------------------------------------------------------- */

/* What stands in a table: the line below its head. */
static void take_table(const char *line, const char *next, double *val)
{
	double d[6];

	if (strstr(line, "avg       min       p50") && next &&
	    sscanf(next, "%lf %lf %lf %lf %lf %lf", &d[0], &d[1], &d[2], &d[3],
		   &d[4], &d[5]) == 6) {
		put(&val[P50], LARGEST, d[2] * MS);
		put(&val[P99], LARGEST, d[4] * MS);
	}
}

/* hey: "[404]	12 responses", and "[12]	dial tcp ..." of what went wrong. */
static void take_status(const char *line, double *val)
{
	int n, count;

	if (sscanf(line, " [%d] %d responses", &n, &count) == 2)
		put(&val[ERRORS], ADDED, n >= 400 ? count : 0);
	else if (sscanf(line, " [%d] %*s", &n) == 1)
		put(&val[ERRORS], ADDED, n);
}

static void take_line(const struct tool *t, const char *line, const char *next,
		      double *val)
{
	for (const struct row *r = t->rows; r->words; r++) {
		const char *at = strstr(line, r->words);
		/* "p50_us=" in a line of many, not "max_p50_us=" */
		bool whole =
			at && (at == line || r->words[0] == ' ' ||
			       r->words[0] == ',' || strchr(" \t", at[-1]));

		if (whole)
			put(&val[r->what], r->how, number(r, line, at));
	}
	if (t->rows == redis)
		take_table(line, next, val);
	if (t->rows == hey)
		take_status(line, val);
}

static const struct tool *tool_of(const char *text)
{
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
		if (strstr(text, tools[i].known_by))
			return &tools[i];
	return NULL;
}

/* How often mysqlslap repeats all: it tells the average alone. */
static double repeats(const char *command)
{
	static const char *const options[] = { "--iterations=", "--iterations ",
					       " -i" };

	for (size_t i = 0; command && i < 3; i++) {
		const char *at = strstr(command, options[i]);
		double n = at ? strtod(at + strlen(options[i]), NULL) : 0;

		if (n >= 1)
			return n;
	}
	return 1;
}

static char *read_text(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	off_t from = end > OUTPUT_MAX ? end - OUTPUT_MAX : 0;
	char *text = calloc(1, OUTPUT_MAX + 1);
	ssize_t n;

	if (!text)
		cli_fail(CLI_ERROR, "out of memory");
	n = pread(fd, text, OUTPUT_MAX, from);
	/* redis-benchmark writes over its line of progress */
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\r' || !text[i])
			text[i] = '\n';
	return text;
}

/* mysqlslap tells of clients that cannot connect on stderr alone. */
static double complaints(int fd)
{
	static const char begin[] = "mysqlslap: ";
	char *text = read_text(fd);
	double n = 0;

	for (char *at = text; (at = strstr(at, begin)); at++)
		n += at == text || at[-1] == '\n';
	free(text);
	return n;
}

bool bench_figures(int fd, int err, const char *command,
		   struct bench_figures *f)
{
	char *text = read_text(fd), *line, *rest, *next;
	const struct tool *t = tool_of(text);
	double val[WHATS];

	for (int i = 0; i < WHATS; i++)
		val[i] = NAN;
	for (line = text; t && line; line = rest) {
		rest = strchr(line, '\n');
		if (rest)
			*rest++ = 0;
		next = rest;
		take_line(t, line, next, val);
	}
	if (!isnan(val[QUERIES])) {
		double n = repeats(command);

		val[REQUESTS] = val[CLIENTS] * val[QUERIES] * n;
		val[SECONDS] *= n;
	}
	if (isnan(val[RPS]) || (t && t->rows == redis && val[SECONDS] > 0))
		val[RPS] = val[SECONDS] > 0 && !isnan(val[REQUESTS]) ?
				   val[REQUESTS] / val[SECONDS] :
				   val[RPS];
	if (t && t->rows == mysqlslap)
		put(&val[ERRORS], ADDED, complaints(err));
	*f = (struct bench_figures){ .tool = t ? t->name : NULL,
				     .requests = val[REQUESTS],
				     .seconds = val[SECONDS],
				     .rps = val[RPS],
				     .p50_us = val[P50],
				     .p99_us = val[P99],
				     .errors = isnan(val[ERRORS]) ?
						       0 :
						       val[ERRORS] };
	free(text);
	return t && !isnan(f->rps);
}
