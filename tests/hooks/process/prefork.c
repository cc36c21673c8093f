/* A prefork server: children with threads accept on one listener. */
#include "t.h"

enum { CHILDREN = 3, THREADS = 4, CONNS = 120 };

static int listener, port;

static void *acceptor(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		char c;

		CHECK(fd >= 0);
		c = t_get(fd);
		t_put(fd, c);
		t_close(fd);
		if (c == 'q')
			return NULL;
	}
}

int main(void)
{
	pid_t pid[CHILDREN];
	int ok = 0;

	t_be_threaded();
	listener = t_listen(&port);
	for (int i = 0; i < CHILDREN; i++) {
		pid[i] = fork();
		CHECK(pid[i] >= 0);
		if (pid[i] == 0) {
			pthread_t th[THREADS];

			for (int k = 0; k < THREADS; k++)
				th[k] = t_thread(acceptor, NULL);
			for (int k = 0; k < THREADS; k++)
				t_join(th[k]);
			_exit(0);
		}
	}
	for (int i = 0; i < CONNS + CHILDREN * THREADS; i++) {
		int fd = t_connect(port);
		char c = i < CONNS ? 'c' : 'q';

		t_put(fd, c);
		ok += t_get(fd) == c;
		t_eof(fd);
		t_close(fd);
	}
	for (int i = 0; i < CHILDREN; i++)
		t_wait_ok(pid[i]);
	t_say("%d answers", ok);
	return 0;
}
