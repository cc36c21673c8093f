/*
 * CPU time of fibers.
 *
 * Every fiber counts the cycles between its resumes and its parks: wall time
 * on a worker, which is CPU time but for what other processes took of it. That
 * costs one read of the time-stamp counter for each turn: where the worker has not
 * looked at epoll in between, the next one goes on when the last one stopped. It is
 * what fibhook dump shows. Of one that is parked, cycles_since tells since when.
 *
 * A fiber that asks for its CPU clock is metered: from then on the worker's
 * own CPU clock is read at each resume and park, and what it had before counts
 * as its cycles said. So differences are the kernel's. Who reads the clock of
 * another fiber reads that of the worker it is on: cpu_seq is odd while the
 * two numbers change.
 */
#ifndef FIB_CPUTIME_H
#define FIB_CPUTIME_H

#include "runtime/sched.h"

/** CPU time of @f in ns. Any thread; exact only for a fiber that has asked. */
uint64_t fib_cpu_ns(struct fib *f);
/** CPU time of kernel thread @tid, 0: the caller's, in ns. */
uint64_t fib_cpu_thread_ns(int tid);
/** The calling fiber is metered from now on. Fibers only. */
void fib_cpu_meter(void);
/** Cycles in ns, by how both have gone since the start. */
uint64_t fib_cycles_ns(uint64_t cycles);
/** The calling thread goes on as fiber @f, with the time it has had. */
void fib_cpu_adopt(struct fib *f);

/* For the scheduler: @f leaves its worker, and comes onto one. */
void fib_cpu_metered(struct fib *f, bool comes);

/* How long the turn of @f was. Where the host does not count it, there is nobody who asks. */
static inline uint64_t fib_cpu_stop(struct fib_worker *w, struct fib *f)
{
	uint64_t now, turn;

	if (!FIB_HOST_CPU_TIME)
		return 0;
	if (fib_unlikely(fib_load(&f->metered, relaxed)))
		fib_cpu_metered(f, false);
	now = fib_cycles();
	turn = now - f->cycles_since;
	if (fib_likely(!fib_load(&f->metered, relaxed)))
		f->cycles += turn;
	f->cycles_since = w->stopped = now;
	return turn;
}

static inline void fib_cpu_go(const struct fib_worker *w, struct fib *f)
{
	if (!FIB_HOST_CPU_TIME)
		return;
	f->cycles_since = w->stopped ? w->stopped : fib_cycles();
	if (fib_unlikely(fib_load(&f->metered, relaxed)))
		fib_cpu_metered(f, true);
}

#endif
