/*
 * A connection that is refused leaves the socket as if there had been none: the
 * next one, which does not wait, or sends at once, begins anew. Not so one that was
 * under way, whose error has been taken: the next one says ECONNABORTED.
 */
#include "t.h"
#include <poll.h>
#include <stdbool.h>

enum { ROUNDS = 50 };

static struct sockaddr_in nobody;

/* Natively either: the refusal may come during the call. */
static void check_begun(long r)
{
	CHECK(r == -1 && (errno == EINPROGRESS || errno == ECONNREFUSED));
}

static int refused(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	for (int i = 0; i < 2; i++)
		CHECK_ERR(connect(fd, (void *)&nobody, sizeof(nobody)),
			  ECONNREFUSED);
	CHECK(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	return fd;
}

/* One that was under way, whose error was taken: once, it is taken back. */
static void taken(bool by_read)
{
	struct pollfd p = { .events = POLLOUT };
	socklen_t len = sizeof(int);
	int err = 0;
	char c;

	p.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	CHECK(p.fd >= 0);
	/* Natively it may be over at once, and then there is nothing to take. */
	if (connect(p.fd, (void *)&nobody, sizeof(nobody)) == -1 &&
	    errno == ECONNREFUSED) {
		t_close(p.fd);
		return;
	}
	CHECK(errno == EINPROGRESS);
	CHECK(poll(&p, 1, -1) == 1);
	if (by_read)
		CHECK_ERR(read(p.fd, &c, 1), ECONNREFUSED);
	else
		CHECK(getsockopt(p.fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0 &&
		      err == ECONNREFUSED);
	CHECK(fcntl(p.fd, F_SETFL, 0) == 0);
	CHECK_ERR(connect(p.fd, (void *)&nobody, sizeof(nobody)), ECONNABORTED);
	CHECK_ERR(connect(p.fd, (void *)&nobody, sizeof(nobody)), ECONNREFUSED);
	t_close(p.fd);
}

static void *tries(void *arg)
{
	taken(false);
	taken(true);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = refused();

		check_begun(connect(fd, (void *)&nobody, sizeof(nobody)));
		t_close(fd);
		fd = refused();
		check_begun(sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
				   (void *)&nobody, sizeof(nobody)));
		t_close(fd);
	}
	return arg;
}

int main(void)
{
	socklen_t len = sizeof(nobody);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* A number that nobody listens at, kept by who is bound to it. */
	nobody.sin_family = AF_INET;
	nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(fd, (void *)&nobody, sizeof(nobody)) == 0);
	CHECK(getsockname(fd, (void *)&nobody, &len) == 0);
	t_join(t_thread(tries, NULL));
	tries(NULL);
	t_say("refused");
	return 0;
}
