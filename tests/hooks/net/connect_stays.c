/*
 * connect() that has to wait, on sockets that are closed, replaced, shut down or
 * connected by a second thread meanwhile. The listener has no room at first; it
 * has begun when the socket is in SYN_SENT.
 */
#include "t.h"

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
	int port, l = t_bound(SOCK_STREAM, &port), other, s[3];
	struct call gone, replaced, first, second, shut;
	socklen_t len = sizeof(addr);

	t_be_threaded();
	addr = t_addr(port);
	CHECK(listen(l, 0) == 0);
	other = t_connect(port); /* there is no room behind it */
	begin(&gone, unconnected());
	begin(&replaced, unconnected());
	begin(&shut, unconnected());
	begin(&first, unconnected());
	begin(&second, first.fd);
	CHECK(shutdown(shut.fd, SHUT_RDWR) == 0);
	t_join(shut.th);
	CHECK(shut.err == ECONNRESET);
	t_say("shutdown ends it");
	t_close(other);
	other = unconnected();
	CHECK(dup2(other, replaced.fd) == replaced.fd);
	t_close(gone.fd);
	CHECK(listen(l, 8) == 0);
	for (int i = 0; i < 3; i++) {
		s[i] = accept(l, NULL, NULL);
		CHECK(s[i] >= 0);
	}
	t_join(gone.th);
	t_join(replaced.th);
	t_join(first.th);
	t_join(second.th);
	CHECK(gone.err == 0);
	CHECK(replaced.err == 0);
	t_say("it stays with its socket");
	CHECK(first.err == 0 && second.err == 0);
	t_say("two at a time");
	CHECK_ERR(getpeername(other, (struct sockaddr *)&addr, &len), ENOTCONN);
	t_say("and leaves the other alone");
	return 0;
}
