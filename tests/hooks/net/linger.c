/*
 * SO_LINGER: close() waits until the peer has all that was sent, or for so long.
 * Others run meanwhile, and the number is free at once.
 *
 * t-chaos-but idle_kick: a close that lingers
 */
#include "../calls.h"

static long end(void *fd)
{
	return close(*(int *)fd);
}

static void drain(int fd)
{
	static char b[65536];
	ssize_t r;

	do
		r = read(fd, b, sizeof(b));
	while (r > 0);
	T_RESULT("the peer, at last", r);
}

/* A connection whose buffers are full, and that lingers on its close. */
static void full(int sv[2], int seconds)
{
	static char b[65536];
	struct linger l = { 1, seconds };

	t_tcp_pair(sv);
	while (send(sv[0], b, sizeof(b), MSG_DONTWAIT) > 0)
		;
	CHECK(errno == EAGAIN);
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_LINGER, &l, sizeof(l)) == 0);
}

int main(void)
{
	struct linger now = { 1, 0 };
	struct t_call c;
	long long t0;
	char b;
	int sv[2], fd;

	full(sv, 1000);
	fd = sv[0];
	t_begin(&c, end, &sv[0]);
	t_waits(&c);
	CHECK(fcntl(fd, F_GETFD) == -1);
	t_be_threaded();
	t_say("others run");
	drain(sv[1]);
	t_ended("close", &c);
	t_close(sv[1]);

	full(sv, 1);
	t0 = t_now();
	t_begin(&c, end, &sv[0]);
	t_ended("close after its time", &c);
	T_TOOK(t0, T_SEC);
	drain(sv[1]);
	t_close(sv[1]);

	full(sv, 1000);
	fd = fcntl(sv[0], F_DUPFD, 100);
	CHECK(fd >= 100);
	t_close(sv[0]);
	t_say("the file has another number");
	t_begin(&c, end, &fd);
	t_waits(&c);
	drain(sv[1]);
	t_ended("close of that", &c);
	t_close(sv[1]);

	full(sv, 1000);
	CHECK(fcntl(sv[0], F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	t_begin(&c, end, &sv[0]);
	t_pause();
	drain(sv[1]);
	t_ended("nonblocking", &c);
	t_close(sv[1]);

	t_tcp_pair(sv);
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
	t_close(sv[0]);
	CHECK_ERR(read(sv[1], &b, 1), ECONNRESET);
	t_say("no time: a reset");
	t_close(sv[1]);
	return 0;
}
