/*
 * TCP_REPAIR puts data into the queue of a socket that a short read has left empty,
 * and has a read fail meanwhile.
 */
#include "../calls.h"

static char b[64];

static long receives(void *arg)
{
	return recv(*(int *)arg, b, 12, 0);
}

static void emptied(int sv[2])
{
	struct t_call c;

	t_tcp_pair(sv);
	for (int i = 0; i < 2; i++) {
		t_begin(&c, receives, &sv[0]);
		t_write(sv[1], "abc", 3);
		CHECK(t_end(&c) == 3);
	}
}

static int repairs(int fd, int how)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &how, sizeof(how));
}

int main(void)
{
	int sv[2], queue = TCP_RECV_QUEUE;
	struct t_call c;

	t_be_threaded();
	emptied(sv);
	if (repairs(sv[0], 1))
		t_skip("no TCP_REPAIR");
	t_begin(&c, receives, &sv[0]);
	t_ended("in repair", &c);
	CHECK(!setsockopt(sv[0], IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue,
			  sizeof(queue)));
	T_RESULT("put", send(sv[0], "12345", 5, 0));
	CHECK(!repairs(sv[0], -1)); /* without a word to the other end */
	t_begin(&c, receives, &sv[0]);
	t_ended("recv", &c);
	t_say("%.5s", b);
	return 0;
}
