/*
 * Sockets whose reads are ready, or not, for other reasons than that a byte is
 * there: a datagram socket that is shut, SO_RCVLOWAT, urgent data, time limits
 * below 0; sends that connect (MSG_FASTOPEN), and O_NONBLOCK set under one.
 */
#include "t.h"

struct call {
	int fd;
	size_t want;
	ssize_t res;
	int err;
};

static void *reader(void *arg)
{
	struct call *c = arg;
	char b[128];

	c->res = read(c->fd, b, c->want);
	c->err = errno;
	return NULL;
}

static void *receiver(void *arg)
{
	struct call *c = arg;
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	char b[128];

	c->res = recvfrom(c->fd, b, c->want, 0, (struct sockaddr *)&a, &len);
	c->err = errno;
	return NULL;
}

/* --- shut datagram sockets ------------------------------------------------------ */

static void shut(const char *what, int fd, int how)
{
	struct call c[3];
	pthread_t th[3];
	char b[8];
	struct iovec v = { b, 8 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };

	for (int i = 0; i < 3; i++) {
		c[i] = (struct call){ .fd = fd, .want = 8 };
		th[i] = t_thread(i ? reader : receiver, &c[i]);
	}
	t_settle();
	shutdown(fd, how); /* ENOTCONN, but it is shut all the same */
	for (int i = 0; i < 3; i++) {
		t_join(th[i]);
		CHECK(c[i].res == 0);
	}
	CHECK(recv(fd, b, 8, 0) == 0);
	CHECK(recvmsg(fd, &m.msg_hdr, 0) == 0);
	CHECK(recvmmsg(fd, &m, 1, 0, NULL) == 1 && m.msg_len == 0);
	CHECK_ERR(recv(fd, b, 8, MSG_DONTWAIT), EAGAIN);
	t_close(fd);
	t_say("%s: shut", what);
}

/* --- SO_RCVLOWAT ----------------------------------------------------------------- */

static void at_least(const char *what, int sv[2])
{
	struct call c = { .fd = sv[0], .want = 100 };
	char b[32];
	int n = 10;
	pthread_t th;

	t_write(sv[1], "0123456789ab", 12);
	CHECK(read(sv[0], b, sizeof(b)) == 12); /* it is empty now */
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_RCVLOWAT, &n, sizeof(n)) == 0);
	th = t_thread(reader, &c);
	for (int i = 0; i < 3; i++) {
		t_settle();
		t_write(sv[1], "12345", 5);
	}
	t_join(th);
	CHECK(c.res >= 10);
	if (c.res == 10)
		CHECK(read(sv[0], b, 5) == 5);
	t_write(sv[1], "xyz", 3);
	CHECK(read(sv[0], b, 2) == 2); /* fewer are wanted than that */
	CHECK(read(sv[0], b, 1) == 1);
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("%s: at least so many", what);
}

/* --- urgent data, received before anything else is -------------------------------- */

static void around_urgent(void)
{
	struct call c = { .want = 100 };
	struct pollfd p = { .events = POLLPRI };
	int sv[2];
	char b[8];
	pthread_t th;

	t_tcp_pair(sv);
	c.fd = p.fd = sv[0];
	th = t_thread(reader, &c); /* it is known from here on */
	t_settle();
	t_write(sv[1], "k", 1);
	t_join(th);
	t_settle();
	t_write(sv[1], "abc", 3);
	CHECK(send(sv[1], "!", 1, MSG_OOB) == 1);
	while (recv(sv[0], b, 1, MSG_OOB) != 1)
		;
	t_write(sv[1], "def", 3);
	for (int i = 0; i < 2; i++) {
		th = t_thread(reader, &c);
		t_join(th);
		CHECK(c.res == 3);
	}
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("both sides of the mark");
}

/* --- limits -------------------------------------------------------------------------- */

static void impatient(void)
{
	struct timeval below = { -1, 0 }, none = { 0, 0 };
	struct call c = { .want = 8 };
	int sv[2];
	char b[8];
	pthread_t th;

	t_pair(sv);
	c.fd = sv[0];
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &below,
			 sizeof(below)) == 0);
	CHECK_ERR(read(sv[0], b, 8), EAGAIN);
	CHECK_ERR(recv(sv[0], b, 8, MSG_WAITALL), EAGAIN);
	CHECK(setsockopt(sv[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none)) ==
	      0);
	th = t_thread(reader, &c);
	t_settle();
	t_write(sv[1], "x", 1);
	t_join(th);
	CHECK(c.res == 1);
	t_close(sv[0]);
	t_close(sv[1]);
	t_say("a limit below 0");
}

static void fast_open(void)
{
	int port, l = t_listen(&port), s, got;
	struct sockaddr_in a = t_addr(port);
	struct iovec v = { "hello", 5 };
	struct msghdr m = { .msg_name = &a,
			    .msg_namelen = sizeof(a),
			    .msg_iov = &v,
			    .msg_iovlen = 1 };
	char b[5];

	for (int i = 0; i < 2; i++) {
		s = socket(AF_INET, SOCK_STREAM, 0);
		if (i)
			CHECK(sendmsg(s, &m, MSG_FASTOPEN) == 5);
		else
			CHECK(sendto(s, "hello", 5, MSG_FASTOPEN,
				     (struct sockaddr *)&a, sizeof(a)) == 5);
		got = accept(l, NULL, NULL);
		t_read(got, b, 5);
		t_close(got);
		t_close(s);
	}
	t_close(l);
	t_say("a send that connects");
}

static char big[1 << 20];

static void *sender(void *arg)
{
	struct call *c = arg;

	c->res = send(c->fd, big, sizeof(big), 0);
	return NULL;
}

static void flag_under_way(void)
{
	struct pollfd p[2] = { { .events = POLLIN }, { .events = POLLOUT } };
	struct call c = { 0 };
	int sv[2];
	pthread_t th;

	t_pair(sv);
	c.fd = p[1].fd = sv[0];
	p[0].fd = sv[1];
	th = t_thread(sender, &c);
	CHECK(poll(&p[0], 1, -1) == 1);
	while (poll(&p[1], 1, 0) != 0)
		t_settle();
	for (int i = 0; i < 5; i++)
		t_settle();
	CHECK(fcntl(sv[0], F_SETFL, O_RDWR | O_NONBLOCK) == 0);
	t_read(sv[1], big, sizeof(big));
	t_join(th);
	CHECK(c.res == sizeof(big));
	t_say("O_NONBLOCK comes too late");
}

int main(void)
{
	int sv[2], port;

	t_be_threaded();
	shut("udp", t_bound(SOCK_DGRAM, &port), SHUT_RDWR);
	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv) == 0);
	shut("unix datagrams", sv[0], SHUT_RD);
	t_tcp_pair(sv);
	at_least("tcp", sv);
	t_pair(sv);
	at_least("unix", sv);
	around_urgent();
	impatient();
	fast_open();
	flag_under_way();
	return 0;
}
