/*
 * A message that passes a descriptor waits for room: what it passes is what the number
 * was when it began, though it is closed meanwhile, or another file's.
 *
 * t-chaos-but idle_kick: what the number was when a send began
 */
#include "../calls.h"

struct pass {
	int via, fd;
};

static char fill[1 << 16];

static long passes(void *arg)
{
	struct pass *p = arg;
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct iovec v = { "X", 1 };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(h), &p->fd, sizeof(int));
	return sendmsg(p->via, &m, 0);
}

/* Read until one comes with a message. */
static int taken(int via)
{
	for (;;) {
		char ctl[CMSG_SPACE(sizeof(int))];
		struct iovec v = { fill, sizeof(fill) };
		struct msghdr m = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = ctl,
				    .msg_controllen = sizeof(ctl) };
		struct cmsghdr *h;
		int fd;

		CHECK(recvmsg(via, &m, 0) > 0);
		h = CMSG_FIRSTHDR(&m);
		if (!h)
			continue;
		memcpy(&fd, CMSG_DATA(h), sizeof(fd));
		return fd;
	}
}

static void one(const char *what, int type, int replace)
{
	int sv[2], p[2], q[2], fd;
	struct pass pass;
	struct t_call c;

	CHECK(socketpair(AF_UNIX, type, 0, sv) == 0);
	t_pipe(p);
	t_pipe(q);
	while (send(sv[0], fill, type == SOCK_STREAM ? sizeof(fill) : 1,
		    MSG_DONTWAIT) > 0)
		;
	pass = (struct pass){ sv[0], p[0] };
	t_begin(&c, passes, &pass);
	t_waits(&c);
	t_put(p[1], 'P');
	t_put(q[1], 'Q');
	if (replace)
		CHECK(dup2(q[0], p[0]) == p[0]);
	else
		t_close(p[0]);
	fd = taken(sv[1]);
	t_ended(what, &c);
	t_say("%c", t_get(fd));
	t_close(fd);
	if (replace)
		t_close(p[0]);
	t_close(p[1]);
	for (int i = 0; i < 2; i++) {
		t_close(sv[i]);
		t_close(q[i]);
	}
}

int main(void)
{
	t_be_threaded();
	for (int replace = 0; replace < 2; replace++) {
		one("stream", SOCK_STREAM, replace);
		one("packets", SOCK_SEQPACKET, replace);
		one("datagrams", SOCK_DGRAM, replace);
	}
	return 0;
}
