/*
 * Who waits for a datagram, on a socket that is made O_NONBLOCK and then shut: its
 * call ends, by what the socket was when it began.
 *
 * t-case: udp
 * t-case: unix
 */
#include <stdbool.h>
#include "../calls.h"

static long receive(void *fd)
{
	char b[8];

	return recv(*(int *)fd, b, sizeof(b), 0);
}

static long reads(void *fd)
{
	char b[8];

	return read(*(int *)fd, b, sizeof(b));
}

/* What comes of it is told for the others alone: docs/COMPATIBILITY.md. */
static long message(void *fd)
{
	struct msghdr h = { 0 };
	long r = recvmsg(*(int *)fd, &h, 0);

	return r == 0 || errno == EAGAIN ? 0 : -1;
}

static int make(bool udp)
{
	struct sockaddr_in a;
	int port, fd, ends[2];

	if (!udp) {
		CHECK(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
		return ends[0];
	}
	fd = t_bound(SOCK_DGRAM, &port);
	a = t_addr(port);
	CHECK(!connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

static void try(const char *name, long (*fn)(void *), bool udp)
{
	int fd = make(udp);
	struct t_call c;

	t_begin(&c, fn, &fd);
	CHECK(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
	t_waits(&c);
	CHECK(!shutdown(fd, SHUT_RD));
	t_ended(name, &c);
}

int main(int argc, char **argv)
{
	bool udp = argc == 2 && !strcmp(argv[1], "udp");

	try("recv", receive, udp);
	try("read", reads, udp);
	try("recvmsg", message, udp);
	return 0;
}
