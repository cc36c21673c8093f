/*
 * splice from a listening socket, and from one that was never connected, is refused, with
 * connections that wait and without, however it is made; a full pipe comes before.
 */
#include "t.h"

static int p[2];

static void try(const char *what, int fd, unsigned flags)
{
	long r = splice(fd, NULL, p[1], NULL, 100, flags);

	t_say("%s: %ld %s", what, r, r < 0 ? strerrorname_np(errno) : "");
}

static void try_all(const char *what, int fd)
{
	for (int n = 0; n < 4; n++) {
		CHECK(!fcntl(fd, F_SETFL, n & 1 ? O_NONBLOCK : 0));
		try(what, fd, n & 2 ? SPLICE_F_NONBLOCK : 0);
	}
}

int main(void)
{
	static char much[65536];
	int port, l = t_listen(&port), s = socket(AF_INET, SOCK_STREAM, 0);

	t_be_threaded();
	CHECK(!pipe(p) && s >= 0);
	try_all("no connection", l);
	try_all("not connected", s);
	t_connect(port);
	try_all("a connection", l);
	CHECK(!fcntl(p[1], F_SETFL, O_NONBLOCK));
	while (write(p[1], much, sizeof(much)) > 0)
		;
	try_all("full", l);
	try_all("full", s);
	return 0;
}
