/* Creating and joining: values, self, equal, tryjoin, timedjoin, churn. */
#include "t.h"

static sem_t go;

static void *square(void *arg)
{
	intptr_t x = (intptr_t)arg;

	CHECK(pthread_equal(pthread_self(), pthread_self()));
	return (void *)(x * x);
}

static void *wait_go(void *arg)
{
	CHECK(sem_wait(&go) == 0);
	return arg;
}

static void *nested(void *arg)
{
	intptr_t depth = (intptr_t)arg;

	if (depth == 0)
		return NULL;
	return (char *)t_join(t_thread(nested, (void *)(depth - 1))) + 1;
}

static void *exits(void *arg)
{
	pthread_exit((char *)arg + 1);
}

int main(void)
{
	pthread_t th[200];
	struct timespec ts;
	long long t0;
	long sum = 0;
	void *ret;

	for (int i = 0; i < 200; i++)
		th[i] = t_thread(square, (void *)(intptr_t)i);
	for (int i = 199; i >= 0; i--)
		sum += (intptr_t)t_join(th[i]);
	t_say("sum of squares %ld", sum);
	for (int i = 0; i < 3000; i++)
		CHECK((intptr_t)t_join(t_thread(square, (void *)(intptr_t)i)) ==
		      i * i);
	t_say("3000 in a row");
	t_say("nested %d", (int)(intptr_t)t_join(t_thread(nested, (void *)40)));
	t_say("pthread_exit %d",
	      (int)(intptr_t)t_join(t_thread(exits, (void *)41)));

	CHECK(sem_init(&go, 0, 0) == 0);
	th[0] = t_thread(wait_go, (void *)7);
	CHECK_RC(pthread_tryjoin_np(th[0], &ret), EBUSY);
	t0 = t_now();
	ts = t_in(CLOCK_REALTIME, 20 * T_MS);
	CHECK_RC(pthread_timedjoin_np(th[0], &ret, &ts), ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	t0 = t_now();
	ts = t_in(CLOCK_MONOTONIC, 20 * T_MS);
	CHECK_RC(pthread_clockjoin_np(th[0], &ret, CLOCK_MONOTONIC, &ts),
		 ETIMEDOUT);
	T_TOOK(t0, 19 * T_MS);
	CHECK(sem_post(&go) == 0);
	ts = t_in(CLOCK_REALTIME, 10 * T_SEC);
	CHECK_0(pthread_timedjoin_np(th[0], &ret, &ts));
	CHECK(ret == (void *)7);
	CHECK_RC(pthread_join(pthread_self(), NULL), EDEADLK);
	t_say("timed joins");
	return 0;
}
