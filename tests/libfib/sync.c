/* Mutex, condition, semaphore: between fibers, schedulers and threads. */
#include <pthread.h>
#include "tests/libfib/library.h"

#define TURNS 2000

static struct fib_mutex mutex = FIB_MUTEX_INIT;
static struct fib_cond cond = FIB_COND_INIT;
static struct fib_sem sem = FIB_SEM_INIT(0), back = FIB_SEM_INIT(0);
static int total, turn;

static void add(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		OK(fib_mutex_lock(&mutex));
		total++;
		if (i % 64 == 0)
			fib_yield_ready();
		OK(fib_mutex_unlock(&mutex));
	}
}

static void *add_thread(void *arg)
{
	add(arg);
	return NULL;
}

START_TEST(mutual_exclusion)
{
	struct fib_sched *a = started(2, false), *b = started(1, false);
	pthread_t t;

	for (int i = 0; i < 4; i++)
		OK(fib_sched_submit(i % 2 ? a : b, add, NULL, FIB_ANY_THREAD));
	OK(pthread_create(&t, NULL, add_thread, NULL));
	OK(pthread_join(t, NULL));
	finish(a);
	finish(b);
	ck_assert_int_eq(total, 5 * TURNS);
}
END_TEST

static void try_it(void *arg)
{
	ck_assert_int_eq(fib_mutex_trylock(&mutex), -EBUSY);
	ck_assert_int_eq(fib_mutex_timedlock(&mutex, MSEC), -ETIMEDOUT);
	ck_assert_int_eq(fib_mutex_unlock(&mutex), -EPERM);
	total++;
}

START_TEST(refused)
{
	struct fib_sched *s = started(1, true);

	OK(fib_mutex_lock(&mutex));
	ck_assert_int_eq(fib_mutex_lock(&mutex), -EDEADLK);
	OK(fib_sched_submit(s, try_it, NULL, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(total, 1);
	OK(fib_mutex_unlock(&mutex));
	ck_assert_int_eq(fib_mutex_unlock(&mutex), -EPERM);
	ck_assert_int_eq(fib_cond_wait(&cond, &mutex, MSEC), -EPERM);
	ck_assert_int_eq(fib_mutex_lock(NULL), -EINVAL);
	ck_assert_int_eq(fib_sem_wait(&sem, 0), -ETIMEDOUT);
	ck_assert_int_eq(fib_sem_wait(&sem, MSEC), -ETIMEDOUT);
	fib_sem_init(&sem, UINT32_MAX);
	ck_assert_int_eq(fib_sem_post(&sem), -EOVERFLOW);
}
END_TEST

static void take_turns(void *arg)
{
	int me = (int)(intptr_t)arg;

	OK(fib_mutex_lock(&mutex));
	for (int i = 0; i < TURNS; i++) {
		while (turn != me)
			OK(fib_cond_wait(&cond, &mutex, FIB_NEVER));
		turn = !me;
		total++;
		OK(fib_cond_signal(&cond));
	}
	OK(fib_mutex_unlock(&mutex));
}

START_TEST(condition)
{
	struct fib_sched *s = started(2, true);

	OK(fib_mutex_lock(&mutex));
	ck_assert_int_eq(fib_cond_wait(&cond, &mutex, MSEC), -ETIMEDOUT);
	OK(fib_mutex_unlock(&mutex));
	for (intptr_t i = 0; i < 2; i++)
		OK(fib_sched_submit(s, take_turns, (void *)i, FIB_ANY_THREAD));
	finish(s);
	ck_assert_int_eq(total, 2 * TURNS);
}
END_TEST

static void answer(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		OK(fib_sem_wait(&sem, FIB_NEVER));
		OK(fib_sem_post(&back));
	}
}

/* A thread on one side, a fiber on the other. */
START_TEST(semaphore)
{
	struct fib_sched *s = started(1, false);

	OK(fib_sched_submit(s, answer, NULL, FIB_ANY_THREAD));
	for (int i = 0; i < TURNS; i++) {
		OK(fib_sem_post(&sem));
		OK(fib_sem_wait(&back, 10 * SEC));
	}
	finish(s);
}
END_TEST

TCase *library_sync(void)
{
	TCase *t = tcase_create("sync");

	tcase_set_timeout(t, 30);
	tcase_add_test(t, mutual_exclusion);
	tcase_add_test(t, refused);
	tcase_add_test(t, condition);
	tcase_add_test(t, semaphore);
	return t;
}
