/*
 * Workers: their slots, their kernel threads, the start of a scheduler.
 *
 * A scheduler gets its slots first (fib_sched_init()), and kernel threads for
 * them after that (fib_workers_start()). A kernel thread that has been made
 * becomes its worker and waits at the scheduler's gate:
 *
 *	starter				kernel thread of a worker
 *	-------				-------------------------
 *	gate = SHUT
 *	(A) makes the threads, one	becomes the worker
 *	    after the other		(C) waits while the gate is SHUT
 *	(B) gate = OPEN, or END if	OPEN: the loop
 *	    one that must be there	END: ends
 *	    cannot be had; wakes all
 *	END: joins them
 *
 * So nobody runs a fiber, or looks at a slot, before all is there. (B) releases
 * what the starter has written, (C) acquires it. The gate stays open for those
 * who come later, and is shut by the next start, when all have been joined.
 *
 * How a kernel thread is made, what it does first and last, and how it is waited
 * for is the host's: runtime/host.h. A kernel thread that exists already becomes
 * a worker by fib_worker_here(): the loop has a stack of its own then.
 */
#include <linux/futex.h>
#include "ctx_arch.h"
#include "runtime/iom.h"
#include "runtime/runq.h"
#include "runtime/timer.h"

enum gate {
	GATE_SHUT = 0, /* wait */
	GATE_OPEN = 1, /* run */
	GATE_END = 2,  /* the start has failed */
};

const char *_Atomic fib_step;

/* --- slots ------------------------------------------------------------------ */

static void worker_init(struct fib_sched *s, struct fib_worker *w, uint32_t id)
{
	w->self = w;
	w->id = id;
	fib_lock_init(&w->lock, RUN_QUEUE);
	fib_list_init(&w->queue);
	w->computing = &w->queue;
	fib_list_init(&w->harvest);
	fib_timer_heap_init(&w->timers);
	fib_host_worker_init(s, w);
}

/* That of a worker that is gone for good, or a new one. */
static struct fib_worker *slot(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, relaxed);
	struct fib_worker *w;

	for (uint32_t i = 1; i < n; i++) {
		w = s->worker[i];
		if (fib_load(&w->gone, acquire) && !fib_load(&w->tid, acquire))
			return w;
	}
	if (n == FIB_SCHED_WORKERS)
		return NULL;
	w = s->worker[n];
	if (!w)
		w = fib_pages_alloc(FIB_ALIGN_UP(sizeof(*w), FIB_PAGE));
	if (!w)
		return NULL;
	s->worker[n] = w;
	worker_init(s, w, n);
	return fib_host_worker_stack(s, w) ? w : NULL;
}

struct fib_worker *fib_worker_add(struct fib_sched *s, struct fib *bound)
{
	struct fib_worker *w = slot(s);

	if (!w)
		return NULL;
	w->bound = bound;
	w->priority.since = 0;
	fib_store(&w->bound_ready, 0, relaxed);
	fib_store(&w->taken, bound != NULL, relaxed);
	fib_host_worker_begins(w, bound);
	if (bound)
		bound->bound = w;
	/* Known before it runs: others look at its queue and timers. */
	if (w->id == fib_load(&s->workers, relaxed))
		fib_store(&s->workers, w->id + 1, release);
	return w;
}

int fib_sched_init(struct fib_sched *s, unsigned n)
{
	int got = 0;

	s->target = n;
	fib_lock_init(&s->renew_lock, RENEW);
	fib_lock_init(&s->inject_lock, INJECT);
	fib_lock_init(&s->workers_lock, WORKERS);
	fib_list_init(&s->inject);
	while (got < (int)n && fib_worker_add(s, NULL))
		got++;
	return got ? got : -ENOMEM;
}

void fib_worker_tell_counts(struct fib_worker *w)
{
	for (unsigned i = 0; i < FIB_STATS; i++) {
		uint64_t n = fib_load(&w->counts[i], relaxed);

		fib_store(&w->counts[i], 0, relaxed);
		if (n)
			fib_add(&fib_symtab.stats[i], n, relaxed);
	}
}

/* --- kernel threads --------------------------------------------------------- */

void fib_worker_main(void *arg)
{
	struct fib_worker *w = arg;
	struct fib_sched *s = fib_sched_of(w);
	int gate;

	fib_worker_set(w);
	/* It has its creator's filter, which may deny arch_prctl(). */
	fib_assert(fib_worker_self() == w);
	w->fsbase = 0; /* the record may have been another thread's */
	fib_san_adopt(&w->san);
	fib_host_thread_begins(w);
	/* (C) */
	while ((gate = fib_load(&s->gate, acquire)) == GATE_SHUT)
		fib_raw(SYS_futex, &s->gate, FUTEX_WAIT_PRIVATE, GATE_SHUT, 0);
	if (gate == GATE_OPEN)
		fib_worker_loop(w);
	fib_host_thread_ends(w);
}

int fib_worker_start(struct fib_worker *w)
{
	int r;

	fib_store(&w->gone, 0, relaxed);
	r = fib_host_thread_start(w);
	if (r < 0) {
		fib_store(&w->tid, 0, relaxed);
		fib_store(&w->gone, 1, release);
	}
	return r;
}

static void open_gate(struct fib_sched *s, int how)
{
	/* (B) */
	fib_store(&s->gate, how, release);
	fib_raw(SYS_futex, &s->gate, FUTEX_WAKE_PRIVATE, INT_MAX);
}

int fib_workers_start(struct fib_sched *s, uint32_t from, uint32_t to, bool all)
{
	uint32_t i;

	fib_store(&s->gate, GATE_SHUT, relaxed);
	/* (A) */
	for (i = from; i < to; i++)
		if (fib_worker_start(s->worker[i]) < 0)
			break;
	if (all && i < to) {
		open_gate(s, GATE_END);
		while (i-- > from)
			fib_host_thread_join(s->worker[i]);
		return -EAGAIN;
	}
	fib_store(&s->running,
		  (int32_t)(fib_load(&s->workers, relaxed) - (to - i)),
		  relaxed);
	/* Their slots are for others. */
	for (; i < to; i++)
		fib_store(&s->worker[i]->gone, 1, release);
	open_gate(s, GATE_OPEN);
	return 0;
}

static void loop_here(void *arg)
{
	struct fib_worker *w = arg;

	fib_host_loop_begins(w);
	fib_worker_loop(w);
	fib_host_loop_ends(w);
}

void fib_worker_here(struct fib_worker *w)
{
	w->sched_sp = fib_ctx_make(w->stack, loop_here, w);
	fib_san_create(&w->san, (char *)w->stack - FIB_WORKER_STACK,
		       FIB_WORKER_STACK);
	fib_store(&w->tid, (int)fib_raw(SYS_gettid), relaxed);
}
