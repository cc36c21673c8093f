/*
 * The queue of errors, MSG_ERRQUEUE: what poll says of it, who gets the error, and
 * that what is no error ends no wait for data.
 */
#include "../calls.h"
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>

static long receive(void *fd)
{
	char b[8];

	return recv(*(int *)fd, b, sizeof(b), 0);
}

static long watch(void *fd)
{
	struct pollfd p = { *(int *)fd, 0, 0 };

	return poll(&p, 1, 20000) == 1 ? p.revents : -1;
}

/* What is in the queue, or -errno; it never waits. */
static long from_queue(int fd, struct sock_extended_err *e)
{
	char b[8], ctl[512];
	struct iovec v = { b, sizeof(b) };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = ctl,
			    .msg_controllen = sizeof(ctl) };
	struct cmsghdr *c;
	long r = recvmsg(fd, &m, MSG_ERRQUEUE);

	memset(e, 0, sizeof(*e));
	if (r < 0)
		return -errno;
	CHECK(m.msg_flags & MSG_ERRQUEUE);
	for (c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
		if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR)
			memcpy(e, CMSG_DATA(c), sizeof(*e));
	return r;
}

static int to_nobody(void)
{
	int port, fd = t_bound(SOCK_DGRAM, &port), one = 1;
	struct sockaddr_in a = t_addr(port);

	t_close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(setsockopt(fd, SOL_IP, IP_RECVERR, &one, sizeof(one)) == 0);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	return fd;
}

static void refused(void)
{
	struct sock_extended_err e;
	struct t_call c, p;
	int fd = to_nobody();

	t_result("nothing yet", from_queue(fd, &e));
	t_begin(&p, watch, &fd);
	t_begin(&c, receive, &fd);
	t_waits(&c);
	CHECK(send(fd, "abc", 3, 0) == 3);
	t_ended("who waits", &c);
	t_result("poll", t_end(&p));
	t_result("the queue", from_queue(fd, &e));
	t_say("of %s, origin %d, type %d, code %d",
	      strerrorname_np((int)e.ee_errno), e.ee_origin, e.ee_type,
	      e.ee_code);
	t_result("no more", from_queue(fd, &e));
	t_close(fd);
}

/* A time stamp of what was sent is no error: who waits for data waits on. */
static void stamps(void)
{
	int port, fd = t_bound(SOCK_DGRAM, &port);
	int flags = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
		    SOF_TIMESTAMPING_OPT_TSONLY;
	struct sockaddr_in a = t_addr(port);
	struct sock_extended_err e;
	struct t_call c, p;
	int from = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(connect(from, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(setsockopt(from, SOL_SOCKET, SO_TIMESTAMPING, &flags,
			 sizeof(flags)) == 0);
	t_begin(&c, receive, &from);
	t_begin(&p, watch, &from);
	CHECK(send(from, "abc", 3, 0) == 3);
	t_result("poll", t_end(&p));
	t_waits(&c);
	t_result("a stamp", from_queue(from, &e));
	t_say("of %s, origin %d", strerrorname_np((int)e.ee_errno),
	      e.ee_origin);
	t_waits(&c);
	CHECK(recvfrom(fd, &(char[4]){ 0 }, 4, 0, (struct sockaddr *)&a,
		       &(socklen_t){ sizeof(a) }) == 3);
	CHECK(sendto(fd, "de", 2, 0, (struct sockaddr *)&a, sizeof(a)) == 2);
	t_ended("data", &c);
	t_close(from);
	t_close(fd);
}

static void zerocopy(void)
{
	static char page[65536];
	struct sock_extended_err e;
	struct t_call c, p;
	int sv[2], one = 1;
	long r;

	t_tcp_pair(sv);
	if (setsockopt(sv[0], SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one))) {
		t_say("no zero-copy here");
		return;
	}
	t_begin(&c, receive, &sv[0]);
	t_begin(&p, watch, &sv[0]);
	r = send(sv[0], page, 20000, MSG_ZEROCOPY);
	CHECK(r == 20000);
	t_read(sv[1], page, 20000);
	t_result("poll", t_end(&p));
	t_waits(&c);
	t_result("completion", from_queue(sv[0], &e));
	t_say("of %u to %u, origin %d", e.ee_info, e.ee_data, e.ee_origin);
	t_put(sv[1], 'x');
	t_ended("data", &c);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	refused();
	stamps();
	zerocopy();
	return 0;
}
