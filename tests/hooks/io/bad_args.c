/* EFAULT, EBADF, EINVAL, EISDIR and friends, in main and in a thread. */
#include "t.h"

static void *check(void *arg)
{
	char *volatile where = (char *)16;
	char *bad = where, c = 'x';
	struct iovec v = { &c, 1 };
	int p[2], sv[2], d;

	(void)arg;
	t_pipe(p);
	t_pair(sv);
	t_put(p[1], 'a');
	t_put(sv[1], 'a');
	CHECK_ERR(read(p[0], bad, 1), EFAULT);
	CHECK_ERR(write(p[1], bad, 1), EFAULT);
	CHECK_ERR(readv(p[0], (struct iovec *)bad, 1), EFAULT);
	CHECK_ERR(writev(p[1], (struct iovec *)bad, 1), EFAULT);
	CHECK_ERR(recv(sv[0], bad, 1, 0), EFAULT);
	CHECK_ERR(send(sv[0], bad, 1, 0), EFAULT);
	CHECK_ERR(recvmsg(sv[0], (struct msghdr *)bad, 0), EFAULT);
	CHECK_ERR(sendmsg(sv[0], (struct msghdr *)bad, 0), EFAULT);
	CHECK_ERR(sendmsg(sv[0], (struct msghdr *)bad, MSG_DONTWAIT), EFAULT);
	CHECK(t_get(p[0]) == 'a');
	CHECK_ERR(read(-1, &c, 1), EBADF);
	CHECK_ERR(read(5000, &c, 1), EBADF);
	CHECK_ERR(write(INT_MAX, &c, 1), EBADF);
	CHECK_ERR(write(-5, &c, 1), EBADF);
	CHECK_ERR(recv(-1, &c, 1, 0), EBADF);
	CHECK_ERR(close(-1), EBADF);
	CHECK_ERR(close(9999), EBADF);
	CHECK_ERR(read(p[1], &c, 1), EBADF);
	CHECK_ERR(write(p[0], &c, 1), EBADF);
	CHECK_ERR(readv(p[1], &v, 1), EBADF);
	CHECK_ERR(recv(p[0], &c, 1, 0), ENOTSOCK);
	CHECK_ERR(send(p[1], &c, 1, 0), ENOTSOCK);
	CHECK_ERR(accept(p[0], NULL, NULL), ENOTSOCK);
	CHECK_ERR(accept(sv[0], NULL, NULL), EINVAL);
	CHECK_ERR(accept4(sv[0], NULL, NULL, 12345), EINVAL);
	CHECK_ERR(accept(-1, NULL, NULL), EBADF);
	CHECK_ERR(connect(-1, NULL, 0), EBADF);
	CHECK_ERR(connect(p[0], (struct sockaddr *)&c, 1), ENOTSOCK);
	CHECK_ERR(lseek(p[0], 0, SEEK_CUR), ESPIPE);
	d = open("/", O_RDONLY | O_DIRECTORY);
	CHECK(d >= 0);
	CHECK_ERR(read(d, &c, 1), EISDIR);
	CHECK_ERR(write(d, &c, 1), EBADF);
	t_close(d);
	d = open("/", O_PATH);
	CHECK(d >= 0);
	CHECK_ERR(read(d, &c, 1), EBADF);
	CHECK_ERR(fcntl(d, F_SETOWN_EX, NULL), EBADF);
	CHECK_ERR(fcntl(9999, F_SETOWN_EX, NULL), EBADF);
	CHECK_ERR(fcntl(p[0], F_SETOWN_EX, NULL), EFAULT);
	t_close(d);
	t_close(p[0]);
	t_close(p[1]);
	t_close(sv[0]);
	t_close(sv[1]);
	return NULL;
}

int main(void)
{
	t_handle(SIGPIPE, SIG_IGN, 0);
	check(NULL);
	t_say("main");
	for (int i = 0; i < 4; i++)
		t_join(t_thread(check, NULL));
	check(NULL);
	t_say("threads");
	return 0;
}
