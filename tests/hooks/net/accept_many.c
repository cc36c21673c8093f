/* Many threads accept on one listener: each connection is handled once. */
#include "t.h"

enum { ACCEPTORS = 12, CONNS = 240, CLIENTS = 6 };

static int listener, port;
static unsigned char handled[CONNS];
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *acceptor(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = accept(listener, NULL, NULL), id;

		CHECK(fd >= 0);
		t_read(fd, &id, sizeof(id));
		if (id < 0) {
			t_close(fd);
			return NULL;
		}
		CHECK_0(pthread_mutex_lock(&mu));
		handled[id]++;
		count++;
		CHECK_0(pthread_mutex_unlock(&mu));
		t_write(fd, &id, sizeof(id));
		t_eof(fd);
		t_close(fd);
	}
}

static void *client(void *arg)
{
	int first = (int)(intptr_t)arg, fd[CONNS / CLIENTS], id;

	for (int i = 0; i < CONNS / CLIENTS; i++)
		fd[i] = t_connect(port);
	for (int i = 0; i < CONNS / CLIENTS; i++) {
		id = first + i;
		t_write(fd[i], &id, sizeof(id));
		t_read(fd[i], &id, sizeof(id));
		CHECK(id == first + i);
		t_close(fd[i]);
	}
	return NULL;
}

int main(void)
{
	pthread_t a[ACCEPTORS], c[CLIENTS];

	listener = t_listen(&port);
	for (int i = 0; i < ACCEPTORS; i++)
		a[i] = t_thread(acceptor, NULL);
	for (int i = 0; i < CLIENTS; i++)
		c[i] = t_thread(client,
				(void *)(intptr_t)(i * (CONNS / CLIENTS)));
	for (int i = 0; i < CLIENTS; i++)
		t_join(c[i]);
	for (int i = 0; i < ACCEPTORS; i++) {
		int fd = t_connect(port), stop = -1;

		t_write(fd, &stop, sizeof(stop));
		t_eof(fd);
		t_close(fd);
	}
	for (int i = 0; i < ACCEPTORS; i++)
		t_join(a[i]);
	for (int i = 0; i < CONNS; i++)
		CHECK(handled[i] == 1);
	t_say("%d connections, each once", count);
	return 0;
}
