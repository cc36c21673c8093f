/*
 * fibhook dump PID: every fiber of a running process, from outside.
 *
 * The way in is the exported object fib_symtab of the library that the process
 * has loaded: it leads to all fibers and workers. The process is not stopped
 * and need not cooperate. This file finds them and prints them.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/dump/core.h"
#include "cli/dump/fiber.h"

#define LINE_WIDTH  78
#define TOP_HOLDUPS 8

/* --- the head ------------------------------------------------------------ */

static void print_worker(uint32_t i)
{
	struct fib_worker w;
	long fiber;

	if (!dump_worker(i, &w)) {
		printf("worker %u  (changed while being read)\n", i);
		return;
	}
	printf("worker %-2u  thread %-7d  ", dump_is_lib ? w.id : i, w.tid);
	if (dump_sched_of_worker(i))
		printf("of scheduler %s  ", dump_sched_of_worker(i));
	fiber = w.cur ? dump_fib_index((uintptr_t)w.cur) : -1;
	if (w.gone)
		printf("has ended");
	else if (!w.tid)
		printf("not started");
	else if (w.spare)
		printf("spare, asleep");
	else if (w.idle)
		printf("idle");
	else if (fiber >= 0)
		printf("runs fiber %ld%s", fiber,
		       w.blocking ? ", blocked in the kernel" : "");
	else
		printf("between two fibers");
	if (w.queued)
		printf(", %u queued", w.queued);
	printf("\n");
}

static void print_core(void)
{
	printf("core %s", cli_text(dump_core.path));
	if (dump_core.signal)
		printf(", signal %d (%s) in thread %d", dump_core.signal,
		       strsignal(dump_core.signal), (int)dump_core.thread);
	for (uint32_t i = 0; i < dump_workers_max(); i++) {
		struct fib_worker w;

		if (dump_worker(i, &w) && w.tid == dump_core.thread && w.cur)
			printf(", fiber %ld", dump_fib_index((uintptr_t)w.cur));
	}
	printf("\n");
}

static void print_head(void)
{
	uint32_t n = dump_workers_max();
	int column;

	if (dump_core.path)
		print_core();
	printf("process %d (%s): %u workers, %s\n", (int)dump_pid,
	       dump_process_name(), n, cli_text(dump_library->path));
	for (uint32_t i = 0; i < n; i++)
		print_worker(i);
	if (dump_tab.chaos)
		printf("chaos, seed %lu\n", dump_tab.chaos);
	column = printf("counters ");
	for (unsigned i = 0; i < FIB_STATS; i++) {
		char item[64];
		int len;

		if (!dump_tab.stats[i] || dump_stat_missing(i))
			continue;
		len = snprintf(item, sizeof(item), " %s=%lu", dump_stat_name(i),
			       dump_tab.stats[i]);
		if (column + len > LINE_WIDTH)
			column = printf("\n         ") - 1;
		column += printf("%s", item);
	}
	printf("\n");
}

/* --- where workers are held up --------------------------------------------- */

static int by_count(const void *a, const void *b)
{
	const struct fib_holdup *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static void print_holdups(void)
{
	qsort(dump_tab.holdups, FIB_HOLDUPS, sizeof(*dump_tab.holdups),
	      by_count);
	for (int i = 0; i < TOP_HOLDUPS && dump_tab.holdups[i].count; i++) {
		const struct fib_holdup *s = &dump_tab.holdups[i];
		struct dump_frame at = { .ip = s->at };

		printf("held up   %lu times in ", s->count);
		if (s->what == FIB_HOLDUP_CODE)
			printf("the program's code: a loop, or page faults\n");
		else if (!s->at)
			printf("%s\n", dump_call_name(s->what));
		else {
			printf("%s from ", dump_call_name(s->what));
			dump_place_print(&at, 1);
		}
	}
}

/* --- the command --------------------------------------------------------- */

static pid_t wanted;
static const char *exe; /* of a core */
static long only = -1;	/* this fiber alone */

/* Why none of its threads is a fiber. */
static const char *why_not(void)
{
	uint32_t state = dump_tab.state;

	if (state == FIB_STATE_UNHOOKED || state == FIB_STATE_DISABLED)
		return cli_text_of(dump_tab.reason, sizeof(dump_tab.reason));
	return "it has created no thread yet";
}

enum { PLAIN, GROUPS, FOLDED, JSON };
static const char *const forms[] = { "", "--group", "--folded", "--json",
				     NULL };
static int form;

static void dump_all(void)
{
	uint32_t n;

	if (form == FOLDED) {
		dump_each_fiber(only, dump_group_add);
		dump_groups_folded();
		return;
	}
	if (form == JSON) {
		dump_json_head();
		dump_each_fiber(only, dump_json_fiber);
		dump_json_end();
		return;
	}
	print_head();
	print_holdups();
	n = dump_each_fiber(only,
			    form == GROUPS ? dump_group_add : dump_fiber_print);
	if (form == GROUPS)
		dump_groups_print();
	else
		dump_deadlocks_print();
	printf("\n%u fibers\n", n);
}

/* @only is one that there is. */
static bool is_there(void)
{
	struct fib f;

	return (uint64_t)only < dump_fibers_max() &&
	       dump_fib(dump_fib_at((uint32_t)only), &f, NULL) &&
	       f.state != FIB_IS_FREE;
}

static int dump(void)
{
	if (dump_core.path)
		dump_core_open(dump_core.path, exe);
	else
		dump_open(wanted);
	dump_table_need_any();
	if (!dump_tab.active && form == JSON)
		cli_fail(CLI_ERROR, "%s: no fibers run: %s", dump_what(),
			 why_not());
	if (!dump_tab.active) {
		printf("process %d (%s): hooked, but no fiber runs: %s\n"
		       "0 fibers\n",
		       (int)dump_pid, dump_process_name(), why_not());
		return 0;
	}
	if (only >= 0 && !is_there())
		cli_fail(CLI_ERROR, "%s: no fiber %ld", dump_what(), only);
	dump_unwind_init();
	if (dump_core.path)
		dump_core_tell();
	dump_all();
	if (dump_ended())
		dump_explain(0);
	return 0;
}

static long read_fiber(const char *arg)
{
	char *end;
	long n = arg ? strtol(arg, &end, 10) : -1;

	if (!arg || end == arg || *end || n < 0 || n >= FIB_MAX)
		cli_fail(CLI_USAGE,
			 "dump: --fiber: '%s' is not a fiber's number, from 0 "
			 "to %u",
			 arg ? arg : "", FIB_MAX - 1);
	return n;
}

/* True: it is one that has a value of its own. */
static bool read_option(char **arg)
{
	if (!strcmp(*arg, "--all"))
		dump_all_frames = true;
	else if (!strcmp(*arg, "--lines"))
		dump_lines = true;
	else if (cli_form("dump", forms, *arg, &form))
		return false;
	else if (!strncmp(*arg, "--fiber=", 8))
		only = read_fiber(*arg + 8);
	else if (!strncmp(*arg, "--core=", 7))
		dump_core.path = *arg + 7;
	else if (!strcmp(*arg, "--fiber"))
		return only = read_fiber(arg[1]), true;
	else if (!strcmp(*arg, "--core"))
		return dump_core.path = arg[1] ? arg[1] : "", true;
	else
		cli_fail(CLI_USAGE, "dump: %s: no such option", *arg);
	return false;
}

int cli_dump(int argc, char **argv)
{
	const char *of = NULL;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			i += read_option(&argv[i]);
		else if (of)
			cli_fail(CLI_USAGE, "dump: one process id is enough");
		else
			of = argv[i];
	}
	if (dump_core.path && !*dump_core.path)
		cli_fail(CLI_USAGE, "dump: --core: which file?");
	if (!dump_core.path && !of)
		cli_fail(CLI_USAGE, "dump: which process? See fibhook --help");
	if (dump_core.path)
		exe = of;
	else
		wanted = cli_pid("dump", of);
	return dump_guard(wanted, dump, false);
}
