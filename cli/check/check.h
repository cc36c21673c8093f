/*
 * fibhook check: will a command run hooked here, and will it gain?
 *
 *   check.c     the command, what follows from what is known, and printing it
 *   imports.c   what the program and its libraries call, from their files
 *   trial.c     a small program that is hooked here: can it, what does it cost
 *   watch.c     with --run: the command itself, hooked, for some seconds
 *
 * Nothing of the program is run without --run: its dynamic linker is asked for
 * the libraries (as ldd(1) does), which are read as files. What it loads later,
 * and what an interpreter is told to do, is not seen so, and said not to be.
 */
#ifndef FIB_CHECK_H
#define FIB_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "cli/run/run.h"

/* --- imports.c ---------------------------------------------------------------- */

/**
 * Read what @program and its libraries import; NULL, or why it cannot be read.
 * libc's own libraries, and those that wrap its threads for others (C++, glib,
 * OpenMP), are passed over: what is called in them tells.
 */
const char *check_imports_read(const char *program);
/** The first object that imports @name ("name*": one that begins so), or NULL. */
const char *check_imports(const char *name);
/** "glibc 2.36 (/lib/...)", or NULL. */
const char *check_libc(void);
/** The first object that sets the host register (%gs) by an instruction, or NULL. */
const char *check_sets_host_reg(void);
/** Its code was made by the Go compiler. */
bool check_is_go(void);

/* --- trial.c ------------------------------------------------------------------ */

struct check_trial {
	bool active;
	int workers;
	char reason[FIB_REASON_MAX]; /* why not */
	double load_ms;	 /* more than unhooked, from exec to the end */
	double start_ms; /* the first thread, beyond what it takes unhooked */
	double kb;	 /* more of memory */
};

/** Hook a small program that has the name of @program. */
void check_trial(const char *library, const char *program,
		 struct check_trial *t);
/** What that program does: fibhook check --trial. */
int check_trial_run(void);

/* --- watch.c ------------------------------------------------------------------ */

#define CHECK_CONNECTIONS 16

struct check_watch {
	double seconds; /* that it ran */
	bool looked;	/* what follows is known, of its first process */
	uint32_t state; /* enum fib_symtab_state */
	bool active, loaded;
	char reason[FIB_REASON_MAX];
	bool ended; /* before its time */
	int status;
	char said[512]; /* its last line, if it ended */
	bool awaited;	/* it might have listened, by its file */
	bool listens;
	char address[160];
	unsigned connections; /* that it was given */
	int more_fibers, more_processes;
	unsigned fibers, most; /* at the last look, and at most */
	uint64_t created, kernel_blocks, held_up;
	struct run_held held[FIB_HOLDUPS];
	unsigned nheld;
};

/**
 * Run the command hooked for @seconds from when it listens, or if it does not
 * within @patience, from its start.
 */
void check_watch(const char *path, char **argv, const char *library,
		 double seconds, double patience, struct check_watch *w);

#endif
