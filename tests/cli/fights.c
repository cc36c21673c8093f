/*
 * Three threads that fight for a mutex, which each holds for 5 ms, until SIGTERM;
 * and one that waits for a condition.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t of_idle = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static volatile int sink;

static __attribute__((noinline)) void in_turn(void)
{
	pthread_mutex_lock(&guard);
	usleep(5000); /* the load that is measured */
	pthread_mutex_unlock(&guard);
	sink++;
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

int main(void)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, i ? fight : rest, NULL))
			return 1;
	printf("ready\n");
	fflush(stdout);
	pause();
	return 0;
}
