/*
 * The exported table of a process (runtime/symtab.h), and what is found by it.
 * The one way in for all that reads a process from outside. What is here is a
 * copy of what the process says: see dump.h for how far it is to be believed.
 */
#ifndef FIB_DUMP_TABLE_H
#define FIB_DUMP_TABLE_H

#include "cli/dump/dump.h"
#include "runtime/symtab.h"
#include "runtime/sched.h"

#define DUMP_SLAB 256u

enum dump_table {
	DUMP_TABLE_NONE,  /* the library is not loaded */
	DUMP_TABLE_OTHER, /* the head alone, up to reason, may be looked at */
	DUMP_TABLE_OLD,	  /* not even that: from before 0.2.0 */
	DUMP_TABLE,	  /* the table and its scheduler */
	DUMP_TABLE_LIB,	  /* the same of libfib, and of all its schedulers */
};

extern struct fib_symtab dump_tab;
extern struct fib_sched dump_sched;
extern struct dump_object *dump_library;
/* The process uses libfib, and is not hooked. dump_sched has all workers. */
extern bool dump_is_lib;

/**
 * After dump_open(): find the objects, and read the table. Fails with one line
 * if the process has ended.
 */
enum dump_table dump_table_find(void);
/** The same; what is not DUMP_TABLE fails with one line. A stopped one is told of. */
void dump_table_need(void);
/** The same; DUMP_TABLE_LIB is good enough. */
void dump_table_need_any(void);

/* --- record.c: records, as they are in the process or in no other way ------- */

/* What libfib alone has. */
struct dump_lib {
	uint64_t sched, top, below; /* fiber */
	uint64_t id;
	uint32_t life;
	struct fib_list all; /* scheduler */
	char sched_name[FIB_NAME_MAX];
};

/** The tables of libfib, which is in dump_library. */
enum dump_table dump_lib_find(void);
/** Fiber @index is at. */
uint64_t dump_fib_at(uint32_t index);
/** The index of the fiber at @at, or -1. */
long dump_fib_index(uint64_t at);
/** It is what a thread of libfib's program was before it ran fibers. */
bool dump_fib_is_main(uint64_t at);
/** The fiber at @at; of libfib also @lib, unless that is NULL. */
bool dump_fib(uint64_t at, struct fib *f, struct dump_lib *lib);
/** @to has DUMP_SLAB fibers, from number @n * DUMP_SLAB on: free, if not read. */
void dump_slab(uint32_t n, struct fib *to);
/** Worker @i, of dump_workers_max(); that at @at. */
bool dump_worker(uint32_t i, struct fib_worker *w);
bool dump_worker_at(uint64_t at, struct fib_worker *w);
/** What the worker at @at runs now. */
bool dump_worker_runs(uint64_t at, uint64_t *fiber);
/** Name of the scheduler of libfib at @at; of worker @i. NULL: not known. */
const char *dump_sched_name(uint64_t at);
const char *dump_sched_of_worker(uint32_t i);

/** How many entries there are, at most as many as there can be. */
uint32_t dump_fibers_max(void);
uint32_t dump_workers_max(void);
/** Fibers that there are now. */
uint32_t dump_fibers_count(void);
/** Seconds since the process's fibers have been run. */
double dump_seconds(void);
/** The clocks of the process: now, or when a core was about to be written. */
int64_t dump_now_ns(void);
uint64_t dump_now_cycles(void);

/** It is stopped, by a signal such as SIGSTOP. */
bool dump_stopped(void);
/** Its name, as it may be printed; if it has ended, that of the last time. */
const char *dump_process_name(void);
const char *dump_call_name(unsigned nr);
/** The descriptor that @f works on, which is on a worker, in a call; or -1. */
int dump_call_fd(const struct fib *f);
const char *dump_stat_name(unsigned i);
/** Nobody counts that in a process that uses libfib, and this is one. */
bool dump_stat_missing(unsigned i);
/** The same as @text, which may be printed, in a string of JSON. */
const char *dump_json(const char *text);

#endif
