/*
 * Common ground of the unit tests. Each test has a process of its own (Check
 * forks). The engine is built for both of its hosts, and there are two programs:
 * run, with schedulers as programs have them that use libfib, and bare, with the
 * preload's: the calling thread is the first fiber, workers are bare kernel
 * threads, and there is a monitor. Which tests are in which: tests/unit/unit.mk.
 *
 * In bare, all fibers share the TLS of the first thread: none but the test's own
 * may call libc.
 */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <pthread.h>
#include "runtime/iom.h"
#include "runtime/sched.h"
#include "runtime/timer.h"

/* What a FIBER_TEST() runs in. */
extern struct fib_sched *unit_scheduler;

#define UNIT_STACK (64ul * 1024)
#define MSEC	   1000000ull

/* one per file */
TCase *unit_base(void);
TCase *unit_close(void);
TCase *unit_ctx(void);
TCase *unit_fiber(void);
TCase *unit_futex(void);
TCase *unit_iom(void);
TCase *unit_library(void);
TCase *unit_lock(void);
TCase *unit_monitor(void);
TCase *unit_sched(void);
TCase *unit_stack(void);
TCase *unit_start(void);
TCase *unit_stats(void);
TCase *unit_text(void);
TCase *unit_timer(void);

/** @fn(@i) as the first fiber of a scheduler with @n workers. */
void unit_run(unsigned n, void (*fn)(int), int i);
/* A test whose body is that; it may change threads when it parks. */
#define FIBER_TEST(name, n)                                                    \
	static void name##_fiber(int _i);                                      \
	START_TEST(name)                                                       \
	{                                                                      \
		unit_run((unsigned)(n), name##_fiber, _i);                     \
	}                                                                      \
	END_TEST                                                               \
	static void name##_fiber(int _i)

/** The calling thread is worker @w, of a scheduler that does not run. */
void unit_pretend(struct fib_worker *w);
/** A thread that is no fiber. */
void unit_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
/** A fiber that calls @fn(@arg). */
struct fib *unit_go(void (*fn)(void *), void *arg);
/** Park for @ns. */
void unit_nap(uint64_t ns);
/** Yield until @cond() holds; fails the test when patience ends. */
void unit_until(bool (*cond)(void));
uint64_t unit_stat(enum fib_stat s);
/** CPU time of the process so far. */
uint64_t unit_cpu_ns(void);

/* Fibers that are waited for. */
struct unit_group {
	_Atomic int left;
	struct fib *waiter;
};

void unit_group_init(struct unit_group *g, int n);
void unit_group_done(struct unit_group *g);
void unit_group_wait(struct unit_group *g);

/** The runner: 0 if all have passed. */
int unit_main(TCase *(*const *cases)(void), size_t n);

#endif
