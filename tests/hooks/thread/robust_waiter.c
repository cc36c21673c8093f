/* A robust mutex's owner ends while others are blocked in lock. */
#include "t.h"

enum { N = 6 };

static pthread_mutex_t m;
static sem_t held;
static int dead, fine;

static void *owner(void *arg)
{
	CHECK_0(pthread_mutex_lock(&m));
	CHECK(sem_post(&held) == 0);
	t_settle();
	return arg;
}

static void *waiter(void *arg)
{
	int r = pthread_mutex_lock(&m);

	if (r == EOWNERDEAD) {
		dead++;
		CHECK_0(pthread_mutex_consistent(&m));
	} else {
		CHECK(r == 0);
		fine++;
	}
	CHECK_0(pthread_mutex_unlock(&m));
	return arg;
}

int main(void)
{
	pthread_mutexattr_t a;
	pthread_t o, w[N];

	CHECK(sem_init(&held, 0, 0) == 0);
	CHECK_0(pthread_mutexattr_init(&a));
	CHECK_0(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	for (int pi = 0; pi < 2; pi++) {
		CHECK_0(pthread_mutexattr_setprotocol(
			&a, pi ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE));
		CHECK_0(pthread_mutex_init(&m, &a));
		dead = fine = 0;
		o = t_thread(owner, NULL);
		CHECK(sem_wait(&held) == 0);
		for (int i = 0; i < N; i++)
			w[i] = t_thread(waiter, NULL);
		t_join(o);
		for (int i = 0; i < N; i++)
			t_join(w[i]);
		CHECK_0(pthread_mutex_destroy(&m));
		t_say("%s: %d told, %d fine", pi ? "inherit" : "plain", dead,
		      fine);
	}
	return 0;
}
