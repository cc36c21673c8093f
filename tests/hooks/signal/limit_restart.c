/*
 * SA_RESTART does not hold for a socket with a time limit, in no call and in
 * whatever way it waits. Without one it does.
 *
 * t-case: connect
 * t-case: connect_tcp
 * t-case: send
 * t-case: recv
 * t-case: splice
 * t-case: preadv2
 * t-case: recvmmsg
 * t-case: accept
 */
#include "t.h"

static const char *how;
static int fd, out;
static struct sockaddr_un name = { .sun_family = AF_UNIX };
static struct sockaddr_in full; /* a listener without room */
static volatile sig_atomic_t ran;

static void on_sig(int sig)
{
	(void)sig;
	ran++;
}

static long call(void)
{
	char b[8];
	struct iovec v = { b, sizeof(b) };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	struct timespec ts = { 30, 0 };

	if (!strcmp(how, "connect"))
		return connect(fd, (struct sockaddr *)&name, sizeof(name));
	if (!strcmp(how, "connect_tcp"))
		return connect(fd, (struct sockaddr *)&full, sizeof(full));
	if (!strcmp(how, "send"))
		return send(fd, "x", 1, 0);
	if (!strcmp(how, "recv"))
		return recv(fd, b, sizeof(b), 0);
	if (!strcmp(how, "splice"))
		return splice(fd, NULL, out, NULL, 100, 0);
	if (!strcmp(how, "preadv2"))
		return preadv2(fd, &v, 1, -1, 0);
	if (!strcmp(how, "recvmmsg"))
		return recvmmsg(fd, &m, 1, 0, &ts);
	return accept(fd, NULL, NULL);
}

static void *waits(void *arg)
{
	CHECK_ERR(call(), EINTR);
	CHECK(ran >= 1);
	return arg;
}

static void *restarts(void *arg)
{
	CHECK(call() == 1);
	CHECK(ran >= 1);
	return arg;
}

static void limit(int opt)
{
	struct timeval tv = { 30, 0 };

	CHECK(setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)) == 0);
}

/* Blocked for good from here on, but for the limit. */
static void set_up(void)
{
	int sv[2], p[2];

	if (!strcmp(how, "connect_tcp")) {
		int port, l = t_bound(SOCK_STREAM, &port);

		CHECK(listen(l, 0) == 0);
		full = t_addr(port);
		t_connect(port);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		limit(SO_SNDTIMEO);
		return;
	}
	if (!strcmp(how, "connect") || !strcmp(how, "accept")) {
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			 "limit_restart.%d", getpid());
		CHECK(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0);
		CHECK(listen(fd, 0) == 0);
		if (!strcmp(how, "accept")) {
			limit(SO_RCVTIMEO);
			return;
		}
		do {
			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		} while (connect(fd, (struct sockaddr *)&name, sizeof(name)) ==
			 0);
		CHECK(errno == EAGAIN);
		fd = socket(AF_UNIX, SOCK_STREAM, 0);
		limit(SO_SNDTIMEO);
		return;
	}
	CHECK(socketpair(AF_UNIX,
			 strcmp(how, "send") ? SOCK_STREAM : SOCK_DGRAM, 0,
			 sv) == 0);
	fd = sv[0];
	t_pipe(p);
	out = p[1];
	if (!strcmp(how, "send")) {
		while (send(fd, "x", 1, MSG_DONTWAIT) == 1)
			;
		limit(SO_SNDTIMEO);
	} else {
		limit(SO_RCVTIMEO);
	}
}

static void until_ended(pthread_t th)
{
	while (pthread_tryjoin_np(th, NULL) == EBUSY) {
		t_settle();
		pthread_kill(th, SIGUSR1);
	}
}

int main(int argc, char **argv)
{
	int sv[2];
	pthread_t th;

	CHECK(argc == 2);
	how = argv[1];
	t_handle(SIGUSR1, on_sig, SA_RESTART);
	t_be_threaded();
	set_up();
	until_ended(t_thread(waits, NULL));
	t_say("%s: interrupted", how);
	if (strcmp(how, "splice") && strcmp(how, "preadv2") &&
	    strcmp(how, "recv"))
		return 0;
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv) == 0);
	fd = sv[0];
	ran = 0;
	th = t_thread(restarts, NULL);
	while (ran < 3) {
		t_settle();
		CHECK_0(pthread_kill(th, SIGUSR1));
	}
	t_put(sv[1], 'x');
	t_join(th);
	t_say("%s: restarted", how);
	return 0;
}
