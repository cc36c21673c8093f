/*
 * At each SIGUSR1 forty threads more, each of which sets its own nice value, and so
 * has a kernel thread of its own, and waits for ever.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* So that the monitor ticks, which has the trace begin; nothing waits for it. */
static void *sleeps(void *arg)
{
	for (;;)
		usleep(2000);
	return arg;
}

static void *is_nice(void *arg)
{
	if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1))
		exit(1);
	for (;;)
		pause();
	return arg;
}

static void create(void *(*fn)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, NULL))
		exit(1);
}

int main(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	create(sleeps);
	printf("ready\n");
	fflush(stdout);
	while (!sigwait(&set, &sig))
		for (int i = 0; i < 40; i++)
			create(is_nice);
	return 1;
}
