/*
 * A second connect(): while the first is under way, after its time limit, after a
 * signal, when it is done, when it was refused; of TCP, UDP and unix sockets.
 */
#include "../calls.h"

static struct sockaddr_in at;

static int attempt(int fd)
{
	return connect(fd, (struct sockaddr *)&at, sizeof(at));
}

static long connects(void *fd)
{
	return attempt(*(int *)fd);
}

/* A listener that has no room; until open_up(). */
static int listener, queued;

static void close_down(void)
{
	int port;

	listener = t_bound(SOCK_STREAM, &port);
	CHECK(listen(listener, 0) == 0);
	queued = t_connect(port);
	at = t_addr(port);
}

static void open_up(void)
{
	CHECK(listen(listener, 64) == 0);
}

static int fresh(int flags)
{
	int fd = socket(AF_INET, SOCK_STREAM | flags, 0);

	CHECK(fd >= 0);
	return fd;
}

static void on_sig(int sig)
{
	(void)sig;
}

static void under_way(void)
{
	struct timeval tv = { 0, 50000 };
	int now = fresh(SOCK_NONBLOCK), limited = fresh(0), cut = fresh(0);
	struct pollfd p = { now, POLLOUT, 0 };
	struct t_call c, d;

	close_down();
	T_RESULT("nonblocking", attempt(now));
	T_RESULT("a second", attempt(now));
	CHECK(setsockopt(limited, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)) ==
	      0);
	T_RESULT("with a limit", attempt(limited));
	T_RESULT("a second", attempt(limited));
	t_begin(&c, connects, &cut);
	t_waits(&c);
	CHECK_0(pthread_kill(c.th, SIGUSR1));
	t_ended("a handler", &c);
	t_begin(&c, connects, &cut);
	t_waits(&c);
	CHECK(fcntl(cut, F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	T_RESULT("one that does not wait, beside one that does", attempt(cut));
	CHECK(fcntl(cut, F_SETFL, O_RDWR) == 0);
	t_begin(&d, connects, &cut);
	t_waits(&c);
	t_waits(&d);
	open_up();
	t_ended("both of them", &c);
	t_ended("both of them", &d);
	T_RESULT("and then", attempt(cut));
	CHECK(poll(&p, 1, 20000) == 1);
	t_say("poll: %d", p.revents);
	T_RESULT("the nonblocking one, when it is done", attempt(now));
	T_RESULT("and once more", attempt(now));
	t_close(now);
	t_close(limited);
	t_close(cut);
	t_close(queued);
	t_close(listener);
}

static void refused(void)
{
	int port, fd = fresh(0);

	t_close(t_listen(&port));
	at = t_addr(port);
	T_RESULT("refused", attempt(fd));
	listener = t_bound(SOCK_STREAM, &port);
	CHECK(listen(listener, 8) == 0);
	at = t_addr(port);
	T_RESULT("elsewhere", attempt(fd));
	T_RESULT("twice", attempt(fd));
	t_close(fd);
	T_RESULT("a listener", attempt(listener));
	t_close(listener);
}

static void others(void)
{
	int port, udp = t_bound(SOCK_DGRAM, &port), sv[2];
	struct sockaddr_un u = { .sun_family = AF_UNIX };

	at = t_addr(port);
	T_RESULT("UDP", attempt(udp));
	T_RESULT("UDP again", attempt(udp));
	t_close(udp);
	t_pair(sv);
	snprintf(u.sun_path, sizeof(u.sun_path), "./none");
	T_RESULT("a pair", connect(sv[0], (struct sockaddr *)&u, sizeof(u)));
	t_close(sv[0]);
	sv[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(u.sun_path, sizeof(u.sun_path), "./here");
	CHECK(bind(sv[0], (struct sockaddr *)&u, sizeof(u)) == 0);
	CHECK(listen(sv[0], 1) == 0);
	sv[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	T_RESULT("unix", connect(sv[1], (struct sockaddr *)&u, sizeof(u)));
	T_RESULT("unix again",
		 connect(sv[1], (struct sockaddr *)&u, sizeof(u)));
	CHECK(unlink("./here") == 0);
}

int main(void)
{
	t_handle(SIGUSR1, on_sig, 0);
	t_be_threaded();
	under_way();
	refused();
	others();
	return 0;
}
