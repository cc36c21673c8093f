/* FUTEX_LOCK_PI, TRYLOCK_PI, UNLOCK_PI through priority-inheriting mutexes. */
#include "t.h"

enum { N = 8, TURNS = 500 };

static pthread_mutex_t mu;
static long counter;

static void *work(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		CHECK_0(pthread_mutex_lock(&mu));
		long c = counter;
		if (i % 20 == 0)
			sched_yield();
		counter = c + 1;
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	return arg;
}

static void *try_it(void *arg)
{
	struct timespec ts = t_in(CLOCK_REALTIME, 20 * T_MS);

	CHECK_RC(pthread_mutex_trylock(&mu), EBUSY);
	CHECK_RC(pthread_mutex_timedlock(&mu, &ts), ETIMEDOUT);
	return arg;
}

int main(void)
{
	pthread_mutexattr_t a;
	pthread_t th[N];

	CHECK_0(pthread_mutexattr_init(&a));
	CHECK_0(pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT));
	CHECK_0(pthread_mutex_init(&mu, &a));
	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%ld", counter);
	CHECK_0(pthread_mutex_lock(&mu));
	t_join(t_thread(try_it, NULL));
	CHECK_0(pthread_mutex_unlock(&mu));
	CHECK_0(pthread_mutex_trylock(&mu));
	CHECK_0(pthread_mutex_unlock(&mu));
	CHECK_0(pthread_mutex_destroy(&mu));
	t_say("held: EBUSY, ETIMEDOUT");
	return 0;
}
