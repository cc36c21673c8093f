/* sched_yield lets the others go on; no thread starves in a yield loop. */
#include "t.h"

enum { N = 6 };

static volatile int turn;

static void *work(void *arg)
{
	int me = (int)(intptr_t)arg;

	for (int i = 0; i < 50; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) % N != me)
			CHECK(sched_yield() == 0);
		__atomic_add_fetch(&turn, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

int main(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%d turns", turn);
	return 0;
}
