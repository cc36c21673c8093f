/*
 * What a debugger, and fibhook dump, reads from outside: one object with one
 * well-known symbol, from which all fibers and workers are found. It tells
 * the layout it was built with; whoever reads it must have the same.
 */
#ifndef FIB_SYMTAB_H
#define FIB_SYMTAB_H

#include "runtime/fiber.h"
#include "runtime/stats.h"

#define FIB_SYMTAB_MAGIC 0x6b6f6f6862696602ull
#define FIB_SYMTAB_SLABS (FIB_MAX / 256)

#define FIB_HOLDUPS	32
#define FIB_HOLDUP_CODE UINT32_MAX /* no call: a loop, a page fault */

#define FIB_REASON_MAX 256

struct fib_sched;
struct fib_trace_ring;

/* Where fibers hold workers up: the most frequent places. */
struct fib_holdup {
	uint64_t count;
	_Atomic uint64_t total_ns, longest_ns; /* from when it was noticed */
	uint64_t at;   /* an address in the program's code, or 0: not known */
	uint32_t what; /* number of the call, or FIB_HOLDUP_CODE */
};

/* While no fibers are being run: why. */
enum fib_symtab_state {
	FIB_STATE_LOADED = 0,	/* no thread has been created yet */
	FIB_STATE_UNHOOKED = 1, /* it could not start: reason */
	FIB_STATE_DISABLED = 2, /* it was not to start: reason */
};

struct fib_symtab {
	/* What every version has in these places. */
	uint64_t magic;
	uint32_t size_self, size_fib, size_worker, size_sched;
	char version[16];
	_Atomic uint32_t active; /* fibers are being run */
	_Atomic uint32_t state;	 /* enum fib_symtab_state */
	char reason[FIB_REASON_MAX]; /* written before state */
	/* What has the layout of this version. */
	char program[32];	 /* its name, escaped */
	char start[24];		 /* when active became 1: 1970-01-01T00:00:00Z */
	uint64_t began_ns;	 /* CLOCK_MONOTONIC then */
	uint64_t chaos;		 /* seed, see chaos.h; 0: none */
	_Atomic uint32_t fibers; /* entries in all slabs */
	struct fib_sched *sched; /* the one that the program runs in */
	_Atomic uint64_t stats[FIB_STATS];
	struct fib_holdup holdups[FIB_HOLDUPS]; /* the monitor writes it */
	uint64_t start_cycles, start_ns;	/* read together: cputime.h */
	struct {				/* trace.h */
		_Atomic uint32_t ticks;		/* wanted for so many */
		_Atomic uint32_t on;
		struct fib_trace_ring *_Atomic outside; /* of no worker */
	} trace;
	uint64_t seen_cycles, seen_ns; /* by the monitor, for who reads a core */
	struct fib *slabs[FIB_SYMTAB_SLABS]; /* last: few are used, and the rest is large */
};

/* A program that uses the runtime as a library has its own beside this. */
extern struct fib_symtab fib_symtab FIB_EXPORTED;

#endif
