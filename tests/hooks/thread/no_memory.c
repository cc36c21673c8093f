/*
 * Threads that compute and signal each other while the address space is full
 * but for a little more each time: whatever else needs memory does without.
 */
#include "t.h"
#include <sys/resource.h>

enum { THREADS = 4, STEPS = 12, STEP = 32 * 1024 };

static pthread_t th[THREADS];
static pthread_barrier_t go;
static _Atomic long handled[THREADS], sent[THREADS];
static __thread long self;

static void on_usr1(int sig)
{
	(void)sig;
	handled[self]++;
}

static void *spin(void *arg)
{
	long next = ((long)arg + 1) % THREADS;
	long long until;

	self = (long)arg;
	pthread_barrier_wait(&go);
	until = t_now() + 60 * T_MS;
	while (t_now() < until) {
		/* One is pending at most: the next after it was handled. */
		if (handled[next] == sent[next]) {
			sent[next]++;
			CHECK_0(pthread_kill(th[next], SIGUSR1));
		}
	}
	while (handled[self] != sent[self])
		sched_yield();
	pthread_barrier_wait(&go);
	return NULL;
}

static long address_space(void)
{
	long pages;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%ld", &pages) == 1);
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE);
}

static void child(long room)
{
	struct rlimit lim;

	t_handle(SIGUSR1, on_usr1, 0);
	CHECK_0(pthread_barrier_init(&go, NULL, THREADS + 1));
	for (long i = 0; i < THREADS; i++)
		th[i] = t_thread(spin, (void *)i);
	CHECK_0(getrlimit(RLIMIT_AS, &lim));
	lim.rlim_cur = (rlim_t)(address_space() + room);
	CHECK_0(setrlimit(RLIMIT_AS, &lim));
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&go);
	for (int i = 0; i < THREADS; i++) {
		CHECK(sent[i] > 0);
		t_join(th[i]);
	}
	_exit(0);
}

int main(void)
{
	for (int i = 0; i < STEPS; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (pid == 0)
			child((long)i * STEP);
		t_wait_ok(pid);
	}
	t_say("%d times", STEPS);
	return 0;
}
