/* Counters and the object that is read from outside. */
#include "tests/unit/unit.h"

START_TEST(names)
{
	ck_assert_str_eq(fib_stat_name(FIB_STAT_fibers_created),
			 "fibers_created");
	ck_assert_str_eq(fib_stat_name(FIB_STAT_parks), "parks");
	ck_assert_ptr_null(fib_stat_name(FIB_STATS));
	for (unsigned i = 0; i < FIB_STATS; i++) {
		const char *name = fib_stat_name(i);

		ck_assert_ptr_nonnull(name);
		ck_assert(*name);
		for (unsigned k = 0; k < i; k++)
			ck_assert_str_ne(name, fib_stat_name(k));
	}
}
END_TEST

START_TEST(symtab)
{
	ck_assert(fib_symtab.magic == FIB_SYMTAB_MAGIC);
	ck_assert_uint_eq(fib_symtab.size_self, sizeof(fib_symtab));
	ck_assert_uint_eq(fib_symtab.size_fib, sizeof(struct fib));
	ck_assert_uint_eq(fib_symtab.size_worker, sizeof(struct fib_worker));
	ck_assert_uint_eq(fib_symtab.size_sched, sizeof(struct fib_sched));
}
END_TEST

TCase *unit_stats(void)
{
	TCase *t = tcase_create("stats");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, names);
	tcase_add_test(t, symtab);
	return t;
}
