/* The runner. Its last line is "N passed, N failed". */
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include "tests/support/patience.h"
#include "runtime/iom.h"
#include "tests/unit/unit.h"

struct fib_sched fib_sched = { .iom.chunk_lock = FIB_LOCK(CHUNK) };

/* The steps of preload/activate.c. */
void unit_start(unsigned n)
{
	struct fib *f = fib_alloc();

	ck_assert_ptr_nonnull(f);
	fib_clock_init(getauxval(AT_SYSINFO_EHDR));
	ck_assert_int_eq(fib_iom_init(&fib_sched, true), 0);
	fib_iom_limit_changed(&fib_sched);
	ck_assert_int_eq(fib_monitor_init(&fib_sched, -1), 0);
	ck_assert_int_eq(fib_sched_prepare(&fib_sched, n), 0);
	fib_sched_run(&fib_sched, f);
	ck_assert_ptr_eq(fib_self(), f);
}

struct fib *unit_go(void (*fn)(void *), void *arg)
{
	struct fib *f = fib_spawn(fn, arg, UNIT_STACK);

	ck_assert_ptr_nonnull(f);
	return f;
}

void unit_nap(uint64_t ns)
{
	struct fib_timer t = { 0 };

	ck_assert_int_eq(fib_timer_arm(&t, fib_self(), fib_now_ns() + ns), 0);
	while (!fib_load(&t.fired, acquire))
		fib_park();
	fib_timer_disarm(&t);
}

void unit_until(bool (*cond)(void))
{
	struct patience p = { 0 };

	while (!cond()) {
		if (patience_ends(&p, fib_now_ns())) {
			patience_tell();
			ck_abort_msg("waited in vain");
		}
		fib_sched_yield();
	}
}

uint64_t unit_stat(enum fib_stat s)
{
	return fib_load(&fib_symtab.stats[s], relaxed);
}

uint64_t unit_cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) *
		       FIB_NSEC_PER_SEC +
	       (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

void unit_burn(uint64_t ns)
{
	uint64_t end = fib_now_ns() + ns;

	while (fib_now_ns() < end)
		fib_cpu_relax();
}

void unit_group_init(struct unit_group *g, int n)
{
	g->waiter = fib_self();
	fib_store(&g->left, n, relaxed);
}

void unit_group_done(struct unit_group *g)
{
	struct fib *waiter = g->waiter;

	if (fib_sub(&g->left, 1, acq_rel) == 1)
		fib_wake(waiter);
}

void unit_group_wait(struct unit_group *g)
{
	while (fib_load(&g->left, acquire))
		fib_park();
}

int main(void)
{
	Suite *s = suite_create("runtime");
	SRunner *sr;
	int run, failed;

	suite_add_tcase(s, unit_base());
	suite_add_tcase(s, unit_ctx());
	suite_add_tcase(s, unit_fiber());
	suite_add_tcase(s, unit_futex());
	suite_add_tcase(s, unit_iom());
	suite_add_tcase(s, unit_library());
	suite_add_tcase(s, unit_lock());
	suite_add_tcase(s, unit_monitor());
	suite_add_tcase(s, unit_sched());
	suite_add_tcase(s, unit_stack());
	suite_add_tcase(s, unit_stats());
	suite_add_tcase(s, unit_text());
	suite_add_tcase(s, unit_timer());
	sr = srunner_create(s);
	srunner_run_all(sr, getenv("UNIT_VERBOSE") ? CK_VERBOSE : CK_NORMAL);
	run = srunner_ntests_run(sr);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	printf("%d passed, %d failed\n", run - failed, failed);
	return failed != 0;
}
