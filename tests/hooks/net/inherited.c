/*
 * A connection has the time limits of its listener, as they were when it came,
 * whoever has set them there, and keeps its own.
 *
 * t-case: before
 * t-case: after
 */
#include "../calls.h"
#include <netinet/in.h>

enum { SHORT_MS = 30 };

static int l, port, client;

static void limit(int fd, int name, long ms)
{
	struct timeval tv = { ms / 1000, ms % 1000 * 1000 };

	CHECK(!setsockopt(fd, SOL_SOCKET, name, &tv, sizeof(tv)));
}

/* By another process. */
static void limit_from_outside(long ms)
{
	pid_t pid = fork();

	if (pid == 0) {
		limit(l, SO_RCVTIMEO, ms);
		_exit(0);
	}
	t_wait_ok(pid);
}

static int accepted(void)
{
	int fd;

	client = t_connect(port);
	fd = accept(l, NULL, NULL);
	CHECK(fd >= 0);
	return fd;
}

static void *write_later(void *arg)
{
	t_pause();
	t_write(client, "x", 1);
	return arg;
}

/* A read that waits: for the limit, or for what comes. */
static void reads(const char *what, int fd)
{
	struct timeval tv = { -1, 0 };
	socklen_t len = sizeof(tv);
	pthread_t th;
	char b;

	CHECK(!getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	if (tv.tv_sec || tv.tv_usec) {
		T_RESULT(what, recv(fd, &b, 1, 0));
	} else {
		th = t_thread(write_later, NULL);
		T_RESULT(what, recv(fd, &b, 1, 0));
		t_join(th);
	}
}

static void done(int fd)
{
	t_close(fd);
	t_close(client);
}

static void writes_until(const char *what, int fd)
{
	static char buf[1 << 16];
	ssize_t r;

	do
		r = send(fd, buf, sizeof(buf), 0);
	while (r > 0);
	T_RESULT(what, r);
}

static void from_outside(void)
{
	int fd = accepted();

	reads("no limit", fd);
	limit_from_outside(SHORT_MS);
	reads("that of before", fd);
	done(fd);
	fd = accepted();
	reads("from outside", fd);
	reads("once more", fd);
	done(fd);
	limit_from_outside(0);
	fd = accepted();
	reads("none from outside", fd);
	done(fd);
}

static void by_itself(void)
{
	int fd;

	limit(l, SO_RCVTIMEO, SHORT_MS);
	fd = accepted();
	reads("the listener's", fd);
	limit(fd, SO_RCVTIMEO, 5000);
	limit(l, SO_RCVTIMEO, 0);
	limit(fd, SO_RCVTIMEO, 0);
	reads("its own", fd);
	done(fd);
	fd = accepted();
	reads("none again", fd);
	done(fd);
	limit(l, SO_SNDTIMEO, SHORT_MS);
	fd = accepted();
	writes_until("a write", fd);
	limit(fd, SO_SNDTIMEO, 1000);
	limit(fd, SO_SNDTIMEO, SHORT_MS);
	writes_until("another", fd);
	done(fd);
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	if (!strcmp(argv[1], "before"))
		l = t_listen(&port);
	t_be_threaded();
	if (!l)
		l = t_listen(&port);
	from_outside();
	by_itself();
	t_close(l);
	return 0;
}
