/*
 * A pipe or a FIFO becomes O_NONBLOCK while two threads wait to write there. When a page
 * is read the first one fills that, and ends with what it has written; the second has
 * found no room yet, and waits on: once there is some it ends with that in turn.
 */
#include "../calls.h"
#include <sys/ioctl.h>

enum { PAGE = 4096, MUCH = 70000 };

struct job {
	int fd;
	size_t n;
};

static const char from[MUCH];

static long writes(void *arg)
{
	const struct job *j = arg;

	return write(j->fd, from, j->n);
}

static void get_page(int fd)
{
	char b[PAGE];

	CHECK(read(fd, b, sizeof(b)) == sizeof(b));
}

static void both_wait(const char *what, const int ends[2], size_t second)
{
	struct job big = { ends[1], MUCH }, other = { ends[1], second };
	struct t_call a, b;
	int one = 1, left;

	CHECK(fcntl(ends[1], F_SETPIPE_SZ, PAGE) == PAGE);
	t_begin(&a, writes, &big);
	t_waits(&a);
	t_begin(&b, writes, &other);
	t_waits(&b);
	CHECK(ioctl(ends[1], FIONBIO, &one) == 0);
	t_waits(&a);
	t_waits(&b);
	t_say("%s, and %zu bytes", what, second);
	get_page(ends[0]);
	t_ended("the first", &a);
	t_waits(&b);
	get_page(ends[0]);
	t_ended("the second", &b);
	CHECK(ioctl(ends[0], FIONREAD, &left) == 0);
	t_say("left: %d", left);
	t_close(ends[0]);
	t_close(ends[1]);
}

static void open_fifo(int ends[2], const char *path)
{
	ends[0] = open(path, O_RDONLY | O_NONBLOCK);
	ends[1] = open(path, O_WRONLY);
	CHECK(ends[0] >= 0 && ends[1] >= 0);
}

int main(void)
{
	static const size_t seconds[] = { 1, PAGE, PAGE + 1000 };
	char path[PATH_MAX];
	int ends[2];

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	for (size_t i = 0; i < T_LEN(seconds); i++) {
		t_pipe(ends);
		both_wait("a pipe", ends, seconds[i]);
	}
	open_fifo(ends, path);
	both_wait("a FIFO", ends, PAGE + 1000);
	return 0;
}
