/* Parent and child talk over pipes and sockets that both have waited on. */
#include "t.h"

enum { N = 8, ROUNDS = 100 };

static void *echo(void *arg)
{
	int fd = *(int *)arg;
	char c;
	ssize_t n;

	while ((n = read(fd, &c, 1)) == 1)
		t_put(fd, (char)(c + 1));
	CHECK(n == 0);
	return NULL;
}

static void *talk(void *arg)
{
	int fd = *(int *)arg;

	for (int i = 0; i < ROUNDS; i++) {
		t_put(fd, (char)i);
		CHECK(t_get(fd) == (char)(i + 1));
	}
	t_close(fd);
	return NULL;
}

int main(void)
{
	static int sv[N][2];
	pthread_t th[N];
	pid_t pid;

	for (int i = 0; i < N; i++) {
		if (i % 2)
			t_pair(sv[i]);
		else
			t_tcp_pair(sv[i]);
		/* Use both ends here first, so that they are known. */
		th[i] = t_thread(echo, &sv[i][0]);
		t_put(sv[i][1], 'a');
		CHECK(t_get(sv[i][1]) == 'b');
		CHECK(shutdown(sv[i][1], SHUT_WR) == 0);
		t_join(th[i]);
		t_close(sv[i][0]);
		t_close(sv[i][1]);
		t_pair(sv[i]);
		th[i] = t_thread(echo, &sv[i][0]);
		t_put(sv[i][1], 'c');
		CHECK(t_get(sv[i][1]) == 'd');
	}
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		for (int i = 0; i < N; i++) {
			t_close(sv[i][0]);
			th[i] = t_thread(talk, &sv[i][1]);
		}
		for (int i = 0; i < N; i++)
			t_join(th[i]);
		_exit(0);
	}
	for (int i = 0; i < N; i++)
		t_close(sv[i][1]);
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	t_wait_ok(pid);
	t_say("%d pairs across a fork", N);
	return 0;
}
