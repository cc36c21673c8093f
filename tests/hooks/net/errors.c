/* Socket errors that are immediate: ENOTCONN, ENOTSOCK, EOPNOTSUPP, ... */
#include "t.h"

/* Memory that no program has is refused before anything is waited for. */
static void no_memory(void)
{
	char *beyond = (char *)((1l << 47) - 4), c;
	struct iovec v[2] = { { &c, 1 }, { beyond, 64 } };
	struct msghdr h = { .msg_iov = v, .msg_iovlen = 2 };
	struct mmsghdr m[2] = { { .msg_hdr = h }, { .msg_hdr = h } };
	static const int flags[] = { 0, MSG_WAITALL };
	int sv[2];

	t_pair(sv);
	for (size_t i = 0; i < T_LEN(flags); i++) {
		CHECK_ERR(recv(sv[0], beyond, 64, flags[i]), EFAULT);
		CHECK_ERR(recvmsg(sv[0], &h, flags[i]), EFAULT);
		CHECK_ERR(recvmmsg(sv[0], m, 1, flags[i], NULL), EFAULT);
		CHECK_ERR(recvmmsg(sv[0], m, 2, flags[i], NULL), EFAULT);
	}
	t_close(sv[0]);
	t_close(sv[1]);
}

static void *check(void *arg)
{
	int s = socket(AF_INET, SOCK_STREAM, 0), u, p[2];
	struct sockaddr_in a = t_addr(1);
	socklen_t len = sizeof(a);
	char c = 0;

	CHECK(s >= 0);
	CHECK_ERR(recv(s, &c, 1, 0), ENOTCONN);
	CHECK_ERR(read(s, &c, 1), ENOTCONN);
	CHECK_ERR(send(s, &c, 1, MSG_NOSIGNAL), EPIPE);
	CHECK_ERR(accept(s, NULL, NULL), EINVAL);
	CHECK_ERR(getpeername(s, (struct sockaddr *)&a, &len), ENOTCONN);
	u = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(u >= 0);
	CHECK_ERR(accept(u, NULL, NULL), EOPNOTSUPP);
	CHECK_ERR(listen(u, 1), EOPNOTSUPP);
	CHECK_ERR(write(u, &c, 1), EDESTADDRREQ);
	CHECK_ERR(socket(AF_INET, 77, 0), EINVAL);
	CHECK_ERR(socket(9999, SOCK_STREAM, 0), EAFNOSUPPORT);
	t_pipe(p);
	CHECK_ERR(recvfrom(p[0], &c, 1, 0, NULL, NULL), ENOTSOCK);
	CHECK_ERR(sendto(p[1], &c, 1, 0, NULL, 0), ENOTSOCK);
	CHECK_ERR(listen(p[0], 1), ENOTSOCK);
	t_close(p[0]);
	t_close(p[1]);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p) == 0);
	t_close(p[0]);
	CHECK_ERR(send(p[1], &c, 1, MSG_NOSIGNAL), EPIPE);
	CHECK(recv(p[1], &c, 1, 0) == 0);
	t_close(p[1]);
	t_close(s);
	t_close(u);
	no_memory();
	return arg;
}

int main(void)
{
	pthread_t th[6];

	check(NULL);
	for (int i = 0; i < 6; i++)
		th[i] = t_thread(check, NULL);
	check(NULL);
	for (int i = 0; i < 6; i++)
		t_join(th[i]);
	t_say("main and 6 threads");
	return 0;
}
