/*
 * Two threads connect one socket: one to nobody, and is refused; the other one goes on
 * until it is connected. Then it stays so, whatever the first one is just at.
 */
#include "t.h"

enum { ROUNDS = 60 };

static struct sockaddr_in nobody, somebody;
static int fd;

static int attempt(struct sockaddr_in *to)
{
	return connect(fd, (struct sockaddr *)to, sizeof(*to)) ? errno : 0;
}

/* Who is to be refused may find the other's connection made when its own is over. */
static void *connects(void *to)
{
	int err;

	do {
		err = attempt(to);
		CHECK(err == 0 || err == EISCONN || err == ECONNREFUSED ||
		      err == ECONNABORTED || err == EALREADY || err == EPIPE);
	} while (err && err != EISCONN);
	return to;
}

int main(void)
{
	int port, none = t_bound(SOCK_STREAM, &port), l, one;
	pthread_t a, b;

	nobody = t_addr(port);
	l = t_listen(&port);
	somebody = t_addr(port);
	for (int i = 0; i < ROUNDS; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(fd >= 0);
		a = t_thread(connects, &nobody);
		b = t_thread(connects, &somebody);
		t_join(b);
		t_join(a);
		one = accept(l, NULL, NULL);
		CHECK(one >= 0);
		t_put(fd, 'x');
		CHECK(t_get(one) == 'x');
		t_close(fd);
		t_close(one);
	}
	t_close(none);
	t_say("connected");
	return 0;
}
