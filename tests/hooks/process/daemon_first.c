/* A server's start: daemon-like fork first, threads only after. */
#include "t.h"

enum { N = 20 };

static int port, l;

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;

	t_put(fd, t_get(fd));
	t_close(fd);
	return NULL;
}

static void *client(void *arg)
{
	int fd = t_connect(port);

	t_put(fd, 'c');
	CHECK(t_get(fd) == 'c');
	t_close(fd);
	return arg;
}

int main(void)
{
	pthread_t s[N], c[N];
	pid_t pid;

	l = t_listen(&port);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(setsid() > 0);
		for (int i = 0; i < N; i++) {
			int fd = accept(l, NULL, NULL);

			CHECK(fd >= 0);
			s[i] = t_thread(serve, (void *)(intptr_t)fd);
		}
		for (int i = 0; i < N; i++)
			t_join(s[i]);
		exit(4);
	}
	for (int i = 0; i < N; i++)
		c[i] = t_thread(client, NULL);
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	t_say("server ended with %d", WEXITSTATUS(t_wait(pid)));
	return 0;
}
