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
 * From (A) to (B) the caller is counted, so the first one's choice lasts. (B) comes at
 * the end of the call, or before a cancel unwinds it (fiber.io.way). Only where all
 * who are counted are parked, and would rather be in the kernel, may one of them
 * change the sign (fib_way_turn()); and sees to it that they all go there.
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

/** All @n of @way are to be in the kernel from now on. False: they are not @n. */
static inline bool fib_way_turn(_Atomic int *way, int n)
{
	return fib_cas(way, &n, -n, seq_cst);
}

/** The caller, who has entered, is to wait in the kernel. */
static inline bool fib_way_is_kernel(void)
{
	_Atomic int *way = fib_self()->io.way;

	return way && fib_load(way, acquire) < 0;
}

/** The wait of @f, the caller, is over; if it has entered at all. */
static inline void fib_way_leave(struct fib *f)
{
	int n = f->io.way ? fib_load(f->io.way, relaxed) : 0;

	while (n && !fib_cas(f->io.way, &n, n < 0 ? n + 1 : n - 1, seq_cst))
		; /* (B) */
	f->io.way = NULL;
}

#endif
