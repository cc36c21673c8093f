/*
 * The monitor's sleep, which tells that the process was stopped, and for how long. When a
 * stop ends ppoll() the kernel leaves behind what was left of its time
 * (poll_select_finish() of fs/select.c): so of the time that has gone by since the sleep
 * began, what it has not slept it was stopped. Nobody else need be awake at the stop.
 * Between two sleeps it is awake for microseconds: what is more, it was stopped there.
 *
 * Where it can leave that behind, it goes on with it when the process does, and nobody
 * knows that there was a stop. Where it cannot, it ends with EINTR. So what is left lies
 * across the end of a page that is followed by one that may only be read: of its sixteen
 * bytes the first twelve are written (copy_to_user() goes as far as it can), the last four
 * are always zero, and the kernel sees that it has not written them all. A kernel that
 * writes nothing then has slept all the same: the stop is seen, and taken for longer.
 *
 * That costs page faults in the kernel, two of them, 6 us on a slow machine. So it is not
 * done behind a sleep that has ended for signals: others may wait for the next, and there
 * is mostly an idle worker, which a stop ends as well (hooks/signal/stop.c).
 *
 * Whoever finds that there was a stop may come late, and the monitor has slept again by
 * then: the worst turn, of a sleep and what was before it, is remembered for a second.
 */
#ifndef FIB_NAP_H
#define FIB_NAP_H

#include <poll.h>
#include "runtime/base.h"

/** What is left is kept right before @page, which may only be read. */
#define FIB_NAP_LEFT 12
void fib_nap_at(void *page);

/** There is no monitor any more; in a fork child not that one. */
void fib_nap_forget(void);

/**
 * ppoll() of @n at @p, for @ts (NULL: for ever). @tells: -EINTR behind a stop; else it may go
 * on. The monitor alone, behind fib_nap_at().
 */
long fib_nap(struct pollfd *p, unsigned n, const struct timespec *ts,
	     bool tells);

/**
 * How long the process was stopped in the monitor's turn that is under way, or in one within the
 * last second, in ns, without what was told before; with what the monitor was late. One
 * thread at a time; without locks.
 */
uint64_t fib_nap_take_lost_ns(void);

#endif
