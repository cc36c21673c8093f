/* Read-write locks: exclusion, try, timed, both preferences. */
#include "t.h"

enum { READERS = 8, WRITERS = 4, TURNS = 300 };

static pthread_rwlock_t rw;
static long a, b;

static void *reader(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_rwlock_rdlock(&rw));
		long x = a;
		if (i % 10 == 0)
			sched_yield();
		CHECK(x == b);
		CHECK_0(pthread_rwlock_unlock(&rw));
	}
	return arg;
}

static void *writer(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_rwlock_wrlock(&rw));
		a++;
		if (i % 10 == 0)
			sched_yield();
		b++;
		CHECK_0(pthread_rwlock_unlock(&rw));
	}
	return arg;
}

static void *held_for_write(void *arg)
{
	long long t0 = t_now();
	struct timespec ts = t_in(CLOCK_REALTIME, 20 * T_MS);

	CHECK_RC(pthread_rwlock_tryrdlock(&rw), EBUSY);
	CHECK_RC(pthread_rwlock_trywrlock(&rw), EBUSY);
	CHECK_RC(pthread_rwlock_timedrdlock(&rw, &ts), ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	ts = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	CHECK_RC(pthread_rwlock_clockwrlock(&rw, CLOCK_MONOTONIC, &ts),
		 ETIMEDOUT);
	return arg;
}

static void *held_for_read(void *arg)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 20 * T_MS);

	CHECK_0(pthread_rwlock_tryrdlock(&rw));
	CHECK_0(pthread_rwlock_unlock(&rw));
	CHECK_RC(pthread_rwlock_trywrlock(&rw), EBUSY);
	CHECK_RC(pthread_rwlock_timedwrlock(&rw, &ts), ETIMEDOUT);
	return arg;
}

int main(void)
{
	static const int kinds[] = {
		PTHREAD_RWLOCK_PREFER_READER_NP,
		PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP
	};
	pthread_t th[READERS + WRITERS];
	pthread_rwlockattr_t at;

	for (size_t k = 0; k < T_LEN(kinds); k++) {
		CHECK_0(pthread_rwlockattr_init(&at));
		CHECK_0(pthread_rwlockattr_setkind_np(&at, kinds[k]));
		CHECK_0(pthread_rwlock_init(&rw, &at));
		for (int i = 0; i < READERS + WRITERS; i++)
			th[i] = t_thread(i % 3 == 2 ? writer : reader, NULL);
		for (int i = 0; i < READERS + WRITERS; i++)
			t_join(th[i]);
		t_say("%ld %ld", a, b);
		CHECK_0(pthread_rwlock_wrlock(&rw));
		CHECK_RC(pthread_rwlock_rdlock(&rw), EDEADLK);
		t_join(t_thread(held_for_write, NULL));
		CHECK_0(pthread_rwlock_unlock(&rw));
		CHECK_0(pthread_rwlock_rdlock(&rw));
		t_join(t_thread(held_for_read, NULL));
		CHECK_0(pthread_rwlock_unlock(&rw));
		CHECK_0(pthread_rwlock_destroy(&rw));
	}
	return 0;
}
