/* Timers and guards. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include "tests/libfib/library.h"

static atomic_int ran;
static int wanted;
static struct fib_sched *sched;
static int order[1000];

static void count(void *arg)
{
	ran++;
}

static bool all_ran(void)
{
	return ran >= wanted;
}

/* Its deadline lies between the two: the clock is read by the call. */
struct due {
	uint64_t from, to;
};

static struct due due[200];

static void note(void *arg)
{
	struct due *d = arg;

	ck_assert_uint_ge(now_ns(), d->from);
	order[ran] = (int)(d - due);
	ran++;
}

/* One thread runs them in the order in which they fire. */
START_TEST(in_order_and_never_early)
{
	sched = started(1, false);
	wanted = 200;
	for (int i = 0; i < 200; i++) {
		/* each 1 ms apart, in a shuffled order */
		uint64_t ns = 100 * MSEC + (uint64_t)(i * 77 % 200) * MSEC;

		due[i].from = now_ns() + ns;
		ck_assert_int_gt(
			fib_timer_add(sched, ns, 0, note, &due[i], NULL), 0);
		due[i].to = now_ns() + ns;
	}
	until(all_ran);
	for (int i = 1; i < 200; i++)
		ck_assert_uint_le(due[order[i - 1]].from, due[order[i]].to);
	finish(sched);
}
END_TEST

static _Atomic int64_t beat;

static void beat_main(void *arg)
{
	while (!beat)
		sched_yield();
	if (++ran == 10)
		OK(fib_timer_cancel(sched, beat));
}

START_TEST(recurring)
{
	uint64_t t = now_ns();

	sched = started(1, false);
	wanted = 10;
	beat = fib_timer_add(sched, 5 * MSEC, FIB_TIMER_RECURRING, beat_main,
			     NULL, NULL);
	ck_assert_int_gt(beat, 0);
	until(all_ran);
	ck_assert_uint_ge(now_ns() - t, 50 * MSEC);
	finish(sched);
	ck_assert_int_eq(ran, 10);
}
END_TEST

START_TEST(cancel)
{
	int64_t id;

	sched = started(1, false);
	id = fib_timer_add(sched, 20 * MSEC, 0, count, NULL, NULL);
	OK(fib_timer_cancel(sched, id));
	ck_assert_int_eq(fib_timer_cancel(sched, id), -ENOENT);
	ck_assert_int_eq(fib_timer_refresh(sched, id), -ENOENT);
	ck_assert_int_eq(fib_timer_reset(sched, id, 1, true), -ENOENT);
	ck_assert_int_eq(fib_timer_cancel(sched, 0), -ENOENT);
	ck_assert_int_eq(fib_timer_cancel(sched, -1), -ENOENT);
	ck_assert_int_eq(fib_timer_cancel(sched, INT64_MAX), -ENOENT);
	/* one that has fired is gone too, and its place is another's */
	id = fib_timer_add(sched, 0, 0, count, NULL, NULL);
	wanted = 1;
	until(all_ran);
	ck_assert_int_eq(fib_timer_cancel(sched, id), -ENOENT);
	ck_assert(fib_timer_add(sched, 0, 0, count, NULL, NULL) != id);
	finish(sched);
	ck_assert_int_eq(ran, 2);
}
END_TEST

static uint64_t fired_at;

static void stamp(void *arg)
{
	fired_at = now_ns();
	ran++;
}

START_TEST(refresh_and_reset)
{
	uint64_t t = now_ns(), since;
	int64_t id, recurring;

	sched = started(1, false);
	wanted = 1;
	id = fib_timer_add(sched, 40 * MSEC, 0, stamp, NULL, NULL);
	while (now_ns() < t + 20 * MSEC)
		sched_yield();
	OK(fib_timer_refresh(sched, id));
	until(all_ran);
	ck_assert_uint_ge(fired_at - t, 60 * MSEC);
	/* from when it was armed: 30 ms from the start, not from now */
	t = now_ns();
	id = fib_timer_add(sched, 3600 * SEC, 0, stamp, NULL, NULL);
	since = now_ns();
	while (now_ns() < t + 20 * MSEC)
		sched_yield();
	wanted = 2;
	OK(fib_timer_reset(sched, id, 30 * MSEC, false));
	until(all_ran);
	ck_assert_uint_ge(fired_at - t, 30 * MSEC);
	ck_assert_uint_lt(fired_at - since, 3 * SEC);
	t = now_ns();
	id = fib_timer_add(sched, 3600 * SEC, 0, stamp, NULL, NULL);
	wanted = 3;
	OK(fib_timer_reset(sched, id, 10 * MSEC, true));
	until(all_ran);
	ck_assert_uint_ge(fired_at - t, 10 * MSEC);
	recurring = fib_timer_add(sched, SEC, FIB_TIMER_RECURRING, stamp, NULL,
				  NULL);
	ck_assert_int_eq(fib_timer_reset(sched, recurring, 0, true), -EINVAL);
	OK(fib_timer_cancel(sched, recurring));
	finish(sched);
}
END_TEST

START_TEST(bad_arguments)
{
	sched = started(1, false);
	ck_assert_int_eq(fib_timer_add(NULL, 1, 0, count, NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_timer_add(sched, 1, 0, NULL, NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_timer_add(sched, 1, 8, count, NULL, NULL),
			 -EINVAL);
	ck_assert_int_eq(
		fib_timer_add(sched, 0, FIB_TIMER_RECURRING, count, NULL, NULL),
		-EINVAL);
	ck_assert_int_eq(fib_guard_create(NULL), -EINVAL);
	ck_assert_int_eq(fib_guard_destroy(NULL), -EINVAL);
	finish(sched);
}
END_TEST

static atomic_bool in_callback, go, destroyed;

static void slow(void *arg)
{
	in_callback = true;
	while (!go)
		sched_yield();
	ck_assert(!destroyed);
	ran++;
}

static bool is_in_callback(void)
{
	return in_callback;
}

static void *destroy_guard(void *arg)
{
	OK(fib_guard_destroy(arg));
	destroyed = true;
	return NULL;
}

START_TEST(conditional)
{
	struct fib_guard *g, *h;
	pthread_t t;

	sched = started(2, false);
	OK(fib_guard_create(&g));
	OK(fib_guard_create(&h));
	for (int i = 0; i < 10; i++) {
		fib_timer_add(sched, 30 * MSEC, 0, count, NULL, g);
		fib_timer_add(sched, 30 * MSEC, 0, count, NULL, h);
	}
	OK(fib_guard_destroy(g));
	/* those of h alone; stop() waits for all */
	OK(fib_sched_stop(sched));
	ck_assert_int_eq(ran, 10);
	OK(fib_sched_start(sched));
	/* a callback that runs is waited for */
	fib_timer_add(sched, 0, 0, slow, NULL, h);
	until(is_in_callback);
	OK(pthread_create(&t, NULL, destroy_guard, h));
	for (int i = 0; i < 100; i++) {
		ck_assert(!destroyed);
		sched_yield();
	}
	go = true;
	OK(pthread_join(t, NULL));
	ck_assert_int_eq(ran, 11);
	finish(sched);
}
END_TEST

static struct fib_guard *own;

static void destroy_own(void *arg)
{
	OK(fib_guard_destroy(own));
	ran++;
}

START_TEST(guard_destroyed_by_its_callback)
{
	sched = started(1, false);
	OK(fib_guard_create(&own));
	/* the first has the guard as long as it is armed */
	fib_timer_add(sched, 2 * SEC, FIB_TIMER_RECURRING, count, NULL, own);
	fib_timer_add(sched, 0, 0, destroy_own, NULL, own);
	finish(sched);
	ck_assert_int_eq(ran, 1);
}
END_TEST

static int64_t ids[1000000];

/* How long the calling thread has been ready to run, and others ran, ever. */
static uint64_t held_up_ns(void)
{
	unsigned long long ran_ns, held_up;
	FILE *f = fopen("/proc/thread-self/schedstat", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%llu %llu", &ran_ns, &held_up), 2);
	fclose(f);
	return held_up;
}

/*
 * In under a second: of CPU time, whoever else uses the machine; and by the
 * clock, but for the time in which the kernel let others run instead.
 */
START_TEST(a_million)
{
	uint64_t t, elapsed, held_up;
	int n = FEW(1000000), failed = 0;

	sched = started(1, false);
	held_up = held_up_ns();
	elapsed = now_ns();
	t = cpu_ns();
	for (int i = 0; i < n; i++) {
		ids[i] = fib_timer_add(sched, 3600 * SEC + (uint64_t)i, 0,
				       count, NULL, NULL);
		failed += ids[i] <= 0;
	}
	for (int i = 0; i < n; i++)
		failed += fib_timer_cancel(sched, ids[i]) != 0;
	t = cpu_ns() - t;
	elapsed = now_ns() - elapsed;
	held_up = held_up_ns() - held_up;
	if (!SANITIZED) {
		ck_assert_uint_lt(t, SEC);
		ck_assert_msg(elapsed < SEC + held_up,
			      "%llu ns, held up for %llu",
			      (unsigned long long)elapsed,
			      (unsigned long long)held_up);
	}
	ck_assert_int_eq(failed, 0);
	finish(sched);
	ck_assert_int_eq(ran, 0);
}
END_TEST

static bool asked_to_end;
static uint64_t middle;

static void compute(void *arg)
{
	while (!asked_to_end) {
		uint64_t end = now_ns() + 2 * MSEC;

		while (now_ns() < end)
			;
		OK(fib_yield_ready());
	}
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sleep_often(void *arg)
{
	uint64_t ns[15];

	for (int i = 0; i < 15; i++) {
		uint64_t began = now_ns();

		fib_sleep(MSEC);
		ns[i] = now_ns() - began;
	}
	qsort(ns, 15, sizeof(*ns), by_size);
	middle = ns[7];
	asked_to_end = true;
}

/* Times are looked at behind a few of their turns: 61 take 120 ms. */
START_TEST(beside_fibers_that_compute)
{
	OK(fib_sched_create(&sched, 1, true, "computes"));
	OK(fib_sched_start(sched));
	OK(fib_sched_submit(sched, sleep_often, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < 4; i++)
		OK(fib_sched_submit(sched, compute, NULL, FIB_ANY_THREAD));
	fib_sched_stop(sched);
	fib_sched_destroy(sched);
	ck_assert_uint_gt(middle, MSEC);
	ck_assert_uint_lt(middle, 60 * MSEC);
}
END_TEST

/* Asleep for as long as the next timer allows, and no wait before that. */
START_TEST(asleep_until_due)
{
	uint64_t cpu, t = now_ns();

	sched = started(2, false);
	fib_timer_add(sched, 500 * MSEC, 0, stamp, NULL, NULL);
	cpu = cpu_ns();
	OK(fib_sched_stop(sched));
	ck_assert_uint_ge(fired_at - t, 500 * MSEC);
	if (!SANITIZED)
		ck_assert_uint_lt(cpu_ns() - cpu, 10 * MSEC);
	OK(fib_sched_destroy(sched));
}
END_TEST

TCase *library_timer(void)
{
	TCase *t = tcase_create("timer");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, in_order_and_never_early);
	tcase_add_test(t, recurring);
	tcase_add_test(t, cancel);
	tcase_add_test(t, refresh_and_reset);
	tcase_add_test(t, bad_arguments);
	tcase_add_test(t, conditional);
	tcase_add_test(t, guard_destroyed_by_its_callback);
	tcase_add_test(t, a_million);
	tcase_add_test(t, asleep_until_due);
	tcase_add_test(t, beside_fibers_that_compute);
	return t;
}
