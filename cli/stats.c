/*
 * fibhook stats PID [--every S] [--json|--prometheus]: the counters of a running
 * process, from outside: it need not come to its end for them.
 *
 * Each reading is a child's (dump/guard.c). Between two of them the process may
 * end and its number become another's: the time of its birth tells.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/table.h"
#include "runtime/compat.h"

#define EVERY_MAX 86400.0

enum { TEXT, JSON, PROMETHEUS };
static const char *const forms[] = { "", "--json", "--prometheus", NULL };
static int form;

static pid_t wanted;
static unsigned long long born; /* 0: not known */

/* When it became active, by the wall clock: as it says itself. */
static const char *start_time(void)
{
	return cli_text_of(dump_tab.start, sizeof(dump_tab.start));
}

static void print_text(void)
{
	printf("# fibhook %s pid %d workers %u start %s seconds %.3f program "
	       "%s\n",
	       FIB_VERSION, (int)dump_pid, dump_sched.target, start_time(),
	       dump_seconds(), dump_process_name());
	for (unsigned i = 0; i < FIB_STATS; i++)
		if (!dump_stat_missing(i))
			printf("%s %lu\n", dump_stat_name(i),
			       dump_tab.stats[i]);
}

static void print_json(void)
{
	printf("{\"version\":\"%s\",\"pid\":%d,\"program\":\"%s\",\"workers\":"
	       "%d,\"fibers\":%u,\"start\":\"%s\",\"seconds\":%.3f,"
	       "\"counters\":{",
	       FIB_VERSION, (int)dump_pid, dump_json(dump_process_name()),
	       dump_sched.running, dump_fibers_count(), start_time(),
	       dump_seconds());
	for (unsigned i = 0, n = 0; i < FIB_STATS; i++)
		if (!dump_stat_missing(i))
			printf("%s\"%s\":%lu", n++ ? "," : "",
			       dump_stat_name(i), dump_tab.stats[i]);
	printf("}}\n");
}

/* The text format, version 0.0.4. */
static void print_metric(const char *name, const char *help, const char *type,
			 const char *format, double val)
{
	printf("# HELP fibhook_%s %s\n# TYPE fibhook_%s %s\n"
	       "fibhook_%s{pid=\"%d\",program=\"%s\"} ",
	       name, help, name, type, name, (int)dump_pid,
	       dump_json(dump_process_name()));
	printf(format, val);
	printf("\n");
}

static void print_prometheus(void)
{
	static const char *const help[] = {
#define FIB_STAT(name, text) text,
#include "runtime/stats.def"
#undef FIB_STAT
	};

	for (unsigned i = 0; i < FIB_STATS; i++) {
		char name[64];

		if (dump_stat_missing(i))
			continue;
		snprintf(name, sizeof(name), "%s_total", dump_stat_name(i));
		print_metric(name, help[i], "counter", "%.0f",
			     (double)dump_tab.stats[i]);
	}
	print_metric("workers", "kernel threads that run fibers", "gauge",
		     "%.0f", dump_sched.running);
	print_metric("fibers", "fibers that there are", "gauge", "%.0f",
		     dump_fibers_count());
	print_metric("active_seconds", "time since the start", "gauge", "%.3f",
		     dump_seconds());
}

static int look(void)
{
	dump_open(wanted);
	if (born && dump_born() != born)
		cli_fail(CLI_ERROR, "process %d has ended", (int)wanted);
	dump_table_need_any();
	if (!dump_tab.active)
		cli_fail(
			CLI_ERROR,
			"process %d: no fibers run, so nothing is counted; see "
			"fibhook status",
			(int)dump_pid);
	if (form == JSON)
		print_json();
	else if (form == PROMETHEUS)
		print_prometheus();
	else
		print_text();
	if (dump_ended())
		dump_explain(0);
	return 0;
}

/* Until @at by the monotonic clock; false: the process has ended before. */
static bool wait_until(int64_t at, int process)
{
	struct pollfd p = { .fd = process, .events = POLLIN };

	for (;;) {
		int64_t left = (at - dump_now_ns() + 999999) / 1000000;

		if (left <= 0)
			return true;
		if (poll(&p, 1, (int)left) > 0)
			return false;
	}
}

static double read_every(const char *arg)
{
	char *end;
	double s;

	errno = 0;
	s = arg ? strtod(arg, &end) : 0;
	if (!arg || end == arg || *end || errno || !(s >= 0.01) ||
	    s > EVERY_MAX)
		cli_fail(CLI_USAGE,
			 "stats: --every: '%s' is not a number of seconds from "
			 "0.01 to %.0f",
			 arg ? arg : "", EVERY_MAX);
	return s;
}

static double read_arguments(int argc, char **argv)
{
	double every = 0;

	for (int i = 1; i < argc; i++) {
		if (cli_form("stats", forms, argv[i], &form))
			continue;
		if (!strcmp(argv[i], "--every"))
			every = read_every(argv[++i]);
		else if (!strncmp(argv[i], "--every=", 8))
			every = read_every(argv[i] + 8);
		else if (argv[i][0] == '-')
			cli_fail(CLI_USAGE, "stats: %s: no such option",
				 argv[i]);
		else if (wanted)
			cli_fail(CLI_USAGE, "stats: one process id is enough");
		else
			wanted = cli_pid("stats", argv[i]);
	}
	if (!wanted)
		cli_fail(CLI_USAGE, "stats: which process? See fibhook --help");
	if (every > 0 && form == PROMETHEUS)
		cli_fail(CLI_USAGE,
			 "stats: --prometheus is for one reading, which its "
			 "server repeats");
	return every;
}

int cli_stats(int argc, char **argv)
{
	double every = read_arguments(argc, argv);
	int64_t next = dump_now_ns();
	/* Where the kernel has none, the next reading tells. */
	int process = (int)syscall(SYS_pidfd_open, wanted, 0), r;

	born = dump_born_of(wanted);
	r = dump_guard(wanted, look, false);
	while (r == 0 && every > 0) {
		next += (int64_t)(every * 1e9);
		if (!wait_until(next, process))
			return 0; /* it has come to its end */
		if (form == TEXT)
			printf("\n");
		fflush(stdout);
		r = dump_guard(wanted, look, true);
		/* It may be about to end: its memory goes first. */
		if (r && !wait_until(dump_now_ns() + 1000000000, process))
			return 0;
		if (r)
			r = dump_guard(wanted, look, false);
	}
	return r;
}
