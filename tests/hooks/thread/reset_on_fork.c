/*
 * The first thread's policy is not that of the threads it creates (SCHED_RESET_ON_FORK),
 * whether it has had it from before exec (chrt -R), sets it before it creates the first
 * one, or when these have ended.
 *
 * t-case: exec
 * t-case: first
 * t-case: again
 */
#include "t.h"
#include <sched.h>

#ifndef SCHED_RESET_ON_FORK
#define SCHED_RESET_ON_FORK 0x40000000
#endif

static sem_t told, go;
static pid_t thread, first; /* their ids */

static void tell(const char *who, pid_t of)
{
	int policy = sched_getscheduler(of);

	CHECK(policy >= 0);
	t_say("%s: %s", who,
	      policy & SCHED_RESET_ON_FORK ? "its own policy" : "as any");
}

static void *looks(void *arg)
{
	thread = (pid_t)syscall(SYS_gettid);
	tell("thread", 0);
	tell("thread, of main", first);
	CHECK(!sem_post(&told));
	t_down(&go);
	tell("thread, after a wait", 0);
	return arg;
}

static void set(void)
{
	struct sched_param none = { 0 };

	CHECK(!sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none));
}

int main(int argc, char **argv)
{
	pthread_t th;

	CHECK(argc == 2);
	if (!strcmp(argv[1], "exec")) {
		char *again[] = { argv[0], (char *)"execed", NULL };

		set();
		execv("/proc/self/exe", again);
		CHECK(!"exec");
	}
	if (!strcmp(argv[1], "again"))
		t_be_threaded();
	if (strcmp(argv[1], "execed") != 0)
		set();
	first = getpid();
	CHECK(!sem_init(&go, 0, 0));
	CHECK(!sem_init(&told, 0, 0));
	th = t_thread(looks, NULL);
	t_down(&told);
	tell("main, after a wait", 0);
	tell("main, of the thread", thread);
	CHECK(!sem_post(&go));
	t_join(th);
	tell("main, at the end", 0);
	return 0;
}
