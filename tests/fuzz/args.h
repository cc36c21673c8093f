/*
 * Fuzzing the arguments of system calls: what args.c (cases and processes) and
 * gen.c (arguments) share. Plain POSIX, no header of the project.
 */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARGS 6
/* Stands for the id of the thread that will make the call. */
#define FUZZ_OWN_TID 0x7ee1d0ed

struct row {
	const char *name;
	long nr;
	int n;
	const char *arg[ARGS + 1]; /* type and name */
};

/* One case: the same from the same seed and number, in any process. */
struct fuzz {
	uint64_t state;
	const struct row *row;
	long a[ARGS];
	char text[1024]; /* what the arguments are, without addresses */
	unsigned used;	 /* regions of memory taken */
	unsigned timed;	 /* those where a time is left: not compared */
	bool libc;	 /* by libc's function instead of syscall() */
};

/** Number below @n. */
uint64_t fuzz_below(struct fuzz *z, uint64_t n);
void fuzz_say(struct fuzz *z, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* gen.c */

/** Draws the arguments of z->row. */
void fuzz_arguments(struct fuzz *z);

/* fixtures.c */

#define FUZZ_REGIONS 24
#define FUZZ_FDS     24
/* Calls on those behind these may block. */
#define FUZZ_QUICK_FDS 21

extern const struct fuzz_fd {
	int fd;
	const char *name;
} fuzz_fds[FUZZ_FDS];

/** Lays out the memory and the descriptors that arguments name. */
void fuzz_fixtures(void);
/** Two pages, and a hole behind them. */
char *fuzz_region(unsigned i);
/** Where @data of @size bytes lies now, or an address where nothing is. */
long fuzz_lay(struct fuzz *z, const char *what, const void *data, size_t size);
/** A digest of the memory that calls may have written. */
uint32_t fuzz_memory(const struct fuzz *z);
/** The same of the descriptors: which there are, flags, what can be read. */
uint32_t fuzz_descriptors(void);

#endif
