/*
 * A connection that is refused leaves the socket as if there had been none: the
 * next one, which does not wait, or sends at once, begins anew.
 */
#include "t.h"

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

static void *tries(void *arg)
{
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
