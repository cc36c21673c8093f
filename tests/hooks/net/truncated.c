/*
 * MSG_TRUNC in calls that wait: the length that a packet had, bytes of a stream
 * that are thrown away; recvmmsg() with it, and with a time limit.
 */
#include "../calls.h"

struct get {
	int fd, flags;
	size_t room;
};

static char b[64];

static long receive(void *arg)
{
	struct get *g = arg;

	return recv(g->fd, b, g->room, g->flags);
}

static void packets(const char *what, int type)
{
	struct get g = { .flags = MSG_TRUNC, .room = 2 };
	struct t_call c;
	int sv[2];

	CHECK(socketpair(AF_UNIX, type, 0, sv) == 0);
	g.fd = sv[0];
	t_say("%s", what);
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(sv[1], "abcdef", 6, 0) == 6);
	t_ended("its length", &c);
	g.flags |= MSG_PEEK;
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(sv[1], "ghijk", 5, 0) == 5);
	t_ended("peeked", &c);
	g.flags = MSG_TRUNC | MSG_WAITALL;
	T_RESULT("with MSG_WAITALL", receive(&g));
	g.room = 0;
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(sv[1], "lmn", 3, 0) == 3);
	t_ended("no room", &c);
	t_close(sv[0]);
	t_close(sv[1]);
}

static void stream(const char *what, int sv[2])
{
	struct get g = { sv[0], MSG_TRUNC, 4 };
	struct t_call c;

	t_say("%s", what);
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(sv[1], "abcdef", 6, 0) == 6);
	t_ended("thrown away", &c);
	g.flags |= MSG_WAITALL;
	t_begin(&c, receive, &g);
	t_waits(&c);
	CHECK(send(sv[1], "ghij", 4, 0) == 4);
	t_ended("with MSG_WAITALL", &c);
	t_say("%c is next", t_get(sv[0]));
	t_close(sv[0]);
	t_close(sv[1]);
}

struct many {
	int fd, flags;
	struct timespec limit;
	unsigned len[3];
};

static long receive_many(void *arg)
{
	struct many *m = arg;
	struct iovec v = { b, 2 };
	struct mmsghdr mm[3];
	long r;

	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 3; i++) {
		mm[i].msg_hdr.msg_iov = &v;
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	r = recvmmsg(m->fd, mm, 3, m->flags, &m->limit);
	for (int i = 0; i < 3; i++)
		m->len[i] = mm[i].msg_len;
	return r;
}

/* The limit is looked at when a message has come, and not while none does. */
static void limited(void)
{
	struct many m = { .flags = MSG_TRUNC, .limit = t_ts(100 * T_MS) };
	struct t_call c;
	long long t0;
	int sv[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) == 0);
	m.fd = sv[0];
	t_say("recvmmsg");
	CHECK(send(sv[1], "abc", 3, 0) == 3); /* it comes in time */
	t_begin(&c, receive_many, &m);
	t0 = t_now();
	while (t_now() - t0 < 150 * T_MS)
		t_settle();
	t_waits(&c);
	CHECK(send(sv[1], "defg", 4, 0) == 4);
	t_ended("after its time", &c);
	t_say("%u, %u, %u; left: %ld", m.len[0], m.len[1], m.len[2],
	      (long)(m.limit.tv_sec + m.limit.tv_nsec));
	m.limit = t_ts(100 * T_SEC);
	t_begin(&c, receive_many, &m);
	for (int i = 0; i < 3; i++) {
		t_waits(&c);
		CHECK(send(sv[1], "hi", 2, 0) == 2);
	}
	t_ended("in time", &c);
	CHECK(m.limit.tv_sec >= 90 && m.limit.tv_sec < 100);
	m.limit = (struct timespec){ 0, T_SEC };
	T_RESULT("a limit that is none", receive_many(&m));
	m.flags |= MSG_DONTWAIT;
	m.limit = t_ts(T_SEC);
	T_RESULT("not waiting", receive_many(&m));
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	int sv[2];

	packets("datagrams", SOCK_DGRAM);
	packets("packets", SOCK_SEQPACKET);
	t_pair(sv);
	stream("unix", sv);
	t_tcp_pair(sv);
	stream("tcp", sv);
	limited();
	return 0;
}
