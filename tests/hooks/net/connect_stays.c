/*
 * connect() that has to wait, on sockets that are closed, replaced, shut down or
 * connected by a second thread meanwhile. The listener has no room at first; it
 * has begun when the socket is in SYN_SENT.
 */
#include "../calls.h"

static struct sockaddr_in addr;

struct call {
	int fd, err;
	pthread_t th;
};

static void *caller(void *arg)
{
	struct call *c = arg;

	c->err = connect(c->fd, (struct sockaddr *)&addr, sizeof(addr)) ?
			 errno :
			 0;
	return NULL;
}

static int unconnected(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	return fd;
}

static void until_state(int fd, int state)
{
	struct tcp_info i;
	socklen_t len;

	do {
		t_settle();
		len = sizeof(i);
		CHECK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &len) == 0);
	} while (i.tcpi_state != state);
}

static void begin(struct call *c, int fd)
{
	c->fd = fd;
	c->th = t_thread(caller, c);
	until_state(fd, TCP_SYN_SENT);
}

int main(void)
{
	int port, l = t_bound(SOCK_STREAM, &port), other, s[4];
	struct call gone, replaced, first, second, shut, mute;
	struct sockaddr_in open_addr, peer;
	int open_port, half;
	socklen_t len = sizeof(addr);

	t_be_threaded();
	addr = t_addr(port);
	CHECK(listen(l, 0) == 0);
	other = t_connect(port); /* there is no room behind it */
	begin(&gone, unconnected());
	begin(&replaced, unconnected());
	begin(&shut, unconnected());
	/* Poll calls it hung up from the first. */
	CHECK_ERR(shutdown(half = unconnected(), SHUT_RDWR), ENOTCONN);
	begin(&mute, half);
	begin(&first, unconnected());
	begin(&second, first.fd);
	t_pause(); /* it is in SYN_SENT before the second comes */
	CHECK(shutdown(shut.fd, SHUT_RDWR) == 0);
	t_join(shut.th);
	CHECK(shut.err == ECONNRESET);
	t_say("shutdown ends it");
	t_listen(&open_port);
	open_addr = t_addr(open_port);
	CHECK(connect(shut.fd, (struct sockaddr *)&open_addr, len) == 0);
	t_say("and it can be connected again");
	/* It was read when they began. */
	addr.sin_family = AF_UNSPEC;
	t_close(other);
	other = unconnected();
	CHECK(dup2(other, replaced.fd) == replaced.fd);
	t_close(gone.fd);
	CHECK(listen(l, 8) == 0);
	for (int i = 0; i < 4; i++) {
		s[i] = accept(l, NULL, NULL);
		CHECK(s[i] >= 0);
	}
	t_join(gone.th);
	t_join(replaced.th);
	t_join(mute.th);
	t_join(first.th);
	t_join(second.th);
	CHECK(gone.err == 0);
	CHECK(replaced.err == 0);
	t_say("it stays with its socket");
	CHECK(mute.err == 0);
	t_say("and is none the worse for being shut before");
	CHECK(first.err == 0 && second.err == 0);
	CHECK(getpeername(first.fd, (struct sockaddr *)&peer, &len) == 0);
	t_say("two at a time");
	len = sizeof(peer);
	CHECK_ERR(getpeername(other, (struct sockaddr *)&peer, &len), ENOTCONN);
	t_say("and leaves the other alone");
	return 0;
}
