/* Reading the rings of a process, see trace.h and runtime/trace.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cli/cli.h"
#include "cli/trace/trace.h"

#define LOOK_NS 10000000l /* between two looks */
#define SIZE	FIB_TRACE_EVENTS

struct trace_record *trace_records;
size_t trace_nrecords;
uint64_t trace_lost, trace_begin, trace_end;

static uint64_t table; /* where it lies */

static struct ring {
	uint64_t at, tail, dropped;
	bool seen;
} rings[FIB_SCHED_WORKERS + 1];

/*
 * By /proc/PID/mem, which stays this address space. What is written lies where
 * the process says that its table is, so it can harm no one but itself.
 */
static void ask(uint32_t ticks)
{
	static int mem = -1;
	uint64_t at = table + offsetof(struct fib_symtab, trace.ticks);
	uint32_t old;
	int err;

	if (mem < 0)
		mem = openat(dump_alive, "mem", O_WRONLY | O_CLOEXEC);
	if (mem >= 0 && pwrite(mem, &ticks, sizeof(ticks), (off_t)at) ==
				(ssize_t)sizeof(ticks))
		return;
	err = errno;
	/* It may have ended: a look tells. */
	dump_read(at, &old, sizeof(old));
	if (ticks && !dump_ended())
		dump_explain(err);
}

/* Of before the request, or of nothing. */
static bool is_wanted(const struct fib_trace_event *e)
{
	return e->what && (int64_t)(e->cycles - trace_begin) >= 0 &&
	       e->fiber < FIB_MAX;
}

static void keep(uint32_t index, const struct fib_trace_event *e)
{
	if (!is_wanted(e))
		return;
	if (trace_nrecords % 65536 == 0)
		trace_records = dump_grow(
			trace_records, trace_nrecords * sizeof(*trace_records),
			65536 * sizeof(*trace_records));
	trace_records[trace_nrecords] =
		(struct trace_record){ *e, index, (uint32_t)trace_nrecords };
	trace_nrecords++;
}

/* Positions [@from, @to) of @r, which lie in one piece or in two. */
static bool copy(const struct ring *r, uint64_t from, uint64_t to,
		 struct fib_trace_event *out)
{
	while (from < to) {
		uint64_t slot = from % SIZE, n = to - from;

		if (n > SIZE - slot)
			n = SIZE - slot;
		if (!dump_read(r->at + offsetof(struct fib_trace_ring, event) +
				       slot * sizeof(*out),
			       out, n * sizeof(*out)))
			return false;
		out += n;
		from += n;
	}
	return true;
}

static void drain(uint32_t index, struct ring *r)
{
	static struct fib_trace_event event[SIZE];
	uint64_t head, again, from, dropped;

	/* (C) */
	if (!dump_read(r->at, &head, sizeof(head)) ||
	    !dump_read(r->at + offsetof(struct fib_trace_ring, dropped),
		       &dropped, sizeof(dropped)))
		return;
	if (r->seen)
		trace_lost += dropped - r->dropped;
	r->dropped = dropped;
	/* What is there when the ring is first seen may be of this trace. */
	if (!r->seen || head < r->tail)
		r->tail = head > SIZE ? head - SIZE : 0;
	else if (head - r->tail > SIZE) {
		trace_lost += head - r->tail - SIZE;
		r->tail = head - SIZE;
	}
	from = r->tail;
	r->tail = head;
	if (!copy(r, from, head, event) ||
	    !dump_read(r->at, &again, sizeof(again))) /* (D) */
		return;
	for (uint64_t p = from; p < head; p++)
		if (p + SIZE > again)
			keep(index, &event[p - from]);
		else if (r->seen)
			trace_lost++;
	r->seen = true;
}

/* The rings stay where they are; there may be more workers by now. */
static void find_rings(void)
{
	struct fib_trace_ring *at;

	if (dump_read((uintptr_t)dump_tab.sched, &dump_sched,
		      sizeof(dump_sched)))
		for (uint32_t i = 0; i < dump_workers_max(); i++)
			if (dump_read(
				    (uintptr_t)dump_sched.worker[i] +
					    offsetof(struct fib_worker, trace),
				    &at, sizeof(at)) &&
			    at)
				rings[i].at = (uintptr_t)at;
	if (dump_read(table + offsetof(struct fib_symtab, trace.outside), &at,
		      sizeof(at)) &&
	    at)
		rings[TRACE_OUTSIDE].at = (uintptr_t)at;
}

static void look(void)
{
	find_rings();
	for (uint32_t i = 0; i <= TRACE_OUTSIDE; i++)
		if (rings[i].at)
			drain(i, &rings[i]);
}

/* All rings are there, or the process is idle: it counts ticks while it runs. */
static bool is_on(void)
{
	uint32_t on;

	return dump_read(table + offsetof(struct fib_symtab, trace.on), &on,
			 sizeof(on)) &&
	       on;
}

/*
 * Rings begin one after another, and are read so: what one of them says of a fiber
 * follows what another one says only from where all have begun to where all have
 * been read. What comes behind trace_end is forgotten by trace_sort().
 */
void trace_read(double seconds)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };
	int64_t end = dump_now_ns() + (int64_t)(seconds * 1e9);
	bool on = false;

	table = dump_object_symbol(dump_library, "fib_symtab");
	trace_begin = dump_now_cycles();
	do {
		ask(FIB_TRACE_TICKS);
		nanosleep(&nap, NULL);
		if (!on && is_on()) {
			on = true;
			trace_begin = dump_now_cycles();
		}
		if (on)
			look();
	} while (dump_now_ns() < end && !dump_ended() &&
		 trace_nrecords < TRACE_EVENTS_MAX - TRACE_EVENTS_MAX / 4);
	trace_end = dump_now_cycles();
	if (dump_ended())
		return;
	/* So long may one who writes an event take over it. */
	nanosleep(&nap, NULL);
	if (on)
		look();
	ask(0);
}

/* --- what has been read ------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct trace_record *x = a, *y = b;

	if (x->e.cycles != y->e.cycles)
		return x->e.cycles < y->e.cycles ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

void trace_sort(void)
{
	if (trace_nrecords)
		qsort(trace_records, trace_nrecords, sizeof(*trace_records),
		      by_time);
	while (trace_nrecords &&
	       (int64_t)(trace_records[trace_nrecords - 1].e.cycles -
			 trace_end) > 0)
		trace_nrecords--;
}

double trace_us_of_cycle(void)
{
	double cycles = (double)(dump_now_cycles() - dump_tab.start_cycles);
	double ns = (double)dump_now_ns() - (double)dump_tab.start_ns;

	return cycles > 0 ? ns / cycles / 1e3 : 0;
}

double trace_seconds(void)
{
	return (double)(trace_end - trace_begin) * trace_us_of_cycle() / 1e6;
}
