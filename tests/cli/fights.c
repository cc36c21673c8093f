/*
 * Three threads that fight for a mutex, which each holds for 5 ms, until SIGTERM;
 * and one that waits for a condition. Main waits for each turn. With an argument it
 * ends after 20 of them.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_idle = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static sem_t turns;
static volatile int sink;

static __attribute__((noinline)) void in_turn(void)
{
	pthread_mutex_lock(&guard);
	usleep(5000); /* the load that is measured */
	pthread_mutex_unlock(&guard);
	sink++;
	sem_post(&turns);
}

static void *fight(void *arg)
{
	for (;;)
		in_turn();
	return arg;
}

static void *rest(void *arg)
{
	pthread_mutex_lock(&of_idle);
	for (;;)
		pthread_cond_wait(&idle, &of_idle);
	return arg;
}

int main(int argc, char **argv __attribute__((unused)))
{
	pthread_t t;

	sem_init(&turns, 0, 0);
	for (int i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, i ? fight : rest, NULL))
			return 1;
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; argc == 1 || i < 20; i++)
		sem_wait(&turns);
	return 0;
}
