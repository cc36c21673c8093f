/*
 * Threads that spin without any call must not stop the others: each waits
 * for the next one in turn, and main, in a plain loop.
 */
#include "t.h"

enum { N = 5 };

static volatile int turn;

static void *work(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 3; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % N != me)
			;
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	pthread_t th[N];
	pthread_spinlock_t sl;

	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)i);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) < 3 * N)
		;
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d turns", turn);
	CHECK_0(pthread_spin_init(&sl, 0));
	CHECK_0(pthread_spin_lock(&sl));
	CHECK_RC(pthread_spin_trylock(&sl), EBUSY);
	CHECK_0(pthread_spin_unlock(&sl));
	CHECK_0(pthread_spin_destroy(&sl));
	return 0;
}
