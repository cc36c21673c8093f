/* Nothing but pthread calls: bank transfers, dining philosophers, a pool. */
#include "t.h"

enum { ACCOUNTS = 10, N = 10, TURNS = 1000 };

static struct {
	pthread_mutex_t mu;
	long money;
} acc[ACCOUNTS];

static void *transfer(void *arg)
{
	unsigned x = (unsigned)(intptr_t)arg + 1;

	for (int i = 0; i < TURNS; i++) {
		int a, b, lo, hi;

		x = x * 1664525u + 1013904223u;
		a = (int)(x >> 8) % ACCOUNTS;
		b = (int)(x >> 16) % ACCOUNTS;
		if (a == b)
			continue;
		lo = a < b ? a : b;
		hi = a < b ? b : a;
		CHECK_0(pthread_mutex_lock(&acc[lo].mu));
		if (i % 30 == 0)
			sched_yield();
		CHECK_0(pthread_mutex_lock(&acc[hi].mu));
		acc[a].money -= 5;
		acc[b].money += 5;
		CHECK_0(pthread_mutex_unlock(&acc[hi].mu));
		CHECK_0(pthread_mutex_unlock(&acc[lo].mu));
	}
	return NULL;
}

static sem_t fork_[5], room;
static int meals[5];

static void *philosopher(void *arg)
{
	int i = (int)(intptr_t)arg;

	for (int k = 0; k < 300; k++) {
		CHECK(sem_wait(&room) == 0);
		CHECK(sem_wait(&fork_[i]) == 0);
		sched_yield();
		CHECK(sem_wait(&fork_[(i + 1) % 5]) == 0);
		meals[i]++;
		CHECK(sem_post(&fork_[i]) == 0);
		CHECK(sem_post(&fork_[(i + 1) % 5]) == 0);
		CHECK(sem_post(&room) == 0);
	}
	return NULL;
}

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_cond = PTHREAD_COND_INITIALIZER,
		      done_cond = PTHREAD_COND_INITIALIZER;
static int todo, finished, quit;

static void *pool(void *arg)
{
	CHECK_0(pthread_mutex_lock(&mu));
	for (;;) {
		while (!todo && !quit)
			CHECK_0(pthread_cond_wait(&work_cond, &mu));
		if (!todo)
			break;
		todo--;
		CHECK_0(pthread_mutex_unlock(&mu));
		sched_yield();
		CHECK_0(pthread_mutex_lock(&mu));
		finished++;
		CHECK_0(pthread_cond_signal(&done_cond));
	}
	CHECK_0(pthread_mutex_unlock(&mu));
	return arg;
}

int main(void)
{
	pthread_t th[N];
	long sum = 0;

	for (int i = 0; i < ACCOUNTS; i++) {
		CHECK_0(pthread_mutex_init(&acc[i].mu, NULL));
		acc[i].money = 100;
	}
	for (int i = 0; i < N; i++)
		th[i] = t_thread(transfer, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	for (int i = 0; i < ACCOUNTS; i++)
		sum += acc[i].money;
	t_say("bank: %ld", sum);
	CHECK(sem_init(&room, 0, 4) == 0);
	for (int i = 0; i < 5; i++)
		CHECK(sem_init(&fork_[i], 0, 1) == 0);
	for (int i = 0; i < 5; i++)
		th[i] = t_thread(philosopher, (void *)(intptr_t)i);
	for (int i = 0; i < 5; i++)
		t_join(th[i]);
	t_say("meals: %d %d %d %d %d", meals[0], meals[1], meals[2], meals[3],
	      meals[4]);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(pool, NULL);
	for (int k = 0; k < 100; k++) {
		CHECK_0(pthread_mutex_lock(&mu));
		todo += 7;
		CHECK_0(pthread_cond_broadcast(&work_cond));
		while (finished < 7 * (k + 1))
			CHECK_0(pthread_cond_wait(&done_cond, &mu));
		CHECK_0(pthread_mutex_unlock(&mu));
	}
	CHECK_0(pthread_mutex_lock(&mu));
	quit = 1;
	CHECK_0(pthread_cond_broadcast(&work_cond));
	CHECK_0(pthread_mutex_unlock(&mu));
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("pool: %d", finished);
	return 0;
}
