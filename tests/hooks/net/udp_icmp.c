/*
 * An ICMP message that nobody listens there is an error of the socket: one of those
 * who wait has it, and the others go on.
 */
#include "../calls.h"
#include <sys/epoll.h>

enum { N = 3 };

static long receive(void *fd)
{
	char b[8];

	return recv(*(int *)fd, b, sizeof(b), 0);
}

static long watch(void *fd)
{
	struct pollfd p = { *(int *)fd, POLLIN, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

static long watch_epoll(void *ep)
{
	struct epoll_event e;

	return epoll_wait(*(int *)ep, &e, 1, 20000) == 1 ? (long)e.events : -1;
}

static int free_port(void)
{
	int port;

	t_close(t_bound(SOCK_DGRAM, &port));
	return port;
}

static void connect_to(int fd, int port)
{
	struct sockaddr_in a = t_addr(port);

	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
}

/* The first of several has the error, in the order they came. */
static void several(void)
{
	int port, fd = t_bound(SOCK_DGRAM, &port), peer, peer_port;
	struct t_call c[N];

	connect_to(fd, free_port());
	for (int i = 0; i < N; i++)
		t_begin(&c[i], receive, &fd);
	CHECK(send(fd, "x", 1, 0) == 1);
	t_ended("the first", &c[0]);
	t_waits(&c[1]);
	t_waits(&c[2]);
	CHECK(send(fd, "x", 1, 0) == 1);
	t_ended("the second", &c[1]);
	t_waits(&c[2]);
	peer = t_bound(SOCK_DGRAM, &peer_port);
	connect_to(peer, port);
	connect_to(fd, peer_port);
	t_waits(&c[2]);
	CHECK(send(peer, "abc", 3, 0) == 3);
	t_ended("the third, of another peer", &c[2]);
	t_close(peer);
	t_close(fd);
}

/* It waits for the next call, of whatever kind; and is gone after that. */
static void later(void)
{
	struct pollfd p;
	int fd = socket(AF_INET, SOCK_DGRAM, 0), err;
	socklen_t len = sizeof(err);

	connect_to(fd, free_port());
	CHECK(send(fd, "x", 1, 0) == 1);
	p = (struct pollfd){ fd, POLLOUT, 0 };
	CHECK(poll(&p, 1, 20000) == 1);
	t_say("poll: %d", p.revents);
	T_RESULT("send has it", send(fd, "x", 1, 0));
	T_RESULT("send", send(fd, "x", 1, 0));
	T_RESULT("recv has it", receive(&fd));
	CHECK(send(fd, "x", 1, 0) == 1);
	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	t_say("SO_ERROR: %s", strerrorname_np(err));
	t_close(fd);
}

static void polled(void)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLET };
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ep = epoll_create1(0);
	struct t_call p, q;

	connect_to(fd, free_port());
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0);
	t_begin(&p, watch, &fd);
	t_begin(&q, watch_epoll, &ep);
	CHECK(send(fd, "x", 1, 0) == 1);
	t_result("poll", t_end(&p));
	t_result("epoll_wait", t_end(&q) & ~EPOLLOUT);
	T_RESULT("recv", receive(&fd));
	t_close(ep);
	t_close(fd);
}

/* With no peer of its own it hears of nothing; a limit ends the wait. */
static void unconnected(void)
{
	struct timeval tv = { 0, 100000 };
	struct sockaddr_in a = t_addr(free_port());
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long long t0 = t_now();
	struct t_call c;

	CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	t_begin(&c, receive, &fd);
	CHECK(sendto(fd, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)) == 1);
	t_ended("unconnected", &c);
	T_TOOK(t0, 99 * T_MS);
	connect_to(fd, ntohs(a.sin_port));
	t_begin(&c, receive, &fd);
	CHECK(send(fd, "x", 1, 0) == 1);
	t_ended("connected, with a limit", &c);
	t_close(fd);
}

int main(void)
{
	several();
	later();
	polled();
	unconnected();
	return 0;
}
