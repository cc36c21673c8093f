/* Datagrams over UDP: addresses, truncation, empty ones, refused, peek. */
#include "t.h"

enum { CLIENTS = 10, ROUNDS = 60 };

static int port;

static void *client(void *arg)
{
	struct sockaddr_in a = t_addr(port), from;
	socklen_t len = sizeof(from);
	int fd = socket(AF_INET, SOCK_DGRAM, 0), id = (int)(intptr_t)arg;
	int msg[2];

	CHECK(fd >= 0);
	for (int i = 0; i < ROUNDS; i++) {
		msg[0] = id;
		msg[1] = i;
		CHECK(sendto(fd, msg, sizeof(msg), 0, (struct sockaddr *)&a,
			     sizeof(a)) == sizeof(msg));
		CHECK(recvfrom(fd, msg, sizeof(msg), 0,
			       (struct sockaddr *)&from, &len) == sizeof(msg));
		CHECK(msg[0] == id + 1000);
		CHECK(msg[1] == i);
		CHECK(from.sin_port == a.sin_port);
	}
	t_close(fd);
	return NULL;
}

static void *server(void *arg)
{
	int fd = *(int *)arg, msg[2];

	for (;;) {
		struct sockaddr_in from;
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, msg, sizeof(msg), 0,
				     (struct sockaddr *)&from, &len);

		if (n == 0)
			return NULL;
		CHECK(n == sizeof(msg));
		msg[0] += 1000;
		CHECK(sendto(fd, msg, sizeof(msg), 0, (struct sockaddr *)&from,
			     len) == sizeof(msg));
	}
}

int main(void)
{
	int s = t_bound(SOCK_DGRAM, &port), other, dead, fd;
	pthread_t th[CLIENTS], srv[3];
	struct sockaddr_in a = t_addr(port);
	char b[8];
	struct iovec v = { b, 4 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	for (int i = 0; i < 3; i++)
		srv[i] = t_thread(server, &s);
	for (int i = 0; i < CLIENTS; i++)
		th[i] = t_thread(client, (void *)(intptr_t)i);
	for (int i = 0; i < CLIENTS; i++)
		t_join(th[i]);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(send(fd, "", 0, 0) == 0);
	for (int i = 0; i < 3; i++)
		t_join(srv[i]);
	t_say("%d clients, 3 serving threads on one socket", CLIENTS);

	CHECK(send(fd, "123456", 6, 0) == 6);
	CHECK(recv(s, b, 4, MSG_PEEK | MSG_TRUNC) == 6);
	CHECK(recvmsg(s, &m, 0) == 4);
	CHECK(m.msg_flags & MSG_TRUNC);
	CHECK_ERR(recv(s, b, 4, MSG_DONTWAIT), EAGAIN);
	t_say("truncated");

	other = t_bound(SOCK_DGRAM, &dead);
	t_close(other);
	a = t_addr(dead);
	CHECK(connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0);
	CHECK(send(fd, "x", 1, 0) == 1);
	CHECK_ERR(recv(fd, b, 4, 0), ECONNREFUSED);
	t_say("refused");
	static char huge[70000];
	CHECK_ERR(send(fd, huge, sizeof(huge), 0), EMSGSIZE);
	CHECK_ERR(send(s, b, 1, 0), EDESTADDRREQ);
	t_say("errors");
	return 0;
}
