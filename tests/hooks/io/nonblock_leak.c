/* A child that shares a pipe or socket never sees O_NONBLOCK on it. */
#include "t.h"

static void *blocked(void *arg)
{
	char buf[16];
	ssize_t n, all = 0;

	while ((n = read(*(int *)arg, buf, sizeof(buf))) > 0)
		all += n;
	CHECK(n == 0);
	return (void *)(intptr_t)all;
}

static void one(const char *what, int rd, int wr)
{
	pthread_t th = t_thread(blocked, &rd);
	int up[2], st, fl_rd = fcntl(rd, F_GETFL), fl_wr = fcntl(wr, F_GETFL);
	pid_t pid;

	t_pipe(up);
	t_settle();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < 2000; i++) {
			CHECK(fcntl(rd, F_GETFL) == fl_rd);
			CHECK(fcntl(wr, F_GETFL) == fl_wr);
			t_put(wr, 'x');
		}
		t_put(up[1], 'a');
		_exit(0);
	}
	CHECK(t_get(up[0]) == 'a');
	for (int i = 0; i < 2000; i++)
		t_put(wr, 'y');
	st = t_wait(pid);
	CHECK(st == 0);
	if (wr != rd)
		t_close(wr);
	CHECK((intptr_t)t_join(th) == 4000);
	CHECK(fcntl(rd, F_GETFL) == fl_rd);
	t_say("%s: flags untouched", what);
}

/* The child's own blocking read must block, not fail. */
static void child_blocks(void)
{
	int p[2], q[2];
	pthread_t th;
	pid_t pid;

	t_pair(p);
	t_pair(q);
	th = t_thread(blocked, &p[0]);
	t_settle();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		t_close(q[1]);
		CHECK(t_get(q[0]) == 'k');
		_exit(0);
	}
	t_settle();
	t_put(q[1], 'k');
	t_wait_ok(pid);
	t_close(p[1]);
	t_join(th);
	t_say("a child's read blocks");
}

int main(void)
{
	int p[2];

	t_pipe(p);
	one("pipe", p[0], p[1]);
	t_pair(p);
	one("socketpair", p[0], p[1]);
	t_tcp_pair(p);
	one("tcp", p[0], p[1]);
	child_blocks();
	return 0;
}
