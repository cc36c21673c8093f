/*
 * What a debugger, and fibhook dump, reads from outside: one object with one
 * well-known symbol, from which all fibers and workers are found. It tells
 * the layout it was built with; whoever reads it must have the same.
 */
#ifndef FIB_SYMTAB_H
#define FIB_SYMTAB_H

#include "runtime/fiber.h"
#include "runtime/stats.h"

#define FIB_SYMTAB_MAGIC   0x6b6f6f6862696601ull
#define FIB_SYMTAB_WORKERS 4096
#define FIB_SYMTAB_SLABS   (FIB_MAX / 256)

struct fib_symtab {
	uint64_t magic;
	uint32_t size_self, size_fib, size_worker;
	_Atomic uint32_t active;  /* fibers are being run */
	_Atomic uint32_t fibers;  /* entries in all slabs */
	_Atomic uint32_t workers; /* entries in worker[] */
	struct fib *slabs[FIB_SYMTAB_SLABS];
	struct fib_worker *worker[FIB_SYMTAB_WORKERS];
	_Atomic uint64_t stats[FIB_STATS];
	uint64_t start_cycles, start_ns; /* read together: cputime.h */
};

extern struct fib_symtab fib_symtab
	__attribute__((visibility("default")));

#endif
