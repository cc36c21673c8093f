/*
 * Spares: workers in the place of those that are held up in one fiber, for the monitor.
 *
 * One that waits in a call of which it has told (fib_block_enter()) is no reason for the
 * monitor to stay awake, if others are idle, or one has its place (taken). When it comes
 * back it wakes the monitor, where that sleeps, as who leaves the idle count does:
 *
 *	its worker				the monitor
 *	----------				-----------
 *	blocking = 0				fib_monitor_asleep = 1
 *	fib_monitor_asleep? wake it		blocking? it is away
 *
 * So does one that waits in a call which is mostly quick, an open() of a FIFO for one, and has
 * told nobody, once the monitor has found it there and said so:
 *
 *	unsaid = 1				it has run nothing else for a tick?
 *	the call				  unsaid: 1 -> 2
 *	was unsaid 2, when it is set		fib_monitor_asleep = 1
 *	  to 0? asleep? wake it			unsaid is 2? it is away
 *
 * Not so who waits without any word, in a page fault: when that one goes on, it counts on the
 * monitor (launches that are put off, hooks/io/block.c).
 */
#include <linux/futex.h>
#include "runtime/aside.h"
#include "runtime/chaos.h"
#include "runtime/cputime.h"
#include "runtime/doubt.h"
#include "runtime/probe.h"
#include "runtime/sched.h"
#include "runtime/spares.h"
#include "runtime/trace.h"

#define LENIENT	    100 /* ticks, after a fiber that computes was found */
#define CPU_UNKNOWN FIB_NEVER

void fib_block_enter(bool briefly)
{
	struct fib_worker *w = fib_worker_self();

	if (!briefly)
		fib_doubt_end(w);
	fib_count(kernel_blocks);
	FIB_PROBE(block, w->cur->index, w->id);
	fib_trace(w, w->cur, FIB_TRACE_BLOCK, 0);
	fib_store(&w->blocking, 1, seq_cst);
	/*
	 * Where its place is another's by now, nobody misses it; unless it has gone on
	 * beside that one, which may have been left alone for that.
	 */
	if (!briefly && !w->bound &&
	    (!fib_load(&w->taken, relaxed) ||
	     fib_load(&fib_sched_of(w)->lenient, relaxed)) &&
	    !fib_load(&fib_sched_of(w)->nidle, seq_cst))
		fib_monitor_wake();
	fib_sched_tell(fib_sched_of(w));
}

void fib_block_leave(void)
{
	struct fib_worker *w = fib_worker_self();

	fib_store(&w->blocking, 0, relaxed);
	if (!w->bound) {
		fib_fence(seq_cst);
		fib_host_woke(fib_sched_of(w));
	}
	if (fib_host_has_tsc(w))
		w->unblocked = fib_cycles();
	w->looked = 0;
	fib_trace(w, w->cur, FIB_TRACE_UNBLOCK, 0);
	/* The call is what held it up, not what the fiber does next. */
	if (fib_unlikely(fib_load(&w->taken, relaxed)) && fib_host.came_back)
		fib_host.came_back(w);
}

/* Put one more worker to work: one that retired, or a new one. NULL: there is none. */
struct fib_worker *fib_start_spare(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		int spare = 1;

		if (fib_load(&w->spare, relaxed) == 1 &&
		    fib_cas(&w->spare, &spare, 0, seq_cst)) {
			fib_raw(SYS_futex, &w->spare, FUTEX_WAKE_PRIVATE, 1);
			return w;
		}
	}
	return fib_worker_create(s, NULL);
}

/* The spare that has the place of @w now; NULL: there is none. */
static struct fib_worker *give_place(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	/*
	 * The spare first: it counts in the place of @w, which may come back at
	 * any time from then on, and finds one too many. The other way around
	 * it came back into its own place while the spare was being made, and
	 * there was one too many for good.
	 */
	struct fib_worker *spare = fib_start_spare(s);

	if (!spare)
		return NULL;
	fib_count(spares);
	if (!fib_load(&w->blocking, relaxed))
		fib_store(&s->lenient, LENIENT, relaxed);
	if (fib_xchg(&w->taken, 1, seq_cst))
		fib_add(&s->running, 1, seq_cst);
	return spare;
}

/*
 * @w is stuck. @more: how many spares more are to come, since what they will run is
 * likely to compute as well. Each gives its place to the next one before it has begun.
 */
static void give_away(struct fib_worker *w, uint32_t more)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);
	struct fib_worker *spare;

	fib_count(held_up);
	if (f)
		fib_trace(NULL, f, FIB_TRACE_HELD, w->id);
	if (fib_host.held_up)
		fib_host.held_up(w);
	spare = give_place(w);
	if (!spare) {
		fib_count(no_spares);
		if (fib_host.preempt)
			fib_host.preempt(w);
		return;
	}
	while (more-- && spare)
		spare = give_place(spare);
}

/* Has what it was seen to run used its processor since? */
static bool computes(const struct fib_worker *w)
{
	return w->seen_cpu_ns != CPU_UNKNOWN &&
	       fib_cpu_thread_ns(fib_load(&w->tid, relaxed)) - w->seen_cpu_ns >
		       FIB_TICK_NS / 4;
}

/*
 * It has been in one fiber for a tick: has that fiber used the time, or does it
 * wait in the kernel? If neither, other processes had the processor, and one
 * more thread would not help.
 */
static bool is_stuck(struct fib_worker *w)
{
	int tid = fib_load(&w->tid, relaxed);

	/* It was idle when its run was counted, and is not by the same count. */
	if (fib_unlikely(w->seen_cpu_ns == CPU_UNKNOWN)) {
		w->seen_cpu_ns = fib_cpu_thread_ns(tid);
		return false;
	}
	return computes(w) || fib_thread_state(tid) != 'R';
}

/* Who does not run for others now runs again before he is stuck, and is asked then. */
static bool may_get_stuck(const struct fib_worker *w)
{
	return !fib_load(&w->idle, relaxed) && !fib_load(&w->spare, relaxed) &&
	       !w->bound && !fib_load(&w->gone, relaxed);
}

/*
 * Was the thread of @w, which is bound, killed? A filter may do that, strict mode
 * does. One that ends says so (gone) before the kernel zeroes its tid, and has
 * had that since before it was born.
 */
static bool was_killed(struct fib_worker *w)
{
	return w->id && fib_load(&w->born, acquire) &&
	       !fib_load(&w->tid, acquire) && !fib_load(&w->gone, acquire);
}

/* How many fibers would run if there were a worker for each? */
static uint32_t count_queued(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	uint32_t sum = fib_load(&s->injected, relaxed);

	for (uint32_t i = 0; i < n; i++)
		sum += fib_load(&s->worker[i]->queued, relaxed);
	return sum;
}

/* Those that have lost their places to spares, since what they run computes. */
static uint32_t count_computing(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire), computing = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];

		computing += may_get_stuck(w) && fib_load(&w->taken, relaxed) &&
			     !fib_load(&w->blocking, relaxed) &&
			     fib_load(&w->runs, relaxed) == w->seen_runs &&
			     computes(w);
	}
	return computing;
}

/*
 * Fibers that compute share the processors, so that it takes the longer until one more is
 * found the more there are. Where many begin at once, there are twice as many workers each
 * time that one is found: all of them have begun in twice the time that the last one takes,
 * and not in that of each after the other. (Where other processes have the processors, who
 * has got none of them for a tick may be about to end its turn: he does not count, else each
 * spare would be the reason for one more.)
 */
static uint32_t count_more(struct fib_sched *s)
{
	uint32_t queued = count_queued(s);
	uint32_t computing = queued ? count_computing(s) : 0;

	return queued > computing ? computing : queued ? queued - 1 : 0;
}

/* Does @w wait in a call that was told of, with nothing to do for others? Above. */
static bool is_away(struct fib_worker *w)
{
	return (fib_load(&w->blocking, seq_cst) ||
		fib_load(&w->unsaid, seq_cst) == FIB_UNSAID_FOUND) &&
	       !fib_load(&w->queued, relaxed) &&
	       !fib_load(&w->doubts, relaxed) &&
	       !fib_load(&w->summoned, seq_cst) &&
	       (fib_load(&w->taken, relaxed) ||
		fib_load(&fib_sched_of(w)->nidle, relaxed));
}

static void find_unsaid(struct fib_worker *w)
{
	uint8_t begun = FIB_UNSAID_BEGUN;

	if (fib_load(&w->unsaid, relaxed) == begun)
		fib_cas(&w->unsaid, &begun, FIB_UNSAID_FOUND, seq_cst);
}

bool fib_spares_look(struct fib_sched *s, bool tick)
{
	uint32_t n = fib_load(&s->workers, acquire);
	struct fib_worker *stuck = NULL;
	bool busy = false;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];
		uint32_t runs = fib_load(&w->runs, relaxed);
		bool same = runs == w->seen_runs;

		if (tick && !same) {
			w->seen_runs = runs;
			w->seen_cpu_ns = may_get_stuck(w) ?
						 fib_cpu_thread_ns(fib_load(
							 &w->tid, relaxed)) :
						 CPU_UNKNOWN;
		}
		if (tick && w->bound && fib_unlikely(was_killed(w)))
			fib_worker_bury(w);
		if (fib_load(&w->presumes, relaxed)) {
			busy = true;
			if (tick && same && fib_host.preempt_call)
				fib_host.preempt_call(w);
		}
		if (fib_load(&w->spare, relaxed) ||
		    fib_load(&w->idle, relaxed) || w->bound ||
		    fib_load(&w->gone, relaxed))
			continue;
		if (same && is_away(w))
			continue;
		busy = true;
		if (tick && same) {
			find_unsaid(w);
			fib_doubt_ask_for(w);
		}
		/* Who runs there may not have noticed the last time. */
		if (tick && fib_load(&w->summoned, relaxed) && fib_host.preempt)
			fib_host.preempt(w);
		if (fib_load(&w->taken, relaxed))
			continue;
		if (fib_load(fib_shared(&w->cur), relaxed) &&
		    (fib_load(&w->blocking, relaxed) ||
		     (tick &&
		      ((same && !fib_load(&s->nidle, relaxed) && is_stuck(w)) ||
		       FIB_CHAOS_ODDS(give_away, 8)))))
			stuck = w;
	}
	if (stuck && !fib_load(&s->nidle, seq_cst))
		give_away(stuck, tick ? count_more(s) : 0);
	return busy;
}
