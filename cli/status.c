/*
 * fibhook status [--json] [PID...]: which processes are hooked.
 *
 * Each process is read by a child of its own, as fibhook dump does it
 * (dump/guard.c): one that lies or hangs costs the others nothing. Without PIDs
 * all processes are looked at, and those that have not loaded the library, or may
 * not be read, are passed over.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/dump/table.h"

/* What a child finds: its exit status. 1 is CLI_ERROR. */
enum found {
	FOUND_ACTIVE = 0,
	FOUND_OTHER = 10,
	FOUND_NOTHING = 11,
};

enum {
	SOME_NOT_ACTIVE = 1, /* exit statuses of ours */
	NONE_ACTIVE = 3,
};

static pid_t wanted;
static bool all, json;
static unsigned printed;

struct row {
	const char *state, *reason;
	char version[16 * 4 + 1];
	bool counts;
};

/* --- one process --------------------------------------------------------- */

static const char *text_of(const char *s, size_t len)
{
	return strnlen(s, len) ? cli_text_of(s, len) : NULL;
}

static struct row describe(enum dump_table found)
{
	static const char *const states[] = { "loaded", "unhooked",
					      "disabled" };
	struct row r = { .state = "not loaded" };
	bool known = dump_tab.state < sizeof(states) / sizeof(*states);

	if (found == DUMP_TABLE_NONE)
		return r;
	if (found == DUMP_TABLE_OLD) {
		r.state = "unknown";
		r.reason = "the library is of another version";
		return r;
	}
	snprintf(r.version, sizeof(r.version), "%s",
		 cli_text_of(dump_tab.version, sizeof(dump_tab.version)));
	if (dump_tab.active) {
		r.state = dump_library->seen ? "library" : "active";
		if (found == DUMP_TABLE_OTHER)
			r.reason = "the library is of another version";
		else if (found == DUMP_TABLE_LIB)
			r.reason = "not hooked: it uses libfib itself";
		else if (dump_stopped())
			r.reason = "it is stopped, by a signal";
		r.counts = found != DUMP_TABLE_OTHER;
		return r;
	}
	r.state = known ? states[dump_tab.state] : "unknown";
	r.reason = dump_tab.state == FIB_STATE_LOADED ?
			   "no thread has been created yet" :
			   text_of(dump_tab.reason, sizeof(dump_tab.reason));
	return r;
}

static uint64_t held_up(void)
{
	return dump_tab.stats[FIB_STAT_held_up];
}

static double held_per_second(void)
{
	double s = dump_seconds();

	return s > 0 ? (double)held_up() / s : 0;
}

static void print_text(const struct row *r)
{
	if (!printed)
		printf("%7s %-15s %-10s %7s %7s %7s %s\n", "PID", "PROGRAM",
		       "STATE", "WORKERS", "FIBERS", "HELD/s", "REASON");
	printf("%7d %-15s %-10s ", (int)dump_pid, dump_process_name(),
	       r->state);
	if (r->counts)
		printf("%7d %7u ", dump_sched.running, dump_fibers_count());
	else
		printf("%7s %7s ", "-", "-");
	if (r->counts && !dump_is_lib)
		printf("%7.1f", held_per_second());
	else
		printf("%7s", "-");
	printf(" %s\n", r->reason ? r->reason : "-");
}

static void print_json(const struct row *r)
{
	printf("%s{\"pid\":%d,\"program\":\"%s\",\"state\":\"%s\"",
	       printed ? ",\n" : "[", (int)dump_pid,
	       dump_json(dump_process_name()), r->state);
	if (*r->version)
		printf(",\"version\":\"%s\"", dump_json(r->version));
	if (r->counts)
		printf(",\"workers\":%d,\"fibers\":%u,\"seconds\":%.3f",
		       dump_sched.running, dump_fibers_count(), dump_seconds());
	if (r->counts && !dump_is_lib)
		printf(",\"held_up\":%lu,\"held_up_per_second\":%.3f",
		       held_up(), held_per_second());
	if (r->reason)
		printf(",\"reason\":\"%s\"", dump_json(r->reason));
	printf("}");
}

static int look(void)
{
	enum dump_table found;
	struct row r;

	dump_open(wanted);
	found = dump_table_find();
	if (all && found == DUMP_TABLE_NONE)
		return FOUND_NOTHING;
	r = describe(found);
	if (json)
		print_json(&r);
	else
		print_text(&r);
	if (dump_ended())
		dump_explain(0);
	return strcmp(r.state, "active") && strcmp(r.state, "library") ?
		       FOUND_OTHER :
		       FOUND_ACTIVE;
}

/* --- all of them ---------------------------------------------------------- */

struct sums {
	unsigned active, others;
};

static void look_at(pid_t pid, struct sums *s)
{
	int r;

	wanted = pid;
	r = dump_guard(pid, look, all);
	if (r == FOUND_ACTIVE)
		s->active++;
	else if (r == FOUND_OTHER || !all)
		s->others++;
	printed += r == FOUND_ACTIVE || r == FOUND_OTHER;
}

static int by_number(const void *a, const void *b)
{
	const pid_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void look_at_all(struct sums *s)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t *pids = NULL;
	size_t n = 0;

	if (!d)
		cli_fail(CLI_ERROR, "/proc: %s", strerror(errno));
	while ((e = readdir(d))) {
		if (!isdigit(*e->d_name))
			continue;
		if (n % 1024 == 0)
			pids = realloc(pids, (n + 1024) * sizeof(*pids));
		if (!pids)
			cli_fail(CLI_ERROR, "out of memory");
		pids[n++] = atoi(e->d_name);
	}
	closedir(d);
	qsort(pids, n, sizeof(*pids), by_number);
	for (size_t i = 0; i < n; i++)
		look_at(pids[i], s);
	free(pids);
}

int cli_status(int argc, char **argv)
{
	struct sums s = { 0 };

	all = true;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (argv[i][0] == '-')
			cli_fail(CLI_USAGE, "status: %s: no such option",
				 argv[i]);
		else if (cli_pid("status", argv[i]))
			all = false;
	}
	if (all)
		look_at_all(&s);
	for (int i = 1; i < argc; i++)
		if (argv[i][0] != '-')
			look_at(cli_pid("status", argv[i]), &s);
	if (json)
		printf("%s]\n", printed ? "" : "[");
	else if (all && !printed)
		cli_say("no process that may be read has loaded the library");
	if (fflush(stdout))
		cli_fail(CLI_ERROR, "stdout: %s", strerror(errno));
	if (!s.active)
		return NONE_ACTIVE;
	return s.others ? SOME_NOT_ACTIVE : 0;
}
