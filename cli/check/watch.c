/*
 * The command itself, hooked, for some seconds. If it listens, it is given some
 * connections that say nothing: what each of them costs it, a fiber, a process or
 * nothing, is what kind of server it is.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cli/check/check.h"
#include "cli/cli.h"
#include "cli/run/run.h"

#define TICK_MS 50

static void keep_counters(struct check_watch *w, const uint64_t *stats)
{
	w->created = stats[FIB_STAT_fibers_created];
	w->kernel_blocks = stats[FIB_STAT_kernel_blocks];
	w->held_up = stats[FIB_STAT_held_up];
}

/* What it did between the last look and its end is in its counters alone. */
static void keep_last(struct check_watch *w)
{
	uint64_t stats[FIB_STATS];

	if (!run_counters(stats) || stats[FIB_STAT_fibers_created] < w->created)
		return;
	w->looked = w->active = true;
	keep_counters(w, stats);
}

static void keep(struct check_watch *w, const struct run_look *l)
{
	w->looked = true;
	w->active = l->active;
	w->state = l->state;
	memcpy(w->reason, l->reason, sizeof(w->reason));
	w->fibers = l->fibers;
	if (l->fibers > w->most)
		w->most = l->fibers;
	keep_counters(w, l->stats);
	w->nheld = 0;
	for (int i = 0; i < FIB_HOLDUPS; i++)
		if (l->held[i].count)
			w->held[w->nheld++] = l->held[i];
}

static void connect_some(const struct run_address *a, int *fds,
			 struct check_watch *w)
{
	w->listens = true;
	snprintf(w->address, sizeof(w->address), "%s", run_address_name(a));
	for (int i = 0; i < CHECK_CONNECTIONS; i++) {
		fds[w->connections] = run_connect(a, false);
		if (fds[w->connections] < 0)
			break;
		w->connections++;
	}
}

static void watch(double seconds, double patience, int *fds,
		  struct check_watch *w)
{
	double most = patience > seconds ? patience : seconds;
	int64_t begin = run_now_ns(), end = begin + (int64_t)(most * 1e9);
	size_t processes = 0, before = 0;
	pid_t pids[RUN_TREE_MAX];
	struct run_look l;
	unsigned fibers = 0;

	while (run_now_ns() < end) {
		struct run_address a;

		run_pause(TICK_MS);
		w->ended = run_gone();
		if (w->ended)
			break;
		processes = run_tree(pids, RUN_TREE_MAX);
		if (run_look(&l))
			keep(w, &l);
		if (!w->listens && run_listens(&a, 0)) {
			before = processes;
			fibers = w->fibers;
			connect_some(&a, fds, w);
			end = run_now_ns() + (int64_t)(seconds * 1e9);
		}
		if (w->listens && (int)(w->fibers - fibers) > w->more_fibers)
			w->more_fibers = (int)(w->fibers - fibers);
		if (w->listens && (int)(processes - before) > w->more_processes)
			w->more_processes = (int)(processes - before);
	}
	w->seconds = (double)(run_now_ns() - begin) / 1e9;
}

void check_watch(const char *path, char **argv, const char *library,
		 double seconds, double patience, struct check_watch *w)
{
	int fds[CHECK_CONNECTIONS];

	*w = (struct check_watch){ .awaited = patience > 0 };
	cli_put("FIBHOOK_STATS", "stderr");
	run_init();
	run_start(path, argv, library, false);
	watch(seconds, patience, fds, w);
	w->status = run_server.status;
	if (w->ended)
		keep_last(w);
	if (w->ended)
		snprintf(w->said, sizeof(w->said), "%s",
			 run_last_line(&run_server));
	for (unsigned i = 0; i < w->connections; i++)
		close(fds[i]);
	run_stop(5);
}
