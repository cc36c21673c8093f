/*
 * Events as JSON, in the format that Perfetto and chrome://tracing read.
 *
 * There are two processes: "fibers", with a row for each, and "workers". A
 * fiber's row is a sequence of slices without gaps: it waits, from its park to
 * its wake-up; is queued; runs. In a run lie calls that may hold the worker. A
 * worker's row has who ran there, and when it took fibers from another.
 */
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/trace/trace.h"

#define FIBERS	1 /* ids of the two processes */
#define WORKERS 2

enum is { UNKNOWN, WAITS, QUEUED, RUNS, GONE };

static struct fiber {
	enum is is;
	uint32_t worker, blocked; /* blocked: the call's number, and 1 */
	uint64_t since, block_since;
	struct fib_trace_event park;
	uint32_t generation;
	bool shown;
} * fibers;

static double us_of_cycle;
static bool more;

static double us(uint64_t cycles)
{
	return (double)(int64_t)(cycles - trace_begin) * us_of_cycle;
}

/* --- pieces of JSON ---------------------------------------------------------- */

static void begin(const char *phase, const char *category, unsigned process,
		  uint32_t row)
{
	printf("%s{\"ph\":\"%s\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u",
	       more ? ",\n" : "", phase, category, process, row + 1);
	more = true;
}

static void slice(const char *category, unsigned process, uint32_t row,
		  uint64_t from, uint64_t to)
{
	double at = us(from), len = us(to) - at;

	begin("X", category, process, row);
	printf(",\"ts\":%.3f,\"dur\":%.3f", at, len > 0 ? len : 0);
}

static void instant(const char *category, uint32_t worker, uint64_t at)
{
	begin("i", category, WORKERS, worker);
	printf(",\"ts\":%.3f,\"s\":\"t\"", us(at));
}

static void row_name(unsigned process, uint32_t row, const char *kind,
		     const char *name)
{
	begin("M", "__metadata", process, row);
	printf(",\"name\":\"thread_name\",\"args\":{\"name\":\"%s %u%s%s\"}}",
	       kind, row, *name ? " " : "", name);
	begin("M", "__metadata", process, row);
	printf(",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%u}}",
	       row);
}

static void process_name(unsigned process, const char *name)
{
	begin("M", "__metadata", process, 0);
	printf(",\"name\":\"process_name\",\"args\":{\"name\":\"%s of process "
	       "%d (%s)\"}}",
	       name, (int)dump_pid, dump_json(dump_process_name()));
}

/* --- slices of a fiber -------------------------------------------------------- */

static void put_waker(const struct trace_record *r)
{
	if (!r)
		return;
	printf(",\"woken_by\":\"");
	if (r->e.what != FIB_TRACE_WAKE)
		printf("?\"");
	else if (r->e.arg && r->e.arg <= FIB_MAX)
		printf("fiber %lu\"", r->e.arg - 1);
	else if (r->ring == TRACE_OUTSIDE)
		printf("a thread that is no worker\"");
	else
		printf("worker %u\"", r->ring);
}

/* It has waited until @to, when @by woke it; NULL: it still does. */
static void put_wait(uint32_t index, const struct fiber *f, uint64_t to,
		     const struct trace_record *by)
{
	static const char *const kinds[] = {
		[FIB_WAIT_FD] = "io",	    [FIB_WAIT_POLL] = "io",
		[FIB_WAIT_LINE] = "io",	    [FIB_WAIT_FUTEX] = "futex",
		[FIB_WAIT_TIME] = "sleep",  [FIB_WAIT_SIGNAL] = "signal",
		[FIB_WAIT_CHILD] = "child",
	};
	const struct fib_trace_event *p = &f->park;
	const char *kind = p->wait < sizeof(kinds) / sizeof(*kinds) ?
				   kinds[p->wait] :
				   NULL;
	bool known = p->what == FIB_TRACE_PARK;

	slice(kind ? kind : "wait", FIBERS, index, f->since, to);
	printf(",\"name\":\"%s", dump_call_name(p->call));
	if (known && p->wait == FIB_WAIT_FD)
		printf(" fd %ld\",\"args\":{\"fd\":%ld", (long)p->arg,
		       (long)p->arg);
	else if (known && p->wait == FIB_WAIT_FUTEX)
		printf("\",\"args\":{\"address\":\"0x%lx\"", p->arg);
	else
		printf("\",\"args\":{\"kind\":%u", p->wait);
	put_waker(by);
	printf("%s}}", known ? "" : ",\"before\":true");
}

static void put_run(uint32_t index, const struct fiber *f, uint64_t to)
{
	slice("run", FIBERS, index, f->since, to);
	printf(",\"name\":\"runs\",\"args\":{\"worker\":%u}}", f->worker);
	slice("run", WORKERS, f->worker, f->since, to);
	printf(",\"name\":\"fiber %u\",\"args\":{\"fiber\":%u}}", index, index);
}

static void put_block(uint32_t index, const struct fiber *f, uint64_t to)
{
	slice("block", FIBERS, index, f->block_since, to);
	printf(",\"name\":\"%s\",\"args\":{\"worker\":%u}}",
	       dump_call_name(f->blocked - 1), f->worker);
}

/* What @f has been doing ends at @to; @by: what ends it, or NULL. */
static void put_slice(uint32_t index, struct fiber *f, uint64_t to,
		      const struct trace_record *by)
{
	if (f->blocked)
		put_block(index, f, to);
	f->blocked = 0;
	switch (f->is) {
	case WAITS:
		put_wait(index, f, to, by);
		break;
	case QUEUED:
		slice("queued", FIBERS, index, f->since, to);
		printf(",\"name\":\"queued\"}");
		break;
	case RUNS:
		put_run(index, f, to);
		break;
	default:
		break;
	}
}

static void becomes(struct fiber *f, enum is is, const struct trace_record *r)
{
	uint32_t index = r->e.fiber;

	/* It has been there before: what it waited for is in the event. */
	if (f->is == UNKNOWN && r->e.what == FIB_TRACE_WAKE) {
		f->is = WAITS;
		f->since = trace_begin;
		f->park = r->e;
	}
	put_slice(index, f, r->e.cycles, r);
	f->is = is;
	f->since = r->e.cycles;
	f->worker = r->ring;
	f->generation = r->e.generation;
	f->shown = true;
}

static void put_steal(const struct trace_record *r)
{
	instant("steal", r->ring, r->e.cycles);
	printf(",\"name\":\"steals\",\"args\":{\"fibers\":%lu,\"from\":%lu}}",
	       r->e.arg & 0xffff, r->e.arg >> 32);
}

static void put_held(const struct trace_record *r)
{
	instant("held", (uint32_t)r->e.arg % FIB_SCHED_WORKERS, r->e.cycles);
	printf(",\"name\":\"held up\",\"args\":{\"fiber\":%u,\"in\":\"%s\"}}",
	       r->e.fiber, dump_call_name(r->e.call));
}

static void take(const struct trace_record *r)
{
	struct fiber *f = &fibers[r->e.fiber];

	switch (r->e.what) {
	case FIB_TRACE_RUN:
		becomes(f, RUNS, r);
		break;
	case FIB_TRACE_PARK:
		becomes(f, WAITS, r);
		f->park = r->e;
		break;
	case FIB_TRACE_WAKE:
		becomes(f, QUEUED, r);
		break;
	case FIB_TRACE_YIELD:
		becomes(f, QUEUED, r);
		break;
	case FIB_TRACE_LAUNCH:
		f->is = GONE;
		becomes(f, QUEUED, r);
		break;
	case FIB_TRACE_EXIT:
		becomes(f, GONE, r);
		break;
	case FIB_TRACE_BLOCK:
		f->blocked = r->e.call + 1u;
		f->block_since = r->e.cycles;
		break;
	case FIB_TRACE_UNBLOCK:
		if (f->blocked)
			put_block(r->e.fiber, f, r->e.cycles);
		f->blocked = 0;
		break;
	case FIB_TRACE_STEAL:
		put_steal(r);
		break;
	case FIB_TRACE_HELD:
		put_held(r);
		break;
	}
}

/* --- all ------------------------------------------------------------------------ */

/* Those that there are no more have numbers alone. */
static void put_names(void)
{
	static struct fib slab[DUMP_SLAB];
	uint32_t n = dump_fibers_max();

	for (uint32_t i = 0; i < FIB_MAX; i++) {
		const struct fib *f = &slab[i % DUMP_SLAB];

		if (i % DUMP_SLAB == 0 &&
		    (i >= n ||
		     !dump_read((uintptr_t)dump_tab.slabs[i / DUMP_SLAB], slab,
				sizeof(slab))))
			memset(slab, 0, sizeof(slab));
		if (!fibers[i].shown)
			continue;
		row_name(FIBERS, i, "fiber",
			 f->generation == fibers[i].generation ?
				 dump_json(cli_text_of(f->name,
						       sizeof(f->name))) :
				 "");
	}
	for (uint32_t i = 0; i < dump_workers_max(); i++)
		row_name(WORKERS, i, "worker", "");
}

void trace_print(void)
{
	us_of_cycle = trace_us_of_cycle();
	fibers = dump_grow(NULL, 0, FIB_MAX * sizeof(*fibers));
	memset(fibers, 0, FIB_MAX * sizeof(*fibers));
	trace_sort();
	printf("{\"otherData\":{\"pid\":%d,\"program\":\"%s\",\"version\":\"%"
	       "s\","
	       "\"seconds\":%.3f,\"events\":%zu,\"lost\":%lu},\n"
	       "\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n",
	       (int)dump_pid, dump_json(dump_process_name()), FIB_VERSION,
	       us(trace_end) / 1e6, trace_nrecords, trace_lost);
	process_name(FIBERS, "fibers");
	process_name(WORKERS, "workers");
	for (size_t i = 0; i < trace_nrecords; i++)
		take(&trace_records[i]);
	for (uint32_t i = 0; i < FIB_MAX; i++)
		if (fibers[i].shown)
			put_slice(i, &fibers[i], trace_end, NULL);
	put_names();
	printf("\n]}\n");
}
