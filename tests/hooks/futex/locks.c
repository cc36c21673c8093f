/* A mutex and a semaphore of the program's own, on raw futexes. */
#include "futex.h"

enum { N = 10, TURNS = 3000 };

static uint32_t lock_word;
static long counter;

static void lock(void)
{
	uint32_t c = 0;

	if (__atomic_compare_exchange_n(&lock_word, &c, 1, 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	if (c != 2)
		c = __atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE);
	while (c != 0) {
		futex(&lock_word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
		c = __atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE);
	}
}

static void unlock(void)
{
	if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2)
		futex(&lock_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *arg)
{
	for (int i = 0; i < TURNS; i++) {
		lock();
		long c = counter;
		if (i % 50 == 0)
			sched_yield();
		counter = c + 1;
		unlock();
	}
	return arg;
}

int main(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(work, NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("%ld", counter);
	return 0;
}
