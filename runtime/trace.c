/* Events for fibhook trace, see trace.h. */
#include <sys/mman.h>
#include "runtime/trace.h"

#define RING_BYTES FIB_ALIGN_UP(sizeof(struct fib_trace_ring), FIB_PAGE)

static void put(struct fib_trace_ring *r, const struct fib_worker *w,
		const struct fib *f, enum fib_trace_what what, uint64_t arg)
{
	uint64_t head = fib_load(&r->head, relaxed);
	struct fib_trace_event *e = &r->event[head % FIB_TRACE_EVENTS];

	e->cycles = fib_cycles();
	e->arg = arg;
	if (what == FIB_TRACE_WAKE && w && w->cur)
		e->arg = w->cur->index + 1ull;
	e->fiber = f->index;
	e->generation = f->generation;
	e->call = fib_host_call_of(f);
	e->what = (uint8_t)what;
	e->wait = f->wait;
	e->zero = 0;
	fib_store(&r->head, head + 1, release); /* (A) */
	fib_fence(release);			/* (B) */
}

void __attribute__((noinline))
fib_trace_write(struct fib_trace_ring *r, struct fib_worker *w, struct fib *f,
		enum fib_trace_what what, uint64_t arg)
{
	if (w) {
		/* Under strict mode it would be killed. */
		if (fib_host_has_tsc(w))
			put(r, w, f, what, arg);
	} else if (fib_xchg(&r->taken, 1, acquire)) {
		fib_add(&r->dropped, 1, relaxed);
	} else {
		put(r, w, f, what, arg);
		fib_store(&r->taken, 0, release);
	}
}

/* --- the monitor ------------------------------------------------------------ */

/* Kept when tracing ends: a writer may be in it, and the next tracer needs it. */
static struct fib_trace_ring *_Atomic rings[FIB_SCHED_WORKERS + 1] FIB_LARGE;
/* None is behind: a fork child looks no further. */
static _Atomic uint32_t rings_top;

/* The first is of outside, the others of the workers. NULL: no memory. */
static struct fib_trace_ring *ring(uint32_t i)
{
	struct fib_trace_ring *r = fib_load(&rings[i], acquire), *mine;
	uint32_t top = fib_load(&rings_top, relaxed);

	while (i >= top && !fib_cas(&rings_top, &top, i + 1, relaxed))
		;
	if (r)
		return r;
	mine = fib_pages_alloc(RING_BYTES);
	if (!mine || fib_cas(&rings[i], &r, mine, acq_rel))
		return mine;
	fib_pages_free(mine, RING_BYTES);
	return r;
}

static void turn_on(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = s->worker[i];

		if (fib_load(&w->gone, relaxed) || fib_load(&w->trace, relaxed))
			continue;
		fib_store(&w->trace, ring(i + 1), release);
	}
	if (!fib_load(&fib_symtab.trace.outside, relaxed))
		fib_store(&fib_symtab.trace.outside, ring(0), release);
	fib_store(&fib_symtab.trace.on, 1, release);
}

static void turn_off(struct fib_sched *s)
{
	uint32_t n;

	fib_store(&fib_symtab.trace.on, 0, seq_cst); /* (E) */
	n = fib_load(&s->workers, acquire);
	for (uint32_t i = 0; i < n; i++)
		fib_store(&s->worker[i]->trace, NULL, seq_cst);
	fib_store(&fib_symtab.trace.outside, NULL, relaxed);
	/* What they hold is given back; who still writes finds a page of zeros. */
	for (uint32_t i = 0; i < fib_load(&rings_top, relaxed); i++) {
		struct fib_trace_ring *r = fib_load(&rings[i], relaxed);

		if (r)
			fib_raw(SYS_madvise, (uintptr_t)r + FIB_PAGE,
				RING_BYTES - FIB_PAGE, MADV_DONTNEED);
	}
}

void fib_trace_tick(struct fib_sched *s)
{
	uint32_t ticks = fib_load(&fib_symtab.trace.ticks, relaxed);
	bool on = fib_load(&fib_symtab.trace.on, relaxed);

	if (fib_likely(!ticks && !on))
		return;
	/* Whoever wrote it: not for ever. */
	if (ticks > FIB_TRACE_TICKS)
		ticks = FIB_TRACE_TICKS;
	if (!ticks) {
		turn_off(s);
		return;
	}
	turn_on(s);
	fib_store(&fib_symtab.trace.ticks, ticks - 1, relaxed);
}

void fib_trace_join(struct fib_worker *w)
{
	if (fib_likely(!fib_load(&fib_symtab.trace.on, relaxed)))
		return;
	fib_store(&w->trace, ring(w->id + 1), seq_cst);
	if (!fib_load(&fib_symtab.trace.on, seq_cst)) /* (F) */
		fib_store(&w->trace, NULL, relaxed);
}

void fib_trace_forget(void)
{
	fib_store(&fib_symtab.trace.ticks, 0, relaxed);
	fib_store(&fib_symtab.trace.outside, NULL, relaxed);
	fib_store(&fib_symtab.trace.on, 0, relaxed);
	for (uint32_t i = 0; i < fib_load(&rings_top, relaxed); i++) {
		struct fib_trace_ring *r = fib_load(&rings[i], relaxed);

		if (r)
			fib_pages_free(r, RING_BYTES);
		fib_store(&rings[i], NULL, relaxed);
	}
	fib_store(&rings_top, 0, relaxed);
}
