/*
 * What fibers do, event by event, for fibhook trace: who asks from outside has
 * it written to rings, which he reads from outside.
 *
 * A request is a number of ticks in the exported table, for which events are
 * wanted. Whoever may write to the process's memory sets it, and again and again
 * while he is there; the monitor counts it down. So nobody is interrupted, and a
 * tracer that is killed is forgotten after FIB_TRACE_TICKS.
 *
 *	tracer				monitor, each tick
 *	------				------------------
 *	ticks = FIB_TRACE_TICKS	...	ticks > 0: a ring for each worker that has
 *					none: worker's trace = its ring
 *	reads the rings			ticks = ticks - 1
 *	ticks = 0, or is killed	...	ticks is 0: trace = NULL
 *
 * Where both write ticks at once, either may win: the tracer soon writes again.
 *
 * A worker that is new takes its ring itself. (E) `on' is 0 before the monitor turns
 * workers off, one by one; (F) who has set its own looks at `on' behind that, and
 * takes it back. So either of them turns it off.
 *
 * A ring is written by its worker alone; that of outside by whoever has taken
 * it, and who finds it taken drops his event, and counts that. Rings are never
 * unmapped, since a writer may be late. Positions are counted from 0 and never
 * again; position p lies in slot p modulo the size.
 *
 *	writer				reader, in another process
 *	------				--------------------------
 *	    slot[head] = event		(C) h = head
 *	(A) head = head + 1		    copy slots [t, h)
 *	(B) a fence, before the next	(D) h = head again
 *	    slot is written		    drop positions up to h - size
 *
 * (A) releases the event, so what lies below (C) is whole, unless it is written
 * anew while it is copied. Who writes position q has set head to q before, by (B)
 * of the event before it; a copy that has seen something of that is followed by a
 * look (D) that sees head >= q, and so drops q - size. The model is
 * tests/model/trace.pml.
 *
 * Off, it costs a load and a branch that is never taken, on a line that the
 * worker has in its cache.
 */
#ifndef FIB_TRACE_H
#define FIB_TRACE_H

#include "runtime/sched.h"

enum fib_trace_what {
	FIB_TRACE_RUN = 1,  /* the fiber runs on the worker */
	FIB_TRACE_PARK = 2, /* it is about to park: wait, call, arg */
	FIB_TRACE_WAKE = 3, /* it was woken; arg: by which fiber, and 1, or 0 */
	FIB_TRACE_YIELD = 4, /* it leaves the worker, and is queued */
	FIB_TRACE_EXIT = 5,  /* it ends */
	FIB_TRACE_STEAL =
		6, /* and arg & 0xffff - 1 more, from worker arg >> 32 */
	FIB_TRACE_BLOCK = 7, /* a call begins that may block the worker: call */
	FIB_TRACE_UNBLOCK = 8, /* it is back */
	FIB_TRACE_HELD = 9,    /* its worker arg was given up by the monitor */
	FIB_TRACE_LAUNCH = 10, /* it is new */
};

struct fib_trace_event {
	uint64_t cycles;
	uint64_t arg;
	uint32_t fiber; /* its index */
	uint32_t generation;
	uint16_t call;
	uint8_t what; /* enum fib_trace_what */
	uint8_t wait; /* enum fib_wait */
	uint32_t zero;
};

#define FIB_TRACE_EVENTS 16384u /* of a ring */
#define FIB_TRACE_TICKS	 300

struct fib_trace_ring {
	_Atomic uint64_t head;
	_Atomic uint64_t dropped;
	_Atomic uint32_t taken; /* that of outside: by one writer */
	char pad[64 - 20];
	struct fib_trace_event event[FIB_TRACE_EVENTS];
};

/** Each tick of the monitor, whose thread alone calls. */
void fib_trace_tick(struct fib_sched *s);
/** @w, which is among the workers by now, is about to begin. Any thread. */
void fib_trace_join(struct fib_worker *w);
/** No worker is left, or this is a fork child. */
void fib_trace_forget(void);

/* For fib_trace() alone: an event of ring @r, which is that of @w or of outside. */
void fib_trace_write(struct fib_trace_ring *r, struct fib_worker *w,
		     struct fib *f, enum fib_trace_what what, uint64_t arg);

/** @what happens to @f. @w: the calling thread's worker, or NULL. No locks. */
static inline void fib_trace(struct fib_worker *w, struct fib *f,
			     enum fib_trace_what what, uint64_t arg)
{
	struct fib_trace_ring *r;

	if (!FIB_HOST_TRACES)
		return;
	r = fib_load(w ? &w->trace : &fib_symtab.trace.outside, acquire);
	if (fib_unlikely(r != NULL))
		fib_trace_write(r, w, f, what, arg);
}

#endif
