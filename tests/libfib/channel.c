/* fib_channel: between fibers, between threads, and between both. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/libfib/library.h"

static struct fib_sched *sched;
static struct fib_channel *ch;
static _Atomic int done;

START_TEST(arguments)
{
	int v = 0;

	ck_assert_int_eq(fib_channel_create(NULL, 4, 1), -EINVAL);
	ck_assert_int_eq(fib_channel_create(&ch, 0, 1), -EINVAL);
	ck_assert_int_eq(fib_channel_create(&ch, SIZE_MAX / 2, 4), -ENOMEM);
	ck_assert_int_eq(fib_channel_create(&ch, SIZE_MAX, 1), -ENOMEM);
	ck_assert_int_eq(fib_channel_destroy(NULL), -EINVAL);
	ck_assert_int_eq(fib_channel_send(NULL, &v, 0), -EINVAL);
	ck_assert_int_eq(fib_channel_recv(NULL, &v, 0), -EINVAL);
	ck_assert_int_eq(fib_channel_close(NULL), -EINVAL);
	ck_assert_uint_eq(fib_channel_count(NULL), 0);
	OK(fib_channel_create(&ch, 4, 1));
	ck_assert_int_eq(fib_channel_send(ch, NULL, 0), -EINVAL);
	ck_assert_int_eq(fib_channel_recv(ch, NULL, 0), -EINVAL);
	OK(fib_channel_destroy(ch));
}
END_TEST

/* From a thread's own stack; the ring wraps round at an odd place. */
START_TEST(oldest_first)
{
	struct value {
		int a;
		char b[9];
	} v = { 0 }, w;

	OK(fib_channel_create(&ch, sizeof(v), 3));
	for (int i = 0; i < 20; i++) {
		v.a = i;
		v.b[8] = (char)(i * 3);
		OK(fib_channel_send(ch, &v, FIB_NEVER));
		if (i < 2)
			continue;
		ck_assert_uint_eq(fib_channel_count(ch), 3);
		/* full: 0 does not wait, and what was not sent is not there */
		ck_assert_int_eq(fib_channel_send(ch, &v, 0), -ETIMEDOUT);
		OK(fib_channel_recv(ch, &w, FIB_NEVER));
		ck_assert_int_eq(w.a, i - 2);
		ck_assert_int_eq(w.b[8], (char)((i - 2) * 3));
	}
	OK(fib_channel_close(ch));
	ck_assert_int_eq(fib_channel_send(ch, &v, 0), -EPIPE);
	/* what is in it can still be received */
	OK(fib_channel_recv(ch, &w, 0));
	ck_assert_int_eq(w.a, 18);
	OK(fib_channel_recv(ch, &w, 0));
	ck_assert_int_eq(fib_channel_recv(ch, &w, FIB_NEVER), -EPIPE);
	OK(fib_channel_close(ch));
	OK(fib_channel_destroy(ch));
}
END_TEST

static void times_out(void *arg)
{
	uint64_t t0 = now_ns();
	int v = 1;

	ck_assert_int_eq(fib_channel_recv(ch, &v, 20 * MSEC), -ETIMEDOUT);
	ck_assert_uint_ge(now_ns() - t0, 20 * MSEC);
	t0 = now_ns();
	/* nobody receives, so it was not sent */
	ck_assert_int_eq(fib_channel_send(ch, &v, 20 * MSEC), -ETIMEDOUT);
	ck_assert_uint_ge(now_ns() - t0, 20 * MSEC);
	ck_assert_int_eq(fib_channel_recv(ch, &v, 0), -ETIMEDOUT);
	atomic_fetch_add(&done, 1);
}

START_TEST(timeouts)
{
	OK(fib_channel_create(&ch, sizeof(int), 0));
	times_out(NULL);
	sched = started(1, false);
	OK(fib_sched_submit(sched, times_out, NULL, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(done, 2);
	OK(fib_channel_destroy(ch));
}
END_TEST

static _Atomic int received;

static void late_receiver(void *arg)
{
	int v;

	/* the sender has gone to wait: it is the only other fiber */
	ck_assert_int_eq(done, 0);
	OK(fib_channel_recv(ch, &v, FIB_NEVER));
	ck_assert_int_eq(v, 5);
	atomic_store(&received, 1);
}

static void sender(void *arg)
{
	int v = 5;

	OK(fib_sched_submit(sched, late_receiver, NULL, FIB_ANY_THREAD));
	OK(fib_channel_send(ch, &v, FIB_NEVER));
	ck_assert_int_eq(received, 1);
	atomic_store(&done, 1);
}

/* With a capacity of 0 a send waits until a receiver has taken the value. */
START_TEST(rendezvous)
{
	OK(fib_channel_create(&ch, sizeof(int), 0));
	sched = started(1, false);
	OK(fib_sched_submit(sched, sender, NULL, FIB_ANY_THREAD));
	finish(sched);
	ck_assert_int_eq(done, 1);
	OK(fib_channel_destroy(ch));
}
END_TEST

static void closed_on(void *arg)
{
	int v = 0;

	ck_assert_int_eq(arg ? fib_channel_send(ch, &v, FIB_NEVER) :
			       fib_channel_recv(ch, &v, FIB_NEVER),
			 -EPIPE);
	atomic_fetch_add(&done, 1);
}

static void closer(void *arg)
{
	ck_assert_int_eq(fib_channel_destroy(ch), -EBUSY);
	ck_assert_int_eq(done, 0);
	OK(fib_channel_close(ch));
}

/* Those who wait learn of it; nobody waits any more then. */
START_TEST(close_wakes)
{
	for (intptr_t send = 0; send < 2; send++) {
		atomic_store(&done, 0);
		OK(fib_channel_create(&ch, sizeof(int), 0));
		sched = started(1, false);
		for (int i = 0; i < 3; i++)
			OK(fib_sched_submit(sched, closed_on, (void *)send,
					    FIB_ANY_THREAD));
		OK(fib_sched_submit(sched, closer, NULL, FIB_ANY_THREAD));
		finish(sched);
		ck_assert_int_eq(done, 3);
		OK(fib_channel_destroy(ch));
	}
}
END_TEST

/* --- who waits is in other threads and schedulers ------------------------------- */

static _Atomic int waits_in[4];

/* arg: 0 or 1: receives, 2 or 3: sends; odd ones have a timeout. */
static void ends_by_close(void *arg)
{
	intptr_t how = (intptr_t)arg;
	uint64_t timeout = how % 2 ? 60 * SEC : FIB_NEVER;
	int v = 0;

	ck_assert_int_eq(how < 2 ? fib_channel_recv(ch, &v, timeout) :
				   fib_channel_send(ch, &v, timeout),
			 -EPIPE);
	atomic_fetch_add(&done, 1);
}

static void *ends_by_close_thread(void *arg)
{
	atomic_store(&waits_in[(intptr_t)arg], (int)syscall(SYS_gettid));
	ends_by_close(arg);
	return NULL;
}

/* fib_channel_close() by a thread, and by a fiber of a third scheduler. */
static void close_it(void *arg)
{
	OK(fib_channel_close(ch));
}

START_TEST(close_across_threads)
{
	int base = _i / 2 ? 2 : 0;
	struct fib_sched *s[2], *third = started(1, false);
	pthread_t t[2];
	struct fib *f[4];

	OK(fib_channel_create(&ch, sizeof(int), 0));
	for (int i = 0; i < 2; i++) {
		s[i] = started(2, false);
		OK(pthread_create(&t[i], NULL, ends_by_close_thread,
				  (void *)(intptr_t)(base + i)));
	}
	for (int i = 0; i < 4; i++) {
		OK(fib_create(&f[i], ends_by_close,
			      (void *)(intptr_t)(base + i / 2), 0));
		OK(fib_sched_submit_fiber(s[i % 2], f[i], FIB_ANY_THREAD));
	}
	/* all wait */
	for (int i = 0; i < 4; i++)
		while (fib_state(f[i]) != FIB_PARKED)
			sched_yield();
	for (int i = 0; i < 2; i++)
		while (!waits_in[base + i] || !sleeps(waits_in[base + i]))
			sched_yield();
	ck_assert_int_eq(done, 0);
	ck_assert_int_eq(fib_channel_destroy(ch), -EBUSY);
	if (_i % 2)
		OK(fib_sched_submit(third, close_it, NULL, FIB_ANY_THREAD));
	else
		close_it(NULL);
	for (int i = 0; i < 2; i++) {
		OK(pthread_join(t[i], NULL));
		finish(s[i]);
	}
	finish(third);
	ck_assert_int_eq(done, 6);
	for (int i = 0; i < 4; i++)
		OK(fib_destroy(f[i]));
	OK(fib_channel_destroy(ch));
}
END_TEST

#define EACH 2000

static _Atomic uint64_t sum, count;

static void produce(void *arg)
{
	uint64_t base = (uint64_t)(uintptr_t)arg * EACH;

	for (uint64_t i = 0; i < EACH; i++) {
		uint64_t v = base + i;
		/* some give up now and then, and try again */
		uint64_t timeout = i % 7 ? FIB_NEVER : 50000;
		int r;

		do {
			r = fib_channel_send(ch, &v, timeout);
			ck_assert(r == 0 || r == -ETIMEDOUT);
		} while (r);
	}
	if (atomic_fetch_sub(&done, 1) == 1)
		fib_channel_close(ch);
}

static void consume(void *arg)
{
	uint64_t v, mine = 0, n = 0;
	int r;

	while ((r = fib_channel_recv(ch, &v, n % 5 ? FIB_NEVER : 50000)) !=
	       -EPIPE) {
		if (r == -ETIMEDOUT)
			continue;
		OK(r);
		mine += v;
		n++;
	}
	atomic_fetch_add(&sum, mine);
	atomic_fetch_add(&count, n);
}

static void *thread_of(void *fn)
{
	((void (*)(void *))fn)((void *)(uintptr_t)4);
	return NULL;
}

/*
 * Fibers of two schedulers and plain threads, many to many: each value comes
 * out once, whoever gave up meanwhile.
 */
START_TEST(many_to_many)
{
	struct fib_sched *other;
	pthread_t in, out;
	uint64_t n = 5 * EACH;

	OK(fib_channel_create(&ch, sizeof(uint64_t), (size_t)_i));
	atomic_store(&done, 5);
	sched = started(2, false);
	other = started(1, false);
	for (uintptr_t i = 0; i < 4; i++) {
		OK(fib_sched_submit(i % 2 ? sched : other, produce, (void *)i,
				    FIB_ANY_THREAD));
		OK(fib_sched_submit(i % 2 ? other : sched, consume, NULL,
				    FIB_ANY_THREAD));
	}
	OK(pthread_create(&in, NULL, thread_of, (void *)produce));
	OK(pthread_create(&out, NULL, thread_of, (void *)consume));
	pthread_join(in, NULL);
	pthread_join(out, NULL);
	finish(sched);
	finish(other);
	ck_assert_uint_eq(count, n);
	ck_assert_uint_eq(sum, n * (n - 1) / 2);
	OK(fib_channel_destroy(ch));
}
END_TEST

TCase *library_channel(void)
{
	TCase *t = tcase_create("channel");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, arguments);
	tcase_add_test(t, oldest_first);
	tcase_add_test(t, timeouts);
	tcase_add_test(t, rendezvous);
	tcase_add_test(t, close_wakes);
	tcase_add_loop_test(t, close_across_threads, 0, 4);
	tcase_add_loop_test(t, many_to_many, 0, 3);
	return t;
}
