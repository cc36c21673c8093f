/*
 * TCP_FASTOPEN_CONNECT: connect() does nothing yet, the first send connects, and waits
 * for that: its error is the send's.
 */
#include "../calls.h"

#ifndef TCP_FASTOPEN_NO_COOKIE
#define TCP_FASTOPEN_NO_COOKIE 34
#endif

enum { ALL = 200000 };
static char big[ALL], b[ALL];

struct job {
	int fd;
	size_t n;
};

static long sends(void *arg)
{
	const struct job *j = arg;

	return send(j->fd, big, j->n, MSG_NOSIGNAL);
}

static long writes(void *arg)
{
	const struct job *j = arg;
	struct iovec v = { big, j->n };

	return writev(j->fd, &v, 1);
}

static int left(int fd)
{
	socklen_t len = sizeof(int);
	int err;

	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	return err;
}

static int with_option(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	CHECK(fd >= 0);
	if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on,
		       sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_NO_COOKIE, &on,
		       sizeof(on)))
		t_skip("no TCP_FASTOPEN_CONNECT");
	return fd;
}

static void defer(int fd, int port)
{
	struct sockaddr_in a = t_addr(port);

	T_RESULT("connect", connect(fd, (struct sockaddr *)&a, sizeof(a)));
}

static int deferred(int port)
{
	int fd = with_option();

	defer(fd, port);
	return fd;
}

static void refused(const char *what, long (*fn)(void *), size_t n)
{
	int port, l = t_listen(&port);
	struct job j = { .n = n };
	struct t_call c;

	t_close(l);
	j.fd = deferred(port);
	t_begin(&c, fn, &j);
	t_ended(what, &c);
	t_say("left: %d", left(j.fd));
	t_close(j.fd);
}

static void accepted(const char *what, long (*fn)(void *), size_t n)
{
	int port, l = t_listen(&port), s;
	struct job j = { .n = n };
	struct t_call c;

	j.fd = deferred(port);
	t_begin(&c, fn, &j);
	s = accept(l, NULL, NULL);
	CHECK(s >= 0);
	t_read(s, b, n);
	t_ended(what, &c);
	/* From now on it is a connection as others are. */
	t_begin(&c, fn, &j);
	t_read(s, b, n);
	t_ended("again", &c);
	t_close(j.fd);
	t_eof(s);
	t_close(s);
	t_close(l);
}

/* Before the first thread. */
static int early[2], early_port;

static void make_early(void)
{
	t_close(t_listen(&early_port));
	early[0] = deferred(early_port);
	early[1] = with_option();
}

static void refused_early(int fd, const char *what)
{
	struct job j = { .fd = fd, .n = 5 };
	struct t_call c;

	t_begin(&c, sends, &j);
	t_ended(what, &c);
	t_say("left: %d", left(fd));
	t_close(fd);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	make_early();
	t_be_threaded();
	refused_early(early[0], "connected early");
	defer(early[1], early_port);
	refused_early(early[1], "asked for early");
	refused("little", sends, 5);
	refused("much", sends, ALL);
	refused("writev", writes, 5);
	accepted("little", sends, 5);
	accepted("much", sends, ALL);
	accepted("writev", writes, ALL);
	return 0;
}
