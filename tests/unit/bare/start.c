/* A start, and what is seen of it from outside. */
#include "tests/unit/unit.h"

START_TEST(not_before)
{
	ck_assert_ptr_eq(fib_symtab.sched, &fib_sched);
	ck_assert_uint_eq(fib_load(&fib_symtab.active, relaxed), 0);
}
END_TEST

FIBER_TEST(seen, 2)
{
	ck_assert_uint_eq(fib_load(&fib_symtab.active, relaxed), 1);
	ck_assert_uint_eq(fib_load(&fib_sched.workers, relaxed), 2);
	ck_assert_int_eq(fib_load(&fib_sched.running, relaxed), 2);
	ck_assert_ptr_eq(fib_sched.worker[0], fib_worker_self());
	ck_assert_ptr_eq(fib_symtab.slabs[0], fib_at(0));
	for (int i = 0; i < 2; i++)
		ck_assert_int_ne(fib_load(&fib_sched.worker[i]->tid, relaxed),
				 0);
}

static void three(int i)
{
	ck_assert_int_eq(fib_load(&fib_sched.running, relaxed), 3);
}

/* All is undone, and the next start finds the stacks of this one. */
START_TEST(cancelled)
{
	void *stack;

	ck_assert_int_eq(fib_iom_init(&fib_sched, true), 0);
	ck_assert_int_eq(fib_monitor_init(&fib_sched, -1), 0);
	ck_assert_int_eq(fib_sched_prepare(&fib_sched, 3), 0);
	ck_assert_uint_eq(fib_load(&fib_sched.workers, relaxed), 3);
	stack = fib_sched.worker[2]->stack;
	ck_assert_ptr_nonnull(stack);
	fib_sched_cancel(&fib_sched);
	ck_assert_uint_eq(fib_load(&fib_sched.workers, relaxed), 0);
	ck_assert_uint_eq(fib_load(&fib_monitor_tid, relaxed), 0);
	fib_iom_discard(&fib_sched);
	unit_run(3, three, 0);
	ck_assert_ptr_eq(fib_sched.worker[2]->stack, stack);
}
END_TEST

TCase *unit_start(void)
{
	TCase *t = tcase_create("start");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, not_before);
	tcase_add_test(t, seen);
	tcase_add_test(t, cancelled);
	return t;
}
