/*
 * fibhook top: a process as it runs.
 *
 *   top.c       the command: arguments, the loop, what is shown of two samples
 *   sample.c    one sample, by a guarded child (cli/dump/guard.c)
 *   screen.c    the terminal, by ncursesw, which is loaded when it is needed
 *
 * Samples are read from outside: the process does nothing for them.
 */
#ifndef FIB_TOP_H
#define FIB_TOP_H

#include <stdbool.h>
#include <stdint.h>
#include "cli/dump/table.h"

#define TOP_TEXT   96

/* What a worker is beside those that run fibers now. */
enum top_place {
	TOP_RUNS,
	TOP_SPARE,     /* asleep until one is needed */
	TOP_HELD_UP,   /* another has its place: its fiber holds it up */
	TOP_DEDICATED, /* runs one fiber alone, for good */
	TOP_PLACES
};

struct top_worker {
	enum top_place place;
	uint32_t id, queued;
	int tid;
	uint64_t run_ns; /* CPU time of its kernel thread */
	long fiber;	 /* that it runs, or -1 */
	char state[24];
};

struct top_fiber {
	uint32_t index, generation;
	int tid, state;
	double cpu, waited; /* s; waited -1: it does not wait */
	char name[4 * FIB_NAME_MAX + 1];
	char what[TOP_TEXT]; /* it waits for, or does */
};

struct top_holdup {
	uint64_t count, total_ns, at;
	uint32_t what;
	char where[TOP_TEXT];
};

/* The head of a sample; workers, fibers and holdups follow. */
struct top_sample {
	int64_t now_ns;
	uint64_t stats[FIB_STATS];
	uint64_t delays[FIB_DELAYS];
	double ns_of_cycle, seconds;
	uint32_t nworkers, nfibers;
	char program[80], version[16];
	struct top_holdup holdups[FIB_HOLDUPS];
};

/** What a child of the guard prints: a sample of @pid, to stdout. */
void top_sample_of(pid_t pid);
int top_sample_write(void);

/* --- screen.c ------------------------------------------------------------------ */

/** Take the terminal; fails with one line where that cannot be. */
void top_screen_begin(void);
/** Give it back as it was. May be called twice. */
void top_screen_end(void);
void top_screen_clear(void);
int top_screen_lines(void);
int top_screen_columns(void);
void top_screen_put(int line, const char *text, bool reverse);
void top_screen_show(void);
/** A key, within @ms; -1: none came. KEY_RESIZE is one. */
int top_screen_key(int ms);

enum { TOP_KEY_UP = 0403, TOP_KEY_DOWN = 0402, TOP_KEY_RESIZE = 0632 };

#endif
