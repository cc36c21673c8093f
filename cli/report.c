/*
 * fibhook report PID: why does it not scale? What holds kernel threads up, since
 * its start; which words are waited for, and for how long, in the next second, by
 * the events of fibhook trace; which mutexes are fought for and who waits longest,
 * now; and a plain hint for each.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "cli/cli.h"
#include "cli/dump/fiber.h"
#include "cli/trace/trace.h"
#include "runtime/compat.h"

#define LONGEST	 10 /* waits that are shown */
#define LOCKS	 10
#define FINDS	 20 /* looks for somebody who waits for one */
#define MAX_ROWS (1u << 17)

static pid_t wanted;
static double seconds = 1; /* of looking at who waits for what */

/* --- hints ------------------------------------------------------------------ */

static const struct {
	const char *call, *hint;
} hints[] = {
#define FIB_CALL_HINT(call, hint) { call, hint },
#include "shared/hints.def"
#undef FIB_CALL_HINT
};

static const char *hint_for(const char *call)
{
	for (size_t i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (!strcmp(hints[i].call, call))
			return hints[i].hint;
	return "the kernel has no form of it that does not block: a kernel "
	       "thread each";
}

/* --- what holds workers up ---------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct fib_holdup *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

/* What has not come back yet has a part of its time all the same. */
static void add_current(void)
{
	for (uint32_t i = 0; i < dump_workers_max(); i++) {
		struct fib_worker w;
		uint64_t ns;
		struct fib_holdup *s;

		if (!dump_read((uintptr_t)dump_sched.worker[i], &w,
			       sizeof(w)) ||
		    !w.report.slot || w.report.slot > FIB_HOLDUPS)
			continue;
		s = &dump_tab.holdups[w.report.slot - 1];
		ns = (uint64_t)dump_now_ns() - w.report.since_ns;
		if (s->what != w.report.what || ns > INT64_MAX)
			continue;
		s->total_ns += ns;
		if (ns > s->longest_ns)
			s->longest_ns = ns;
	}
}

/* "cache_lock()", or where it lies. */
static void print_caller(uint64_t at)
{
	struct dump_frame f = { .ip = at };
	const struct dump_symbol *s = dump_frame_function(&f, 1);
	const struct dump_object *o = dump_object_at(at);
	const char *name = s ? dump_function_name(s) : NULL;

	if (name)
		printf(" in %s%s", name, strchr(name, '(') ? "" : "()");
	else if (o)
		printf(" in %s+0x%lx", cli_text(o->name), at - o->bias);
}

static void print_holdups(void)
{
	add_current();
	qsort(dump_tab.holdups, FIB_HOLDUPS, sizeof(*dump_tab.holdups),
	      by_time);
	printf("\nheld up, since the start: %lu times\n",
	       dump_tab.stats[FIB_STAT_held_up]);
	for (int i = 0; i < FIB_HOLDUPS; i++) {
		const struct fib_holdup *s = &dump_tab.holdups[i];
		bool code = s->what == FIB_HOLDUP_CODE;

		if (!s->count)
			continue;
		printf("  %s",
		       code ? "the program's code" : dump_call_name(s->what));
		if (!code && s->at)
			print_caller(s->at);
		printf(": %lu time%s, %.1f s, the longest %.1f s\n    %s\n",
		       s->count, s->count == 1 ? "" : "s",
		       (double)s->total_ns / 1e9, (double)s->longest_ns / 1e9,
		       code ? "computes, or waits for memory: more workers let "
			      "others run meanwhile" :
			      hint_for(dump_call_name(s->what)));
	}
	if (!dump_tab.stats[FIB_STAT_held_up])
		printf("    no call kept others from a worker\n");
}

/* --- who waits ------------------------------------------------------------------ */

static struct row {
	double waited;
	uint32_t index, waiting;
	struct dump_wait wait;
	unsigned call;
	char name[FIB_NAME_MAX];
	struct dump_symbol where; /* name NULL: not known */
} * rows;
static size_t nrows;

/* The first function that is neither ours nor libc's. */
static struct dump_symbol where_of(const struct dump_walk *w)
{
	for (int i = dump_first_frame(w); i < w->n; i++) {
		const struct dump_object *o = dump_object_at(w->frame[i].ip);
		const struct dump_symbol *s;

		if (!o || o == dump_library || !strncmp(o->name, "libc", 4) ||
		    !strncmp(o->name, "libpthread", 10))
			continue;
		s = dump_frame_function(&w->frame[i], i);
		if (s)
			return *s;
	}
	return (struct dump_symbol){ 0 };
}

static void add_row(uint32_t index, struct dump_walk *w)
{
	struct row *r;

	if (w->f.state != FIB_IS_PARKED || nrows == MAX_ROWS)
		return;
	if (nrows % 1024 == 0)
		rows = dump_grow(rows, nrows * sizeof(*rows),
				 1024 * sizeof(*rows));
	r = &rows[nrows++];
	*r = (struct row){ .waited = dump_fiber_waited(&w->f),
			   .index = index,
			   .wait = dump_wait_of(w),
			   .call = w->f.hook.call,
			   .where = where_of(w) };
	memcpy(r->name, w->f.name, sizeof(r->name));
	dump_wait_note(index, &r->wait);
}

static int by_waited(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->waited < y->waited ? 1 : x->waited > y->waited ? -1 : 0;
}

static bool is_lock(const struct row *r)
{
	return r->wait.addr && (!strcmp(r->wait.kind, "mutex") ||
				!strcmp(r->wait.kind, "rwlock") ||
				!strcmp(r->wait.kind, "lock"));
}

/* First those of one address, then, of those, the one that has waited longest. */
static int by_address(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	uint64_t p = is_lock(x) ? x->wait.addr : 0;
	uint64_t q = is_lock(y) ? y->wait.addr : 0;

	return p < q ? 1 : p > q ? -1 : by_waited(a, b);
}

static int by_waiting(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->waiting < y->waiting ? 1 :
	       x->waiting > y->waiting ? -1 :
					 by_waited(a, b);
}

static void print_where(const struct row *r)
{
	if (r->where.name) {
		const char *name = dump_function_name(&r->where);

		printf(" in %s%s", name, strchr(name, '(') ? "" : "()");
	}
}

static void print_locks(void)
{
	size_t n = 0;

	qsort(rows, nrows, sizeof(*rows), by_address);
	for (size_t i = 0; i < nrows && is_lock(&rows[i]); i++)
		if (n && rows[n - 1].wait.addr == rows[i].wait.addr)
			rows[n - 1].waiting++;
		else {
			rows[n] = rows[i];
			rows[n++].waiting = 1;
		}
	qsort(rows, n, sizeof(*rows), by_waiting);
	printf("\nfought for, now: %zu lock%s\n", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < LOCKS; i++) {
		const struct row *r = &rows[i];

		printf("  %s 0x%lx", r->wait.kind, r->wait.addr);
		print_where(r);
		printf(": %u wait%s, at most for %.1f s", r->waiting,
		       r->waiting == 1 ? "s" : "", r->waited);
		if (r->wait.fiber >= 0)
			printf("\n    fiber %ld holds it: see fibhook dump "
			       "--fiber %ld %d",
			       r->wait.fiber, r->wait.fiber, (int)dump_pid);
		printf("\n");
	}
}

static void print_waits(void)
{
	qsort(rows, nrows, sizeof(*rows), by_waited);
	printf("\nwaits, now: %zu fibers\n", nrows);
	for (size_t i = 0; i < nrows && i < LONGEST; i++) {
		const struct row *r = &rows[i];

		printf("  fiber %u \"%s\" %s", r->index,
		       cli_text_of(r->name, sizeof(r->name)),
		       dump_call_name(r->call));
		print_where(r);
		printf(": %.1f s\n", r->waited);
	}
}

/* --- which words were waited for ---------------------------------------------- */

static const struct {
	const char *kind, *hint;
} lock_hints[] = {
#define FIB_KIND(name, text, hint) { text, hint },
#include "shared/hints.def"
#undef FIB_KIND
};

static const char *lock_hint(const char *kind)
{
	for (size_t i = 0; i < sizeof(lock_hints) / sizeof(*lock_hints); i++)
		if (!strcmp(lock_hints[i].kind, kind))
			return lock_hints[i].hint;
	return lock_hints[0].hint;
}

static struct row finding;

/* Who waits there, told by one that is found doing so. */
static void find_waiter(uint64_t addr)
{
	static struct fib slab[DUMP_SLAB];
	static struct dump_walk w;
	uint32_t n = dump_fibers_max();

	finding = (struct row){ .wait.kind = "futex" };
	for (uint32_t i = 0; i < n && !finding.wait.addr; i++) {
		uint64_t at = (uintptr_t)dump_tab.slabs[i / DUMP_SLAB];
		const struct fib *f = &slab[i % DUMP_SLAB];

		if (i % DUMP_SLAB == 0 && !dump_read(at, slab, sizeof(slab)))
			memset(slab, 0, sizeof(slab));
		if (f->state == FIB_IS_PARKED && f->wait == FIB_WAIT_FUTEX &&
		    f->wait_arg == addr &&
		    dump_walk(at + i % DUMP_SLAB * sizeof(*f), &w) && w.n &&
		    !w.note && w.f.wait_arg == addr) {
			finding.wait = dump_wait_of(&w);
			finding.where = where_of(&w);
		}
	}
}

static void print_contention(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct trace_lock *locks;
	uint64_t waits = 0;
	size_t n = trace_locks(&locks);

	for (size_t i = 0; i < n; i++)
		waits += locks[i].waits;
	printf("\nwaited for, in %.1f s: %zu word%s, %lu waits\n",
	       trace_seconds(), n, n == 1 ? "" : "s", waits);
	for (size_t i = 0; i < n && i < LOCKS; i++) {
		for (int t = 0; t < FINDS; t++) {
			find_waiter(locks[i].addr);
			if (finding.wait.addr)
				break;
			nanosleep(&ms, NULL);
		}
		printf("  %s 0x%lx", finding.wait.kind, locks[i].addr);
		print_where(&finding);
		printf(": %lu wait%s, %.3f s, the longest %.3f s\n    %s\n",
		       locks[i].waits, locks[i].waits == 1 ? "" : "s",
		       locks[i].total, locks[i].longest,
		       lock_hint(finding.wait.kind));
	}
	if (trace_lost)
		printf("    %lu events came too fast and are not counted\n",
		       trace_lost);
}

static int report(void)
{
	dump_open(wanted);
	dump_table_need();
	if (!dump_tab.active)
		cli_fail(CLI_ERROR,
			 "process %d: no fibers run; see fibhook status",
			 (int)dump_pid);
	dump_unwind_init();
	printf("process %d (%s): %d workers, %u fibers, %.1f s\n",
	       (int)dump_pid, dump_process_name(), dump_sched.running,
	       dump_fibers_count(), dump_seconds());
	print_holdups();
	trace_read(seconds);
	print_contention();
	dump_each_fiber(-1, add_row);
	print_waits();
	print_locks();
	dump_deadlocks_print();
	if (dump_ended())
		dump_explain(0);
	return 0;
}

int cli_report(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-t")) {
			seconds = cli_seconds("report: -t", argv[++i],
					      TRACE_SECONDS_MAX);
			continue;
		}
		if (argv[i][0] == '-')
			cli_fail(CLI_USAGE, "report: %s: no such option",
				 argv[i]);
		if (wanted)
			cli_fail(CLI_USAGE, "report: one process id is enough");
		wanted = cli_pid("report", argv[i]);
	}
	if (!wanted)
		cli_fail(CLI_USAGE,
			 "report: which process? See fibhook --help");
	dump_guard_seconds += (int)seconds + 1;
	return dump_guard(wanted, report, false);
}
