/*
 * The library through its public header alone. Each test has a process of its
 * own (Check forks).
 */
#ifndef LIBRARY_H
#define LIBRARY_H

#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include "fib.h"

#define MSEC 1000000ull
#define SEC  1000000000ull

/* ThreadSanitizer has room for few fibers, and it is slow. */
#ifdef __SANITIZE_THREAD__
#define FEW(n) ((n) / 100)
#else
#define FEW(n) (n)
#endif
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define OK(call) ck_assert_int_eq((call), 0)

/* one per file */
TCase *library_cancel(void);
TCase *library_channel(void);
TCase *library_executor(void);
TCase *library_fiber(void);
TCase *library_fork(void);
TCase *library_group(void);
TCase *library_limits(void);
TCase *library_process(void);
TCase *library_sched(void);
TCase *library_select(void);
TCase *library_stop(void);
TCase *library_submit(void);
TCase *library_sync(void);
TCase *library_task(void);
TCase *library_iom(void);
TCase *library_io(void);
TCase *library_message(void);
TCase *library_timer(void);
TCase *library_wait(void);

/** Under a sanitizer: say that test @name is left out, and @why. */
bool left_out(const char *name, const char *why);
uint64_t now_ns(void);
/** CPU time of the process so far. */
uint64_t cpu_ns(void);
/** Wait, as a thread, until @cond(); fails the test after ten seconds. */
void until(bool (*cond)(void));
/** Kernel threads of this process that are called @name. */
int threads_called(const char *name);
/** What they have done whose names begin with @prefix. */
struct work {
	unsigned threads;
	uint64_t cpu;	 /* ns */
	uint64_t sleeps; /* each wait in the kernel that began */
};
struct work work_of(const char *prefix);
/** Wait for them to be gone: one that was joined may be listed for a moment. */
void threads_gone(const char *name);
/** Does kernel thread @tid of this process sleep? */
bool sleeps(int tid);
/** A scheduler that is started. */
struct fib_sched *started(unsigned threads, bool use_caller);
/** Stop it and give it back. */
void finish(struct fib_sched *s);

#endif
