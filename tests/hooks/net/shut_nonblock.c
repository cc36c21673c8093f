/*
 * Who waits for a datagram, or for who connects, on a socket that is made O_NONBLOCK and then
 * shut: its call ends, by what the socket was when it began.
 *
 * t-case: udp
 * t-case: unix
 * t-case: listener
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

static long accepts(void *fd)
{
	return accept(*(int *)fd, NULL, NULL);
}

static int listener(int type)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	/* By a name that the kernel chooses. */
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&a, sizeof(sa_family_t)));
	CHECK(!listen(fd, 1));
	return fd;
}

static void try(const char *name, long (*fn)(void *), int fd)
{
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

	if (argc == 2 && !strcmp(argv[1], "listener")) {
		try("accept", accepts, listener(SOCK_STREAM));
		try("accept", accepts, listener(SOCK_SEQPACKET));
		return 0;
	}
	try("recv", receive, make(udp));
	try("read", reads, make(udp));
	try("recvmsg", message, make(udp));
	return 0;
}
