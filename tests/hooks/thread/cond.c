/* Condition variables: signal, broadcast, timedwait on both clocks. */
#include "t.h"

enum { N = 10, ITEMS = 2000 };

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER,
		      room = PTHREAD_COND_INITIALIZER;
static int queue[8], head, count;
static long sum;

static void *consumer(void *arg)
{
	for (;;) {
		int x;

		CHECK_0(pthread_mutex_lock(&mu));
		while (count == 0)
			CHECK_0(pthread_cond_wait(&more, &mu));
		x = queue[head];
		head = (head + 1) % 8;
		count--;
		if (x >= 0)
			sum += x;
		CHECK_0(pthread_cond_signal(&room));
		CHECK_0(pthread_mutex_unlock(&mu));
		if (x < 0)
			return arg;
	}
}

static void put(int x)
{
	CHECK_0(pthread_mutex_lock(&mu));
	while (count == 8)
		CHECK_0(pthread_cond_wait(&room, &mu));
	queue[(head + count++) % 8] = x;
	CHECK_0(pthread_cond_signal(&more));
	CHECK_0(pthread_mutex_unlock(&mu));
}

static void *producer(void *arg)
{
	for (int i = 0; i < ITEMS; i++)
		put(i);
	return arg;
}

static int generation, arrived;

/* A barrier by broadcast. */
static void *meet(void *arg)
{
	for (int i = 0; i < 100; i++) {
		CHECK_0(pthread_mutex_lock(&mu));
		int g = generation;
		if (++arrived == N) {
			arrived = 0;
			generation++;
			CHECK_0(pthread_cond_broadcast(&more));
		} else {
			while (g == generation)
				CHECK_0(pthread_cond_wait(&more, &mu));
		}
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	return arg;
}

static void *timed(void *arg)
{
	pthread_cond_t c;
	pthread_condattr_t a;
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC };

	for (size_t i = 0; i < 2; i++) {
		struct timespec ts;
		long long t0;

		CHECK_0(pthread_condattr_init(&a));
		CHECK_0(pthread_condattr_setclock(&a, clocks[i]));
		CHECK_0(pthread_cond_init(&c, &a));
		CHECK_0(pthread_mutex_lock(&m));
		t0 = t_now();
		ts = t_in(clocks[i], 20 * T_MS);
		CHECK_RC(pthread_cond_timedwait(&c, &m, &ts), ETIMEDOUT);
		T_TOOK(t0, 19 * T_MS);
		t0 = t_now();
		ts = t_in(clocks[!i], 20 * T_MS);
		CHECK_RC(pthread_cond_clockwait(&c, &m, clocks[!i], &ts),
			 ETIMEDOUT);
		T_TOOK(t0, 19 * T_MS);
		ts = t_in(clocks[i], -T_SEC);
		CHECK_RC(pthread_cond_timedwait(&c, &m, &ts), ETIMEDOUT);
		ts.tv_nsec = 1000000000;
		CHECK_RC(pthread_cond_timedwait(&c, &m, &ts), EINVAL);
		CHECK_0(pthread_mutex_unlock(&m));
		CHECK_0(pthread_cond_destroy(&c));
	}
	return arg;
}

int main(void)
{
	pthread_t c[N], p[3];

	for (int i = 0; i < N; i++)
		c[i] = t_thread(consumer, NULL);
	for (int i = 0; i < 3; i++)
		p[i] = t_thread(producer, NULL);
	for (int i = 0; i < 3; i++)
		t_join(p[i]);
	for (int i = 0; i < N; i++)
		put(-1);
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	t_say("queue: sum %ld", sum);
	for (int i = 0; i < N; i++)
		c[i] = t_thread(meet, NULL);
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	t_say("met %d times", generation);
	timed(NULL);
	for (int i = 0; i < N; i++)
		c[i] = t_thread(timed, NULL);
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	t_say("timed waits");
	return 0;
}
