/*
 * A call whose number is closed under it stays with its file, and a cancel that may not
 * act, since it is disabled or the call is no cancellation point, changes nothing: neither
 * before the close nor after it. Who stands in line for a lock keeps its place.
 */
#include "../calls.h"
#include <sys/file.h>

static int disables;

static void begins(void)
{
	if (disables)
		CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
}

static long reads(void *arg)
{
	char b[4];

	begins();
	return read(*(int *)arg, b, sizeof(b));
}

static long accepts(void *arg)
{
	int fd;

	begins();
	fd = accept(*(int *)arg, NULL, NULL);
	return fd < 0 ? -1 : close(fd);
}

static long locks(void *arg)
{
	int fd = *(int *)arg;
	long r;

	begins();
	r = flock(fd, LOCK_EX);
	/* The cancel acts later, if at all. */
	CHECK_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
	return r;
}

static void meets(struct t_call *c, int fd, int close_first)
{
	if (close_first)
		t_close(fd);
	t_waits(c);
	CHECK_0(pthread_cancel(c->th));
	t_waits(c);
	if (!close_first)
		t_close(fd);
	t_waits(c);
}

static void data(const char *name, const int ends[2], int close_first)
{
	struct t_call c;
	int fd = ends[0];

	t_begin(&c, reads, &fd);
	meets(&c, fd, close_first);
	CHECK(write(ends[1], "data", 4) == 4);
	t_ended(name, &c);
	t_close(ends[1]);
}

static void connection(int close_first)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0), to;
	struct t_call c;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_0(bind(fd, (struct sockaddr *)&at, len));
	CHECK_0(listen(fd, 1));
	CHECK_0(getsockname(fd, (struct sockaddr *)&at, &len));
	t_begin(&c, accepts, &fd);
	meets(&c, fd, close_first);
	to = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_0(connect(to, (struct sockaddr *)&at, len));
	t_ended("accept", &c);
	t_close(to);
}

/* The first of those who stand there, or the second. */
static void lock(int second, int close_first)
{
	char path[] = "/tmp/closed_beside_cancel.XXXXXX";
	int holder = mkstemp(path), fd[2];
	struct t_call c[2];

	CHECK(holder >= 0);
	CHECK_0(flock(holder, LOCK_EX));
	for (int i = 0; i < 2; i++) {
		fd[i] = open(path, O_RDWR);
		CHECK(fd[i] >= 0);
		t_begin(&c[i], locks, &fd[i]);
	}
	meets(&c[second], fd[second], close_first);
	t_waits(&c[!second]);
	CHECK_0(flock(holder, LOCK_UN));
	t_ended("first lock", &c[0]);
	if (second) /* else its call was the last that had the file */
		CHECK_0(flock(fd[0], LOCK_UN));
	t_ended("second lock", &c[1]);
	t_close(fd[!second]);
	t_close(holder);
	CHECK_0(unlink(path));
}

int main(void)
{
	int ends[2];

	for (int close_first = 0; close_first < 2; close_first++) {
		disables = 1;
		t_pipe(ends);
		data("pipe", ends, close_first);
		CHECK_0(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
		data("socket", ends, close_first);
		connection(close_first);
		for (int i = 0; i < 4; i++) {
			disables = i % 2;
			lock(i / 2, close_first);
		}
	}
	return 0;
}
