/* fork and exec from main and from threads, output read through pipes. */
#include "t.h"

enum { N = 8 };

static void *run(void *arg)
{
	int p[2], in[2];
	char buf[64];
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	CHECK(pipe2(p, O_CLOEXEC) == 0);
	CHECK(pipe2(in, O_CLOEXEC) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		dup2(in[0], 0);
		dup2(p[1], 1);
		execlp("sh", "sh", "-c", "read x; echo got $x; exit 5",
		       (char *)NULL);
		_exit(127);
	}
	t_close(p[1]);
	t_close(in[0]);
	t_write(in[1], "this\n", 5);
	while ((r = read(p[0], buf + n, sizeof(buf) - n)) > 0)
		n += (size_t)r;
	CHECK(r == 0);
	CHECK(n == 9 && memcmp(buf, "got this\n", 9) == 0);
	int st = t_wait(pid);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == 5);
	t_close(p[0]);
	t_close(in[1]);
	return arg;
}

int main(void)
{
	pthread_t th[N];
	int st;
	pid_t pid;

	run(NULL);
	for (int i = 0; i < N; i++)
		th[i] = t_thread(run, NULL);
	run(NULL);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		execl("/nonexistent", "x", (char *)NULL);
		_exit(errno == ENOENT ? 6 : 7);
	}
	st = t_wait(pid);
	t_say("main and %d threads; failed exec %d", N, WEXITSTATUS(st));
	return 0;
}
