/*
 * Threads that wait for a child of their process's group: several of them, for
 * several children, and while it changes.
 *
 * t-case: several
 * t-case: others
 * t-case: joined
 * t-case: look
 * t-case: signal
 */
#include "t.h"

enum { N = 8 };

static int go[2];
static int sum, none;

static pid_t make(int status)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		t_get(go[0]);
		_exit(status);
	}
	return pid;
}

/* In a group of its own. */
static pid_t make_apart(int hold[2], int status)
{
	pid_t pid;

	t_pipe(hold);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_get(hold[0]);
		_exit(status);
	}
	CHECK(setpgid(pid, pid) == 0);
	return pid;
}

static void *wait_for_group(void *arg)
{
	siginfo_t si;
	int st;

	if (arg) {
		CHECK(waitid(P_PGID, 0, &si, WEXITED) == 0);
		st = si.si_status;
	} else {
		CHECK(waitpid(0, &st, 0) > 0 && WIFEXITED(st));
		st = WEXITSTATUS(st);
	}
	__atomic_add_fetch(&sum, st, __ATOMIC_SEQ_CST);
	return NULL;
}

static void several(void)
{
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		make(1 << i);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(wait_for_group, i % 2 ? "waitid" : NULL);
	t_settle();
	for (int i = 0; i < N; i++)
		t_put(go[1], 'g');
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK_ERR(waitpid(0, NULL, 0), ECHILD);
	t_say("all were found, sum %#x", sum);
}

static void *wait_none(void *arg)
{
	int st;

	if (waitpid(0, &st, 0) > 0)
		__atomic_add_fetch(&sum, WEXITSTATUS(st), __ATOMIC_SEQ_CST);
	else if (errno == ECHILD)
		__atomic_add_fetch(&none, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* One of the group for several, and one of another group beside it, which ends. */
static void others(void)
{
	pthread_t th[N];
	int hold[2], st;
	pid_t apart = make_apart(hold, 5);

	make(3);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(wait_none, NULL);
	t_settle();
	t_put(hold[1], 'g');
	t_settle();
	CHECK(sum == 0 && none == 0);
	t_put(go[1], 'g');
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(waitpid(apart, &st, 0) == apart && WEXITSTATUS(st) == 5);
	t_say("sum %d, %d had none", sum, none);
}

/* A child leaves the group, and another one joins it, while all wait. */
static void joined(void)
{
	pthread_t th[2];
	int hold[2];
	pid_t leaves, joins = make_apart(hold, 6);

	leaves = make(1);
	for (int i = 0; i < 2; i++)
		th[i] = t_thread(wait_none, NULL);
	t_settle();
	CHECK(setpgid(joins, getpgrp()) == 0);
	CHECK(setpgid(leaves, leaves) == 0);
	t_put(hold[1], 'g');
	t_join(th[0]);
	t_join(th[1]);
	t_put(go[1], 'g');
	CHECK(waitpid(leaves, NULL, 0) == leaves);
	t_say("sum %d, %d had none", sum, none);
}

static void *look_at(void *arg)
{
	siginfo_t si;

	CHECK(waitid(P_PGID, 0, &si, WEXITED | WNOWAIT) == 0);
	CHECK(si.si_status == 9 && si.si_pid == *(pid_t *)arg);
	return NULL;
}

static void look(void)
{
	pid_t pid = make(9);
	pthread_t th[N];

	for (int i = 0; i < N; i++)
		th[i] = t_thread(look_at, &pid);
	t_settle();
	t_put(go[1], 'g');
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	CHECK(waitpid(0, NULL, 0) == pid);
	t_say("all have looked");
}

static void handler(int sig)
{
	(void)sig;
}

static int ended;

static void *wait_ended(void *arg)
{
	CHECK_ERR(waitpid(0, NULL, 0), EINTR);
	__atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
	return arg;
}

/* One of several is interrupted, and the others wait on. */
static void interrupted(void)
{
	pthread_t th[2], one;

	t_handle(SIGUSR1, handler, 0);
	make(1);
	make(2);
	th[0] = t_thread(wait_for_group, NULL);
	t_settle();
	one = t_thread(wait_ended, NULL);
	th[1] = t_thread(wait_for_group, NULL);
	t_settle();
	/* It may come before the wait. */
	while (!__atomic_load_n(&ended, __ATOMIC_SEQ_CST)) {
		CHECK_0(pthread_kill(one, SIGUSR1));
		t_settle();
	}
	t_join(one);
	CHECK(sum == 0);
	t_put(go[1], 'g');
	t_put(go[1], 'g');
	t_join(th[0]);
	t_join(th[1]);
	t_say("the others had theirs, sum %d", sum);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "several", several }, { "others", others },	   { "joined", joined },
	{ "look", look },	{ "signal", interrupted },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	t_pipe(go);
	t_be_threaded();
	for (size_t i = 0; i < T_LEN(cases); i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].run();
	return 0;
}
