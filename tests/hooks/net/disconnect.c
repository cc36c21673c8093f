/*
 * connect(AF_UNSPEC) takes a connection back under those that wait for it. Linux
 * 6.6 told readers by EPIPE first; before, some answer with EBUSY instead.
 */
#include "../calls.h"
#include <sys/epoll.h>

static long recvs(void *arg)
{
	char b[8];

	return recv(*(int *)arg, b, sizeof(b), 0);
}

static long reads(void *arg)
{
	char b[8];

	return read(*(int *)arg, b, sizeof(b));
}

static long sends(void *arg)
{
	static char big[1 << 20];
	long r = 0, n;

	while ((n = send(*(int *)arg, big, sizeof(big), MSG_NOSIGNAL)) > 0)
		r += n;
	return n;
}

static long polls(void *arg)
{
	struct pollfd p = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&p, 1, -1) == 1 ? p.revents : -1;
}

static long accepts(void *arg)
{
	return accept(*(int *)arg, NULL, NULL);
}

static int take_back(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	return connect(fd, &none, sizeof(none)) ? -errno : 0;
}

static void under(const char *what, long (*fn)(void *))
{
	struct t_call c;
	char b;
	int sv[2], r;

	t_tcp_pair(sv);
	t_begin(&c, fn, &sv[0]);
	r = take_back(sv[0]);
	if (r == -EBUSY)
		t_skip("this kernel takes no connection back under a waiter");
	t_result("connect(AF_UNSPEC)", r);
	t_ended(what, &c);
	T_RESULT("the next recv", recv(sv[0], &b, 1, 0));
	T_RESULT("and one more", recv(sv[0], &b, 1, 0));
	T_RESULT("the peer", recv(sv[1], &b, 1, 0));
	t_close(sv[0]);
	t_close(sv[1]);
}

/* Two wait: both are told. */
static void two(void)
{
	struct t_call c[2];
	int sv[2];

	t_tcp_pair(sv);
	t_begin(&c[0], recvs, &sv[0]);
	t_begin(&c[1], reads, &sv[0]);
	t_result("connect(AF_UNSPEC) under two", take_back(sv[0]));
	t_ended("the first", &c[0]);
	t_ended("the second", &c[1]);
}

static void listener(void)
{
	struct t_call c;
	int port, l = t_listen(&port);

	t_begin(&c, accepts, &l);
	t_result("connect(AF_UNSPEC) of a listener", take_back(l));
	t_ended("accept", &c);
}

static void datagrams(void)
{
	struct sockaddr_in to;
	socklen_t len = sizeof(to);
	struct t_call c;
	int port, other, fd = t_bound(SOCK_DGRAM, &port), port2;

	other = t_bound(SOCK_DGRAM, &port2);
	to = t_addr(port2);
	CHECK(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	t_begin(&c, recvs, &fd);
	t_result("connect(AF_UNSPEC) of UDP", take_back(fd));
	t_waits(&c);
	/* It has lost its port. */
	to = t_addr(port2);
	CHECK(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&to, &len) == 0);
	CHECK(sendto(other, "abc", 3, 0, (struct sockaddr *)&to, sizeof(to)) ==
	      3);
	t_ended("recv goes on", &c);
}

int main(void)
{
	t_be_threaded();
	under("recv", recvs);
	under("read", reads);
	under("send", sends);
	under("poll", polls);
	two();
	listener();
	datagrams();
	return 0;
}
