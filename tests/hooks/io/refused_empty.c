/*
 * Reads whose arguments are wrong fail before they wait, though it is known, or likely,
 * that there is nothing to read: where no program has memory, lengths below 0, too many
 * pieces.
 */
#include "../calls.h"
#include <sys/eventfd.h>
#include <sys/inotify.h>

#define NOWHERE ((void *)-4096)

static char b[64];

static long reads(void *arg)
{
	return read(*(int *)arg, b, 8);
}

static long receives(void *arg)
{
	return recv(*(int *)arg, b, 50, 0);
}

/* Until it is known to be empty by short reads, or presumed by those that took all. */
static void empty(int rd, int wr, long (*fn)(void *), size_t n, int times)
{
	for (int i = 0; i < times; i++) {
		uint64_t one = 1;
		struct t_call c;

		t_begin(&c, fn, &rd);
		t_write(wr, &one, n);
		CHECK(t_end(&c) == (long)n);
	}
}

static long wrong_read(void *arg)
{
	return read(*(int *)arg, NOWHERE, 8);
}

static long wrong_length(void *arg)
{
	struct iovec v = { b, (size_t)-1 };

	return readv(*(int *)arg, &v, 1);
}

static long wrong_piece(void *arg)
{
	struct iovec v = { NOWHERE, 8 };

	return readv(*(int *)arg, &v, 1);
}

static void files(const char *what, int rd)
{
	struct t_call c;

	t_say("%s", what);
	t_begin(&c, wrong_read, &rd);
	t_ended("read", &c);
	t_begin(&c, wrong_length, &rd);
	t_ended("length", &c);
	t_begin(&c, wrong_piece, &rd);
	t_ended("piece", &c);
}

static long wrong_recv(void *arg)
{
	return recv(*(int *)arg, NOWHERE, 8, 0);
}

static long wrong_name(void *arg)
{
	struct iovec v = { b, 8 };
	struct msghdr m = { .msg_name = b,
			    .msg_namelen = (socklen_t)-1,
			    .msg_iov = &v,
			    .msg_iovlen = 1 };

	return recvmsg(*(int *)arg, &m, 0);
}

static long too_many(void *arg)
{
	static struct iovec v[2000];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = T_LEN(v) };

	for (size_t i = 0; i < T_LEN(v); i++)
		v[i] = (struct iovec){ b, 1 };
	return recvmsg(*(int *)arg, &m, 0);
}

static void socket_calls(int fd)
{
	struct t_call c;

	t_begin(&c, wrong_recv, &fd);
	t_ended("recv", &c);
	t_begin(&c, wrong_name, &fd);
	t_ended("name", &c);
	t_begin(&c, too_many, &fd);
	t_ended("pieces", &c);
}

static void both(const char *what, const int sv[2], long (*fn)(void *),
		 size_t n, int times)
{
	empty(sv[0], sv[1], fn, n, times);
	files(what, sv[0]);
	socket_calls(sv[0]);
	t_close(sv[0]);
	t_close(sv[1]);
}

int main(void)
{
	int p[2];

	t_be_threaded();
	t_pair(p);
	both("stream", p, receives, 1, 2);
	t_tcp_pair(p);
	both("tcp", p, receives, 1, 2);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, p) == 0);
	both("datagrams", p, reads, 8, 16);
	t_pipe(p);
	empty(p[0], p[1], reads, 1, 2);
	files("pipe", p[0]);
	p[0] = eventfd(0, 0);
	empty(p[0], p[0], reads, 8, 16);
	files("eventfd", p[0]);
	p[0] = inotify_init();
	files("inotify", p[0]);
	return 0;
}
