/* readv, writev, preadv, pwritev on pipes, sockets and a file. */
#include "t.h"

static void *send_vec(void *arg)
{
	char a[3] = "abc", b[1] = "d", c[6] = "efghij";
	struct iovec v[4] = { { a, 3 }, { b, 1 }, { NULL, 0 }, { c, 6 } };

	for (int i = 0; i < 50; i++)
		CHECK(writev(*(int *)arg, v, 4) == 10);
	t_close(*(int *)arg);
	return NULL;
}

static void receive(int rd, int wr)
{
	pthread_t th = t_thread(send_vec, &wr);
	char x[4], y[6];
	size_t got = 0;
	ssize_t n;

	for (;;) {
		struct iovec v[2] = { { x, 4 }, { y, 6 } };

		n = readv(rd, v, 2);
		CHECK(n >= 0);
		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++) {
			char ch = i < 4 ? x[i] : y[i - 4];

			CHECK(ch == "abcdefghij"[got++ % 10]);
		}
	}
	t_join(th);
	t_say("%zu bytes", got);
}

int main(void)
{
	struct iovec bad[2] = { { (void *)8, 4 }, { (void *)8, 4 } };
	char path[PATH_MAX], b[8], buf[8];
	struct iovec v[2] = { { b, 3 }, { b + 3, 4 } };
	volatile int minus = -1, many = 1025;
	int p[2], fd;

	t_pipe(p);
	receive(p[0], p[1]);
	t_pair(p);
	receive(p[0], p[1]);
	t_tcp_pair(p);
	receive(p[0], p[1]);

	snprintf(path, sizeof(path), "%s/file", getenv("T_TMP"));
	fd = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	memcpy(b, "0123456", 8);
	CHECK(pwritev(fd, v, 2, 100) == 7);
	memset(b, 0, sizeof(b));
	CHECK(preadv(fd, v, 2, 100) == 7);
	CHECK(memcmp(b, "0123456", 7) == 0);
	CHECK(preadv(fd, v, 2, 104) == 3);
	CHECK(lseek(fd, 0, SEEK_CUR) == 0);
	CHECK(preadv2(fd, v, 2, -1, 0) == 7);
	CHECK(lseek(fd, 0, SEEK_CUR) == 7);
	CHECK(pread(fd, buf, 8, 1000) == 0);
	CHECK(pwrite(fd, "zz", 2, 0) == 2);
	CHECK(pread(fd, buf, 8, 0) == 8);
	CHECK(buf[0] == 'z');
	t_pair(p);
	CHECK_ERR(preadv(p[0], v, 2, 0), ESPIPE);
	CHECK_ERR(readv(p[0], v, minus), EINVAL);
	CHECK_ERR(readv(p[0], v, many), EINVAL);
	CHECK(readv(p[0], v, 0) == 0);
	t_put(p[1], 'x');
	CHECK_ERR(readv(p[0], bad, 2), EFAULT);
	CHECK_ERR(writev(p[1], bad, 2), EFAULT);
	t_say("files and errors");
	return 0;
}
