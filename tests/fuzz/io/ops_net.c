/* Steps of sockets: messages, connections, ends. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "io.h"

#define MESSAGES 4
#define LARGE	 (1 << 20)

union control {
	struct cmsghdr h;
	char room[CMSG_SPACE(4 * sizeof(int))];
};

static char letter(const struct fz_call *c)
{
	return (char)('a' + c->step % 26);
}

/* Which of the flags are the message's affair. */
static void told(struct fz_call *c, int flags)
{
	if (flags & MSG_TRUNC)
		fz_say(c, " trunc");
	if (flags & MSG_CTRUNC)
		fz_say(c, " ctrunc");
	if (flags & MSG_OOB)
		fz_say(c, " oob");
	if (flags & MSG_EOR)
		fz_say(c, " eor");
}

/* recvmsg A N FLAGS [noroom] [badname]: data, descriptors (which stay open, unnamed), flags */
static void op_recvmsg(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	struct sockaddr_storage from;
	union control u;
	struct iovec v[2] = { { b, n / 2 }, { b + n / 2, n - n / 2 } };
	struct msghdr m = { .msg_iov = v,
			    .msg_iovlen = 2,
			    .msg_name = &from,
			    .msg_namelen = sizeof(from),
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	int fd = fz_fd(c, 1);
	long r;

	if (fz_has(c, "noroom"))
		m.msg_controllen = 0;
	if (fz_has(c, "badname"))
		m.msg_name = (void *)16;
	r = recvmsg(fd, &m, (int)fz_flags(c, 3));
	fz_moved(c, fd, r, n);
	if (r < 0)
		return;
	fz_data(c, fd, b, r < (long)n ? r : (long)n);
	told(c, m.msg_flags);
	fz_say(c, " name %u", m.msg_namelen);
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&m); h; h = CMSG_NXTHDR(&m, h)) {
		size_t k = (h->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (h->cmsg_type != SCM_RIGHTS) {
			fz_say(c, " cmsg %d", h->cmsg_type);
			continue;
		}
		for (size_t i = 0; i < k; i++) {
			int got;

			memcpy(&got, CMSG_DATA(h) + i * sizeof(int),
			       sizeof(int));
			fz_say(c, " fd %d", got);
		}
	}
}

/* recvfd A N B FLAGS: the first descriptor that comes is B's */
static void op_recvfd(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	union control u;
	struct iovec v = { b, n };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	int fd = fz_fd(c, 1), got = -1;
	long r = recvmsg(fd, &m, (int)fz_flags(c, 4));
	struct cmsghdr *h = r < 0 ? NULL : CMSG_FIRSTHDR(&m);

	fz_moved(c, fd, r, n);
	if (r < 0)
		return;
	fz_data(c, fd, b, r < (long)n ? r : (long)n);
	told(c, m.msg_flags);
	if (h && h->cmsg_type == SCM_RIGHTS) {
		memcpy(&got, CMSG_DATA(h), sizeof(int));
		fz_set(c, 3, got);
		fz_say(c, " fd %d", got);
	}
}

/* recvfrom A N FLAGS [badname] [badlen]: with the sender's address */
static void op_recvfrom(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	struct sockaddr_storage from = { 0 };
	socklen_t len = sizeof(from);
	int fd = fz_fd(c, 1);
	long r = recvfrom(fd, b, n, (int)fz_flags(c, 3),
			  fz_has(c, "badname") ? (void *)16 :
						 (struct sockaddr *)&from,
			  fz_has(c, "badlen") ? (void *)16 : &len);

	fz_moved(c, fd, r, n);
	if (r < 0)
		return;
	fz_data(c, fd, b, r < (long)n ? r : (long)n);
	fz_say(c, " name %u family %d", len, len ? from.ss_family : 0);
}

/* sendmsg A N FLAGS; sendfd A N B: N bytes, and B's file with them */
static void op_sendmsg(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = memset(fz_buffer(c, n + 1), letter(c), n);
	struct iovec v[2] = { { b, n / 2 }, { b + n / 2, n - n / 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	int fd = fz_fd(c, 1);

	fz_moved(c, fd, sendmsg(fd, &m, (int)fz_flags(c, 3)), n);
}

static void op_sendfd(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = memset(fz_buffer(c, n + 1), letter(c), n);
	union control u = { .h = { .cmsg_level = SOL_SOCKET,
				   .cmsg_type = SCM_RIGHTS,
				   .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec v = { b, n };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = &u,
			    .msg_controllen = CMSG_SPACE(sizeof(int)) };
	int fd = fz_fd(c, 1), pass = fz_fd(c, 3);

	memcpy(CMSG_DATA(&u.h), &pass, sizeof(int));
	fz_moved(c, fd, sendmsg(fd, &m, (int)fz_flags(c, 4)), n);
}

static void vector(struct fz_call *c, struct mmsghdr *m, struct iovec *v,
		   char *b, size_t n)
{
	memset(m, 0, MESSAGES * sizeof(*m));
	for (int i = 0; i < MESSAGES; i++) {
		v[i] = (struct iovec){ b + (size_t)i * n, n };
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	for (int i = 1; i < c->n; i++) {
		int k = c->w[i][strlen(c->w[i]) - 1] - '1';

		if (k < 0 || k >= MESSAGES)
			continue;
		if (!strncmp(c->w[i], "fault", 5))
			v[k].iov_base = (void *)16;
		if (!strncmp(c->w[i], "large", 5))
			v[k].iov_len = LARGE;
	}
}

/*
 * recvmmsg A K N FLAGS [NNNms] [faultI], sendmmsg A K N FLAGS [faultI] [largeI]: message
 * I lies nowhere, or is more than there is ever room for
 */
static void op_recvmmsg(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 3);
	char *b = fz_buffer(c, MESSAGES * n + 1);
	struct mmsghdr m[MESSAGES];
	struct iovec v[MESSAGES];
	long ms = fz_ms(c), r;
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };
	int fd = fz_fd(c, 1);

	vector(c, m, v, b, n);
	r = recvmmsg(fd, m, (unsigned)fz_num(c, 2) % (MESSAGES + 1),
		     (int)fz_flags(c, 4), ms < 0 ? NULL : &ts);
	fz_ret(c, r);
	for (int i = 0; i < r; i++) {
		fz_say(c, " [");
		fz_moved(c, fd, (long)m[i].msg_len, n);
		if (v[i].iov_base == b + (size_t)i * n)
			fz_data(c, fd, v[i].iov_base,
				m[i].msg_len < n ? m[i].msg_len : (long)n);
		told(c, m[i].msg_hdr.msg_flags);
		fz_say(c, "]");
	}
}

static void op_sendmmsg(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 3);
	size_t room = MESSAGES * n + LARGE;
	char *b = memset(fz_buffer(c, room), letter(c), room);
	struct mmsghdr m[MESSAGES];
	struct iovec v[MESSAGES];
	int fd = fz_fd(c, 1);
	long r;

	vector(c, m, v, b, n);
	r = sendmmsg(fd, m, (unsigned)fz_num(c, 2) % (MESSAGES + 1),
		     (int)fz_flags(c, 4));
	fz_ret(c, r);
	for (int i = 0; i < r; i++) {
		fz_say(c, " ");
		fz_moved(c, fd, (long)m[i].msg_len, n);
	}
}

/* accept A B, accept4 A B [nonblock] [badflags] [badname] [badlen] */
static void op_accept(struct fz_call *c)
{
	int r = accept(fz_fd(c, 1), NULL, NULL);

	fz_set(c, 2, r);
	fz_ret(c, r);
}

static void op_accept4(struct fz_call *c)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int r = accept4(fz_fd(c, 1),
			fz_has(c, "badname") ? (void *)16 :
					       (struct sockaddr *)&a,
			fz_has(c, "badlen") ? (void *)16 : &len,
			(fz_has(c, "nonblock") ? SOCK_NONBLOCK : 0) |
				(fz_has(c, "badflags") ? 4 : 0));

	fz_set(c, 2, r);
	fz_ret(c, r);
	if (r >= 0)
		fz_say(c, " name %u", len);
}

/* connect A B: to the address that B is bound to */
static void op_connect(struct fz_call *c)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (getsockname(fz_fd(c, 2), (struct sockaddr *)&a, &len)) {
		fz_say(c, "no name");
		return;
	}
	fz_ret(c, connect(fz_fd(c, 1), (struct sockaddr *)&a, len));
}

/* Soon. It runs until then: who sleeps is taken for one that waits. */
static bool connected(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int64_t end = fz_now_ms() + 20;

	while (poll(&p, 1, 0) != 1)
		if (fz_now_ms() > end)
			return false;
	return true;
}

/* tries A B: connections to B that wait for nobody, until there is no room */
static void op_crowd(struct fz_call *c)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	if (getsockname(fz_fd(c, 1), (struct sockaddr *)&a, &len)) {
		fz_say(c, "no name");
		return;
	}
	for (int i = 0; i < 4; i++) {
		int fd = socket(a.ss_family, SOCK_STREAM | SOCK_NONBLOCK, 0);

		/* TCP would try again a second later, when there is room. */
		if (connect(fd, (struct sockaddr *)&a, len) &&
		    (errno == EAGAIN || !connected(fd))) {
			close(fd);
			break;
		}
	}
	fz_say(c, "done");
}

/* disconnect A */
static void op_disconnect(struct fz_call *c)
{
	struct sockaddr a = { .sa_family = AF_UNSPEC };

	fz_ret(c, connect(fz_fd(c, 1), &a, sizeof(a)));
}

/* sendto A B N FLAGS: to the address that B is bound to */
static void op_sendto(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 3);
	char *b = memset(fz_buffer(c, n + 1), letter(c), n);
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int fd = fz_fd(c, 1);

	if (getsockname(fz_fd(c, 2), (struct sockaddr *)&a, &len)) {
		fz_say(c, "no name");
		return;
	}
	fz_moved(c, fd,
		 sendto(fd, b, n, (int)fz_flags(c, 4), (struct sockaddr *)&a,
			len),
		 n);
}

/* shutdown A rd|wr|rdwr */
static void op_shutdown(struct fz_call *c)
{
	fz_ret(c, shutdown(fz_fd(c, 1), fz_has(c, "rd") ? SHUT_RD :
					fz_has(c, "wr") ? SHUT_WR :
							  SHUT_RDWR));
}

const struct fz_op fz_net_ops[] = {
	{ "recvmsg", op_recvmsg },
	{ "recvfrom", op_recvfrom },
	{ "recvfd", op_recvfd },
	{ "sendmsg", op_sendmsg },
	{ "sendfd", op_sendfd },
	{ "recvmmsg", op_recvmmsg },
	{ "sendmmsg", op_sendmmsg },
	{ "accept", op_accept },
	{ "accept4", op_accept4 },
	{ "connect", op_connect },
	{ "crowd", op_crowd },
	{ "disconnect", op_disconnect },
	{ "sendto", op_sendto },
	{ "shutdown", op_shutdown },
	{ 0 },
};
