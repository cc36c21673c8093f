/*
 * Fibers that keep their worker: others go on, and order returns. They keep it until
 * the test has seen that, however long it takes: it ends in time or not at all.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include "tests/unit/unit.h"

static _Atomic uint32_t stop; /* futex */
static _Atomic int started, ended;

static void until_stop(void)
{
	while (!fib_load(&stop, acquire))
		fib_raw(SYS_futex, &stop, FUTEX_WAIT_PRIVATE, 0, 0);
}

static void block(void *arg)
{
	fib_add(&started, 1, relaxed);
	until_stop();
	fib_add(&ended, 1, relaxed);
}

static void block_politely(void *arg)
{
	fib_add(&started, 1, relaxed);
	fib_block_enter(false);
	until_stop();
	fib_block_leave();
	fib_add(&ended, 1, relaxed);
}

static void spin(void *arg)
{
	fib_add(&started, 1, relaxed);
	while (!fib_load(&stop, relaxed))
		fib_cpu_relax();
	fib_add(&ended, 1, relaxed);
}

static bool all_ended(void)
{
	return fib_load(&ended, relaxed) == fib_load(&started, relaxed);
}

/*
 * Workers lie down after the stuck ones have come back. One that came back
 * just when it was given up may sleep idle, and will lie down when it is woken.
 */
static bool in_order(void)
{
	uint32_t n = fib_load(&fib_sched.workers, acquire), spare = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *w = fib_sched.worker[i];

		if (fib_load(&w->spare, relaxed) == 1 ||
		    (fib_load(&w->taken, relaxed) &&
		     fib_load(&w->idle, relaxed)))
			spare++;
	}
	return fib_load(&fib_sched.running, relaxed) ==
		       (int32_t)fib_sched.target &&
	       spare == n - fib_sched.target;
}

static void end_all(void)
{
	fib_store(&stop, 1, release);
	fib_raw(SYS_futex, &stop, FUTEX_WAKE_PRIVATE, INT_MAX);
	unit_until(all_ended);
	unit_until(in_order);
}

/* Naps all the same while @n fibers do @fn, however many workers there are. */
static void go_on(void (*fn)(void *), int n)
{
	for (int i = 0; i < n; i++)
		unit_go(fn, NULL);
	for (int i = 0; i < 5; i++)
		unit_nap(1 * MSEC);
	while (fib_load(&started, relaxed) < n)
		fib_sched_yield();
	end_all();
	ck_assert_uint_ge(unit_stat(FIB_STAT_spares), 1);
	ck_assert_int_eq(fib_load(&ended, relaxed), n);
}

FIBER_TEST(blocked, _i)
{
	go_on(block, _i + 1);
}

FIBER_TEST(blocked_politely, _i)
{
	go_on(block_politely, _i);
	ck_assert_uint_eq(unit_stat(FIB_STAT_kernel_blocks), (uint64_t)_i);
}

FIBER_TEST(spinning, _i)
{
	go_on(spin, _i + 3);
}

/* What a stuck fiber's worker had queued is run by others. */
static void spawn_and_block(void *arg)
{
	for (int i = 0; i < 10; i++)
		unit_go(block, NULL);
	block(NULL);
}

FIBER_TEST(queue_of_a_stuck_worker, 1)
{
	unit_go(spawn_and_block, NULL);
	while (fib_load(&started, relaxed) < 11)
		fib_sched_yield();
	end_all();
}

/* The second time around, the spares are used again. */
FIBER_TEST(spares_come_back, 1)
{
	uint32_t n = 0;

	for (int round = 0; round < 3; round++) {
		fib_store(&stop, 0, relaxed);
		for (int i = 0; i < 3; i++)
			unit_go(spin, NULL);
		while (fib_load(&started, relaxed) < 3 * (round + 1))
			fib_sched_yield();
		end_all();
		if (round == 0)
			n = fib_load(&fib_sched.workers, relaxed);
	}
	/* one more may be made while another is about to lie down */
	ck_assert_uint_le(fib_load(&fib_sched.workers, relaxed), n + 2);
}

/* With everybody asleep the monitor is too, and is up again when it is needed. */
static _Atomic bool slept;

static void *see_it_sleep(void *arg)
{
	while (!fib_load(&fib_monitor_asleep, relaxed))
		sched_yield();
	fib_store(&slept, true, release);
	fib_wake(arg);
	return NULL;
}

FIBER_TEST(sleeps_and_wakes, 1)
{
	for (int i = 0; i < 3; i++) {
		pthread_t thread;

		fib_store(&slept, false, relaxed);
		unit_thread(&thread, see_it_sleep, fib_self());
		while (!fib_load(&slept, acquire))
			fib_park();
		pthread_join(thread, NULL);
		fib_store(&stop, 0, relaxed);
		unit_go(block, NULL);
		fib_sched_yield();
		unit_nap(1 * MSEC);
		end_all();
	}
}

TCase *unit_monitor(void)
{
	TCase *t = tcase_create("monitor");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, blocked, 1, 4);
	tcase_add_loop_test(t, blocked_politely, 1, 4);
	tcase_add_loop_test(t, spinning, 1, 4);
	tcase_add_test(t, queue_of_a_stuck_worker);
	tcase_add_test(t, spares_come_back);
	tcase_add_test(t, sleeps_and_wakes);
	return t;
}
