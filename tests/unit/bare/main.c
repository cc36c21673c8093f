/* The engine as the preload has it. The last line is "N passed, N failed". */
#include "tests/support/bare.h"
#include "tests/unit/unit.h"

void unit_run(unsigned n, void (*fn)(int), int i)
{
	unit_scheduler = &fib_sched;
	bare_start(n);
	fn(i);
}

void unit_pretend(struct fib_worker *w)
{
	w->self = w;
	fib_worker_set(w);
}

struct fib *unit_go(void (*fn)(void *), void *arg)
{
	struct fib *f = bare_spawn(fn, arg, UNIT_STACK);

	fib_assert(f);
	return f;
}

int main(void)
{
	static TCase *(*const cases[])(void) = {
		unit_close, unit_futex, unit_iom,   unit_monitor,
		unit_sched, unit_start, unit_timer,
	};

	bare_begin();
	return unit_main(cases, FIB_ARRAY_SIZE(cases));
}
