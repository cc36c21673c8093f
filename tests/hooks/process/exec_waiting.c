/*
 * exec while other threads wait for children: these stay the process's, none is
 * lost, and where exec fails the waits go on.
 *
 * t-case: thread => exit 11
 * t-case: main => exit 11
 * t-case: many => exit 11
 * t-case: failed
 * t-no-stats: the second image has its own counters
 */
#include "t.h"
#include <sys/resource.h>

enum { N = 12 };

static int go[2];
static pid_t child[N];

static pid_t make(int i)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		t_get(go[0]);
		_exit(i);
	}
	return pid;
}

/* Each in another way: for its own, for any, for the group, to look. */
static void *waiter(void *arg)
{
	int i = (int)(intptr_t)arg, st;
	siginfo_t si;

	switch (i % 6) {
	case 0:
		CHECK(waitpid(child[i], &st, 0) == child[i]);
		break;
	case 1:
		CHECK(waitid(P_PID, (id_t)child[i], &si, WEXITED) == 0);
		break;
	case 2:
		CHECK(waitpid(-1, &st, 0) > 0);
		break;
	case 3:
		CHECK(waitpid(0, &st, 0) > 0);
		break;
	case 4:
		CHECK(waitid(P_PGID, (id_t)getpgrp(), &si, WEXITED) == 0);
		break;
	case 5:
		CHECK(waitid(P_ALL, 0, &si, WEXITED | WNOWAIT) == 0);
		break;
	}
	return arg;
}

static int second_image(int up)
{
	int sum = 0, n = 0, st;
	pid_t pid;

	for (int i = 0; i < N; i++)
		t_put(up, 'g');
	while ((pid = wait(&st)) > 0) {
		CHECK(WIFEXITED(st));
		sum += WEXITSTATUS(st);
		n++;
	}
	CHECK(errno == ECHILD);
	t_say("second image: %d children, sum %d", n, sum);
	return 11;
}

static void *execs(void *self)
{
	char up[16];

	snprintf(up, sizeof(up), "%d", go[1]);
	CHECK_ERR(execl("/nonexistent", "x", (char *)NULL), ENOENT);
	execl("/proc/self/exe", self, "second", up, (char *)NULL);
	return NULL;
}

static void *execs_also(void *self)
{
	t_settle();
	return execs(self);
}

/* Waits for its own alone: so it is known who has what. */
static void *wait_own(void *arg)
{
	int i = (int)(intptr_t)arg, st;

	CHECK(waitpid(child[i], &st, 0) == child[i]);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == i);
	return arg;
}

static void failed(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(wait_own, (void *)(intptr_t)i);
	t_settle();
	for (int i = 0; i < 20; i++)
		CHECK_ERR(execl("/nonexistent", "x", (char *)NULL), ENOENT);
	CHECK_ERR(execl("/dev/null", "x", (char *)NULL), EACCES);
	for (int i = 0; i < N; i++)
		t_put(go[1], 'g');
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_ERR(wait(NULL), ECHILD);
	t_say("the waits went on");
}

int main(int argc, char **argv)
{
	if (argc == 3)
		return second_image(atoi(argv[2]));
	CHECK(argc == 2);
	t_pipe(go);
	for (int i = 0; i < N; i++)
		child[i] = make(i);
	if (argv[1][0] == 'f') {
		failed();
		return 0;
	}
	for (int i = 0; i < N; i++)
		t_thread(waiter, (void *)(intptr_t)i);
	t_settle();
	if (argv[1][0] == 'm') /* main, many */
		if (argv[1][2] == 'n')
			for (int i = 0; i < 4; i++)
				t_thread(execs_also, argv[0]);
	if (argv[1][0] == 't')
		t_join(t_thread(execs, argv[0]));
	else
		execs(argv[0]);
	return 1;
}
