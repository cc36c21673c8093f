/* recvmmsg and sendmmsg, blocking, with timeout and MSG_WAITFORONE. */
#include "t.h"
#include <linux/filter.h>
#include <linux/netlink.h>

enum { N = 8 };

static int rd;

static int receive(int flags, struct timespec *ts)
{
	struct mmsghdr mm[N];
	struct iovec v[N];
	char b[N][16];
	int n;

	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < N; i++) {
		v[i] = (struct iovec){ b[i], sizeof(b[i]) };
		mm[i].msg_hdr.msg_iov = &v[i];
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(rd, mm, N, flags, ts);
	CHECK(n > 0);
	for (int i = 0; i < n; i++) {
		CHECK(mm[i].msg_len == (unsigned)i + 1);
		CHECK(b[i][0] == (char)('a' + i));
	}
	return n;
}

static void *all(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)receive(0, NULL);
}

static void *for_one(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)receive(MSG_WAITFORONE, NULL);
}

static void transmit(int fd, int n)
{
	struct mmsghdr mm[N];
	struct iovec v[N];
	char b[N][16];

	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < n; i++) {
		memset(b[i], 'a' + i, sizeof(b[i]));
		v[i] = (struct iovec){ b[i], (size_t)i + 1 };
		mm[i].msg_hdr.msg_iov = &v[i];
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	CHECK(sendmmsg(fd, mm, (unsigned)n, 0) == n);
}

/* A filter of the receiver's makes messages shorter: the kernel says so, and goes on. */
static void filtered(void)
{
	struct sock_filter one = { BPF_RET | BPF_K, 0, 0, 1 };
	struct sock_fprog prog = { 1, &one };
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	socklen_t len = sizeof(to);
	struct mmsghdr mm[3];
	struct iovec v = { "abc", 3 };
	int s[2];

	for (int i = 0; i < 2; i++) {
		s[i] = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_USERSOCK);
		CHECK(s[i] >= 0);
		CHECK_0(bind(s[i], (struct sockaddr *)&to, sizeof(to)));
	}
	CHECK_0(getsockname(s[0], (struct sockaddr *)&to, &len));
	CHECK_0(setsockopt(s[0], SOL_SOCKET, SO_ATTACH_FILTER, &prog,
			   sizeof(prog)));
	memset(mm, 0, sizeof(mm));
	for (int i = 0; i < 3; i++)
		mm[i].msg_hdr = (struct msghdr){ .msg_name = &to,
						 .msg_namelen = sizeof(to),
						 .msg_iov = &v,
						 .msg_iovlen = 1 };
	t_say("filtered: %d", sendmmsg(s[1], mm, 3, 0));
	t_say("of lengths %u %u %u", mm[0].msg_len, mm[1].msg_len,
	      mm[2].msg_len);
}

int main(void)
{
	int sv[2];
	pthread_t th;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) == 0);
	rd = sv[0];
	th = t_thread(all, NULL);
	t_settle();
	transmit(sv[1], N);
	t_say("all: %d", (int)(intptr_t)t_join(th));
	transmit(sv[1], 3);
	th = t_thread(for_one, NULL);
	t_say("wait for one: %d", (int)(intptr_t)t_join(th));
	th = t_thread(for_one, NULL);
	t_settle();
	transmit(sv[1], 1);
	t_say("wait for one, late: %d", (int)(intptr_t)t_join(th));
	struct mmsghdr none = { .msg_len = 0 };
	CHECK_ERR(recvmmsg(rd, &none, 1, MSG_DONTWAIT, NULL), EAGAIN);
	t_say("nothing: EAGAIN");
	filtered();
	return 0;
}
