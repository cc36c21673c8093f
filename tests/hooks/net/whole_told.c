/*
 * A receive with MSG_WAITALL to which its bytes come in parts, and beside them something
 * else that does not end it: senders, how much is left, a notice in the queue of errors.
 *
 * t-chaos-but idle_kick: a receive beside messages, which it ends as a stop does
 */
#include "../calls.h"
#include <netinet/in.h>

#ifndef SO_INQ
#define SO_INQ 84
#endif

enum { WHOLE = 12 };

struct one {
	int fd;
	size_t room; /* for control messages; 0: by recv() */
	char got[WHOLE + 1];
};

static long receive(void *arg)
{
	struct one *o = arg;
	char control[256];
	struct iovec v = { o->got, WHOLE };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = o->room };
	long r;

	if (!o->room)
		return recv(o->fd, o->got, WHOLE, MSG_WAITALL);
	r = recvmsg(o->fd, &m, MSG_WAITALL);
	o->room = m.msg_controllen;
	return r;
}

static void set(int fd, int level, int name)
{
	int yes = 1;

	CHECK(setsockopt(fd, level, name, &yes, sizeof(yes)) == 0);
}

static void put(int fd, const char *text)
{
	t_pause();
	t_write(fd, text, strlen(text));
}

static void told(const char *what, struct t_call *c, const struct one *o)
{
	long r = t_end(c);

	t_say("%s: %ld \"%s\", control %zu", what, r, o->got, o->room);
}

/* SO_PASSCRED is set while it waits. */
static void senders(size_t room)
{
	struct one o = { .room = room };
	struct t_call c;
	int s[2];

	t_pair(s);
	o.fd = s[0];
	t_begin(&c, receive, &o);
	put(s[1], "abc");
	t_waits(&c);
	set(s[0], SOL_SOCKET, SO_PASSCRED);
	put(s[1], "def");
	t_waits(&c);
	put(s[1], "ghijkl");
	told("senders", &c, &o);
	t_close(s[0]);
	t_close(s[1]);
}

static void how_much(size_t room)
{
	struct one o = { .room = room };
	struct t_call c;
	int s[2], yes = 1;

	t_pair(s);
	o.fd = s[0];
	/* Since Linux 6.17. */
	setsockopt(s[0], SOL_SOCKET, SO_INQ, &yes, sizeof(yes));
	t_begin(&c, receive, &o);
	put(s[1], "abcdef");
	t_waits(&c);
	put(s[1], "ghijkl");
	told("SO_INQ", &c, &o);
	t_close(s[0]);
	t_close(s[1]);
}

static void notice(void)
{
	static char out[20000], in[sizeof(out)];
	struct one o = { 0 };
	struct t_call c;
	struct pollfd p;
	int s[2];

	t_tcp_pair(s);
	set(s[0], SOL_IP, IP_RECVERR);
	set(s[0], SOL_SOCKET, SO_ZEROCOPY);
	CHECK(send(s[0], out, sizeof(out), MSG_ZEROCOPY) == sizeof(out));
	for (size_t n = 0; n < sizeof(out);) {
		ssize_t r = recv(s[1], in, sizeof(in), 0);

		CHECK(r > 0);
		n += (size_t)r;
	}
	p = (struct pollfd){ .fd = s[0] };
	CHECK(poll(&p, 1, -1) == 1 && p.revents == POLLERR);
	o.fd = s[0];
	t_begin(&c, receive, &o);
	put(s[1], "abc");
	t_waits(&c);
	put(s[1], "defghijkl");
	told("a notice", &c, &o);
	t_close(s[0]);
	t_close(s[1]);
}

static void *run(void *arg)
{
	senders(0);
	senders(CMSG_SPACE(sizeof(struct ucred)));
	notice();
	how_much(0);
	how_much(100);
	return arg;
}

int main(void)
{
	t_join(t_thread(run, NULL));
	return 0;
}
