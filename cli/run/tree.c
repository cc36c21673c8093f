/*
 * The processes below us, and what they use. They are found anew each time, by
 * their parents: run.h tells why that finds a server that is in the background.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/run/run.h"

struct process {
	pid_t pid, parent;
	char state;
	unsigned long own_ticks, waited_ticks;
};

static struct process *all;
static size_t nall, room;

static struct {
	double cpu_s, switches;
} over; /* of those that were reaped */

/* --- /proc/PID/stat ----------------------------------------------------------- */

static bool read_stat(pid_t pid, struct process *p)
{
	unsigned long user, system;
	long child_user, child_system;
	char path[64], line[1024], *end;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = 0;
	/* The name may hold anything: it ends at the last parenthesis. */
	end = strrchr(line, ')');
	p->pid = pid;
	if (!end || sscanf(end + 1,
			   " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu "
			   "%ld %ld",
			   &p->state, &p->parent, &user, &system, &child_user,
			   &child_system) != 6)
		return false;
	p->own_ticks = user + system;
	p->waited_ticks = (unsigned long)(child_user + child_system);
	return true;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void read_all(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	if (!d)
		cli_fail(CLI_ERROR, "/proc cannot be read");
	nall = 0;
	while ((e = readdir(d))) {
		if (!isdigit(*e->d_name))
			continue;
		if (nall == room) {
			room = room ? 2 * room : 256;
			all = realloc(all, room * sizeof(*all));
			if (!all)
				cli_fail(CLI_ERROR, "out of memory");
		}
		nall += read_stat(atoi(e->d_name), &all[nall]);
	}
	closedir(d);
	qsort(all, nall, sizeof(*all), by_pid);
}

static const struct process *process_of(pid_t pid)
{
	struct process key = { .pid = pid };

	return bsearch(&key, all, nall, sizeof(*all), by_pid);
}

/* --- what is below us ---------------------------------------------------------- */

/* Whose parents lead to us, but not by way of @but. A zombie has ended. */
static bool is_below(const struct process *p, pid_t us, pid_t but)
{
	if (p->state == 'Z' || p->state == 'X')
		return false;
	for (int depth = 0; p && depth < 1000; depth++) {
		if (p->pid == but)
			return false;
		if (p->parent == us)
			return true;
		p = process_of(p->parent);
	}
	return false;
}

static size_t find(pid_t *pids, size_t max, pid_t but, bool children)
{
	pid_t us = getpid();
	size_t n = 0;

	read_all();
	for (size_t i = 0; i < nall && n < max; i++)
		if (is_below(&all[i], us, but) &&
		    (!children || all[i].parent == us))
			pids[n++] = all[i].pid;
	return n;
}

static pid_t helper(void)
{
	return run_helper.ended ? 0 : run_helper.pid;
}

size_t run_tree(pid_t *pids, size_t max)
{
	return find(pids, max, helper(), false);
}

size_t run_children(pid_t *pids, size_t max)
{
	return find(pids, max, helper(), true);
}

size_t run_everything(pid_t *pids, size_t max)
{
	return find(pids, max, 0, false);
}

/* --- what they use --------------------------------------------------------------- */

/* Finer than ticks, and with the threads that have ended. */
static double cpu_of(const struct process *p)
{
	double ticks = (double)sysconf(_SC_CLK_TCK);
	double waited = (double)p->waited_ticks / ticks;
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(p->pid, &clock) || clock_gettime(clock, &ts))
		return (double)p->own_ticks / ticks + waited;
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9 + waited;
}

static double field(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtod(at + strlen(name), NULL) : 0;
}

static bool read_status(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	if (!f)
		return false;
	n = fread(text, 1, size - 1, f);
	fclose(f);
	text[n] = 0;
	return n > 0;
}

static double switches_of(pid_t pid)
{
	char path[300], text[4096];
	struct dirent *e;
	double sum = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	d = opendir(path);
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (!isdigit(*e->d_name))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status",
			 (int)pid, e->d_name);
		if (read_status(path, text, sizeof(text)))
			sum += field(text, "\nvoluntary_ctxt_switches:") +
			       field(text, "\nnonvoluntary_ctxt_switches:");
	}
	closedir(d);
	return sum;
}

void run_usage(struct run_usage *u, bool switches)
{
	pid_t pids[RUN_TREE_MAX];
	size_t n = run_tree(pids, RUN_TREE_MAX);

	*u = (struct run_usage){ .cpu_s = over.cpu_s };
	for (size_t i = 0; i < n; i++) {
		const struct process *p = process_of(pids[i]);
		char path[64], text[4096];

		snprintf(path, sizeof(path), "/proc/%d/status", (int)pids[i]);
		if (!p || !read_status(path, text, sizeof(text)))
			continue;
		u->processes++;
		u->threads += (unsigned)field(text, "\nThreads:");
		u->rss_kb += field(text, "\nVmRSS:");
		u->pte_kb += field(text, "\nVmPTE:");
		u->cpu_s += cpu_of(p);
		if (switches)
			u->switches += switches_of(pids[i]);
	}
}

void run_tree_ended(const struct rusage *r)
{
	over.cpu_s += (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
		      (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) / 1e6;
	over.switches += (double)(r->ru_nvcsw + r->ru_nivcsw);
}

double run_ended_switches(void)
{
	return over.switches;
}

void run_tree_reset(void)
{
	over.cpu_s = over.switches = 0;
}
