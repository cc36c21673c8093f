/* The end of a scheduler, and its next beginning. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "tests/libfib/library.h"

static atomic_int ran, entered, stopped;
static atomic_bool go;
static struct fib_sched *sched;

static void count(void *arg)
{
	ran++;
}

static void chain(void *arg)
{
	intptr_t n = (intptr_t)arg;

	ran++;
	fib_yield_ready();
	if (n)
		OK(fib_sched_submit(fib_sched_current(), chain, (void *)(n - 1),
				    FIB_ANY_THREAD));
}

/* What tasks submit is work as well. */
START_TEST(drains)
{
	for (unsigned threads = 1; threads <= 3; threads++)
		for (int use_caller = 0; use_caller < 2; use_caller++) {
			struct fib_sched *s = started(threads, use_caller);

			ran = 0;
			for (int i = 0; i < 10; i++)
				OK(fib_sched_submit(s, chain, (void *)100,
						    FIB_ANY_THREAD));
			OK(fib_sched_stop(s));
			ck_assert_int_eq(ran, 1010);
			OK(fib_sched_destroy(s));
		}
}
END_TEST

static struct fib *held;

static void hold(void *arg)
{
	go = true;
	OK(fib_yield());
	ran++;
}

static bool is_held(void)
{
	return go && fib_state(held) == FIB_PARKED;
}

static bool both_entered(void)
{
	return entered == 2;
}

static void *stop_main(void *arg)
{
	entered++;
	OK(fib_sched_stop(sched));
	stopped++;
	return NULL;
}

/* A parked fiber has not ended: stop() waits for it. Two may stop. */
START_TEST(waits_for_the_parked)
{
	struct fib_sched_info info;
	pthread_t t[2];

	sched = started(2, false);
	OK(fib_create(&held, hold, NULL, 0));
	OK(fib_sched_submit_fiber(sched, held, FIB_ANY_THREAD));
	until(is_held);
	for (int i = 0; i < 2; i++)
		OK(pthread_create(&t[i], NULL, stop_main, NULL));
	until(both_entered);
	OK(fib_sched_info(sched, &info));
	ck_assert(info.running);
	ck_assert_uint_eq(info.fibers, 1);
	ck_assert_int_eq(stopped, 0);
	ck_assert_int_eq(fib_sched_destroy(sched), -EBUSY);
	OK(fib_ready(held));
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
	ck_assert_int_eq(ran, 1);
	ck_assert_int_eq(stopped, 2);
	OK(fib_sched_info(sched, &info));
	ck_assert(!info.running);
	OK(fib_sched_destroy(sched));
}
END_TEST

START_TEST(idempotent)
{
	struct fib_sched *s;

	OK(fib_sched_create(&s, 2, true, NULL));
	OK(fib_sched_stop(s));
	OK(fib_sched_start(s));
	OK(fib_sched_stop(s));
	OK(fib_sched_stop(s));
	OK(fib_sched_destroy(s));
	ck_assert_int_eq(fib_sched_destroy(s), -EINVAL);
	ck_assert_int_eq(fib_sched_destroy((void *)0x1234), -EINVAL);
	ck_assert_int_eq(fib_sched_stop(NULL), -EINVAL);
	ck_assert_int_eq(fib_sched_start(NULL), -EINVAL);
	ck_assert_int_eq(fib_sched_destroy(NULL), -EINVAL);
}
END_TEST

START_TEST(restart)
{
	for (int use_caller = 0; use_caller < 2; use_caller++) {
		struct fib_sched *s = started(2, use_caller);

		ran = 0;
		for (int round = 0; round < 200; round++) {
			for (int i = 0; i < 5; i++)
				OK(fib_sched_submit(s, count, NULL,
						    FIB_ANY_THREAD));
			OK(fib_sched_stop(s));
			ck_assert_int_eq(ran, 6 * round + 5);
			/* queued until the next start */
			OK(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD));
			ck_assert_int_eq(fib_sched_destroy(s), -EBUSY);
			ck_assert_int_eq(ran, 6 * round + 5);
			OK(fib_sched_start(s));
		}
		finish(s);
		ck_assert_int_eq(ran, 6 * 200);
	}
}
END_TEST

static void *stop_fails(void *arg)
{
	ck_assert_int_eq(fib_sched_stop(sched), -EPERM);
	return NULL;
}

START_TEST(not_the_caller)
{
	pthread_t t;

	sched = started(2, true);
	OK(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD));
	OK(pthread_create(&t, NULL, stop_fails, NULL));
	OK(pthread_join(t, NULL));
	finish(sched);
	ck_assert_int_eq(ran, 1);
}
END_TEST

static void stop_from_within(void *arg)
{
	ck_assert_int_eq(fib_sched_stop(arg), -EDEADLK);
	ran++;
}

START_TEST(from_its_own_fiber)
{
	for (int use_caller = 0; use_caller < 2; use_caller++) {
		sched = started(1, use_caller);
		OK(fib_sched_submit(sched, stop_from_within, sched,
				    FIB_ANY_THREAD));
		finish(sched);
	}
	ck_assert_int_eq(ran, 2);
}
END_TEST

static void nested_main(void *arg)
{
	struct fib_sched *s = started(1, true), *me = fib_sched_current();

	OK(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(s, stop_from_within, me, FIB_ANY_THREAD));
	OK(fib_sched_submit(s, stop_from_within, s, FIB_ANY_THREAD));
	finish(s);
	ck_assert_ptr_eq(fib_sched_current(), me);
	ran++;
}

/* A fiber has a scheduler of its own, on its thread; and all come back. */
START_TEST(nested)
{
	struct fib_sched *s = started(2, true);

	OK(fib_sched_submit(s, nested_main, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(ran, 4);
}
END_TEST

static void ready(void *arg)
{
	OK(fib_ready(arg));
}

static void stop_other(void *arg)
{
	OK(fib_sched_stop(arg));
	ran++;
}

/* The fiber parks: its thread is free while the other scheduler drains. */
START_TEST(by_a_fiber_of_another)
{
	struct fib_sched *s = started(1, false), *other = started(1, false);

	OK(fib_create(&held, hold, NULL, 0));
	OK(fib_sched_submit_fiber(other, held, FIB_ANY_THREAD));
	until(is_held);
	OK(fib_sched_submit(s, stop_other, other, FIB_ANY_THREAD));
	OK(fib_sched_submit(s, ready, held, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(ran, 2);
	OK(fib_sched_destroy(other));
}
END_TEST

static bool not_running(void)
{
	struct fib_sched_info info;

	OK(fib_sched_info(sched, &info));
	return !info.running;
}

START_TEST(auto_stop)
{
	struct fib_sched_info info;

	OK(fib_sched_create(&sched, 2, false, "auto"));
	OK(fib_sched_set_auto_stop(sched, true));
	for (int round = 0; round < 20; round++) {
		OK(fib_sched_start(sched));
		ck_assert_int_eq(fib_sched_set_auto_stop(sched, true), -EBUSY);
		/* it has had no work yet, and waits for it */
		OK(fib_sched_info(sched, &info));
		ck_assert(info.running);
		OK(fib_sched_submit(sched, chain, (void *)10, FIB_ANY_THREAD));
		until(not_running);
		ck_assert_int_eq(ran, 11 * (round + 1));
		OK(fib_sched_stop(sched));
	}
	OK(fib_sched_start(sched));
	OK(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD));
	until(not_running);
	OK(fib_sched_destroy(sched));
}
END_TEST

/* A task without memory for its stack waits until another one ends. */
static void fat(void *arg)
{
	volatile char *p = __builtin_alloca(1 << 20);

	p[0] = 1;
	fib_yield_ready();
	fib_yield_ready();
	ran++;
}

START_TEST(memory_is_short)
{
	struct fib_sched *s = started(1, true);
	struct rlimit lim;

	OK(fib_sched_set_stack_size(s, 8 << 20));
	ck_assert_int_eq(fib_sched_set_stack_size(s, 1), -EINVAL);
	for (int i = 0; i < 200; i++)
		OK(fib_sched_submit(s, fat, NULL, FIB_ANY_THREAD));
	OK(getrlimit(RLIMIT_AS, &lim));
	lim.rlim_cur = 256 << 20;
	OK(setrlimit(RLIMIT_AS, &lim));
	finish(s);
	ck_assert_int_eq(ran, 200);
}
END_TEST

START_TEST(bad_arguments)
{
	struct fib_sched *s = NULL;
	struct fib_sched_info info;

	ck_assert_int_eq(fib_sched_create(NULL, 1, false, ""), -EINVAL);
	ck_assert_int_eq(fib_sched_create(&s, 0, false, ""), -EINVAL);
	ck_assert_int_eq(fib_sched_create(&s, FIB_THREADS_MAX + 1, 0, ""),
			 -EINVAL);
	ck_assert_ptr_null(s);
	OK(fib_sched_create(&s, 1, false, "x"));
	ck_assert_int_eq(fib_sched_submit(s, NULL, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_sched_submit(NULL, count, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_sched_submit_fiber(s, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_sched_submit_fiber(s, fib_current(), 0), -EINVAL);
	ck_assert_int_eq(fib_sched_info(NULL, &info), -EINVAL);
	ck_assert_int_eq(fib_sched_info(s, NULL), -EINVAL);
	OK(fib_sched_destroy(s));
}
END_TEST

START_TEST(no_threads_to_be_had)
{
	struct rlimit lim = { 0, 0 };
	struct fib_sched *s;

	OK(fib_sched_create(&s, 500, false, "x"));
	/* so little address space that some thread's stack has no room */
	OK(getrlimit(RLIMIT_AS, &lim));
	lim.rlim_cur = 300 << 20;
	OK(setrlimit(RLIMIT_AS, &lim));
	OK(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD));
	ck_assert_int_eq(fib_sched_start(s), -EAGAIN);
	ck_assert_int_eq(ran, 0);
	lim.rlim_cur = lim.rlim_max;
	OK(setrlimit(RLIMIT_AS, &lim));
	OK(fib_sched_start(s));
	finish(s);
	ck_assert_int_eq(ran, 1);
}
END_TEST

TCase *library_stop(void)
{
	TCase *t = tcase_create("stop");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, drains);
	tcase_add_test(t, waits_for_the_parked);
	tcase_add_test(t, idempotent);
	tcase_add_test(t, restart);
	tcase_add_test(t, not_the_caller);
	tcase_add_test(t, from_its_own_fiber);
	tcase_add_test(t, nested);
	tcase_add_test(t, by_a_fiber_of_another);
	tcase_add_test(t, auto_stop);
	tcase_add_test(t, bad_arguments);
	if (!left_out("memory_is_short", "the sanitizer has no memory either"))
		tcase_add_test(t, memory_is_short);
	if (!left_out("no_threads_to_be_had", "nor has its own thread"))
		tcase_add_test(t, no_threads_to_be_had);
	return t;
}
