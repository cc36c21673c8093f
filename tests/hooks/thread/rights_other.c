/*
 * What a thread may do to another one is asked of the caller: one that has given up
 * its rights may not set the policy, priority or affinity of one that has them.
 * t-case: waits
 * t-case: bound
 */
#include <sched.h>
#include <sys/resource.h>
#include "t.h"

static pthread_barrier_t ready;
static pid_t tid;
static cpu_set_t all, one;

static void *weak(void *arg)
{
	struct sched_param sp = { 0 };

	CHECK(syscall(SYS_setresuid, 12345, 12345, 12345) == 0);
	CHECK_ERR(setpriority(PRIO_PROCESS, (id_t)tid, 5), EPERM);
	CHECK_ERR(sched_setaffinity(tid, sizeof(one), &one), EPERM);
	CHECK_ERR(sched_setscheduler(tid, SCHED_BATCH, &sp), EPERM);
	CHECK_ERR(sched_setparam(tid, &sp), EPERM);
	CHECK(setpriority(PRIO_PROCESS, 0, 3) == 0);
	return arg;
}

static void *strong(void *arg)
{
	cpu_set_t now;
	pid_t pid = 0;

	if (*(const char *)arg == 'b') { /* to a kernel thread, by a child */
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0)
			_exit(0);
		t_wait_ok(pid);
	}
	tid = gettid();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&ready);
	CHECK(getpriority(PRIO_PROCESS, 0) == 0);
	CHECK(sched_getscheduler(0) == SCHED_OTHER);
	CHECK(sched_getaffinity(0, sizeof(now), &now) == 0);
	CHECK(CPU_EQUAL(&now, &all));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th;

	CHECK(argc == 2);
	if (geteuid() != 0)
		t_skip("only root can change its user id");
	CHECK(setpriority(PRIO_PROCESS, 0, 0) == 0);
	CHECK(sched_getaffinity(0, sizeof(all), &all) == 0);
	one = t_one_cpu();
	CHECK_0(pthread_barrier_init(&ready, NULL, 2));
	th = t_thread(strong, argv[1]);
	pthread_barrier_wait(&ready);
	t_join(t_thread(weak, NULL));
	pthread_barrier_wait(&ready);
	t_join(th);
	t_say("%s: left alone", argv[1]);
	return 0;
}
