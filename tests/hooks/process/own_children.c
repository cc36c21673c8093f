/*
 * Children that main made before it had threads, for __WNOTHREAD: main finds them,
 * whatever ran between, and no other thread does.
 */
#include "t.h"

enum { N = 20 };

static int hold[2];

static void *naps(void *arg)
{
	for (int i = 0; i < 10; i++)
		t_settle();
	return arg;
}

static void *has_none(void *arg)
{
	pid_t pid = *(pid_t *)arg;
	siginfo_t si;

	CHECK_ERR(waitpid(pid, NULL, WNOHANG | __WNOTHREAD), ECHILD);
	CHECK_ERR(waitpid(-1, NULL, __WNOTHREAD), ECHILD);
	CHECK_ERR(waitid(P_ALL, 0, &si, WEXITED | __WNOTHREAD), ECHILD);
	CHECK_ERR(waitid(P_ALL, 0, &si, WEXITED | WNOHANG | __WNOTHREAD),
		  ECHILD);
	CHECK_ERR(waitid(P_ALL, 0, &si, __WNOTHREAD), EINVAL);
	CHECK(waitpid(pid, NULL, WNOHANG) == 0);
	return arg;
}

static pid_t make(int i)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		t_get(hold[0]);
		_exit(3 + i);
	}
	return pid;
}

int main(void)
{
	pthread_t th[N];
	siginfo_t si;
	pid_t pid[3];
	int st;

	t_pipe(hold);
	for (int i = 0; i < 3; i++)
		pid[i] = make(i);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(naps, NULL);
	naps(NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	for (int i = 0; i < 4; i++)
		th[i] = t_thread(has_none, &pid[0]);
	for (int i = 0; i < 4; i++)
		t_join(th[i]);
	CHECK(waitpid(pid[0], &st, WNOHANG | __WNOTHREAD) == 0);
	for (int i = 0; i < 3; i++)
		t_put(hold[1], 'x');
	CHECK(waitpid(pid[0], &st, __WNOTHREAD) == pid[0]);
	CHECK(WEXITSTATUS(st) == 3);
	CHECK(waitid(P_PID, (id_t)pid[1], &si, WEXITED | __WNOTHREAD) == 0);
	CHECK(si.si_status == 4);
	CHECK(waitpid(-1, &st, __WNOTHREAD) == pid[2]);
	CHECK(WEXITSTATUS(st) == 5);
	t_say("main's three");
	return 0;
}
