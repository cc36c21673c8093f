/* Submitting: batches, from several threads at once, and who runs first. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
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

/* --- batches ------------------------------------------------------------------ */

static struct fib_job job[20];
static struct fib *fiber[10];

static void fill_batch(void)
{
	for (int i = 0; i < 20; i++) {
		job[i] = (struct fib_job){ .thread = FIB_ANY_THREAD };
		if (i % 2) {
			job[i].fib = fiber[i / 2];
		} else {
			job[i].fn = note;
			job[i].arg = (void *)(intptr_t)i;
		}
	}
}

START_TEST(batch)
{
	struct fib_sched *s = started(1, true);

	for (intptr_t i = 0; i < 10; i++)
		OK(fib_create(&fiber[i], note, (void *)(2 * i + 1), 0));
	fill_batch();
	OK(fib_sched_submit_batch(s, job, 20));
	OK(fib_sched_submit_batch(s, NULL, 0));
	ck_assert_int_eq(fib_sched_submit_batch(s, NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_sched_submit_batch(NULL, job, 20), -EINVAL);
	finish(s);
	ck_assert_int_eq(norder, 20);
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(order[i], i);
	for (int i = 0; i < 10; i++)
		OK(fib_destroy(fiber[i]));
}
END_TEST

static void spoil(int how)
{
	struct fib *f = job[19].fib;

	if (how == 0) {
		job[19].thread = 7;
		ck_assert_int_eq(fib_sched_submit_batch(sched, job, 20),
				 -EINVAL);
		job[19].thread = FIB_ANY_THREAD;
	} else if (how == 1) {
		job[19].fn = note;
		ck_assert_int_eq(fib_sched_submit_batch(sched, job, 20),
				 -EINVAL);
		job[19].fn = NULL;
	} else {
		OK(fib_reset(f, count, NULL));
		OK(fib_resume(f));
		ck_assert_int_eq(fib_sched_submit_batch(sched, job, 20),
				 -EINVAL);
		OK(fib_reset(f, note, (void *)19));
	}
}

/* All or none: what was not submitted is as it was before. */
START_TEST(batch_fails)
{
	size_t before = fib_total();

	sched = started(1, true);
	for (intptr_t i = 0; i < 10; i++)
		OK(fib_create(&fiber[i], note, (void *)(2 * i + 1), 0));
	fill_batch();
	for (int how = 0; how < 3; how++) {
		spoil(how);
		ck_assert_uint_eq(fib_total(), before + 10);
		OK(fib_sched_stop(sched));
		ck_assert_int_eq(norder, 0);
		OK(fib_sched_start(sched));
	}
	ran = 0;
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(fib_state(fiber[i]), FIB_READY);
		OK(fib_reset(fiber[i], count, NULL));
		OK(fib_resume(fiber[i]));
		OK(fib_destroy(fiber[i]));
	}
	ck_assert_int_eq(ran, 10);
	finish(sched);
}
END_TEST

#define SUBMITTERS 4
#define BATCHES	   100
#define JOBS	   16

static atomic_int done[SUBMITTERS];

/* What one submitter has submitted to one thread begins in that order. */
static void in_order(void *arg)
{
	int n = (int)(intptr_t)arg;

	ck_assert_int_eq(atomic_fetch_add(&done[n % SUBMITTERS], 1),
			 n / SUBMITTERS);
}

static void on_thread(void *arg)
{
	ck_assert_int_eq(fib_sched_thread(), (int)(intptr_t)arg);
	ran++;
}

static void submit_batches(void *arg)
{
	intptr_t me = (intptr_t)arg, n = 0;
	struct fib_sched_info info;
	struct fib_job jobs[JOBS];
	bool one;

	OK(fib_sched_info(sched, &info));
	one = info.threads == 1;
	for (int b = 0; b < BATCHES; b++) {
		for (int i = 0; i < JOBS; i++, n++)
			jobs[i] = (struct fib_job){
				.fn = one ? in_order : on_thread,
				.arg = (void *)(one ? n * SUBMITTERS + me :
						      n % info.threads),
				.thread = one ? FIB_ANY_THREAD :
						(int)(n % info.threads),
			};
		OK(fib_sched_submit_batch(sched, jobs, JOBS));
	}
}

static void *submit_thread(void *arg)
{
	submit_batches(arg);
	return NULL;
}

/* Batches from two threads, and from two fibers of another scheduler. */
START_TEST(batches_across_threads)
{
	struct fib_sched *other = started(2, false);
	pthread_t t[2];

	sched = started((unsigned)_i, false);
	for (intptr_t i = 0; i < 2; i++) {
		OK(pthread_create(&t[i], NULL, submit_thread, (void *)i));
		OK(fib_sched_submit(other, submit_batches, (void *)(i + 2),
				    FIB_ANY_THREAD));
	}
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
	finish(other);
	finish(sched);
	if (_i == 1)
		for (int i = 0; i < SUBMITTERS; i++)
			ran += done[i];
	ck_assert_int_eq(ran, SUBMITTERS * BATCHES * JOBS);
}
END_TEST

static struct fib *wanted;
static atomic_int won;
static pthread_barrier_t barrier;

/* Each wants the same fiber for a scheduler of its own. */
static void *want(void *arg)
{
	struct fib_sched *s = started(1, false);
	struct fib_job jobs[5] = {
		[0 ... 3] = { .fn = count, .thread = FIB_ANY_THREAD },
		[4] = { .thread = FIB_ANY_THREAD },
	};

	for (int i = 0; i < 300; i++) {
		int r;

		pthread_barrier_wait(&barrier);
		jobs[4].fib = wanted;
		r = fib_sched_submit_batch(s, jobs, 5);
		/* it is the other's, or has ended there already */
		ck_assert(r == 0 || r == -EBUSY || r == -EINVAL);
		won += r == 0;
		OK(fib_sched_stop(s));
		OK(fib_sched_start(s));
		pthread_barrier_wait(&barrier);
	}
	finish(s);
	return NULL;
}

START_TEST(batches_want_one_fiber)
{
	pthread_t t[2];

	OK(pthread_barrier_init(&barrier, NULL, 3));
	for (int i = 0; i < 2; i++)
		OK(pthread_create(&t[i], NULL, want, NULL));
	for (int i = 0; i < 300; i++) {
		OK(fib_create(&wanted, count, NULL, 0));
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		/* one has got it, with all that was in its batch */
		ck_assert_int_eq(won, i + 1);
		ck_assert_int_eq(ran, 5 * (i + 1));
		OK(fib_destroy(wanted));
	}
	for (int i = 0; i < 2; i++)
		OK(pthread_join(t[i], NULL));
}
END_TEST

static atomic_int submitted;

static void in_order_and_wait(void *arg)
{
	int n = (int)(intptr_t)arg / SUBMITTERS;

	in_order(arg);
	while (submitted <= 200 + n)
		sched_yield();
}

static int awaited;

static bool has_come(void)
{
	return done[0] > awaited;
}

/*
 * What comes while the only worker is at work does not overtake what it has
 * taken before, not even when it looks at epoll: one comes during each of 200.
 */
START_TEST(order_from_outside)
{
	OK(fib_sched_create(&sched, 1, false, "test"));
	for (intptr_t i = 0; i < 200; i++)
		OK(fib_sched_submit(sched, in_order_and_wait,
				    (void *)(i * SUBMITTERS), FIB_ANY_THREAD));
	submitted = 200;
	OK(fib_sched_start(sched));
	for (intptr_t i = 200; i < 400; i++) {
		awaited = (int)i - 200;
		until(has_come);
		OK(fib_sched_submit(sched, in_order, (void *)(i * SUBMITTERS),
				    FIB_ANY_THREAD));
		submitted++;
	}
	finish(sched);
	ck_assert_int_eq(done[0], 400);
}
END_TEST

/* Who sees that it is TERM may destroy it, or have it run once more. */
START_TEST(term_is_the_end)
{
	struct fib *f;

	sched = started(1, false);
	for (int i = 0; i < FEW(50000); i++) {
		OK(fib_create(&f, count, NULL, 0));
		for (int k = 0; k < 2; k++) {
			OK(fib_sched_submit_fiber(sched, f, FIB_ANY_THREAD));
			while (fib_state(f) != FIB_TERM)
				__builtin_ia32_pause();
			OK(k ? fib_destroy(f) : fib_reset(f, count, NULL));
		}
	}
	finish(sched);
	ck_assert_int_eq(ran, 2 * FEW(50000));
}
END_TEST

/* --- who runs first ------------------------------------------------------------- */

static atomic_bool quit, go, begun;

static void keep_busy(void *arg)
{
	begun = true;
	while (!quit)
		sched_yield();
}

static void yields(void *arg)
{
	begun = true;
	while (!go)
		sched_yield();
	OK(fib_yield_ready());
	ck_assert_int_eq(ran, 100);
	norder = 1;
	quit = true;
}

static bool has_begun(void)
{
	return begun;
}

/* A yield lets all that was submitted before it run first. */
START_TEST(yield_is_fair)
{
	sched = started((unsigned)_i, false);
	if (_i == 2) {
		OK(fib_sched_submit(sched, keep_busy, NULL, 1));
		until(has_begun);
		begun = false;
	}
	OK(fib_sched_submit(sched, yields, NULL, FIB_ANY_THREAD));
	until(has_begun);
	for (int i = 0; i < 100; i++)
		OK(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD));
	go = true;
	finish(sched);
	ck_assert_int_eq(norder, 1);
}
END_TEST

static void yields_pinned(void *arg)
{
	begun = true;
	while (ran < 100)
		OK(fib_yield_ready());
	norder++;
}

/* Nor does a pinned fiber that only yields keep the others from running. */
START_TEST(pinned_yield_is_fair)
{
	sched = started(2, false);
	for (int i = 0; i < 2; i++)
		OK(fib_sched_submit(sched, yields_pinned, NULL, i));
	until(has_begun);
	for (int i = 0; i < 100; i++)
		OK(fib_sched_submit(sched, count, NULL, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(norder, 2);
}
END_TEST

TCase *library_submit(void)
{
	TCase *t = tcase_create("submit");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, batch);
	tcase_add_test(t, batch_fails);
	tcase_add_loop_test(t, batches_across_threads, 1, 4);
	tcase_add_test(t, batches_want_one_fiber);
	tcase_add_test(t, order_from_outside);
	tcase_add_test(t, term_is_the_end);
	tcase_add_loop_test(t, yield_is_fair, 1, 3);
	tcase_add_test(t, pinned_yield_is_fair);
	return t;
}
