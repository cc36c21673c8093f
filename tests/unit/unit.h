/*
 * Common ground of the unit tests. Each test has a process of its own (Check
 * forks), for a scheduler that was started is not stopped. The test function
 * goes on as a fiber after unit_start(), and may change threads when it parks.
 */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include "libfib/lib.h"
#include "runtime/iom.h"
#include "runtime/sched.h"
#include "runtime/timer.h"

/* What unit_start() starts. */
extern struct fib_sched fib_sched;

#define UNIT_STACK (64ul * 1024)
#define MSEC	   1000000ull

/* one per file */
TCase *unit_base(void);
TCase *unit_ctx(void);
TCase *unit_fiber(void);
TCase *unit_futex(void);
TCase *unit_iom(void);
TCase *unit_library(void);
TCase *unit_lock(void);
TCase *unit_monitor(void);
TCase *unit_sched(void);
TCase *unit_stack(void);
TCase *unit_stats(void);
TCase *unit_text(void);
TCase *unit_timer(void);

/**
 * Start @n workers, as the preload does, with the monitor; the caller is the
 * main fiber from here on.
 */
void unit_start(unsigned n);
/** A fiber that calls @fn(@arg). */
struct fib *unit_go(void (*fn)(void *), void *arg);
/** Park for @ns. */
void unit_nap(uint64_t ns);
/** Yield until @cond() holds; fails the test after ten seconds. */
void unit_until(bool (*cond)(void));
uint64_t unit_stat(enum fib_stat s);
/** CPU time of the process so far. */
uint64_t unit_cpu_ns(void);
/** Keep the processor for @ns. */
void unit_burn(uint64_t ns);

/* Fibers that are waited for. */
struct unit_group {
	_Atomic int left;
	struct fib *waiter;
};

void unit_group_init(struct unit_group *g, int n);
void unit_group_done(struct unit_group *g);
void unit_group_wait(struct unit_group *g);

#endif
