/* The timer heap, first with a worker that is not one, then for real. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include "tests/unit/unit.h"

#define MANY 1000

static struct fib_worker fake;
static struct fib waker;

/* A heap to arm timers in, without a scheduler that runs it. */
static struct fib_timer_heap *heap(void)
{
	fib_timer_heap_init(&fake.timers);
	unit_pretend(&fake);
	return &fake.timers;
}

START_TEST(fires_in_order)
{
	static struct fib_timer t[MANY];
	struct fib_timer_heap *h = heap();
	uint64_t least = FIB_NEVER;
	unsigned total = 0;

	for (int i = 0; i < MANY; i++) {
		uint64_t at = 1 + (uint64_t)(rand() % 500);

		ck_assert_int_eq(fib_timer_arm(&t[i], &waker, at), 0);
		if (at < least)
			least = at;
		ck_assert_uint_eq(fib_load(&h->next_ns, relaxed), least);
	}
	for (uint64_t now = 0; now <= 500; now++) {
		total += fib_timers_run(h, now);
		for (int i = 0; i < MANY; i++)
			ck_assert_int_eq(fib_load(&t[i].fired, relaxed),
					 t[i].deadline_ns <= now);
		ck_assert(fib_load(&h->next_ns, relaxed) > now);
	}
	ck_assert_uint_eq(total, MANY);
	ck_assert_uint_eq(h->count, 0);
	ck_assert(fib_load(&h->next_ns, relaxed) == FIB_NEVER);
	ck_assert_int_eq(fib_load(&waker.permit, relaxed), FIB_PERMIT_NOTIFIED);
}
END_TEST

START_TEST(same_deadline)
{
	static struct fib_timer t[MANY];
	struct fib_timer_heap *h = heap();

	for (int i = 0; i < MANY; i++)
		fib_timer_arm(&t[i], &waker, 100);
	ck_assert_uint_eq(fib_timers_run(h, 99), 0);
	for (int i = 0; i < MANY; i += 2)
		fib_timer_disarm(&t[i]);
	ck_assert_uint_eq(fib_timers_run(h, 100), MANY / 2);
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(fib_load(&t[i].fired, relaxed), i % 2);
}
END_TEST

START_TEST(disarm_is_final)
{
	struct fib_timer t = { 0 }, never = { 0 };
	struct fib_timer_heap *h = heap();

	fib_timer_disarm(&never);
	fib_timer_arm(&t, &waker, 10);
	fib_timer_disarm(&t);
	fib_timer_disarm(&t);
	ck_assert_uint_eq(fib_timers_run(h, 20), 0);
	ck_assert(!fib_load(&t.fired, relaxed));
	fib_timer_arm(&t, &waker, 10);
	ck_assert_uint_eq(fib_timers_run(h, 10), 1);
	fib_timer_disarm(&t);
	ck_assert(fib_load(&t.fired, relaxed));
	/* and it may be used again */
	fib_timer_arm(&t, &waker, 30);
	ck_assert(!fib_load(&t.fired, relaxed));
	ck_assert_uint_eq(fib_timers_run(h, 30), 1);
}
END_TEST

/* Of @n timers those that are @armed: the heap tells the two times that come first. */
static void two_first(const struct fib_timer_heap *h, const struct fib_timer *t,
		      const bool *armed, int n)
{
	uint64_t first = FIB_NEVER, second = FIB_NEVER;

	for (int i = 0; i < n; i++) {
		uint64_t at = armed[i] ? t[i].deadline_ns : FIB_NEVER;

		if (at < first) {
			second = first;
			first = at;
		} else if (at < second) {
			second = at;
		}
	}
	ck_assert_uint_eq(fib_load(&h->next_ns, relaxed), first);
	ck_assert_uint_eq(fib_load(&h->after_ns, relaxed), second);
}

/* 100000 random steps against a plain array. */
START_TEST(arm_disarm_100k)
{
	static struct fib_timer t[MANY * 4];
	static bool armed[MANY * 4];
	struct fib_timer_heap *h = heap();
	uint64_t now = 1;
	uint32_t count = 0;

	for (int step = 0; step < 100000; step++) {
		int i = rand() % (MANY * 4);

		if (armed[i]) {
			fib_timer_disarm(&t[i]);
			armed[i] = false;
			count--;
		} else {
			fib_timer_arm(&t[i], &waker,
				      now + (uint64_t)(rand() % 10000));
			armed[i] = true;
			count++;
		}
		ck_assert_uint_eq(h->count, count);
		if (step % 20 == 0)
			two_first(h, t, armed, MANY * 4);
		if (step % 100)
			continue;
		now += (uint64_t)(rand() % 200);
		count -= fib_timers_run(h, now);
		for (int k = 0; k < MANY * 4; k++) {
			if (!armed[k])
				continue;
			ck_assert_int_eq(fib_load(&t[k].fired, relaxed),
					 t[k].deadline_ns <= now);
			armed[k] = !fib_load(&t[k].fired, relaxed);
		}
	}
}
END_TEST

FIBER_TEST(never_early, 2)
{
	for (int i = 0; i < 50; i++) {
		uint64_t ns = (uint64_t)(rand() % 3000000), t = fib_now_ns();

		unit_nap(ns);
		t = fib_now_ns() - t;
		ck_assert_uint_ge(t, ns);
		ck_assert_uint_lt(t, ns + 500 * MSEC);
	}
}

struct sleeper {
	struct unit_group *group;
	uint64_t ns;
};

static void sleep_long(void *arg)
{
	struct sleeper *s = arg;
	uint64_t t = fib_now_ns();

	unit_nap(s->ns);
	fib_assert(fib_now_ns() - t >= s->ns);
	unit_group_done(s->group);
}

FIBER_TEST(many_sleepers, 2)
{
	static struct sleeper s[500];
	struct unit_group g;
	uint64_t t = fib_now_ns();

	unit_group_init(&g, 500);
	for (int i = 0; i < 500; i++) {
		s[i] = (struct sleeper){ &g, (uint64_t)(i % 50) * MSEC };
		unit_go(sleep_long, &s[i]);
	}
	unit_group_wait(&g);
	ck_assert_uint_lt(fib_now_ns() - t, 2000 * MSEC);
	ck_assert_uint_ge(unit_stat(FIB_STAT_timer_fires), 500);
}

/*
 * A sleeping worker that knew of no timer must learn of the first one: all others are
 * busy until it has.
 */
static _Atomic bool napped;

struct burner {
	struct fib *fib;
	int sv[2];
	_Atomic bool go, burns;
};

static void burn(void *arg)
{
	struct burner *b = arg;
	struct fib_fd *s = fib_fd_get(b->sv[0]);
	struct fib_waiter w;

	fib_iom_publish(s, &w, FIB_IO_READ, false, fib_iom_begin(s));
	while (!fib_load(&b->go, acquire) && !fib_load(&w.woken, acquire))
		fib_park();
	fib_iom_retract(&w);
	fib_store(&b->burns, true, relaxed);
	while (!fib_load(&napped, relaxed))
		fib_cpu_relax();
}

static bool two_idle(void)
{
	return fib_load(&unit_scheduler->nidle, relaxed) == 2;
}

static bool by_event;

static void *start_both(void *arg)
{
	struct burner *b = arg;
	uint64_t until = fib_now_ns() + 20 * MSEC;

	/* the main fiber is to park first; nothing depends on it */
	while (fib_now_ns() < until)
		sched_yield();
	for (int i = 0; i < 2; i++) {
		if (by_event) {
			send(b[i].sv[1], "x", 1, 0);
		} else {
			fib_store(&b[i].go, true, release);
			fib_wake(b[i].fib);
		}
		while (!fib_load(&b[i].burns, relaxed))
			sched_yield();
	}
	return NULL;
}

FIBER_TEST(not_late_while_a_worker_sleeps, 3)
{
	static struct burner b[2];
	pthread_t thread;

	by_event = _i % 2;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, b[i].sv),
				 0);
		b[i].fib = unit_go(burn, &b[i]);
		while (fib_load(&b[i].fib->permit, relaxed) !=
		       FIB_PERMIT_PARKED)
			fib_sched_yield();
	}
	unit_until(two_idle);
	unit_thread(&thread, start_both, b);
	unit_nap(60 * MSEC);
	fib_store(&napped, true, relaxed);
	pthread_join(thread, NULL);
}

TCase *unit_timer(void)
{
	TCase *t = tcase_create("timer");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, fires_in_order);
	tcase_add_test(t, same_deadline);
	tcase_add_test(t, disarm_is_final);
	tcase_add_test(t, arm_disarm_100k);
	tcase_add_test(t, never_early);
	tcase_add_test(t, many_sleepers);
	tcase_add_loop_test(t, not_late_while_a_worker_sleeps, 0, 8);
	return t;
}
