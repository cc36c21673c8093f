/*
 * The border to the host program: options, activation, real functions.
 *
 * Activation (activate.c) turns the process into one fiber on N workers, once;
 * after a fork the child may do it again. Everything here runs on an ordinary
 * stack of the program and may call libc.
 */
#ifndef FIB_PRELOAD_H
#define FIB_PRELOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fib_file;

struct fib_options {
	bool disable, eager, rewrite_all, stats_full;
	int workers;		   /* 0: as many as CPUs may be used */
	int log;		   /* FIB_LOG_* */
	const char *log_file;	   /* NULL: stderr; "syslog", or a file */
	uint64_t chaos;		   /* seed; 0: none */
	const char *chaos_only;	   /* points, or NULL for all */
	const char *only, *except; /* programs, "GLOB,..."; NULL: all, none */
	const char *no_hook;	   /* families that the kernel has */
	size_t stack_size;	   /* of threads that ask for none; 0: libc's */
	const char *stats; /* NULL: none; "stderr", "stdout", or a file */
};

enum fib_log {
	FIB_LOG_NONE = 0, /* nothing at all */
	FIB_LOG_WARN = 1, /* why the program runs unhooked, bad options */
	FIB_LOG_INFO = 2, /* that and when the runtime starts */
};

extern struct fib_options fib_options;

/**
 * Read the configuration file, and FIBHOOK_* from the environment; complains of
 * what it cannot use. Nothing of either in the secure mode of ld.so(8).
 */
void fib_options_read(void);
/** Usable CPUs: affinity mask and cgroup quota. At least 1. */
int fib_cpus(void);

/* --- log.c --- */
/** One line, "fibhook[PID PROGRAM]: ...", if @level is wanted. */
void fib_log(enum fib_log level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * A warning, but not where a process that this one comes from has told the same. For
 * a process with one thread: it changes the environment.
 */
void fib_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** A warning, from any thread, with no libc. It does not block. */
void fib_log_plain(const char *text);
/** The start: have a descriptor of our own; complains if that cannot be. */
void fib_log_open(bool filtered);
/** Lines are for standard error @only: a filter denies what others need. */
void fib_log_stderr(bool only);

/* --- tell.c --- */
/** What fibhook status says: enum fib_symtab_state, and @why. */
void fib_state_tell(uint32_t state, const char *why);
/** The fibers begin to run now. */
void fib_state_begins(void);
/** Open what FIBHOOK_STATS names; complains if that cannot be. */
void fib_stats_open(void);
/** Open file @name, in which %p and %e stand for pid and program; or -errno. */
int fib_tell_open(const char *name);
/** Why it could not. */
const char *fib_tell_error(int err);
/* What standard output was when the library was loaded, as fib_stderr. */
extern struct fib_file fib_stdout;

/* --- obstacle.c --- */
struct fib_found {
	bool filtered;	  /* by seccomp */
	bool may_ask;	  /* and yet: fib_fd_may_ask */
	bool denied;	  /* what the runtime needs, by that filter */
	bool silent;	  /* a message might be against it */
	bool clock_timer; /* on the first thread's CPU clock */
};

/**
 * NULL, or why the runtime cannot start in this process, which has one thread and all
 * signals blocked. @early: the program has not asked for a thread yet.
 */
const char *fib_obstacle(bool early, struct fib_found *found);
/** No obstacle: what a filter allows is known at the first thread. */
extern const char fib_obstacle_later[];
/** The reason that @what failed with @err (-errno); until the next one is asked for. */
const char *fib_because(const char *what, long err);

/* --- activate.c, and what it needs --- */
/**
 * Before the first thread: become fibers, unless that is not wanted, not
 * possible (said once), or done already.
 */
void fib_activate(void);
/** Has the program installed a filter by itself? */
bool fib_filter_is_own(void);
/** Is a signal handler under way, in a process with one thread and @mask, @filtered by seccomp? */
bool fib_in_handler(uint64_t mask, bool filtered);
/** What the CPU and its kernel can, once. arch/ */
void fib_cpu_init(void);
/** NULL, or what the CPU lacks. Makes no call. arch/ */
const char *fib_cpu_obstacle(void);
/** May the start take the host register? One call, which has to be allowed. arch/ */
bool fib_cpu_host_reg_is_free(void);
/** The start takes it; the caller is nobody. And gives it back. arch/ */
void fib_cpu_host_reg_take(void);
void fib_cpu_host_reg_give_back(void);
/** Fills in fib_baseline, if libc says what it was compiled for. arch/ */
void fib_baseline_find(void);
/** Options and real functions; whoever comes first. */
void fib_init(void);

/** vfork failed with @err (-errno): sets errno, returns -1. For tramp.S. */
long fib_vfork_error(long err);

/** Where the thread id of thread @t is, or NULL. Valid from the start on. */
int *fib_tid_word(pthread_t t);

/** What the objects behind this one call @name, and its size, or NULL. */
void *fib_lookup(const char *name, size_t *size);
/**
 * The same of many in one go: of @names, each with its 0 and an empty one at the end, to @to, an
 * array of pointers, where these are NULL. @foreign, as many: it is not libc, or a part of it.
 */
void fib_lookup_all(const char *names, void *to, bool *foreign);

#endif
