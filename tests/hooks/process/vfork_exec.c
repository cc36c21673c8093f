/* vfork and exec: from main, from threads, failing, with _exit. */
#include "t.h"

enum { N = 6 };

static void *run(void *arg)
{
	volatile int shared = 1;
	char *argv[] = { "sh", "-c", "exit 9", NULL };
	int st, p[2];
	pid_t pid;

	CHECK(pipe2(p, O_CLOEXEC) == 0);
	pid = vfork();
	if (pid == 0) {
		shared = 2;
		execvp("sh", argv);
		_exit(127);
	}
	CHECK(pid > 0);
	CHECK(shared == 2);
	st = t_wait(pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 9);
	pid = vfork();
	if (pid == 0) {
		execl("/nonexistent", "x", (char *)NULL);
		shared = errno;
		_exit(3);
	}
	CHECK(pid > 0);
	CHECK(shared == ENOENT);
	st = t_wait(pid);
	CHECK(WEXITSTATUS(st) == 3);
	/* What the child closes stays open here. */
	pid = vfork();
	if (pid == 0) {
		close(p[0]);
		close(p[1]);
		_exit(0);
	}
	t_wait_ok(pid);
	t_put(p[1], 'v');
	CHECK(t_get(p[0]) == 'v');
	t_close(p[0]);
	t_close(p[1]);
	return arg;
}

int main(void)
{
	pthread_t th[N];

	run(NULL);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(run, NULL);
	run(NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_say("main and %d threads", N);
	return 0;
}
