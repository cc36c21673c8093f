/*
 * Threads that wait at once, are let go and joined, for counting their system
 * calls: count.py.
 *
 *	birth WIDTH ROUNDS
 *
 * WIDTH threads at a time, of default attributes, each with its own semaphore.
 */
#include "t.h"

static void *waits(void *sem)
{
	CHECK(sem_wait(sem) == 0);
	return sem;
}

int main(int argc, char **argv)
{
	int width = argc == 3 ? atoi(argv[1]) : 0;
	sem_t *sem = calloc((size_t)width, sizeof(*sem));
	pthread_t *th = calloc((size_t)width, sizeof(*th));

	CHECK(width > 0);
	for (int i = 0; i < width; i++)
		CHECK(sem_init(&sem[i], 0, 0) == 0);
	for (long n = atol(argv[2]); n > 0; n--) {
		for (int i = 0; i < width; i++)
			CHECK_0(pthread_create(&th[i], NULL, waits, &sem[i]));
		for (int i = 0; i < width; i++)
			CHECK(sem_post(&sem[i]) == 0);
		for (int i = 0; i < width; i++)
			t_join(th[i]);
	}
	return 0;
}
