/*
 * fibhook trace: what the fibers of a running process do, event by event.
 *
 *   trace.c     the command: the file that is written, whole or not at all
 *   rings.c     asks the process for events, and reads its rings
 *   events.c    events in the order of time, as the slices of JSON
 *   locks.c     and as the words that are waited for, for fibhook report
 *
 * runtime/trace.h has the protocol between the process and who reads it. All but
 * the file is the work of a child under the guard (dump/dump.h), which believes
 * nothing that it reads.
 */
#ifndef FIB_CLI_TRACE_H
#define FIB_CLI_TRACE_H

#include "cli/dump/table.h"
#include "runtime/trace.h"

#define TRACE_SECONDS_MAX 600
#define TRACE_EVENTS_MAX  (1ul << 21) /* that are kept */
#define TRACE_OUTSIDE	  FIB_SCHED_WORKERS

struct trace_record {
	struct fib_trace_event e;
	uint32_t ring; /* a worker, or TRACE_OUTSIDE */
	uint32_t order;
};

/* --- rings.c ---------------------------------------------------------------- */

extern struct trace_record *trace_records;
extern size_t trace_nrecords;
extern uint64_t trace_lost;		/* events that were not read in time */
extern uint64_t trace_begin, trace_end; /* cycles */

/** For @seconds, until the process ends, or there is no room for more. */
void trace_read(double seconds);

/** Bring them into the order of time. */
void trace_sort(void);
double trace_us_of_cycle(void);
/** How long it was. */
double trace_seconds(void);

/* --- locks.c ----------------------------------------------------------------- */

struct trace_lock {
	uint64_t addr, waits;
	double total, longest; /* seconds */
};

/** Those that were waited for, the longest in sum first; how many. */
size_t trace_locks(struct trace_lock **out);

/* --- events.c --------------------------------------------------------------- */

/** All records, to stdout, as an object of JSON. */
void trace_print(void);

#endif
