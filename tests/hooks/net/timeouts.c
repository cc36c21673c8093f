/* SO_RCVTIMEO and SO_SNDTIMEO: EAGAIN, on time, in every receiving call. */
#include "t.h"

enum { MS = 40 };

/*
 * The kernel counts these timeouts in ticks, and they come early where ticks were
 * late, as when a virtual machine was not run for a while: 17 ms of 40 have been
 * seen natively. The library's own do not: where it waits, hooked and without
 * chaos, which may send a wait to the kernel, they are exact.
 */
static long long least(void)
{
	return getenv("FIBHOOK_WORKERS") && !getenv("FIBHOOK_CHAOS") ?
		       (MS - 1) * T_MS :
		       T_MS;
}

#define WAITED(start) T_TOOK(start, least())

static void limit(int fd, int opt)
{
	struct timeval tv = { 0, MS * 1000 }, got;
	socklen_t len = sizeof(got);

	CHECK(setsockopt(fd, SOL_SOCKET, opt, &tv, sizeof(tv)) == 0);
	CHECK(getsockopt(fd, SOL_SOCKET, opt, &got, &len) == 0);
	CHECK(got.tv_sec == 0);
}

static void receive(int fd, int how)
{
	char b[4];
	struct iovec v = { b, 4 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	long long t0 = t_now();

	switch (how) {
	case 0:
		CHECK_ERR(read(fd, b, 4), EAGAIN);
		break;
	case 1:
		CHECK_ERR(recv(fd, b, 4, 0), EAGAIN);
		break;
	case 2:
		CHECK_ERR(recvfrom(fd, b, 4, 0, NULL, NULL), EAGAIN);
		break;
	case 3:
		CHECK_ERR(recvmsg(fd, &m, 0), EAGAIN);
		break;
	case 4:
		CHECK_ERR(readv(fd, &v, 1), EAGAIN);
		break;
	case 5:
		CHECK_ERR(recv(fd, b, 4, MSG_PEEK), EAGAIN);
		break;
	}
	WAITED(t0);
}

static void *run(void *arg)
{
	int how = (int)(intptr_t)arg, sv[2], port, u;
	char b[4];

	t_tcp_pair(sv);
	limit(sv[0], SO_RCVTIMEO);
	receive(sv[0], how);
	/* The other direction has no limit; data in time is data. */
	t_put(sv[1], 'x');
	CHECK(t_get(sv[0]) == 'x');
	t_write(sv[1], "ab", 2);
	CHECK(recv(sv[0], b, 4, MSG_WAITALL) == 2);
	t_close(sv[0]);
	t_close(sv[1]);
	t_pair(sv);
	limit(sv[0], SO_RCVTIMEO);
	receive(sv[0], how);
	t_close(sv[0]);
	t_close(sv[1]);
	u = t_bound(SOCK_DGRAM, &port);
	limit(u, SO_RCVTIMEO);
	receive(u, how);
	t_close(u);
	return NULL;
}

static void *send_side(void *arg)
{
	static char big[8 << 20];
	long long t0;
	ssize_t n;
	int sv[2];

	if (arg)
		t_tcp_pair(sv);
	else
		t_pair(sv);
	limit(sv[0], SO_SNDTIMEO);
	t0 = t_now();
	n = send(sv[0], big, sizeof(big), 0);
	CHECK(n > 0);
	CHECK(n < (ssize_t)sizeof(big));
	WAITED(t0);
	/* TCP may still find room somewhere, and then counts it. */
	do {
		t0 = t_now();
		n = write(sv[0], big, sizeof(big));
	} while (n > 0);
	CHECK(n == -1);
	CHECK(errno == EAGAIN);
	WAITED(t0);
	t_close(sv[0]);
	t_close(sv[1]);
	return NULL;
}

static void *accept_side(void *arg)
{
	int port, l = t_listen(&port), fd;
	long long t0 = t_now();

	limit(l, SO_RCVTIMEO);
	CHECK_ERR(accept(l, NULL, NULL), EAGAIN);
	WAITED(t0);
	fd = t_connect(port);
	t_close(accept(l, NULL, NULL));
	t_close(fd);
	t_close(l);
	return arg;
}

int main(void)
{
	pthread_t th[6];

	t_be_threaded();
	run(NULL);
	for (int i = 0; i < 6; i++)
		th[i] = t_thread(run, (void *)(intptr_t)i);
	for (int i = 0; i < 6; i++)
		t_join(th[i]);
	t_say("receive");
	t_join(t_thread(send_side, NULL));
	t_join(t_thread(send_side, &th));
	t_say("send");
	th[0] = t_thread(accept_side, NULL);
	accept_side(NULL);
	t_join(th[0]);
	t_say("accept");
	return 0;
}
