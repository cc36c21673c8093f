/* The runner. Its last line is "N passed, N failed". */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "tests/library/library.h"

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * SEC + (uint64_t)ts.tv_nsec;
}

void until(bool (*cond)(void))
{
	uint64_t end = now_ns() + 10 * SEC;

	while (!cond()) {
		ck_assert_msg(now_ns() < end, "waited in vain");
		sched_yield();
	}
}

struct fib_sched *started(unsigned threads, bool use_caller)
{
	struct fib_sched *s;

	OK(fib_sched_create(&s, threads, use_caller, "test"));
	OK(fib_sched_start(s));
	return s;
}

void finish(struct fib_sched *s)
{
	OK(fib_sched_stop(s));
	OK(fib_sched_destroy(s));
}

int main(void)
{
	Suite *s = suite_create("library");
	SRunner *sr;
	int run, failed;

	suite_add_tcase(s, library_fiber());
	suite_add_tcase(s, library_sched());
	suite_add_tcase(s, library_stop());
	sr = srunner_create(s);
	srunner_run_all(sr, getenv("UNIT_VERBOSE") ? CK_VERBOSE : CK_NORMAL);
	run = srunner_ntests_run(sr);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	printf("%d passed, %d failed\n", run - failed, failed);
	return failed != 0;
}
