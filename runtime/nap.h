/*
 * The monitor's sleep, which tells how long the process was stopped. When a stop ends
 * ppoll() the kernel leaves behind what was left of its time (poll_select_finish() of
 * fs/select.c), and goes on with that when the process does: so of the time that has gone
 * by since the sleep began, what it has not slept it was stopped. Nobody else need be
 * awake at the stop.
 */
#ifndef FIB_NAP_H
#define FIB_NAP_H

#include <poll.h>
#include "runtime/base.h"

/** ppoll() of @n at @p, for @ts (NULL: for ever). The monitor alone. */
long fib_nap(struct pollfd *p, unsigned n, const struct timespec *ts);

/**
 * How long the process was stopped in the monitor's sleep that is under way, or, if it was
 * not in that, in the one before, in ns; with what the monitor was late. Any thread;
 * without locks.
 */
uint64_t fib_nap_lost_ns(void);

#endif
