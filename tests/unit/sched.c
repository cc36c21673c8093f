/* Park and wake, queues, stealing, sleeping workers. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include "runtime/keep.h"
#include "tests/support/patience.h"
#include "tests/unit/unit.h"

FIBER_TEST(wake_before_park, 1)
{
	struct fib *self;
	uint64_t parks;

	self = fib_self();
	parks = unit_stat(FIB_STAT_parks);
	fib_wake(self);
	fib_wake(self);
	ck_assert_int_eq(fib_load(&self->permit, relaxed), FIB_PERMIT_NOTIFIED);
	fib_park();
	ck_assert_int_eq(fib_load(&self->permit, relaxed), FIB_PERMIT_NONE);
	/* it has not left its stack for that */
	ck_assert_uint_eq(unit_stat(FIB_STAT_parks), parks);
}

struct mail {
	_Atomic int posted, seen;
	struct unit_group *group;
};

static void reader(void *arg)
{
	struct mail *m = arg;

	for (int i = 1; i <= 100; i++) {
		while (fib_load(&m->posted, acquire) < i)
			fib_park();
		fib_store(&m->seen, i, release);
	}
	unit_group_done(m->group);
}

FIBER_TEST(spurious_wakes, 2)
{
	struct unit_group g;
	struct mail m = { .group = &g };
	struct fib *f;

	unit_group_init(&g, 1);
	f = unit_go(reader, &m);
	for (int i = 1; i <= 100; i++) {
		for (int k = 0; k < 5; k++) {
			fib_wake(f);
			fib_sched_yield();
		}
		ck_assert_int_eq(fib_load(&m.seen, acquire), i - 1);
		fib_store(&m.posted, i, release);
		fib_wake(f);
		while (fib_load(&m.seen, acquire) < i)
			fib_sched_yield();
	}
	unit_group_wait(&g);
}

static void *post(void *arg)
{
	struct {
		struct mail m;
		struct fib *f;
	} *x = arg;

	fib_assert(!fib_worker_self());
	for (int i = 1; i <= 100; i++) {
		fib_store(&x->m.posted, i, release);
		fib_wake(x->f);
		while (fib_load(&x->m.seen, acquire) < i)
			sched_yield();
	}
	return NULL;
}

FIBER_TEST(wake_from_a_thread, 2)
{
	struct {
		struct mail m;
		struct fib *f;
	} x = { 0 };
	struct unit_group g;
	pthread_t t;

	unit_group_init(&g, 1);
	x.m.group = &g;
	x.f = unit_go(reader, &x.m);
	unit_thread(&t, post, &x);
	unit_group_wait(&g);
	pthread_join(t, NULL);
}

static int order[16];
static _Atomic int norder;

static void note(void *arg)
{
	order[fib_add(&norder, 1, relaxed)] = (int)(intptr_t)arg;
	fib_sched_yield();
	order[fib_add(&norder, 1, relaxed)] = (int)(intptr_t)arg;
}

static bool ten_notes(void)
{
	return fib_load(&norder, relaxed) == 10;
}

/* One worker is a plain queue: who comes first runs first. */
FIBER_TEST(fifo, 1)
{
	for (intptr_t i = 0; i < 5; i++)
		unit_go(note, (void *)i);
	unit_until(ten_notes);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(order[i], i % 5);
}

static _Atomic int ran;
static _Atomic uint64_t on_workers;

static void count(void *arg)
{
	fib_or(&on_workers, 1ull << fib_worker_self()->id, relaxed);
	fib_add(&ran, 1, relaxed);
}

static bool ten_ran(void)
{
	return fib_load(&ran, relaxed) == 10 &&
	       unit_stat(FIB_STAT_fibers_exited) == 10;
}

FIBER_TEST(ten_fibers, 2)
{
	uint64_t before = unit_stat(FIB_STAT_fibers_created);

	for (int i = 0; i < 10; i++)
		unit_go(count, NULL);
	unit_until(ten_ran);
	ck_assert_uint_eq(unit_stat(FIB_STAT_fibers_created), before + 10);
}

/* Keep the worker until @n have run, on others. */
static void others_run(int n)
{
	struct patience p = { 0 };

	while (fib_load(&ran, relaxed) < n)
		if (patience_ends(&p, fib_now_ns()))
			ck_abort_msg("%d of %d ran", fib_load(&ran, relaxed),
				     n);
}

/* Who never yields loses its queue to others, long before the monitor. */
FIBER_TEST(steal, 2)
{
	uint64_t own = 1ull << fib_worker_self()->id;

	for (int i = 0; i < 1000; i++)
		unit_go(count, NULL);
	others_run(1000);
	ck_assert_uint_eq(fib_load(&on_workers, relaxed) & own, 0);
	ck_assert_uint_ge(unit_stat(FIB_STAT_steals), 1);
}

/*
 * And counted so, which is what a waker goes by; and none of them has a wake-up to
 * take yet, which would do for the next one. On a busy machine the monitor may have
 * started a spare meanwhile.
 */
static bool others_idle(void)
{
	uint32_t others = 0;

	if (fib_load(&unit_scheduler->wake_pending, acquire))
		return false;
	for (uint32_t i = 0; i < fib_load(&unit_scheduler->workers, acquire);
	     i++) {
		struct fib_worker *w = unit_scheduler->worker[i];

		if (w == fib_worker_self() || fib_load(&w->spare, acquire))
			continue;
		if (!fib_load(&w->idle, acquire))
			return false;
		others++;
	}
	return others && fib_load(&unit_scheduler->nidle, acquire) >= others;
}

FIBER_TEST(notify, 2)
{
	uint64_t woke = 0;

	for (int i = 1; i <= 200; i++) {
		/* A wake-up soon after the last may be kept: keep.h */
		while (fib_cycles() - woke < 2 * FIB_KEEP_OFTEN)
			;
		unit_until(others_idle);
		unit_go(count, NULL);
		woke = fib_cycles();
		others_run(i);
	}
	ck_assert_uint_ge(unit_stat(FIB_STAT_notifies), 200);
}

static _Atomic bool enough;

static void keep_polling(void *arg)
{
	while (!fib_load(&enough, relaxed))
		fib_sched_yield();
}

/*
 * A busy worker looks at epoll too, and may harvest the wake-up that was for
 * a sleeping one. The fiber it was about must not be left where it is.
 */
FIBER_TEST(wake_up_taken_by_a_busy_worker, 3)
{
	unit_go(keep_polling, NULL);
	for (int i = 1; i <= 3000; i++) {
		unit_go(count, NULL);
		others_run(i);
	}
	fib_store(&enough, true, relaxed);
}

FIBER_TEST(idle_costs_nothing, 4)
{
	uint64_t cpu;

	unit_nap(100 * MSEC);
	cpu = unit_cpu_ns();
	unit_nap(1000 * MSEC);
	ck_assert_uint_lt(unit_cpu_ns() - cpu, 10 * MSEC);
}

static void deep(void *arg)
{
	volatile char big[UNIT_STACK / 2];

	big[0] = big[sizeof(big) - 1] = 1;
	fib_sched_yield();
	fib_assert(big[0] + big[sizeof(big) - 1] == 2);
	unit_group_done(arg);
}

/* Their slab entries and stacks are used again. */
FIBER_TEST(ten_thousand_in_turn, 2)
{
	struct unit_group g;

	for (int i = 0; i < 1000; i++) {
		unit_group_init(&g, 10);
		for (int k = 0; k < 10; k++)
			unit_go(deep, &g);
		unit_group_wait(&g);
	}
	ck_assert_uint_le(fib_high_water(), 512);
}

FIBER_TEST(many_at_once, 2)
{
	struct unit_group g;

	unit_group_init(&g, 5000);
	for (int i = 0; i < 5000; i++)
		unit_go(deep, &g);
	unit_group_wait(&g);
}

/* A stack without its guard would run into its neighbour. */
static void overrun(void *arg)
{
	struct fib *f = fib_self();

	*(volatile char *)f->stack = 1;
}

FIBER_TEST(guard, 1)
{
	struct unit_group g;

	unit_group_init(&g, 1);
	unit_go(overrun, NULL);
	unit_group_wait(&g);
}

TCase *unit_sched(void)
{
	TCase *t = tcase_create("sched");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, wake_before_park);
	tcase_add_test(t, spurious_wakes);
	tcase_add_test(t, wake_from_a_thread);
	tcase_add_test(t, fifo);
	tcase_add_test(t, ten_fibers);
	tcase_add_test(t, steal);
	tcase_add_test(t, notify);
	tcase_add_test(t, wake_up_taken_by_a_busy_worker);
	tcase_add_test(t, idle_costs_nothing);
	tcase_add_test(t, ten_thousand_in_turn);
	tcase_add_test(t, many_at_once);
	tcase_add_test_raise_signal(t, guard, SIGSEGV);
	return t;
}
