/*
 * Those who wait for the same thing, first come, first served: parked, in the
 * order of the engine's list, or in the kernel, in that of its queue. One who parks
 * beside one that is in the kernel would be served before or after it as luck has
 * it. So at any time they all wait in one way, which the first of them chooses. A
 * word tells how many, and in its sign how:
 *
 *	enter	CAS: 0 -> 1 or -1, as it likes; above 0: + 1; below 0: - 1	(A)
 *	wait	parked if it was above 0, else in the kernel
 *	leave	one nearer to 0							(B)
 *
 * From (A) to (B) its sign cannot change, since the caller is counted. (B) comes at
 * the end of the call, or before a cancel unwinds it (fiber.io.way).
 */
#ifndef FIB_WAY_H
#define FIB_WAY_H

#include "runtime/sched.h"

/** The caller is going to wait at @way: in the kernel? If nobody is there, if @likes. */
static inline bool fib_way_enter(_Atomic int *way, bool likes)
{
	int n = fib_load(way, relaxed);
	bool kernel;

	do
		kernel = n ? n < 0 : likes;
	while (!fib_cas(way, &n, kernel ? n - 1 : n + 1, seq_cst)); /* (A) */
	fib_self()->io.way = way;
	return kernel;
}

/** The caller is the only one there. One that a cancel may unwind has left. */
static inline bool fib_way_alone(void)
{
	_Atomic int *way = fib_self()->io.way;
	int n = way ? fib_load(way, relaxed) : 0;

	return n == 1 || n == -1;
}

/** The wait of @f, the caller, is over; if it has entered at all. */
static inline void fib_way_leave(struct fib *f)
{
	if (f->io.way) /* (B) */
		fib_add(f->io.way, fib_load(f->io.way, relaxed) < 0 ? 1 : -1,
			seq_cst);
	f->io.way = NULL;
}

#endif
