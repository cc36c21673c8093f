/* A socket that has listened, and is a connection then, by any of its numbers. */
#include "../calls.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static long accepts(void *arg)
{
	return accept(*(int *)arg, NULL, NULL);
}

static long reads(void *arg)
{
	char b[8];

	return read(*(int *)arg, b, sizeof(b));
}

static int take_back(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	return connect(fd, &none, sizeof(none)) ? -errno : 0;
}

/* It has been listened at by @fd; @by takes that back. */
static void one(const char *what, int fd, int by, int shut)
{
	struct sockaddr_in to;
	struct t_call c;
	int port, l = t_listen(&port), other;

	t_say("%s", what);
	if (shut)
		T_RESULT("shutdown", shutdown(by, SHUT_RDWR));
	else
		t_result("connect(AF_UNSPEC)", take_back(by));
	t_begin(&c, accepts, &fd);
	t_ended("accept", &c);
	to = t_addr(port);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		CHECK(errno == EINVAL);
		t_skip("this kernel does not connect what has listened");
	}
	CHECK((other = accept(l, NULL, NULL)) >= 0);
	t_write(other, "a", 1);
	t_begin(&c, reads, &fd);
	t_ended("read", &c);
	t_begin(&c, reads, &fd);
	t_write(other, "ab", 2);
	t_ended("read", &c);
	t_begin(&c, accepts, &fd);
	t_ended("accept of a connection", &c);
	t_begin(&c, reads, &fd);
	if (take_back(by) == -EBUSY)
		t_skip("this kernel takes no connection back under a waiter");
	t_ended("read of one that is taken back", &c);
	t_close(other);
	t_close(l);
}

static int listened(int *port)
{
	int fd = t_listen(port), c = t_connect(*port), s;

	CHECK((s = accept(fd, NULL, NULL)) >= 0);
	t_close(s);
	t_close(c);
	return fd;
}

/* Of a stream that is no TCP; where there are none, natively as well. */
static void multipath(void)
{
	int port, c, s, fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	struct sockaddr_in to = t_addr(0);
	socklen_t len = sizeof(to);
	struct t_call call;

	if (fd < 0)
		return;
	t_listen(&port);
	CHECK(bind(fd, (struct sockaddr *)&to, len) == 0 &&
	      listen(fd, 1) == 0 &&
	      getsockname(fd, (struct sockaddr *)&to, &len) == 0);
	c = t_connect(ntohs(to.sin_port));
	CHECK((s = accept(fd, NULL, NULL)) >= 0);
	t_close(s);
	t_close(c);
	if (take_back(fd))
		return;
	to = t_addr(port);
	CHECK(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	t_begin(&call, accepts, &fd);
	t_ended("accept of a connection of MPTCP", &call);
}

int main(void)
{
	int port, fd;

	t_be_threaded();
	fd = listened(&port);
	one("taken back", fd, fd, 0);
	fd = listened(&port);
	one("taken back by a duplicate", fd, dup(fd), 0);
	fd = listened(&port);
	one("shut", fd, fd, 1);
	fd = listened(&port);
	one("shut by a duplicate", fd, dup(fd), 1);
	multipath();
	return 0;
}
