/*
 * A stream that is neither TCP nor a unix socket: a send that blocks goes on until all
 * is sent, and a receive until all is there that MSG_WAITALL asks for.
 */
#include "../calls.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

enum { ALL = 16 << 20 };
static char big[ALL], b[65536];

static long sends(void *arg)
{
	return send(*(int *)arg, big, ALL, 0);
}

static long writes(void *arg)
{
	return write(*(int *)arg, big, ALL);
}

static long writes_two(void *arg)
{
	struct iovec v[2] = { { big, 100 }, { big + 100, ALL - 100 } };

	return writev(*(int *)arg, v, 2);
}

static long receives(void *arg)
{
	return recv(*(int *)arg, b, 12, MSG_WAITALL);
}

static void make(int sv[2])
{
	int port, l = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	struct sockaddr_in a = t_addr(0);
	socklen_t len = sizeof(a);

	if (l < 0)
		t_skip("no MPTCP");
	CHECK(bind(l, (struct sockaddr *)&a, len) == 0);
	CHECK(listen(l, 5) == 0);
	CHECK(getsockname(l, (struct sockaddr *)&a, &len) == 0);
	port = ntohs(a.sin_port);
	a = t_addr(port);
	sv[0] = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	CHECK(sv[0] >= 0);
	CHECK(connect(sv[0], (struct sockaddr *)&a, sizeof(a)) == 0);
	sv[1] = accept(l, NULL, NULL);
	CHECK(sv[1] >= 0);
	t_close(l);
}

static void whole(const char *what, long (*fn)(void *))
{
	struct t_call c;
	int sv[2];

	make(sv);
	t_begin(&c, fn, &sv[0]);
	t_waits(&c);
	for (int i = 0; i < ALL; i += (int)sizeof(b))
		t_read(sv[1], b, sizeof(b));
	t_ended(what, &c);
	t_begin(&c, receives, &sv[0]);
	t_write(sv[1], "abc", 3);
	t_waits(&c);
	t_write(sv[1], "defghijkl", 9);
	t_ended("recv", &c);
	t_close(sv[0]);
	t_eof(sv[1]);
	t_close(sv[1]);
}

int main(void)
{
	t_be_threaded();
	whole("send", sends);
	whole("write", writes);
	whole("writev", writes_two);
	return 0;
}
