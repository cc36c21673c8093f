/*
 * What the library tells of itself: the counters when the process ends (stats.c, full.c),
 * where fibers hold their workers up (holdups.c), and that a worker does not come
 * out of the runtime (stuck.c). No locks. Each says who may call.
 */
#ifndef FIB_REPORT_H
#define FIB_REPORT_H

#include "runtime/sched.h"

/* --- stats.c: for who starts or ends the process ---------------------------- */

/** Counters go to @fd when the process ends; -1: nowhere. */
void fib_stats_at_exit(int fd);
void fib_stats_print(int fd);
bool fib_stats_wanted(void);
/** And what has held workers up, behind the counters. */
void fib_stats_want_full(void);
/** That, by @put: full.c. */
void fib_stats_full(void (*put)(const char *s));
/** Around fib_runtime_fork_child(), where it is none. */
void fib_stats_keep(void);
void fib_stats_resume(void);
/** The process ends after it has left the runtime. */
void fib_stats_left(void);
/** The process is about to end. */
void fib_stats_end(void);

/* --- holdups.c, stuck.c: for the monitor's thread alone ----------------------- */

/** The fiber on @w holds it up: count where. */
void fib_holdup_note(struct fib_worker *w);
/** The worker @w itself: it is back. */
void fib_holdup_over(struct fib_worker *w);
/** Tell of a worker, or the monitor (NULL), that is stuck in the runtime. */
void fib_stuck_tell(struct fib_worker *w, bool spins);

#endif
