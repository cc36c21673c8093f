/*
 * SCM_RIGHTS with MSG_PEEK: each peek has descriptors of its own, also one that
 * had to wait, and leaves the message with its own where it is.
 */
#include "../calls.h"

struct look {
	int via, flags, fd; /* the one that came, or -1 */
};

static void send_fd(int via, int fd, const char *text)
{
	char ctl[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { (char *)text, strlen(text) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = ctl,
			    .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	CHECK(sendmsg(via, &m, 0) == (ssize_t)strlen(text));
}

static long look(void *arg)
{
	struct look *l = arg;
	char ctl[CMSG_SPACE(sizeof(int))], b[16];
	struct iovec v = { b, sizeof(b) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = ctl,
			    .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	long r = recvmsg(l->via, &m, l->flags);

	l->fd = -1;
	c = r < 0 ? NULL : CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&l->fd, CMSG_DATA(c), sizeof(l->fd));
	return r;
}

static void used(struct look *l, int rd)
{
	if (l->fd < 0) {
		t_say("without a descriptor");
		return;
	}
	t_put(l->fd, 'x');
	CHECK(t_get(rd) == 'x');
	t_close(l->fd);
}

static void run(const char *what, int type)
{
	struct look peek = { .flags = MSG_PEEK }, take = { 0 };
	struct t_call c, other;
	int sv[2], p[2];

	CHECK(socketpair(AF_UNIX, type, 0, sv) == 0);
	peek.via = take.via = sv[0];
	t_pipe(p);
	t_say("%s", what);
	t_begin(&c, look, &peek);
	t_waits(&c);
	send_fd(sv[1], p[1], "abc");
	t_ended("a peek that waited", &c);
	used(&peek, p[0]);
	T_RESULT("another", look(&peek));
	used(&peek, p[0]);
	T_RESULT("the message", look(&take));
	used(&take, p[0]);
	/* A peek and a receive that wait: the descriptor comes with both or one. */
	t_begin(&c, look, &peek);
	send_fd(sv[1], p[1], "de");
	t_ended("again", &c);
	used(&peek, p[0]);
	t_write(sv[1], "fgh", 3);
	t_begin(&other, look, &take);
	t_ended("the message", &other);
	used(&take, p[0]);
	T_RESULT("what came after", look(&take));
	used(&take, p[0]);
	t_close(p[1]);
	t_eof(p[0]);
	t_say("no descriptor is left");
	t_close(p[0]);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	run("stream", SOCK_STREAM);
	run("packets", SOCK_SEQPACKET);
	run("datagrams", SOCK_DGRAM);
	return 0;
}
