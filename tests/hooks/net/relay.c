/* A relay with two threads a connection, 1 MB through it each way. */
#include "t.h"

enum { N = 6, SIZE = 1 << 20 };

static int backend_port, relay_port;

struct way {
	int from, to;
};

static void *pump(void *arg)
{
	struct way *w = arg;
	char b[16384];
	ssize_t n;

	while ((n = recv(w->from, b, sizeof(b), 0)) > 0)
		t_write(w->to, b, (size_t)n);
	CHECK(n == 0);
	CHECK(shutdown(w->to, SHUT_WR) == 0);
	return NULL;
}

static void *relay_one(void *arg)
{
	int a = (int)(intptr_t)arg, b = t_connect(backend_port);
	struct way up = { a, b }, down = { b, a };
	pthread_t th = t_thread(pump, &up);

	pump(&down);
	t_join(th);
	t_close(a);
	t_close(b);
	return NULL;
}

static void *echo(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct way w = { fd, fd };

	pump(&w);
	t_close(fd);
	return NULL;
}

struct loop {
	int l;
	void *(*fn)(void *);
};

static void *serve(void *arg)
{
	struct loop *s = arg;
	pthread_t th[N];

	for (int i = 0; i < N; i++) {
		int fd = accept(s->l, NULL, NULL);

		CHECK(fd >= 0);
		th[i] = t_thread(s->fn, (void *)(intptr_t)fd);
	}
	for (int i = 0; i < N; i++)
		t_join(th[i]);
	return NULL;
}

struct client {
	int fd;
	unsigned id;
};

static void *feed(void *arg)
{
	struct client *c = arg;
	unsigned char b[10000];

	for (size_t at = 0; at < SIZE;) {
		size_t n = SIZE - at < sizeof(b) ? SIZE - at : sizeof(b);

		t_fill(c->id, at, b, n);
		t_write(c->fd, b, n);
		at += n;
	}
	CHECK(shutdown(c->fd, SHUT_WR) == 0);
	return NULL;
}

static void *client(void *arg)
{
	struct client c = { t_connect(relay_port), (unsigned)(intptr_t)arg };
	pthread_t th = t_thread(feed, &c);
	unsigned char b[7000];
	size_t at = 0;
	ssize_t n;

	while ((n = read(c.fd, b, sizeof(b))) > 0) {
		t_same(c.id, at, b, (size_t)n);
		at += (size_t)n;
	}
	CHECK(n == 0);
	CHECK(at == SIZE);
	t_join(th);
	t_close(c.fd);
	return NULL;
}

int main(void)
{
	struct loop be = { t_listen(&backend_port), echo },
		    re = { t_listen(&relay_port), relay_one };
	pthread_t b = t_thread(serve, &be), r = t_thread(serve, &re), c[N];

	for (int i = 0; i < N; i++)
		c[i] = t_thread(client, (void *)(intptr_t)i);
	for (int i = 0; i < N; i++)
		t_join(c[i]);
	t_join(r);
	t_join(b);
	t_say("%d connections, %d bytes each way", N, SIZE);
	return 0;
}
