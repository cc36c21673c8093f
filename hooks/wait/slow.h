/*
 * Calls that the kernel makes as they are, and that mostly wait for nothing: of a
 * file, open(), fsync(), and whatever has no row. When one waits all the same, for a
 * disk, another process, its other end, the monitor finds out at its next tick or the one
 * after, and until then whoever is queued waits as well. So from then on those of its
 * number are announced, as calls that are known to block are: others get a worker at
 * once. Until FIB_SLOW_MOST of them in a row were quick. So are from the start those that a
 * program makes to wait by, of System V.
 *
 * By the number that the program called, and not by file or argument: it is a guess,
 * which costs a call that is quick all the same some microseconds. Who has a kernel
 * thread to itself holds nobody up, and may be under a filter: nothing is announced. No
 * locks; for fibers, in a hook.
 */
#ifndef FIB_SLOW_H
#define FIB_SLOW_H

#include "hooks/core/hook.h"
#include "hooks/signal/signal.h"

#define FIB_SLOW_CALLS 512 /* numbers */
#define FIB_SLOW_MOST  16

/* How many more are announced. */
extern _Atomic uint8_t fib_slow[FIB_SLOW_CALLS];

uint64_t fib_slow_enter(void);
void fib_slow_leave(uint64_t began);
void fib_slow_found(void);

/** Are calls of the caller's number announced? */
static inline bool fib_slow_is(void)
{
	unsigned nr = fib_self()->hook.call;

	return nr < FIB_SLOW_CALLS && fib_load(&fib_slow[nr], relaxed);
}

/** The caller's call waits, announced or not. */
static inline void fib_slow_again(void)
{
	unsigned nr = fib_self()->hook.call;

	if (nr < FIB_SLOW_CALLS)
		fib_store(&fib_slow[nr], FIB_SLOW_MOST, relaxed);
}

/** It was quick, announced or not: one less is announced. */
void fib_slow_less(void);

/** What the caller's call comes to begins: what fib_slow_ends() is to have. */
static inline uint64_t fib_slow_begins(void)
{
	if (fib_unlikely(fib_slow_is()))
		return fib_slow_enter();
	fib_store(&fib_worker_self()->unsaid, FIB_UNSAID_BEGUN, relaxed);
	return 0;
}

static inline void fib_slow_ends(uint64_t began)
{
	if (fib_unlikely(began))
		fib_slow_leave(began);
	else if (fib_unlikely(fib_xchg(&fib_worker_self()->unsaid,
				       FIB_UNSAID_NOTHING,
				       seq_cst) == FIB_UNSAID_FOUND))
		fib_slow_found();
}

/** fib_pass(), announced or not. */
static inline long fib_slow_pass(unsigned nr, const long a[6])
{
	uint64_t began = fib_slow_begins();
	long r = fib_pass(nr, a);

	fib_slow_ends(began);
	return r;
}

/** The same, and a signal ends it. */
static inline long fib_slow_pass_intr(unsigned nr, const long a[6])
{
	uint64_t began = fib_slow_begins();
	long r = fib_signal_raw_intr(fib_self(), nr, a);

	fib_slow_ends(began);
	return r;
}

/** fib_host.held_up(): a worker is. The monitor's thread alone. */
void fib_slow_held_up(struct fib_worker *w);
/** Nothing is known. Before the first fiber, and in a fork child's. */
void fib_slow_reset(void);

#endif
