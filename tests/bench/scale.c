/*
 * What threads cost while there are many of them: `scale N`, natively and hooked.
 *
 * N threads of default attributes wait on a semaphore each; every second one with
 * a limit of an hour, so that there are as many timers. With them waiting, two
 * further threads hand a turn to and fro by semaphores, without and with a limit.
 * Then all are woken, and joined. Result: one line of NAME=VALUE.
 *
 *	create_us  pthread_create, and all of them waiting, for each
 *	park_us	   a wait and the post that ends it, beside N that wait
 *	timed_us   the same with a limit
 *	wake_us	   sem_post and the thread's way to its end, for each
 *	kb	   resident memory, page tables and kernel stacks, for each
 *
 * Status 3, and the reason on stderr: the system refuses so many.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TURNS	 20000
#define STACK_KB 16 /* of a kernel thread, on x86-64 */

struct waiter {
	sem_t go;
	pthread_t thread;
};

static struct waiter *waiters;
static atomic_long arrived;
static sem_t all_there;
static long count;
static struct timespec hour;

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static void wait_for(sem_t *sem, int timed)
{
	while (timed ? sem_timedwait(sem, &hour) : sem_wait(sem))
		if (errno != EINTR) {
			perror("scale: a semaphore");
			exit(1);
		}
}

static void *waits(void *arg)
{
	struct waiter *w = arg;

	if (atomic_fetch_add(&arrived, 1) + 1 == count)
		sem_post(&all_there);
	wait_for(&w->go, (w - waiters) & 1);
	return NULL;
}

static sem_t ping, pong;

static void *answers(void *timed)
{
	int i;

	for (i = 0; i < TURNS; i++) {
		wait_for(&ping, timed != NULL);
		sem_post(&pong);
	}
	return NULL;
}

/* One wait of the two of a turn. */
static double turns(int timed)
{
	double start;
	pthread_t t;
	int i;

	if (pthread_create(&t, NULL, answers, timed ? &ping : NULL))
		exit(3);
	start = now_us();
	for (i = 0; i < TURNS; i++) {
		sem_post(&ping);
		wait_for(&pong, timed);
	}
	start = now_us() - start;
	pthread_join(t, NULL);
	return start / (2 * TURNS);
}

static long memory_kb(void)
{
	long kb = 0, n;
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmRSS: %ld", &n) == 1 ||
		    sscanf(line, "VmPTE: %ld", &n) == 1)
			kb += n;
		else if (sscanf(line, "Threads: %ld", &n) == 1)
			kb += STACK_KB * n;
	}
	if (f)
		fclose(f);
	return kb;
}

int main(int argc, char **argv)
{
	double start, create, park, timed, wake;
	long i, kb;
	int err;

	count = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	if (count < 1 || count > 1000000) {
		fprintf(stderr, "usage: scale N\n");
		return 2;
	}
	alarm(300); /* the last resort: it ends the process */
	waiters = calloc((size_t)count, sizeof(*waiters));
	if (!waiters)
		return 1;
	clock_gettime(CLOCK_REALTIME, &hour);
	hour.tv_sec += 3600;
	sem_init(&all_there, 0, 0);
	for (i = 0; i < count; i++)
		sem_init(&waiters[i].go, 0, 0);
	turns(0); /* what is made once, is made */
	kb = memory_kb();
	start = now_us();
	for (i = 0; i < count; i++) {
		err = pthread_create(&waiters[i].thread, NULL, waits,
				     &waiters[i]);
		if (err) {
			fprintf(stderr, "scale: thread %ld: %s\n", i,
				strerror(err));
			return 3;
		}
	}
	wait_for(&all_there, 0);
	create = (now_us() - start) / (double)count;
	kb = memory_kb() - kb;
	park = turns(0);
	timed = turns(1);
	start = now_us();
	for (i = 0; i < count; i++)
		sem_post(&waiters[i].go);
	for (i = 0; i < count; i++)
		pthread_join(waiters[i].thread, NULL);
	wake = (now_us() - start) / (double)count;
	printf("create_us=%.3f park_us=%.3f timed_us=%.3f wake_us=%.3f "
	       "kb=%.2f\n",
	       create, park, timed, wake, (double)kb / (double)count);
	return 0;
}
