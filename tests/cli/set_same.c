/*
 * Sets the scheduling attributes that it has already, in the way that its
 * argument names, makes threads that wait, and prints how many kernel threads
 * it has then. Another process counts them: what this one is shown of itself
 * are its own threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 40 };

static pthread_barrier_t start, end;

static int set(const char *how)
{
	uint32_t attr[14] = { sizeof(attr) };
	struct sched_param param = { 0 };
	cpu_set_t cpus;

	if (!strcmp(how, "attr"))
		return syscall(SYS_sched_getattr, 0, attr, sizeof(attr), 0) ||
		       syscall(SYS_sched_setattr, 0, attr, 0);
	if (!strcmp(how, "attr_of_tid"))
		return syscall(SYS_sched_getattr, gettid(), attr, sizeof(attr),
			       0) ||
		       syscall(SYS_sched_setattr, gettid(), attr, 0);
	if (!strcmp(how, "policy"))
		return sched_setscheduler(0, SCHED_OTHER, &param);
	if (!strcmp(how, "affinity"))
		return sched_getaffinity(0, sizeof(cpus), &cpus) ||
		       sched_setaffinity(0, sizeof(cpus), &cpus);
	if (!strcmp(how, "nice"))
		return setpriority(PRIO_PROCESS, 0,
				   getpriority(PRIO_PROCESS, 0));
	/* The counterproof: this one is not what it was. */
	if (!strcmp(how, "nicer"))
		return setpriority(PRIO_PROCESS, 0,
				   getpriority(PRIO_PROCESS, 0) + 1);
	return 1;
}

static void *run(void *how)
{
	if (set(how))
		abort();
	pthread_barrier_wait(&start);
	pthread_barrier_wait(&end);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[N];
	char command[64];

	if (argc != 2)
		return 2;
	pthread_barrier_init(&start, NULL, N + 1);
	pthread_barrier_init(&end, NULL, N + 1);
	for (int i = 0; i < N; i++)
		if (pthread_create(&t[i], NULL, run, argv[1]))
			return 1;
	pthread_barrier_wait(&start);
	snprintf(command, sizeof(command), "ls /proc/%d/task | wc -l",
		 getpid());
	if (system(command))
		return 1;
	pthread_barrier_wait(&end);
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	return 0;
}
