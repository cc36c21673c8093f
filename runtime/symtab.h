/*
 * What a debugger, and fibhook dump, reads from outside: one object with one
 * well-known symbol, from which all fibers and workers are found. It tells
 * the layout it was built with; whoever reads it must have the same.
 */
#ifndef FIB_SYMTAB_H
#define FIB_SYMTAB_H

#include "runtime/fiber.h"
#include "runtime/stats.h"

#define FIB_SYMTAB_MAGIC 0x6b6f6f6862696601ull
#define FIB_SYMTAB_SLABS (FIB_MAX / 256)

#define FIB_HOLDUPS	32
#define FIB_HOLDUP_CODE UINT32_MAX /* no call: a loop, a page fault */

struct fib_sched;

/* Where fibers hold workers up: the most frequent places. */
struct fib_holdup {
	uint64_t count;
	uint64_t at;   /* an address in the program's code, or 0: not known */
	uint32_t what; /* number of the call, or FIB_HOLDUP_CODE */
};

struct fib_symtab {
	uint64_t magic;
	uint32_t size_self, size_fib, size_worker, size_sched;
	_Atomic uint32_t active; /* fibers are being run */
	uint64_t chaos;		 /* seed, see chaos.h; 0: none */
	_Atomic uint32_t fibers; /* entries in all slabs */
	struct fib_sched *sched; /* the one that the program runs in */
	struct fib *slabs[FIB_SYMTAB_SLABS];
	_Atomic uint64_t stats[FIB_STATS];
	struct fib_holdup holdups[FIB_HOLDUPS]; /* the monitor writes it */
	uint64_t start_cycles, start_ns;	/* read together: cputime.h */
};

/* A program that uses the runtime as a library has its own beside this. */
extern struct fib_symtab fib_symtab FIB_EXPORTED;

#endif
