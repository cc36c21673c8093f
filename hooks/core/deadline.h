/*
 * Time spans and deadlines: the program and the kernel write them as a timespec or
 * a timeval, the runtime counts nanoseconds of CLOCK_MONOTONIC. No locks. For
 * hook bodies.
 */
#ifndef FIB_DEADLINE_H
#define FIB_DEADLINE_H

#include <sys/time.h>
#include <time.h>
#include "runtime/base.h"

/** How much later than asked for a thread's waits may end, where it has set nothing else. */
#define FIB_SLACK_NS 50000

/** Deadline of a call that waits @ns from now; kept when it is repeated. */
uint64_t fib_deadline_in(uint64_t ns);
/** What is left of it in *@ts, for the kernel: @ts, or 0 for FIB_NEVER. */
long fib_time_left(uint64_t deadline_ns, struct timespec *ts);
/** The program's *@ts in ns; -EINVAL, -EFAULT. */
int64_t fib_timespec_ns(const struct timespec *ts);
/** *@tv, which is valid, in ns; INT64_MAX at most. */
uint64_t fib_timeval_ns(const struct timeval *tv);
/** @ns as a timespec to the program's *@ts: 0 or -EFAULT. */
int fib_timespec_put(struct timespec *ts, uint64_t ns);

#endif
