/* Executors: where functions run, in which order, and how it ends. */
#include <pthread.h>
#include <stdlib.h>
#include "tests/libfib/library.h"

static struct fib_executor *ex;
static struct fib_sem ended = FIB_SEM_INIT(0), go = FIB_SEM_INIT(0);
static _Atomic int ran;
static pthread_t threads[16];
static char names[16][16];

static void note(void *arg)
{
	int i = (int)(intptr_t)arg;

	threads[i] = pthread_self();
	pthread_getname_np(pthread_self(), names[i], 16);
	atomic_fetch_add(&ran, 1);
	fib_sem_post(&ended);
}

static void hold(void *arg)
{
	fib_sem_post(&ended);
	fib_sem_wait(&go, FIB_NEVER);
	atomic_fetch_add(&ran, 1);
}

static void wait_for(int n)
{
	while (n--)
		OK(fib_sem_wait(&ended, 10 * SEC));
}

START_TEST(arguments)
{
	static const struct fib_executor_ops none;

	ck_assert_int_eq(fib_executor_new_thread(NULL), -EINVAL);
	ck_assert_int_eq(fib_executor_async(NULL, 1), -EINVAL);
	ck_assert_int_eq(fib_executor_async(&ex, 0), -EINVAL);
	ck_assert_int_eq(fib_executor_looper(NULL, "x"), -EINVAL);
	ck_assert_int_eq(fib_executor_sched(&ex, NULL), -EINVAL);
	ck_assert_int_eq(fib_executor_create(&ex, NULL, NULL), -EINVAL);
	ck_assert_int_eq(fib_executor_create(&ex, &none, NULL), -EINVAL);
	ck_assert_int_eq(fib_executor_execute(NULL, note, NULL), -EINVAL);
	ck_assert_int_eq(fib_executor_shutdown(NULL, true), -EINVAL);
	ck_assert_int_eq(fib_executor_destroy(NULL), -EINVAL);
	OK(fib_executor_looper(&ex, NULL));
	ck_assert_int_eq(fib_executor_execute(ex, NULL, NULL), -EINVAL);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* Each function in a thread of its own, even one after the other. */
START_TEST(new_thread)
{
	OK(fib_executor_new_thread(&ex));
	for (intptr_t i = 0; i < 3; i++)
		OK(fib_executor_execute(ex, hold, NULL));
	/* all are in it at the same time */
	wait_for(3);
	ck_assert_int_eq(threads_called("fib-thread"), 3);
	for (int i = 0; i < 3; i++)
		fib_sem_post(&go);
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(ran, 3);
	threads_gone("fib-thread");
	OK(fib_executor_destroy(ex));
}
END_TEST

/* Never more than @max threads; those that are there are used again. */
START_TEST(async_is_bounded)
{
	OK(fib_executor_async(&ex, 2));
	ck_assert_int_eq(threads_called("fib-async"), 0);
	OK(fib_executor_execute(ex, hold, NULL));
	OK(fib_executor_execute(ex, hold, NULL));
	wait_for(2);
	for (intptr_t i = 0; i < 8; i++)
		OK(fib_executor_execute(ex, note, (void *)i));
	/* what comes on top waits for a thread */
	ck_assert_int_eq(fib_sem_wait(&ended, 20 * MSEC), -ETIMEDOUT);
	ck_assert_int_eq(threads_called("fib-async"), 2);
	fib_sem_post(&go);
	wait_for(8);
	for (int i = 1; i < 8; i++)
		ck_assert(pthread_equal(threads[0], threads[i]));
	fib_sem_post(&go);
	OK(fib_executor_destroy(ex));
	ck_assert_int_eq(ran, 10);
	threads_gone("fib-async");
}
END_TEST

/* A thread that is idle is used before another is started. */
START_TEST(async_reuses)
{
	OK(fib_executor_async(&ex, 8));
	for (intptr_t i = 0; i < 4; i++) {
		OK(fib_executor_execute(ex, note, (void *)i));
		wait_for(1);
	}
	/* it may still be on its way back when the next one comes */
	ck_assert_int_le(threads_called("fib-async"), 4);
	ck_assert_int_ge(threads_called("fib-async"), 1);
	OK(fib_executor_destroy(ex));
}
END_TEST

/* ... and ended after a while without work: five seconds. */
START_TEST(async_shrinks)
{
	uint64_t t0;

	OK(fib_executor_async(&ex, 4));
	for (intptr_t i = 0; i < 4; i++)
		OK(fib_executor_execute(ex, hold, NULL));
	wait_for(4);
	for (int i = 0; i < 4; i++)
		fib_sem_post(&go);
	t0 = now_ns();
	while (threads_called("fib-async")) {
		ck_assert_uint_lt(now_ns() - t0, 30 * SEC);
		fib_sleep(50 * MSEC);
	}
	ck_assert_uint_ge(now_ns() - t0, 4 * SEC);
	ck_assert_int_eq(ran, 4);
	/* and begins anew */
	OK(fib_executor_execute(ex, note, NULL));
	wait_for(1);
	OK(fib_executor_destroy(ex));
}
END_TEST

static int order[1000], at;

static void in_order(void *arg)
{
	order[at++] = (int)(intptr_t)arg;
	ck_assert(pthread_equal(pthread_self(), threads[0]));
}

START_TEST(looper)
{
	OK(fib_executor_looper(&ex, "the-looper"));
	OK(fib_executor_execute(ex, note, NULL));
	for (intptr_t i = 0; i < 1000; i++)
		OK(fib_executor_execute(ex, in_order, (void *)i));
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_str_eq(names[0], "the-looper");
	ck_assert_int_eq(at, 1000);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(order[i], i);
	OK(fib_executor_destroy(ex));
}
END_TEST

static void *shut(void *arg)
{
	return (void *)fib_executor_shutdown(ex, false);
}

/* What is queued is dropped, what runs is not; and nothing more is taken. */
START_TEST(drop)
{
	pthread_t thread;
	void *dropped;

	OK(fib_executor_looper(&ex, "x"));
	OK(fib_executor_execute(ex, hold, NULL));
	wait_for(1);
	for (intptr_t i = 0; i < 5; i++)
		OK(fib_executor_execute(ex, note, (void *)i));

	OK(pthread_create(&thread, NULL, shut, NULL));
	/* It is closed at once, and waits for what runs. */
	while (fib_executor_execute(ex, note, NULL) == 0)
		fib_sleep(MSEC);
	ck_assert_int_eq(ran, 0);
	fib_sem_post(&go);
	pthread_join(thread, &dropped);
	ck_assert_int_ge((long)dropped, 5);
	ck_assert_int_eq(ran, 1);
	ck_assert_int_eq(fib_executor_execute(ex, note, NULL), -ESHUTDOWN);
	ck_assert_int_eq(fib_task_start(NULL, ex, NULL, NULL), -EINVAL);
	/* a second one has nothing to do */
	ck_assert_int_eq(fib_executor_shutdown(ex, false), 0);
	OK(fib_executor_destroy(ex));
	threads_gone("x");
}
END_TEST

static long own_shutdown, own_destroy;

static void shut_own(void *arg)
{
	own_shutdown = fib_executor_shutdown(ex, arg != NULL);
	own_destroy = fib_executor_destroy(ex);
	fib_sem_post(&ended);
}

static void make(int kind, struct fib_sched *s)
{
	OK(kind == 0 ? fib_executor_new_thread(&ex) :
	   kind == 1 ? fib_executor_async(&ex, 2) :
	   kind == 2 ? fib_executor_looper(&ex, "l") :
		       fib_executor_sched(&ex, s));
}

/* From one of its own threads, or its fibers, it would wait for itself. */
START_TEST(own_end)
{
	struct fib_sched *s = started(1, false);

	make(_i, s);
	OK(fib_executor_execute(ex, shut_own, NULL));
	wait_for(1);
	ck_assert_int_eq(own_shutdown, -EDEADLK);
	ck_assert_int_eq(own_destroy, -EDEADLK);
	/* it goes on as if nothing had been said */
	OK(fib_executor_execute(ex, note, NULL));
	wait_for(1);
	OK(fib_executor_destroy(ex));
	finish(s);
}
END_TEST

/* The end of an executor as seen from a fiber: the thread is not held up. */
static void ends_it(void *arg)
{
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(ran, 3);
	fib_sem_post(&ended);
}

static void lets_it(void *arg)
{
	for (int i = 0; i < 2; i++)
		fib_sem_post(&go);
}

START_TEST(end_from_a_fiber)
{
	struct fib_sched *s = started(1, false);

	OK(fib_executor_async(&ex, 1));
	OK(fib_executor_execute(ex, hold, NULL));
	OK(fib_executor_execute(ex, hold, NULL));
	OK(fib_executor_execute(ex, note, NULL));
	wait_for(1);
	OK(fib_sched_submit(s, ends_it, NULL, FIB_ANY_THREAD));
	OK(fib_sched_submit(s, lets_it, NULL, FIB_ANY_THREAD));
	wait_for(3);
	finish(s);
	OK(fib_executor_destroy(ex));
}
END_TEST

static void on_scheduler(void *arg)
{
	ck_assert_ptr_eq(fib_sched_current(), arg);
	/* A fiber: waiting holds up no thread. */
	fib_sleep(20 * MSEC);
	ck_assert_ptr_eq(fib_sched_current(), arg);
	atomic_fetch_add(&ran, 1);
}

START_TEST(scheduler)
{
	struct fib_sched *s = started(1, false);
	uint64_t t0 = now_ns();

	OK(fib_executor_sched(&ex, s));
	for (int i = 0; i < 100; i++)
		OK(fib_executor_execute(ex, on_scheduler, s));
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(ran, 100);
	/* one after the other it would be two seconds */
	ck_assert_uint_lt(now_ns() - t0, 1500 * MSEC);
	/* the scheduler goes on */
	OK(fib_sched_submit(s, note, NULL, FIB_ANY_THREAD));
	wait_for(1);
	OK(fib_executor_destroy(ex));
	finish(s);
}
END_TEST

static void more(void *arg)
{
	intptr_t n = (intptr_t)arg;

	atomic_fetch_add(&ran, 1);
	if (n)
		OK(fib_executor_execute(ex, more, (void *)(n - 1)));
	else
		fib_sem_post(&ended);
}

/* What runs on an executor may give it more; from several threads at once. */
START_TEST(from_within)
{
	struct fib_sched *s = started(2, false);

	make(_i, s);
	for (int i = 0; i < 4; i++)
		OK(fib_executor_execute(ex, more, (void *)(intptr_t)50));
	wait_for(4);
	ck_assert_int_eq(ran, 4 * 51);
	OK(fib_executor_destroy(ex));
	finish(s);
}
END_TEST

/* One of the program's own. */
static struct {
	int executed, destroyed, refuse;
} own;

static int own_execute(void *self, void (*fn)(void *), void *arg)
{
	ck_assert_ptr_eq(self, &own);
	if (own.refuse)
		return -ENOSPC;
	own.executed++;
	fn(arg);
	return 0;
}

static void own_destroyed(void *self)
{
	ck_assert_ptr_eq(self, &own);
	own.destroyed++;
}

START_TEST(custom)
{
	static const struct fib_executor_ops ops = { own_execute,
						     own_destroyed };

	OK(fib_executor_create(&ex, &ops, &own));
	OK(fib_executor_execute(ex, note, NULL));
	ck_assert_int_eq(ran, 1);
	own.refuse = 1;
	ck_assert_int_eq(fib_executor_execute(ex, note, NULL), -ENOSPC);
	ck_assert_int_eq(own.destroyed, 0);
	ck_assert_int_eq(fib_executor_shutdown(ex, true), 0);
	ck_assert_int_eq(own.destroyed, 1);
	OK(fib_executor_destroy(ex));
	ck_assert_int_eq(own.destroyed, 1);
	ck_assert_int_eq(own.executed, 1);
}
END_TEST

TCase *library_executor(void)
{
	TCase *t = tcase_create("executor");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, arguments);
	tcase_add_test(t, new_thread);
	tcase_add_test(t, async_is_bounded);
	tcase_add_test(t, async_reuses);
	tcase_add_test(t, async_shrinks);
	tcase_add_test(t, looper);
	tcase_add_test(t, drop);
	tcase_add_loop_test(t, own_end, 0, 4);
	tcase_add_test(t, end_from_a_fiber);
	tcase_add_test(t, scheduler);
	tcase_add_loop_test(t, from_within, 0, 4);
	tcase_add_test(t, custom);
	return t;
}
