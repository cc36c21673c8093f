/* Schedulers: submitting, order, pinning, waking. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include "tests/libfib/library.h"

static int order[64];
static atomic_int norder, ran;
static struct fib_sched *sched;

static void note(void *arg)
{
	order[atomic_fetch_add(&norder, 1)] = (int)(intptr_t)arg;
}

static void count(void *arg)
{
	ran++;
}

/* All work runs in stop(), in the order of submission, and main() goes on. */
START_TEST(ten_on_the_caller)
{
	struct fib_sched *s = started(1, true);
	struct fib *f[10];

	for (intptr_t i = 0; i < 10; i++) {
		if (i % 2) {
			OK(fib_create(&f[i], note, (void *)i, 0));
			OK(fib_sched_submit_fiber(s, f[i], FIB_ANY_THREAD));
		} else {
			OK(fib_sched_submit(s, note, (void *)i,
					    FIB_ANY_THREAD));
		}
	}
	ck_assert_int_eq(norder, 0);
	OK(fib_sched_stop(s));
	ck_assert_int_eq(norder, 10);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(order[i], i);
	for (int i = 1; i < 10; i += 2) {
		ck_assert_int_eq(fib_state(f[i]), FIB_TERM);
		OK(fib_destroy(f[i]));
	}
	OK(fib_sched_destroy(s));
}
END_TEST

static void parent(void *arg)
{
	note((void *)0);
	for (intptr_t i = 1; i <= 3; i++)
		OK(fib_sched_submit(fib_sched_current(), note, (void *)i,
				    FIB_ANY_THREAD));
	note((void *)10);
}

START_TEST(fiber_submits_others)
{
	struct fib_sched *s = started(1, true);

	OK(fib_sched_submit(s, parent, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(norder, 5);
	ck_assert(!memcmp(order, (int[]){ 0, 10, 1, 2, 3 }, 5 * sizeof(int)));
}
END_TEST

static bool all_ran(void)
{
	return ran == 1000;
}

/* With a thread of its own a scheduler does not wait for stop(). */
START_TEST(at_once)
{
	struct fib_sched *s;

	OK(fib_sched_create(&s, (unsigned)_i, _i > 1, "at once"));
	for (int i = 0; i < 500; i++)
		OK(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD));
	ck_assert_int_eq(ran, 0);
	OK(fib_sched_start(s));
	ck_assert_int_eq(fib_sched_start(s), -EALREADY);
	for (int i = 0; i < 500; i++)
		OK(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD));
	until(all_ran);
	finish(s);
}
END_TEST

static void on_thread(void *arg)
{
	int want = (int)(intptr_t)arg;

	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(fib_sched_thread(), want);
		fib_yield_ready();
	}
	ran++;
}

START_TEST(pinned)
{
	struct fib_sched *s = started(4, _i);

	for (int i = 0; i < 400; i++)
		OK(fib_sched_submit(s, on_thread, (void *)(intptr_t)(i % 4),
				    i % 4));
	ck_assert_int_eq(fib_sched_submit(s, count, NULL, 4), -EINVAL);
	ck_assert_int_eq(fib_sched_submit(s, count, NULL, -2), -EINVAL);
	finish(s);
	ck_assert_int_eq(ran, 400);
}
END_TEST

static bool all_idle(void)
{
	struct fib_sched_info info;

	OK(fib_sched_info(sched, &info));
	return info.idle == info.threads;
}

static int wanted;

static bool wanted_ran(void)
{
	return ran == wanted;
}

static void on_thread_once(void *arg)
{
	ck_assert_int_eq(fib_sched_thread(), (int)(intptr_t)arg);
	ran++;
}

/* All asleep, and one of them in particular is to get up. */
START_TEST(pinned_sleeper)
{
	sched = started(4, false);
	for (int i = 0; i < 2000; i++) {
		if (i % 3 == 0)
			until(all_idle);
		wanted++;
		OK(fib_sched_submit(sched, on_thread_once,
				    (void *)(intptr_t)(i % 4), i % 4));
		if (i % 2)
			until(wanted_ran);
	}
	until(wanted_ran);
	finish(sched);
}
END_TEST

static void names(void *arg)
{
	char name[16], want[16];

	prctl(PR_GET_NAME, name);
	snprintf(want, sizeof(want), "%s_%d", (char *)arg, fib_sched_thread());
	ck_assert_str_eq(name, want);
	ck_assert_str_eq(fib_sched_name(fib_sched_current()), (char *)arg);
	ran++;
}

START_TEST(thread_names)
{
	struct fib_sched *s;
	char before[16], name[16];

	prctl(PR_GET_NAME, before);
	OK(fib_sched_create(&s, 3, true, "names"));
	OK(fib_sched_start(s));
	for (int i = 0; i < 2; i++)
		OK(fib_sched_submit(s, names, "names", i));
	finish(s);
	ck_assert_int_eq(ran, 2);
	prctl(PR_GET_NAME, name);
	ck_assert_str_eq(name, before);
}
END_TEST

static void current_is(void *arg)
{
	ck_assert_ptr_eq(fib_sched_current(), arg);
	ck_assert_int_ge(fib_sched_thread(), 0);
	fib_yield_ready();
	ck_assert_ptr_eq(fib_sched_current(), arg);
	ran++;
}

START_TEST(several_schedulers)
{
	struct fib_sched *s[4];

	for (int i = 0; i < 4; i++)
		s[i] = started(2, i == 3);
	ck_assert_ptr_null(fib_sched_current());
	ck_assert_int_eq(fib_sched_thread(), -1);
	for (int i = 0; i < 400; i++)
		OK(fib_sched_submit(s[i % 4], current_is, s[i % 4],
				    FIB_ANY_THREAD));
	for (int i = 0; i < 4; i++)
		finish(s[i]);
	ck_assert_int_eq(ran, 400);
}
END_TEST

/* --- waking ----------------------------------------------------------------- */

static atomic_int posted, seen;
static atomic_bool quit;

static void hold(void *arg)
{
	while (!quit) {
		OK(fib_yield());
		/* each wake-up is for something that was posted before */
		ck_assert_int_gt(posted, seen);
		seen = posted;
	}
}

static bool has_seen(void)
{
	return seen == posted;
}

START_TEST(hold_until_ready)
{
	struct fib_sched *s = started(2, false);
	struct fib *f;

	OK(fib_create(&f, hold, NULL, 0));
	ck_assert_int_eq(fib_ready(f), -EINVAL);
	OK(fib_sched_submit_fiber(s, f, FIB_ANY_THREAD));
	for (int i = 0; i < 20000; i++) {
		posted++;
		OK(i % 2 ? fib_ready(f) :
			   fib_sched_submit_fiber(s, f, FIB_ANY_THREAD));
		until(has_seen);
	}
	quit = true;
	posted++;
	OK(fib_ready(f));
	finish(s);
	ck_assert_int_eq(fib_state(f), FIB_TERM);
	OK(fib_destroy(f));
}
END_TEST

static atomic_int wakes, turns, at_once_in;
static atomic_bool enough;
static struct fib *racer;
static sem_t many_turns;

#define TURNS 50000

static void race_hold(void *arg)
{
	while (!quit) {
		OK(fib_yield());
		ck_assert_int_eq(atomic_fetch_add(&at_once_in, 1), 0);
		if (++turns == TURNS)
			sem_post(&many_turns);
		atomic_fetch_sub(&at_once_in, 1);
	}
}

static void *race_wake(void *arg)
{
	while (!enough) {
		wakes++;
		OK(fib_ready(racer));
		if (wakes % 16 == 0)
			sched_yield();
	}
	return NULL;
}

/* Wake-ups that race the yield: never two at once, and the last one counts. */
START_TEST(wake_races_yield)
{
	struct fib_sched *s = started(2, false);
	struct timespec end;
	pthread_t t[2];

	OK(sem_init(&many_turns, 0, 0));
	OK(fib_create(&racer, race_hold, NULL, 0));
	OK(fib_sched_submit_fiber(s, racer, FIB_ANY_THREAD));
	for (int i = 0; i < 2; i++)
		OK(pthread_create(&t[i], NULL, race_wake, NULL));
	/* It sleeps: the threads that are tested have the processors. */
	OK(clock_gettime(CLOCK_REALTIME, &end));
	end.tv_sec += 10;
	OK(sem_timedwait(&many_turns, &end));
	enough = true;
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
	quit = true;
	/* unless it has seen that already */
	if (fib_ready(racer))
		ck_assert_int_eq(fib_state(racer), FIB_TERM);
	finish(s);
	OK(fib_destroy(racer));
}
END_TEST

/* Ready twice, run once: wake-ups that come early count as one. */
static void early(void *arg)
{
	struct fib *me = fib_current();

	OK(fib_ready(me));
	OK(fib_ready(me));
	OK(fib_yield());
	ran++;
	OK(fib_yield());
	ran++;
}

static bool one_ran(void)
{
	return ran == 1;
}

START_TEST(wake_before_yield)
{
	struct fib *f;

	sched = started(1, false);
	OK(fib_create(&f, early, NULL, 0));
	OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
	until(one_ran);
	until(all_idle);
	ck_assert_int_eq(fib_state(f), FIB_PARKED);
	ck_assert_int_eq(ran, 1);
	ck_assert_int_eq(fib_destroy(f), -EBUSY);
	ck_assert_int_eq(fib_resume(f), -EBUSY);
	ck_assert_int_eq(fib_reset(f, early, NULL), -EBUSY);
	OK(fib_ready(f));
	finish(sched);
	ck_assert_int_eq(ran, 2);
	OK(fib_destroy(f));
}
END_TEST

/* --- handing over -------------------------------------------------------------- */

static void half_by_hand(void *arg)
{
	note((void *)1);
	OK(fib_yield());
	ck_assert_ptr_nonnull(fib_sched_current());
	note((void *)2);
}

START_TEST(from_hand_to_scheduler)
{
	struct fib_sched *s = started(2, false), *other = started(1, false);
	struct fib *f;

	OK(fib_create(&f, half_by_hand, NULL, 0));
	OK(fib_resume(f));
	ck_assert_int_eq(norder, 1);
	OK(fib_sched_submit_fiber(s, f, FIB_ANY_THREAD));
	OK(fib_sched_stop(s));
	ck_assert_int_eq(norder, 2);
	ck_assert_int_eq(fib_sched_submit_fiber(s, f, FIB_ANY_THREAD), -EINVAL);
	/* and once more, from the start, elsewhere */
	OK(fib_reset(f, note, (void *)3));
	OK(fib_sched_submit_fiber(other, f, FIB_ANY_THREAD));
	finish(other);
	ck_assert_int_eq(order[2], 3);
	OK(fib_destroy(f));
	OK(fib_sched_destroy(s));
}
END_TEST

static void hold_once(void *arg)
{
	ran++;
	OK(fib_yield());
}

START_TEST(two_schedulers_want_it)
{
	struct fib_sched *a = started(1, false), *b = started(1, false);
	struct fib *f;

	OK(fib_create(&f, hold_once, NULL, 0));
	OK(fib_sched_submit_fiber(a, f, FIB_ANY_THREAD));
	until(one_ran);
	ck_assert_int_eq(fib_sched_submit_fiber(b, f, FIB_ANY_THREAD), -EBUSY);
	OK(fib_ready(f));
	finish(a);
	finish(b);
	ck_assert_int_eq(fib_sched_submit_fiber(NULL, f, FIB_ANY_THREAD),
			 -EINVAL);
	OK(fib_destroy(f));
}
END_TEST

static void generator(void *arg)
{
	for (;;) {
		++*(int *)arg;
		OK(fib_yield());
	}
}

/* A fiber by hand on top of tasks that move between threads. */
static void consume(void *arg)
{
	struct fib *me = fib_current(), *gen;
	int value = 0;

	OK(fib_create(&gen, generator, &value, 0));
	for (int i = 1; i <= 100; i++) {
		OK(fib_resume(gen));
		ck_assert_int_eq(value, i);
		ck_assert_ptr_eq(fib_current(), me);
		OK(fib_yield_ready());
	}
	/* it never ends: its stack stays until the process does */
	ck_assert_int_eq(fib_destroy(gen), -EBUSY);
	ran++;
}

START_TEST(by_hand_in_a_task)
{
	struct fib_sched *s = started(3, true);

	for (int i = 0; i < 50; i++)
		OK(fib_sched_submit(s, consume, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(ran, 50);
}
END_TEST

/* --- sleeping ---------------------------------------------------------------- */

static void keep_busy(void *arg)
{
	while (!quit)
		sched_yield();
}

/* Who is busy need not be told. */
START_TEST(tickle_only_when_needed)
{
	struct fib_sched_info info;
	uint64_t before;

	sched = started(1, false);
	until(all_idle);
	OK(fib_sched_submit(sched, keep_busy, NULL, FIB_ANY_THREAD));
	do {
		OK(fib_sched_info(sched, &info));
	} while (!info.active);
	ck_assert_uint_eq(info.idle, 0);
	before = info.tickles;
	ck_assert_uint_ge(before, 1);
	for (int i = 0; i < 1000; i++)
		OK(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD));
	OK(fib_sched_info(sched, &info));
	ck_assert_uint_eq(info.tickles, before);
	ck_assert_uint_eq(info.fibers, 1001);
	quit = true;
	finish(sched);
	ck_assert_int_eq(ran, 1000);
}
END_TEST

/*
 * Of the scheduler's threads alone: a sanitizer has one of its own, which wakes
 * up ten times a second. Each may still be about to begin its sleep.
 */
START_TEST(idle_costs_nothing)
{
	uint64_t end = now_ns() + 10 * SEC;
	struct work before, after;

	sched = started(4, false);
	until(all_idle);
	before = work_of("test_");
	ck_assert_uint_eq(before.threads, 4);
	while (now_ns() < end) {
		struct timespec ts = { 1, 0 };

		nanosleep(&ts, NULL);
	}
	after = work_of("test_");
	ck_assert_uint_le(after.sleeps - before.sleeps, 4);
	ck_assert_uint_lt(after.cpu - before.cpu, 10 * MSEC);
	finish(sched);
}
END_TEST

static atomic_ullong sum;

static void fan(void *arg)
{
	intptr_t n = (intptr_t)arg;

	sum += (unsigned long long)n;
	if (n < 2)
		return;
	OK(fib_sched_submit(fib_sched_current(), fan, (void *)(n / 2),
			    FIB_ANY_THREAD));
	OK(fib_sched_submit(fib_sched_current(), fan, (void *)(n - n / 2),
			    FIB_ANY_THREAD));
}

START_TEST(a_hundred_thousand)
{
	struct fib_sched *s = started((unsigned)_i, false);

	OK(fib_sched_submit(s, fan, (void *)FEW(50000), FIB_ANY_THREAD));
	finish(s);
	ck_assert_uint_gt(sum, FEW(50000));
	ck_assert_uint_eq(fib_total(), 0);
}
END_TEST

START_TEST(many_queued)
{
	struct fib_sched *s = started(1, true);

	for (int i = 0; i < FEW(300000); i++)
		OK(fib_sched_submit(s, count, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(ran, FEW(300000));
}
END_TEST

TCase *library_sched(void)
{
	TCase *t = tcase_create("sched");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, ten_on_the_caller);
	tcase_add_test(t, fiber_submits_others);
	tcase_add_loop_test(t, at_once, 1, 4);
	tcase_add_loop_test(t, pinned, 0, 2);
	tcase_add_test(t, pinned_sleeper);
	tcase_add_test(t, thread_names);
	tcase_add_test(t, several_schedulers);
	tcase_add_test(t, hold_until_ready);
	tcase_add_test(t, wake_races_yield);
	tcase_add_test(t, wake_before_yield);
	tcase_add_test(t, from_hand_to_scheduler);
	tcase_add_test(t, two_schedulers_want_it);
	tcase_add_test(t, by_hand_in_a_task);
	tcase_add_test(t, tickle_only_when_needed);
	tcase_add_test(t, idle_costs_nothing);
	tcase_add_loop_test(t, a_hundred_thousand, 1, 4);
	tcase_add_test(t, many_queued);
	return t;
}
