/* The engine as libfib has it. The last line is "N passed, N failed". */
#include "libfib/lib.h"
#include "tests/unit/unit.h"

static struct {
	void (*fn)(int);
	int arg;
} body;

static void run_body(void *arg)
{
	body.fn(body.arg);
}

void unit_run(unsigned n, void (*fn)(int), int i)
{
	body.fn = fn;
	body.arg = i;
	ck_assert_int_eq(fib_sched_create(&unit_scheduler, n, false, "unit"),
			 0);
	ck_assert_int_eq(fib_sched_submit(unit_scheduler, run_body, NULL,
					  FIB_ANY_THREAD),
			 0);
	ck_assert_int_eq(fib_sched_start(unit_scheduler), 0);
	ck_assert_int_eq(fib_sched_stop(unit_scheduler), 0);
	ck_assert_int_eq(fib_sched_destroy(unit_scheduler), 0);
}

void unit_pretend(struct fib_worker *w)
{
	static struct fib_sched none;

	w->lib.sched = &none;
	fib_worker_set(w);
}

struct fib *unit_go(void (*fn)(void *), void *arg)
{
	struct fib *f = fib_spawn(fn, arg, UNIT_STACK);

	ck_assert_ptr_nonnull(f);
	return f;
}

int main(void)
{
	static TCase *(*const cases[])(void) = {
		unit_base,  unit_ctx,	  unit_fiber, unit_futex,
		unit_iom,   unit_library, unit_lock,  unit_sched,
		unit_stack, unit_stats,	  unit_text,  unit_timer,
	};

	return unit_main(cases, FIB_ARRAY_SIZE(cases));
}
