/* Fiber slabs: reuse, generations, exhaustion. */
#include <sys/resource.h>
#include "libfib/lib.h"
#include "tests/unit/unit.h"

START_TEST(distinct)
{
	static struct fib *f[1000];
	unsigned same = 0;

	for (uint32_t i = 0; i < 1000; i++) {
		f[i] = fib_alloc();
		ck_assert_ptr_nonnull(f[i]);
		ck_assert_ptr_eq(fib_at(f[i]->index), f[i]);
		for (uint32_t k = 0; k < i; k++)
			same += f[i] == f[k];
	}
	ck_assert_uint_eq(same, 0);
	ck_assert_uint_ge(fib_high_water(), 1000);
	ck_assert_ptr_null(fib_at(fib_high_water()));
	ck_assert_ptr_null(fib_at(UINT32_MAX));
}
END_TEST

START_TEST(reuse)
{
	struct fib *f = fib_alloc(), *g;
	uint32_t index = f->index, generation = f->generation;
	uint32_t n = fib_high_water();

	f->wait_arg = 17;
	f->arg = f;
	f->fsbase = 42;
	fib_store(&f->attention, 1, relaxed);
	fib_store(&f->lib.ready, 1, relaxed);
	fib_store(&f->permit, FIB_PERMIT_NOTIFIED, relaxed);
	fib_store(&f->tid, 99, relaxed);
	fib_free(f);
	ck_assert_int_eq(fib_load(&f->state, relaxed), FIB_FREE);
	ck_assert_int_eq(fib_load(&f->tid, relaxed), 0);
	ck_assert_uint_eq(f->generation, generation + 1);
	/* the oldest free entry comes first: go round until it is back */
	for (uint32_t i = 0; i < n; i++) {
		g = fib_alloc();
		if (g == f)
			break;
	}
	ck_assert_ptr_eq(g, f);
	ck_assert_uint_eq(f->index, index);
	ck_assert_uint_eq(f->generation, generation + 1);
	ck_assert_uint_eq(f->wait_arg, 0);
	ck_assert_ptr_null(f->arg);
	ck_assert_uint_eq(f->fsbase, 0);
	ck_assert_uint_eq(fib_load(&f->attention, relaxed), 0);
	ck_assert_uint_eq(fib_load(&f->lib.ready, relaxed), 0);
	ck_assert(fib_list_empty(&f->run));
	/* a late waker may write it at any time, so nobody clears it */
	ck_assert_int_eq(fib_load(&f->permit, relaxed), FIB_PERMIT_NOTIFIED);
}
END_TEST

START_TEST(late_wake_is_harmless)
{
	struct fib *f = fib_alloc();

	fib_free(f);
	fib_wake(f);
	ck_assert_int_eq(fib_load(&f->state, relaxed), FIB_FREE);
	ck_assert_int_eq(fib_load(&f->permit, relaxed), FIB_PERMIT_NOTIFIED);
}
END_TEST

START_TEST(exhaustion)
{
	struct fib *f, *last = NULL;
	uint32_t n = 0;

	while ((f = fib_alloc())) {
		n++;
		last = f;
	}
	ck_assert_uint_eq(n, FIB_MAX);
	fib_free(last);
	ck_assert_ptr_eq(fib_alloc(), last);
	ck_assert_ptr_null(fib_alloc());
}
END_TEST

START_TEST(reset)
{
	struct fib *first = fib_alloc(), *other = fib_alloc();
	uint32_t generation = other->generation, n = fib_high_water();

	fib_store(&first->tid, 1, relaxed);
	fib_store(&other->tid, 2, relaxed);
	fib_store(&other->permit, FIB_PERMIT_PARKED, relaxed);
	fib_store(&other->state, FIB_PARKED, relaxed);
	fib_reset_all();
	ck_assert_int_eq(fib_load(&first->tid, relaxed), 0);
	ck_assert_int_eq(fib_load(&other->tid, relaxed), 0);
	ck_assert_int_eq(fib_load(&other->state, relaxed), FIB_FREE);
	ck_assert_int_eq(fib_load(&other->permit, relaxed), FIB_PERMIT_NONE);
	ck_assert_uint_eq(other->generation, generation + 1);
	for (uint32_t i = 0; i < n; i++)
		ck_assert_ptr_eq(fib_alloc(), fib_at(i));
	ck_assert_uint_eq(fib_high_water(), n);
}
END_TEST

/* Of a slab, what has not been used is memory that was never touched. */
START_TEST(lazy)
{
	struct rusage before, after;
	struct fib *f;

	getrusage(RUSAGE_SELF, &before);
	f = fib_alloc();
	getrusage(RUSAGE_SELF, &after);
	ck_assert_ptr_nonnull(f);
	ck_assert_int_lt(after.ru_minflt - before.ru_minflt,
			 fib_high_water() * sizeof(struct fib) / 4096 / 2);
}
END_TEST

TCase *unit_fiber(void)
{
	TCase *t = tcase_create("fiber");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, distinct);
	tcase_add_test(t, reuse);
	tcase_add_test(t, late_wake_is_harmless);
	tcase_add_test(t, exhaustion);
	tcase_add_test(t, reset);
	tcase_add_test(t, lazy);
	return t;
}
