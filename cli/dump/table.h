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
};

extern struct fib_symtab dump_tab;
extern struct fib_sched dump_sched;
extern struct dump_object *dump_library;

/**
 * After dump_open(): find the objects, and read the table. Fails with one line
 * if the process has ended.
 */
enum dump_table dump_table_find(void);
/** The same; what is not DUMP_TABLE fails with one line. */
void dump_table_need(void);

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

/** Its name, as it may be printed. */
const char *dump_process_name(void);
const char *dump_call_name(unsigned nr);
const char *dump_stat_name(unsigned i);
/** The same as @text, which may be printed, in a string of JSON. */
const char *dump_json(const char *text);

#endif
