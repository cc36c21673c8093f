/* Echo over socket pairs: a thread per connection, every byte compared. */
#include "t.h"

enum { PAIRS = 24, ROUNDS = 200 };

static void *serve(void *arg)
{
	int fd = *(int *)arg;
	char buf[512];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		t_write(fd, buf, (size_t)n);
	CHECK(n == 0);
	t_close(fd);
	return NULL;
}

struct client {
	int fd, id;
};

static void *client(void *arg)
{
	struct client *c = arg;
	unsigned char buf[300];
	size_t at = 0;

	for (int i = 0; i < ROUNDS; i++) {
		size_t n = 1 + (size_t)(i * 7 + c->id) % sizeof(buf);

		t_fill(c->id, at, buf, n);
		t_write(c->fd, buf, n);
		memset(buf, 0, n);
		t_read(c->fd, buf, n);
		t_same(c->id, at, buf, n);
		at += n;
	}
	CHECK(shutdown(c->fd, SHUT_WR) == 0);
	t_eof(c->fd);
	t_close(c->fd);
	return NULL;
}

int main(void)
{
	static int sv[PAIRS][2];
	static struct client cl[PAIRS];
	pthread_t a[PAIRS], b[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		t_pair(sv[i]);
		cl[i] = (struct client){ sv[i][1], i };
		a[i] = t_thread(serve, &sv[i][0]);
		b[i] = t_thread(client, &cl[i]);
	}
	for (int i = 0; i < PAIRS; i++) {
		t_join(a[i]);
		t_join(b[i]);
	}
	t_say("%d pairs, %d rounds", PAIRS, ROUNDS);
	return 0;
}
