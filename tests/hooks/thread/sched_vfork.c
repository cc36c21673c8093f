/*
 * A thread's affinity, policy and priority, set by another one while that thread
 * waits in vfork() for its child.
 * t-case: thread
 * t-case: main
 */
#include <sched.h>
#include <sys/resource.h>
#include "t.h"

static int go[2], in[2];
static pthread_t target;
static volatile pid_t tid;
static cpu_set_t one;

static void *forks(void *arg)
{
	cpu_set_t now;
	pid_t pid;
	char c;

	tid = gettid();
	pid = vfork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (write(in[1], "x", 1) == 1 && read(go[0], &c, 1) == 1)
			_exit(0);
		_exit(1);
	}
	t_wait_ok(pid);
	CHECK(sched_getaffinity(0, sizeof(now), &now) == 0);
	CHECK(CPU_EQUAL(&now, &one));
	CHECK(getpriority(PRIO_PROCESS, 0) == 5);
	CHECK(sched_getscheduler(0) == SCHED_BATCH);
	return arg;
}

static void *sets(void *arg)
{
	struct sched_param sp = { 0 };
	clockid_t clock;
	struct timespec ts;

	t_get(in[0]);
	CHECK_0(pthread_setaffinity_np(target, sizeof(one), &one));
	CHECK(setpriority(PRIO_PROCESS, (id_t)tid, 5) == 0);
	CHECK_0(pthread_setschedparam(target, SCHED_BATCH, &sp));
	CHECK_0(pthread_getcpuclockid(target, &clock));
	CHECK(clock_gettime(clock, &ts) == 0);
	t_put(go[1], 'x');
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th;

	CHECK(argc == 2);
	t_pipe(go);
	t_pipe(in);
	one = t_one_cpu();
	if (argv[1][0] == 'm') {
		target = pthread_self();
		th = t_thread(sets, NULL);
		forks(NULL);
		t_join(th);
	} else {
		target = t_thread(forks, NULL);
		sets(NULL);
		t_join(target);
	}
	t_say("%s: set, and then its child went on", argv[1]);
	return 0;
}
