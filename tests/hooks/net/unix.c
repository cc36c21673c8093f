/* Unix sockets: stream, datagram, seqpacket; named, abstract, autobound. */
#include "t.h"

static struct sockaddr_un addr;
static socklen_t addr_len;

static void *client(void *arg)
{
	int type = *(int *)arg, fd = socket(AF_UNIX, type, 0);
	char b[16];

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&addr, addr_len) == 0);
	for (int i = 0; i < 50; i++) {
		CHECK(send(fd, "ping", 4, 0) == 4);
		CHECK(recv(fd, b, sizeof(b), 0) == 4);
		CHECK(memcmp(b, "pong", 4) == 0);
	}
	t_close(fd);
	return NULL;
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char b[16];
	ssize_t n;

	while ((n = recv(fd, b, sizeof(b), 0)) > 0) {
		CHECK(n == 4);
		CHECK(send(fd, "pong", 4, 0) == 4);
	}
	CHECK(n == 0);
	t_close(fd);
	return NULL;
}

static void connected(const char *what, int type)
{
	int l = socket(AF_UNIX, type, 0);
	pthread_t c[8], s[8];

	CHECK(l >= 0);
	CHECK(bind(l, (struct sockaddr *)&addr, addr_len) == 0);
	CHECK(listen(l, 10) == 0);
	for (int i = 0; i < 8; i++)
		c[i] = t_thread(client, &type);
	for (int i = 0; i < 8; i++) {
		int fd = accept4(l, NULL, NULL, SOCK_CLOEXEC);

		CHECK(fd >= 0);
		CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC);
		s[i] = t_thread(serve, (void *)(intptr_t)fd);
	}
	for (int i = 0; i < 8; i++) {
		t_join(c[i]);
		t_join(s[i]);
	}
	t_close(l);
	if (addr.sun_path[0])
		CHECK(unlink(addr.sun_path) == 0);
	t_say("%s", what);
}

static void *dgram_client(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	sa_family_t autobind = AF_UNIX;
	char b[16];

	CHECK(fd >= 0);
	CHECK(bind(fd, (struct sockaddr *)&autobind, sizeof(autobind)) == 0);
	for (int i = 0; i < 100; i++) {
		CHECK(sendto(fd, "ping", 4, 0, (struct sockaddr *)&addr,
			     addr_len) == 4);
		CHECK(recv(fd, b, sizeof(b), 0) == 4);
	}
	t_close(fd);
	return arg;
}

static void datagrams(void)
{
	int s = socket(AF_UNIX, SOCK_DGRAM, 0);
	pthread_t c[8];

	CHECK(s >= 0);
	CHECK(bind(s, (struct sockaddr *)&addr, addr_len) == 0);
	for (int i = 0; i < 8; i++)
		c[i] = t_thread(dgram_client, NULL);
	for (int i = 0; i < 800; i++) {
		struct sockaddr_un from;
		socklen_t len = sizeof(from);
		char b[16];

		CHECK(recvfrom(s, b, sizeof(b), 0, (struct sockaddr *)&from,
			       &len) == 4);
		CHECK(sendto(s, b, 4, 0, (struct sockaddr *)&from, len) == 4);
	}
	for (int i = 0; i < 8; i++)
		t_join(c[i]);
	t_close(s);
	t_say("datagrams");
}

int main(void)
{
	addr.sun_family = AF_UNIX;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", getenv("T_TMP"));
	addr_len = sizeof(addr);
	connected("stream, named", SOCK_STREAM);
	connected("seqpacket, named", SOCK_SEQPACKET);
	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "t-%d",
		 (int)getpid());
	addr.sun_path[0] = 0;
	addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			       strlen(addr.sun_path + 1));
	connected("stream, abstract", SOCK_STREAM);
	datagrams();
	return 0;
}
