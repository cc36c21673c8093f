/*
 * Points where the stress tests delay a thread, so that a race shows itself
 * sooner. They are compiled in with -DFIB_CHAOS alone; tests/stress/chaos.c
 * has the function. A point may stand under a lock.
 */
#ifndef FIB_CHAOS_H
#define FIB_CHAOS_H

#ifdef FIB_CHAOS
void fib_chaos(const char *point);
#define FIB_CHAOS_POINT(name) fib_chaos(#name)
#else
#define FIB_CHAOS_POINT(name) ((void)0)
#endif

#endif
