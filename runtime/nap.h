/*
 * The monitor's sleep, which tells how long the process was stopped. When a stop ends
 * ppoll() the kernel leaves behind what was left of its time (poll_select_finish() of
 * fs/select.c), and goes on with that when the process does: so of the time that has gone
 * by since the sleep began, what it has not slept it was stopped. Nobody else need be
 * awake at the stop. Between two sleeps it is awake for microseconds: what is more, it was
 * stopped there.
 *
 * Whoever finds that there was a stop may come late, and the monitor has slept again by
 * then: the worst turn, of a sleep and what was before it, is remembered for a second.
 */
#ifndef FIB_NAP_H
#define FIB_NAP_H

#include <poll.h>
#include "runtime/base.h"

/** There is no monitor any more; in a fork child not that one. */
void fib_nap_forget(void);

/** ppoll() of @n at @p, for @ts (NULL: for ever). The monitor alone. */
long fib_nap(struct pollfd *p, unsigned n, const struct timespec *ts);

/**
 * How long the process was stopped in the monitor's turn that is under way, or in one within the
 * last second, in ns, without what was told before; with what the monitor was late. One
 * thread at a time; without locks.
 */
uint64_t fib_nap_take_lost_ns(void);

#endif
