/*
 * What the library tells of itself: the counters when the process ends (stats.c,
 * full.c), which words are waited for (waits.c), where fibers hold their workers up
 * (holdups.c), and that a worker does not come out of the runtime (stuck.c). One lock, in
 * waits.c. Each says who may call.
 */
#ifndef FIB_REPORT_H
#define FIB_REPORT_H

#include "runtime/sched.h"

/* What threads wait for by futex. */
enum fib_kind {
#define FIB_KIND(name, text, hint) FIB_KIND_##name,
#include "shared/hints.def"
#undef FIB_KIND
};

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

/* --- waits.c: which words are waited for by futex ----------------------------- */

#define FIB_WAITED 64
struct fib_waited {
	uint64_t addr; /* of the word; 0: none */
	uint64_t count, total_ns, longest_ns;
	uint64_t before_ns; /* of total_ns: it may be another's */
	uint64_t at;	    /* who waits there; 0: not known */
	enum fib_kind kind;
};

/** Before the first fiber: they are noted from now on. */
void fib_waits_start(void);
/** There is code of libc's, or the vDSO's; and a function there that waits for a @kind. */
void fib_waits_libc(uintptr_t from, size_t size);
void fib_waits_know(enum fib_kind kind, uintptr_t from, size_t size);
/** All of them, in no order. Any thread. */
void fib_waits_take(struct fib_waited to[FIB_WAITED]);

extern bool fib_waits_on;
void fib_waits_note(int op, const uint32_t *word, uint64_t began_ns);
/**
 * Around a wait of the calling fiber for @word: one load and a branch where nobody
 * wants to know.
 */
static inline uint64_t fib_waits_begin(void)
{
	return fib_unlikely(fib_waits_on) ? fib_now_ns() : 0;
}
static inline void fib_waits_end(int op, const uint32_t *word, uint64_t began_ns,
				 long r)
{
	/* -EAGAIN: it has not waited. */
	if (fib_unlikely(began_ns) && r != -EAGAIN)
		fib_waits_note(op, word, began_ns);
}

/* --- holdups.c, stuck.c: for the monitor's thread alone ----------------------- */

/** The fiber on @w holds it up: count where. */
void fib_holdup_note(struct fib_worker *w);
/** The worker @w itself: it is back. */
void fib_holdup_over(struct fib_worker *w);
/** Tell of a worker, or the monitor (NULL), that is stuck in the runtime. */
void fib_stuck_tell(struct fib_worker *w, bool spins);

#endif
