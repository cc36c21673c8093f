/*
 * Calls for more than one piece: what ends MSG_WAITALL, sendmmsg and recvmmsg,
 * and that a time limit is for the call and not for a piece.
 */
#include "t.h"
#include <sys/ioctl.h>

static char big[4 << 20];

/* --- MSG_WAITALL ------------------------------------------------------------ */

struct call {
	int fd;
	ssize_t res;
	int rights, err;
	char b[16];
};

static void *receive(void *arg)
{
	struct call *c = arg;
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct iovec v = { c->b, sizeof(c->b) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };

	c->res = recvmsg(c->fd, &m, MSG_WAITALL);
	c->err = errno;
	c->rights = CMSG_FIRSTHDR(&m) != NULL;
	return NULL;
}

static void put_rights(int s, const char *text)
{
	union {
		struct cmsghdr h;
		char b[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct iovec v = { (void *)text, strlen(text) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(int));
	memset(CMSG_DATA(h), 0, sizeof(int));
	CHECK(sendmsg(s, &m, 0) == (ssize_t)v.iov_len);
}

static void until_empty(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 0) != 0)
		t_settle();
}

static void rights(void)
{
	struct call c = { 0 };
	pthread_t th;
	int sv[2];

	t_pair(sv);
	c.fd = sv[0];
	th = t_thread(receive, &c);
	t_settle();
	put_rights(sv[1], "first");
	t_join(th);
	CHECK(c.res == 5 && c.rights);
	put_rights(sv[1], "second");
	put_rights(sv[1], "third");
	receive(&c);
	CHECK(c.res == 6 && c.rights);
	receive(&c);
	CHECK(c.res == 5 && c.rights);
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("descriptors end it");
}

static void packets(void)
{
	struct call c = { 0 };
	pthread_t th;
	int sv[2];

	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sv) == 0);
	c.fd = sv[0];
	th = t_thread(receive, &c);
	t_settle();
	CHECK(send(sv[1], "abc", 3, 0) == 3);
	t_join(th);
	CHECK(c.res == 3);
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("a packet is all of it");
}

static void mark(const char *what, int sv[2], int inline_)
{
	struct pollfd p = { .fd = sv[0], .events = POLLPRI };
	char b[8];
	int at;

	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_OOBINLINE, &inline_,
			 sizeof(inline_)) == 0);
	CHECK(send(sv[1], "ab", 2, 0) == 2);
	CHECK(send(sv[1], "c", 1, MSG_OOB) == 1);
	CHECK(send(sv[1], "de", 2, 0) == 2);
	CHECK(poll(&p, 1, -1) == 1);
	CHECK(recv(sv[0], b, 3, MSG_WAITALL) == 2);
	CHECK(ioctl(sv[0], SIOCATMARK, &at) == 0 && at);
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("%s: the mark ends it", what);
}

static void reset(void)
{
	struct linger now = { 1, 0 };
	struct call c = { 0 };
	pthread_t th;
	int sv[2];

	t_tcp_pair(sv);
	c.fd = sv[0];
	th = t_thread(receive, &c);
	CHECK(send(sv[1], "abc", 3, 0) == 3);
	until_empty(sv[0]);
	setsockopt(sv[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	t_close(sv[1]);
	t_join(th);
	CHECK(c.res == 3);
	receive(&c);
	CHECK(c.res == -1 && c.err == ECONNRESET);
	t_close(sv[0]);
	t_say("a reset ends it, and is told next");
}

static void names(void)
{
	struct sockaddr_un a = { AF_UNIX, "" }, from;
	socklen_t len = sizeof(from);
	int l = socket(AF_UNIX, SOCK_STREAM, 0), c, s, sv[2];
	char b[4];

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "whole%d", getpid());
	CHECK(bind(l, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(listen(l, 1) == 0);
	c = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(c, (struct sockaddr *)&a, sizeof(a)) == 0);
	s = accept(l, NULL, NULL);
	t_write(s, "abcd", 4);
	CHECK(recvfrom(c, b, 4, MSG_WAITALL, (struct sockaddr *)&from, &len) ==
	      4);
	CHECK(len == sizeof(a) && from.sun_family == AF_UNIX);
	t_tcp_pair(sv);
	t_write(sv[1], "abcd", 4);
	len = sizeof(from);
	CHECK(recvfrom(sv[0], b, 4, MSG_WAITALL, (struct sockaddr *)&from,
		       &len) == 4);
	CHECK(len == 0);
	CHECK_ERR(recvmsg(sv[0], (void *)8, MSG_WAITALL), EFAULT);
	t_say("its sender's name");
}

/* --- time limits ------------------------------------------------------------- */

static _Atomic int stop;

static void *drip(void *arg)
{
	while (!stop && send(*(int *)arg, "x", 1, MSG_NOSIGNAL) == 1)
		for (int i = 0; i < 5; i++)
			t_settle();
	return NULL;
}

static void *drain(void *arg)
{
	static char b[50000];

	while (!stop) {
		recv(*(int *)arg, b, sizeof(b), MSG_DONTWAIT);
		t_settle();
	}
	return NULL;
}

static void limit(int fd, int opt, int ms)
{
	struct timeval tv = { 0, ms * 1000 };

	CHECK(setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)) == 0);
}

/* The far end keeps it going for good. */
static void limited(const char *what, void (*make)(int[2]), int sends)
{
	int sv[2], size = 65536;
	pthread_t th;
	ssize_t r;

	make(sv);
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	setsockopt(sv[1], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	limit(sv[0], sends ? SO_SNDTIMEO : SO_RCVTIMEO, 100);
	stop = 0;
	th = t_thread(sends ? drain : drip, &sv[1]);
	do
		r = sends ? send(sv[0], big, sizeof(big), 0) :
			    recv(sv[0], big, sizeof(big), MSG_WAITALL);
	while (r < 0 && errno == EAGAIN);
	CHECK(r > 0 && r < (ssize_t)sizeof(big));
	stop = 1;
	t_join(th);
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("%s: a limit for the whole call", what);
}

/* --- several messages ------------------------------------------------------------ */

static void messages(void)
{
	struct iovec v[2] = { { big, sizeof(big) }, { "second", 6 } };
	struct iovec w[2] = { { big, 8 }, { (void *)16, 8 } };
	struct mmsghdr m[2] = { 0 };
	int sv[2], err = 0;
	socklen_t len = sizeof(err);

	t_pair(sv);
	limit(sv[0], SO_SNDTIMEO, 50);
	for (int i = 0; i < 2; i++) {
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK(sendmmsg(sv[0], m, 2, 0) == 1);
	CHECK(m[0].msg_len > 0 && m[0].msg_len < sizeof(big));
	t_say("none is sent after one in part");
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(send(sv[1], "x", 1, 0) == 1);
		m[i].msg_hdr.msg_iov = &w[i];
	}
	CHECK(recvmmsg(sv[0], m, 2, 0, NULL) == 1);
	CHECK(getsockopt(sv[0], SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	CHECK(err == EFAULT);
	t_say("an error after one is kept");
}

int main(void)
{
	int sv[2];

	t_be_threaded();
	rights();
	packets();
	for (int i = 0; i < 2; i++) {
		t_tcp_pair(sv);
		mark("tcp", sv, i);
	}
	t_pair(sv);
	mark("unix", sv, 0);
	reset();
	names();
	limited("tcp receive", t_tcp_pair, 0);
	limited("unix receive", t_pair, 0);
	limited("tcp send", t_tcp_pair, 1);
	messages();
	return 0;
}
