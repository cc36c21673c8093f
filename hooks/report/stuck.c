/* A worker does not come out of the runtime: what is told. See watch.c. */
#include "hooks/core/hook.h"
#include "hooks/report/report.h"
#include "runtime/digits.h"

#define OTHERS 6

struct line {
	char text[480];
	unsigned n;
};

static void put(struct line *l, const char *s)
{
	while (*s && l->n < sizeof(l->text) - 1)
		l->text[l->n++] = *s++;
	l->text[l->n] = 0;
}

static void put_number(struct line *l, unsigned v)
{
	char digits[FIB_DECIMAL_MAX];

	fib_put_decimal(digits, v);
	put(l, digits);
}

/* "worker 1 (thread 4711) in futex" */
static void put_worker(struct line *l, struct fib_worker *w)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);
	const char *name = f ? fib_call_name(f->hook.call) : NULL;

	put(l, "worker ");
	put_number(l, w->id);
	put(l, " (thread ");
	put_number(l, (unsigned)fib_load(&w->tid, relaxed));
	put(l, ") in ");
	if (!f)
		put(l, "the scheduler");
	else if (name)
		put(l, name);
	else {
		put(l, "call ");
		put_number(l, f->hook.call);
	}
}

/* Who else is inside: one of them may have the lock. */
static bool is_inside(struct fib_worker *w)
{
	struct fib *f = fib_load(fib_shared(&w->cur), relaxed);

	if (fib_load(&w->gone, relaxed) || !fib_load(&w->tid, relaxed))
		return false;
	return f ? fib_load(&f->hook.in_hook, relaxed) :
		   !w->bound && !fib_load(&w->idle, relaxed) &&
			       !fib_load(&w->spare, relaxed);
}

void fib_stuck_tell(struct fib_worker *stuck, bool spins)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire);
	struct line l = { .n = 0 };
	unsigned others = 0;

	if (stuck)
		put_worker(&l, stuck);
	else
		put(&l, "the monitor");
	put(&l, spins ? " does not come to an end" :
			" has waited 10 s for a lock of the library");
	for (uint32_t i = 0; i < n && others < OTHERS; i++) {
		struct fib_worker *w = fib_sched.worker[i];

		if (w == stuck || !is_inside(w))
			continue;
		put(&l, others++ ? ", " : "; others inside: ");
		put_worker(&l, w);
	}
	put(&l, ". This is a fault of the library: please report it, with what "
		"fibhook dump ");
	put_number(&l, (unsigned)fib_raw(SYS_getpid));
	put(&l, " says");
	fib_host.log(l.text);
}
