/*
 * TCP_DEFER_ACCEPT: accept() and poll() hear of a connection when its first data
 * has come. TCP_USER_TIMEOUT: who hears nothing of its peer for so long gives up.
 * SO_BUSY_POLL changes no result.
 */
#include "../calls.h"

static long take(void *fd)
{
	return accept(*(int *)fd, NULL, NULL);
}

static long readable(void *fd)
{
	struct pollfd p = { *(int *)fd, POLLIN, 0 };

	return poll(&p, 1, 20000);
}

struct peer {
	int fd;
	struct sockaddr_in a;
};

static long receive(void *fd)
{
	char b[4];

	return recv(*(int *)fd, b, sizeof(b), 0);
}

static long send_one(void *fd)
{
	return send(*(int *)fd, "x", 1, MSG_NOSIGNAL);
}

static long watch(void *fd)
{
	struct pollfd p = { *(int *)fd, POLLIN, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

static void defer(void)
{
	int port, l = t_listen(&port), seconds = 60, fd, got;
	struct t_call a, p;
	int other;

	CHECK(setsockopt(l, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds,
			 sizeof(seconds)) == 0);
	t_begin(&a, take, &l);
	fd = t_connect(port);
	t_waits(&a);
	t_say("connected, and not accepted");
	t_put(fd, 'x');
	got = (int)t_end(&a);
	CHECK(got >= 0);
	CHECK(t_get(got) == 'x');
	t_begin(&p, readable, &l);
	other = t_connect(port);
	t_waits(&p);
	t_put(other, 'x');
	t_ended("poll", &p);
	t_close(other);
	t_close(got);
	t_close(fd);
	t_close(l);
	t_say("data: accepted");
}

static long reach(void *arg)
{
	struct peer *p = arg;

	return connect(p->fd, (struct sockaddr *)&p->a, sizeof(p->a));
}

/* A listener that has no room answers nothing. */
static void user_timeout(void)
{
	int port, l = t_bound(SOCK_STREAM, &port), other, ms = 300;
	struct peer p = { .fd = socket(AF_INET, SOCK_STREAM, 0) };
	struct t_call c, w;
	long long t0;

	CHECK(listen(l, 0) == 0);
	other = t_connect(port);
	p.a = t_addr(port);
	CHECK(setsockopt(p.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms,
			 sizeof(ms)) == 0);
	t0 = t_now();
	t_begin(&c, reach, &p);
	t_begin(&w, watch, &p.fd);
	t_waits(&c);
	t_ended("connect", &c);
	CHECK(t_now() - t0 >= 290 * T_MS);
	t_result("poll has POLLHUP", t_end(&w) & POLLHUP);
	T_RESULT("send then", send_one(&p.fd));
	T_RESULT("recv then", receive(&p.fd));
	t_close(p.fd);
	t_close(other);
	t_close(l);
}

static void busy_poll(void)
{
	int sv[2], us = 50;
	struct t_call c;

	t_tcp_pair(sv);
	if (setsockopt(sv[0], SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)))
		CHECK(errno == EPERM);
	t_begin(&c, receive, &sv[0]);
	t_waits(&c);
	t_put(sv[1], 'x');
	t_ended("busy recv", &c);
	t_begin(&c, readable, &sv[0]);
	t_waits(&c);
	t_put(sv[1], 'x');
	t_ended("busy poll", &c);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	defer();
	user_timeout();
	busy_poll();
	return 0;
}
