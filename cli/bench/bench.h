/*
 * fibhook bench: a server under load, unhooked and hooked in turn.
 *
 *   bench.c     the command: options, rounds, one measurement
 *   load.c      a load of its own, echo or HTTP: a child that prints its figures
 *   http.c      answers of HTTP, for that
 *   figures.c   what a load has printed: wrk, ab, hey, ..., and our own
 *   table.c     medians, spreads, ratios; the table
 *   report.c    JSON and HTML, whole or not at all
 *
 * A round is one measurement of each mode, in alternating order, each of a server
 * that was started for it. Ratios are of one round, so that what changes slowly
 * falls out of them.
 */
#ifndef FIB_BENCH_H
#define FIB_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "cli/run/run.h"

#define BENCH_ROUNDS 100

enum bench_mode { UNHOOKED, HOOKED, BENCH_MODES };

/* In the order of the table; table.c has their names. */
enum bench_figure {
	BENCH_RPS,
	BENCH_P50,
	BENCH_P99,
	BENCH_CPU,
	BENCH_CALLS,
	BENCH_THREADS,
	BENCH_RSS,
	BENCH_PTE,
	BENCH_STACKS,
	BENCH_SWITCHES,
	BENCH_REQUESTS,
	BENCH_FIGURES
};

struct bench {
	char *server, *load; /* as they may be printed; load: its own: NULL */
	char address[160];
	unsigned rounds; /* that are done */
	int workers;	 /* of the hooked server; 0: not known */
	const char *tool;
	/* NAN: not known */
	double val[BENCH_FIGURES][BENCH_MODES][BENCH_ROUNDS];
	char *notes[16];
	unsigned nnotes;
};

extern struct bench bench;

/** One line below the table; the same one only once. */
void bench_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* --- load.c, http.c --------------------------------------------------------- */

struct bench_load {
	struct run_address to;
	unsigned connections;
	double seconds;
};

/** In a child: load the server, print the figures; the exit status. */
int bench_load(void *load);

enum bench_http_state {
	HTTP_STATUS,
	HTTP_HEADER,
	HTTP_BODY,   /* left bytes */
	HTTP_TO_END, /* until the connection ends */
	HTTP_CHUNK,  /* the line with its size */
	HTTP_CHUNK_DATA,
	HTTP_CHUNK_END,
	HTTP_TRAILER,
	HTTP_DONE,
	HTTP_BAD,
};

struct bench_http {
	enum bench_http_state state;
	int status;
	bool chunked, length, close;
	uint64_t left;
	char line[256];
	size_t n;
};

/** The next @len bytes of an answer; how many belong to it. @h starts as zeros. */
size_t bench_http(struct bench_http *h, const char *data, size_t len);

/* --- figures.c --------------------------------------------------------------- */

struct bench_figures {
	const char *tool;
	double requests, seconds, rps, p50_us, p99_us; /* NAN: not told */
	double errors;
};

/**
 * Read what the load @command has written to @fd, its stdout, and to @err; false:
 * no tool is known.
 */
bool bench_figures(int fd, int err, const char *command,
		   struct bench_figures *f);

/* --- table.c ------------------------------------------------------------------ */

struct bench_name {
	const char *title, *unit, *key;
	int decimals;
};

extern const struct bench_name bench_names[BENCH_FIGURES];

struct bench_sum {
	double median, spread; /* of the median; NAN: not known */
	double least, most;
};

struct bench_sum bench_sum(enum bench_figure f, enum bench_mode m);
/** Hooked to unhooked, of each round. */
struct bench_sum bench_ratio(enum bench_figure f);
/** A number of @figure, or "-". Holds until the fourth call after this one. */
const char *bench_number(double val, int decimals);
void bench_table(FILE *to);

/* --- report.c ------------------------------------------------------------------ */

/** See to it that @dir is there, and may be written to; or fail. */
void bench_report_prepare(const char *dir);
/** bench.json and bench.html in @dir. */
void bench_report(const char *dir);

#endif
