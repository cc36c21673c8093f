/*
 * A command that is run and watched: what fibhook check --run and fibhook bench
 * stand on.
 *
 *   run.c      starts it, waits for what happens, ends it
 *   tree.c     the processes that it has become, and what they use
 *   listen.c   where they listen
 *   count.c    how many system calls they make
 *   look.c     what the library in them says
 *   counters.c what it has counted by their ends
 *
 * There is one at a time, the server, and beside it at most one helper, the load.
 * The command is the subreaper of both: a server that goes into the background
 * becomes our child when the process that was started ends, so the tree below
 * us without the helper is the server, whatever it does with groups and
 * sessions. When the command ends, also by a signal, everything below it is
 * killed; when it is killed itself, the kernel kills the two that it has started.
 */
#ifndef FIB_RUN_H
#define FIB_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "runtime/symtab.h"

/* --- run.c ------------------------------------------------------------------ */

struct run_child {
	pid_t pid; /* 0: none; stays when it has ended */
	bool ended;
	int status;   /* as of waitpid(), when it has ended */
	int out, err; /* what it has written, for reading; -1: none */
};

extern struct run_child run_server, run_helper;

/** Become the subreaper, take signals, and see to it that nothing is left. */
void run_init(void);

/**
 * Start the command @argv, the file @path, as the server. @library: hooked by
 * it; NULL: not hooked. @counted: run_calls() will tell.
 */
void run_start(const char *path, char **argv, const char *library,
	       bool counted);

/** Start the helper: @work is run in a child, which ends with what it returns. */
void run_help(int (*work)(void *arg), void *arg);

/** Wait for at most @ms for a child to end; what has ended is reaped. */
void run_pause(int ms);

/** Nothing of the server is left; how it ended is known. */
bool run_gone(void);
/**
 * End the server as an operator would, and wait for @seconds until nothing of it
 * is left. False: it had to be killed.
 */
bool run_stop(double seconds);
/** Kill all that there is of both, and wait for its end. */
void run_kill(void);

/** The last line that @c has written, as it may be printed; or "". */
const char *run_last_line(const struct run_child *c);
/** How it ended, in words: "with status 1", "by signal 9 (Killed)". */
const char *run_how(int status);

int64_t run_now_ns(void);

/* --- tree.c ----------------------------------------------------------------- */

/** Processes of the server; at most @max of them are stored. */
size_t run_tree(pid_t *pids, size_t max);
/** Those of them that are our own children. */
size_t run_children(pid_t *pids, size_t max);
/** All processes below us, the helper and its own too. */
size_t run_everything(pid_t *pids, size_t max);
#define RUN_TREE_MAX 1024

struct run_usage {
	unsigned processes, threads;
	double rss_kb, pte_kb;
	double cpu_s;	 /* of those that have ended as well */
	double switches; /* of live threads alone; see run_ended_switches() */
};

/** @switches: those as well, which is a file to read for each thread. */
void run_usage(struct run_usage *u, bool switches);

/** A process has been reaped. */
struct rusage;
void run_tree_ended(const struct rusage *r);
/** Context switches of processes that have ended, since the server's start. */
double run_ended_switches(void);
void run_tree_reset(void);

/* --- listen.c --------------------------------------------------------------- */

struct run_address {
	int family; /* AF_INET, AF_INET6, AF_UNIX; 0: none */
	char host[64];
	unsigned port;
	char path[108]; /* of a unix socket; "@..." in the abstract namespace */
};

/**
 * Where the server listens: TCP before unix, the lowest port first. @port, if it
 * is not 0, alone, whoever has it. False: nowhere yet.
 */
bool run_listens(struct run_address *a, unsigned port);
/** Descriptors of the server could not be looked at. */
bool run_listens_blind(void);
/** "port 80", "/run/socket" */
const char *run_address_name(const struct run_address *a);
/**
 * A connection: a descriptor, or -errno. @async: it does not block, and may still
 * be under way.
 */
int run_connect(const struct run_address *a, bool async);

/* --- look.c ----------------------------------------------------------------- */

struct run_held {
	char call[64];
	uint64_t count;
	double seconds;
};

struct run_look {
	uint32_t active, state; /* enum fib_symtab_state */
	int32_t workers;
	uint32_t fibers; /* but for main */
	char reason[FIB_REASON_MAX];
	uint64_t stats[FIB_STATS];
	struct run_held held[FIB_HOLDUPS];
};

/** What the library says in the server's process that has most fibers; or false. */
bool run_look(struct run_look *l);

/* --- counters.c ------------------------------------------------------------- */

/**
 * What the library has counted by the end of the process that had most fibers, in
 * @stats, of FIB_STATS: the server was started with FIBHOOK_STATS=stderr. False:
 * none has said anything.
 */
bool run_counters(uint64_t *stats);

/* --- count.c ---------------------------------------------------------------- */

/** Count system calls of process @pid and what comes from it; why not, or NULL. */
const char *run_count(pid_t pid);
/** How many there were by now; -1: not known. */
double run_calls(void);
void run_count_end(void);

#endif
