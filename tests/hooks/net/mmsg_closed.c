/*
 * sendmmsg whose number is closed, or made another file's, while one of its messages waits
 * for room: the others go to the same file.
 *
 * t-case: dgram
 * t-case: seqpacket
 * t-case: stream
 */
#include "../calls.h"

enum { N = 4, SIZE = 2000 };

static long sends(void *arg)
{
	static char b[N][SIZE];
	struct mmsghdr mm[N] = { 0 };
	struct iovec v[N];
	long n;

	for (int i = 0; i < N; i++) {
		memset(b[i], 'a' + i, SIZE);
		v[i] = (struct iovec){ b[i], SIZE };
		mm[i].msg_hdr.msg_iov = &v[i];
		mm[i].msg_hdr.msg_iovlen = 1;
	}
	n = sendmmsg(*(int *)arg, mm, N, 0);
	for (int i = 0; i < n; i++)
		CHECK(mm[i].msg_len == SIZE);
	return n;
}

/* All that there is at @fd, and what @c sends: which letters, in turn. */
static void receives(int fd, struct t_call *c)
{
	char b[SIZE], seen[64] = "";
	size_t len = 0;
	ssize_t n;

	while (len < N) {
		n = recv(fd, b, sizeof(b), 0);
		CHECK(n > 0);
		for (ssize_t i = 0; i < n; i++)
			if (b[i] != 'x' && (!len || seen[len - 1] != b[i]))
				seen[len++] = b[i];
	}
	t_ended("sendmmsg", c);
	t_say("%s", seen);
}

static void closed(int type, int room, int other)
{
	int ends[2], others[2], files = 0;
	char x[SIZE], b[SIZE];
	struct t_call c;

	memset(x, 'x', sizeof(x));
	CHECK_0(socketpair(AF_UNIX, type, 0, ends));
	CHECK_0(socketpair(AF_UNIX, type, 0, others));
	while (send(ends[0], x, SIZE, MSG_DONTWAIT) > 0)
		files++;
	CHECK(errno == EAGAIN && files > 4);
	if (room) /* for the first */
		CHECK(recv(ends[1], b, SIZE, 0) == SIZE);
	t_begin(&c, sends, &ends[0]);
	if (other)
		CHECK(dup2(others[0], ends[0]) == ends[0]);
	else
		t_close(ends[0]);
	t_rests();
	t_waits(&c);
	receives(ends[1], &c);
	CHECK_ERR(recv(others[1], b, 1, MSG_DONTWAIT), EAGAIN);
	if (other)
		t_close(ends[0]);
	/* Nobody has the file any more. */
	while (recv(ends[1], b, SIZE, type == SOCK_DGRAM ? MSG_DONTWAIT : 0) >
	       0)
		;
	if (type == SOCK_DGRAM)
		CHECK_ERR(send(ends[1], b, 1, MSG_NOSIGNAL), ECONNREFUSED);
	t_close(ends[1]);
	t_close(others[0]);
	t_close(others[1]);
}

static long nothing(void *arg)
{
	return arg != NULL;
}

int main(int argc, char **argv)
{
	int type = t_type(argc == 2 ? argv[1] : "stream");
	struct t_call c;

	t_begin(&c, nothing, NULL); /* hooked: what is made is known */
	CHECK_0(t_end(&c));
	for (int i = 0; i < 4; i++)
		closed(type, i & 1, i & 2);
	return 0;
}
