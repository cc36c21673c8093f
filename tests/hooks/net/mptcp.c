/*
 * A stream that is neither TCP nor a unix socket: a send that blocks goes on until all
 * is sent, and a receive until all is there that MSG_WAITALL asks for.
 */
#include "../calls.h"
#include "mptcp.h"

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

static void whole(const char *what, long (*fn)(void *))
{
	struct t_call c;
	int sv[2];

	t_mptcp_pair(sv);
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
