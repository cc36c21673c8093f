/* Workers that are held up, and others in their places: spares.c; for the monitor. */
#ifndef FIB_SPARES_H
#define FIB_SPARES_H

#include "runtime/sched.h"

#define FIB_TICK_NS 10000000ull

/**
 * Are workers of @s held up? True while there is something to look after: one is busy.
 * @tick: it is time for another look at what they do.
 */
bool fib_spares_look(struct fib_sched *s, bool tick);

#endif
