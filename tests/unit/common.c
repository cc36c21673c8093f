/* What both programs of the unit tests have. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "tests/support/patience.h"
#include "tests/unit/unit.h"

struct fib_sched *unit_scheduler;

void unit_nap(uint64_t ns)
{
	struct fib_timer t = { 0 };

	fib_assert(fib_timer_arm(&t, fib_self(), fib_now_ns() + ns) == 0);
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

struct thread {
	void *(*fn)(void *);
	void *arg;
};

static void *thread_main(void *arg)
{
	struct thread t = *(struct thread *)arg;

	free(arg);
	/* It inherits a register: the preload sees to that in clone(). */
	fib_worker_set(NULL);
	return t.fn(t.arg);
}

void unit_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	struct thread *t = malloc(sizeof(*t));

	ck_assert_ptr_nonnull(t);
	*t = (struct thread){ fn, arg };
	ck_assert_int_eq(pthread_create(thread, NULL, thread_main, t), 0);
}

int unit_main(TCase *(*const *cases)(void), size_t n)
{
	Suite *s = suite_create("runtime");
	SRunner *sr;
	int run, failed;

	for (size_t i = 0; i < n; i++)
		suite_add_tcase(s, cases[i]());
	sr = srunner_create(s);
	srunner_run_all(sr, getenv("UNIT_VERBOSE") ? CK_VERBOSE : CK_NORMAL);
	run = srunner_ntests_run(sr);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	printf("%d passed, %d failed\n", run - failed, failed);
	return failed != 0;
}
