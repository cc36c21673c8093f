/*
 * Common ground of the stress programs. Each run is a process: a scenario, a
 * number of workers, a seed. The seed decides what the fibers do; when they do
 * it is the machine's business, so a seed finds a race again only in most cases.
 */
#ifndef STRESS_H
#define STRESS_H

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "runtime/chaos.h"
#include "runtime/futex.h"
#include "runtime/trywait.h"
#include "runtime/timer.h"

#define USEC 1000ull
#define MSEC 1000000ull

/* xorshift64*; a source belongs to one flow of control */
struct rnd {
	uint64_t s;
};

static inline struct rnd rnd_from(uint64_t seed, uint64_t who)
{
	struct rnd r = { (seed + 1) * 0x9e3779b97f4a7c15ull ^
			 (who + 1) * 0xbf58476d1ce4e5b9ull };

	r.s = r.s ? r.s : 1;
	return r;
}

static inline uint64_t rnd(struct rnd *r, uint64_t below)
{
	r->s ^= r->s >> 12;
	r->s ^= r->s << 25;
	r->s ^= r->s >> 27;
	return (r->s * 0x2545f4914f6cdd1dull >> 33) % below;
}

struct scenario {
	const char *name;
	void (*run)(uint64_t seed);
};

/*
 * How a scheduler is started, which is the host's matter: there is a program for
 * each, lib/start.c and bare/start.c.
 */
/** The scenarios of this one, NULL at the end. */
extern const struct scenario *const stress_scenarios[];
/**
 * @fn(NULL) as the first fiber of a scheduler with @n workers, until that has no
 * work left. *@s is it, as soon as it is there. The seed chooses the way.
 */
void stress_run(struct fib_sched **s, unsigned n, void (*fn)(void *),
		struct rnd *r);
/** A runnable fiber, or NULL. */
struct fib *stress_fiber(void (*fn)(void *), void *arg, size_t stack_size);
/** A call that may wait for ever. */
struct fib_io stress_io(int fd, uint8_t ev);

/* one per file */
extern const struct scenario stress_park, stress_late, stress_mutex,
	stress_cond, stress_token, stress_steal, stress_spawn, stress_timer,
	stress_block, stress_pipe, stress_tcp, stress_poll, stress_evict,
	stress_direct, stress_restart, stress_turns;

/** ThreadSanitizer has room for few fibers, and it is slow. */
#ifdef FIB_TSAN
#define STRESS_FEW(n) ((n) / 8 + 1)
#else
#define STRESS_FEW(n) (n)
#endif

/** Something went on: the watchdog is content. */
void stress_progress(void);
/** Dump, name the seed, abort. */
void stress_fail(const char *what, const char *file, int line)
	__attribute__((noreturn, cold));
#define stress_check(cond)                                                     \
	((cond) ? (void)0 : stress_fail(#cond, __FILE__, __LINE__))

/** A fiber or a thread that stress_join() waits for. The main fiber calls. */
struct fib *stress_go(void (*fn)(void *), void *arg);
void stress_thread(void (*fn)(void *), void *arg);
/** Called last by each of them. */
void stress_done(void);
void stress_join(void);

/** Burn up to a few microseconds, or let others run. Fibers only. */
void stress_dawdle(struct rnd *r);
/** The same in a thread. */
void stress_dawdle_thread(struct rnd *r);
void stress_burn(uint64_t ns);

#endif
