/* Mutexes: contention, all types, try, timed, clock, robust. */
#include "t.h"

enum { N = 12, TURNS = 2000 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long counter;

static void *count(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_mutex_lock(arg));
		long c = counter;
		if (i % 40 == 0)
			sched_yield();
		counter = c + 1;
		CHECK_0(pthread_mutex_unlock(arg));
	}
	return NULL;
}

static void contend(const char *what, pthread_mutex_t *m)
{
	pthread_t th[N];

	counter = 0;
	for (int i = 0; i < N; i++)
		th[i] = t_thread(count, m);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%s: %ld", what, counter);
}

static void *locked_elsewhere(void *arg)
{
	pthread_mutex_t *m = arg;
	long long t0 = t_now();
	struct timespec ts = t_in(CLOCK_REALTIME, 20 * T_MS);

	CHECK_RC(pthread_mutex_trylock(m), EBUSY);
	CHECK_RC(pthread_mutex_timedlock(m, &ts), ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	t0 = t_now();
	ts = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	CHECK_RC(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &ts), ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	ts.tv_nsec = -1;
	CHECK_RC(pthread_mutex_timedlock(m, &ts), EINVAL);
	return NULL;
}

static void *unlock_foreign(void *arg)
{
	CHECK_RC(pthread_mutex_unlock(arg), EPERM);
	return NULL;
}

static void *die_holding(void *arg)
{
	CHECK_0(pthread_mutex_lock(arg));
	return NULL;
}

int main(void)
{
	static const struct {
		const char *name;
		int type;
	} types[] = { { "normal", PTHREAD_MUTEX_NORMAL },
		      { "recursive", PTHREAD_MUTEX_RECURSIVE },
		      { "errorcheck", PTHREAD_MUTEX_ERRORCHECK },
		      { "adaptive", PTHREAD_MUTEX_ADAPTIVE_NP } };
	pthread_mutexattr_t a;
	pthread_mutex_t m;

	contend("static", &mu);
	for (size_t i = 0; i < T_LEN(types); i++) {
		CHECK_0(pthread_mutexattr_init(&a));
		CHECK_0(pthread_mutexattr_settype(&a, types[i].type));
		CHECK_0(pthread_mutex_init(&m, &a));
		contend(types[i].name, &m);
		CHECK_0(pthread_mutex_lock(&m));
		t_join(t_thread(locked_elsewhere, &m));
		if (types[i].type == PTHREAD_MUTEX_RECURSIVE) {
			CHECK_0(pthread_mutex_lock(&m));
			CHECK_0(pthread_mutex_trylock(&m));
			CHECK_0(pthread_mutex_unlock(&m));
			CHECK_0(pthread_mutex_unlock(&m));
			t_join(t_thread(unlock_foreign, &m));
		} else if (types[i].type == PTHREAD_MUTEX_ERRORCHECK) {
			CHECK_RC(pthread_mutex_lock(&m), EDEADLK);
			t_join(t_thread(unlock_foreign, &m));
		}
		CHECK_0(pthread_mutex_unlock(&m));
		CHECK_0(pthread_mutex_destroy(&m));
	}
	CHECK_0(pthread_mutexattr_init(&a));
	CHECK_0(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK_0(pthread_mutex_init(&m, &a));
	contend("robust", &m);
	for (int i = 0; i < 3; i++) {
		t_join(t_thread(die_holding, &m));
		CHECK_RC(pthread_mutex_lock(&m), EOWNERDEAD);
		CHECK_0(pthread_mutex_consistent(&m));
		CHECK_0(pthread_mutex_unlock(&m));
	}
	t_join(t_thread(die_holding, &m));
	CHECK_RC(pthread_mutex_lock(&m), EOWNERDEAD);
	CHECK_0(pthread_mutex_unlock(&m));
	CHECK_RC(pthread_mutex_lock(&m), ENOTRECOVERABLE);
	CHECK_0(pthread_mutex_destroy(&m));
	t_say("robust: owner died, consistent, not recoverable");
	return 0;
}
