/*
 * Transfers of no bytes, and of more than there can be: readv and writev of
 * nothing do not ask the file; counts beyond all memory are EFAULT before all
 * else.
 */
#include "t.h"

static volatile size_t much = (size_t)-8, most = LONG_MAX;

static int fds[8], n;

static void quiet(int fd, struct iovec *v, int count)
{
	CHECK(readv(fd, v, count) == 0);
	CHECK(writev(fd, v, count) == 0);
	CHECK(readv(fd, v, 0) == 0);
	CHECK(writev(fd, v, 0) == 0);
	CHECK(syscall(SYS_readv, fd, v, (1ul << 32) + 1) == 0);
	CHECK_ERR(syscall(SYS_readv, fd, v, -1), EINVAL);
	CHECK(syscall(SYS_writev, fd, v, (1ul << 32) + 1) == 0);
	CHECK_ERR(syscall(SYS_writev, fd, v, -1), EINVAL);
}

static void *all(void *arg)
{
	struct iovec v[40] = { { NULL, 0 } };
	char room[64], *at = room + 1;
	int p[2];

	t_pair(p);
	fds[n++] = p[0];
	fds[n++] = p[1];
	CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, p));
	fds[n++] = p[0];
	fds[n++] = p[1];
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, p));
	fds[n++] = p[0];
	fds[n++] = socket(AF_INET, SOCK_STREAM, 0);
	fds[n++] = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fds[n - 2] >= 0 && fds[n - 1] >= 0);
	memset(room, 0, sizeof(room));
	for (int i = 0; i < n; i++) {
		quiet(fds[i], v, T_LEN(v));
		/* nor need it be aligned */
		quiet(fds[i], (struct iovec *)at, 3);
		CHECK_ERR(read(fds[i], room, much), EFAULT);
		CHECK_ERR(write(fds[i], room, much), EFAULT);
		CHECK_ERR(write(fds[i], room, most), EFAULT);
	}
	/* A packet of nothing is one, by write(); by writev() it is not. */
	CHECK(write(fds[3], room, 0) == 0);
	CHECK(recv(fds[2], room, 1, 0) == 0);
	CHECK_ERR(recv(fds[2], room, 1, MSG_DONTWAIT), EAGAIN);
	t_pipe(p);
	CHECK(readv(p[0], v, 3) == 0 && writev(p[1], v, 3) == 0);
	CHECK_ERR(read(p[0], room, much), EFAULT);
	CHECK_ERR(write(p[1], room, much), EFAULT);
	/* An empty one first, then some. */
	v[39] = (struct iovec){ (char[]){ "abc" }, 3 };
	CHECK(writev(fds[0], v, 40) == 3);
	CHECK(read(fds[1], room, 8) == 3);
	t_say("as the kernel");
	return arg;
}

int main(void)
{
	t_join(t_thread(all, NULL));
	return 0;
}
