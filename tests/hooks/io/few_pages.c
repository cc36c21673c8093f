/*
 * sendfile() to a unix stream by a user who has so many pages in pipes that the kernel's
 * own for it is two pages: each of its buffers waits for room. Both numbers are given to
 * other files meanwhile, by who is to read.
 *
 * t-no-stats: another user may not write there
 */
#include "../calls.h"
#include <sys/mman.h>
#include <sys/sendfile.h>

enum { SIZE = 1 << 20, USER = 54321, PIPE = 1 << 20, PIPES = 100 };

static char data[SIZE], got[SIZE];
static int out[2], file;

static long send_all(void *to)
{
	off_t at = 0;
	long r = sendfile(*(int *)to, file, &at, SIZE);

	CHECK(at == r);
	return r;
}

/* Whoever has no privilege may have 64 MB of them by default. */
static void take_pages(void)
{
	int p[2];

	for (int i = 0; i < PIPES; i++) {
		t_pipe(p);
		if (fcntl(p[1], F_SETPIPE_SZ, PIPE) < 0) {
			CHECK(errno == EPERM);
			return;
		}
	}
	t_skip("pipes may be as large as they like");
}

int main(void)
{
	int to, other[2], room = 40000;
	struct t_call c;
	size_t have = 0;

	if (setgid(USER) || setuid(USER))
		t_skip("not root: other processes of this user have pipes, "
		       "too");
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 7 + i / 251);
	file = memfd_create("data", 0);
	t_write(file, data, SIZE);
	take_pages();
	t_pair(out);
	t_pair(other);
	CHECK_0(setsockopt(out[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)));
	to = out[1];
	t_begin(&c, send_all, &to);
	t_waits(&c);
	CHECK(dup2(other[1], out[1]) == out[1]);
	CHECK(dup2(other[1], file) == file);
	while (have < SIZE) {
		ssize_t n = read(out[0], got + have, SIZE - have);

		CHECK(n > 0);
		have += (size_t)n;
	}
	t_ended("sent", &c);
	CHECK(memcmp(data, got, SIZE) == 0);
	return 0;
}
