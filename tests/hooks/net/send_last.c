/*
 * A send on a unix socket that waits for room in its own buffer, when a signal comes: there
 * is some by then, though less than it is woken for. So it goes.
 *
 * t-case: stream
 * t-case: dgram
 * t-case: seqpacket
 */
#include "../calls.h"

static void handler(int sig)
{
	(void)sig;
}

static long one(void *fd)
{
	return write(*(int *)fd, "x", 1);
}

/* In large pieces, and then in small ones. */
static void fill(int fd)
{
	char b[4096] = "";

	CHECK(!fcntl(fd, F_SETFL, O_NONBLOCK));
	for (size_t n = sizeof(b); n; n = n > 1 ? 1 : 0)
		while (write(fd, b, n) > 0)
			;
	CHECK(errno == EAGAIN);
	CHECK(!fcntl(fd, F_SETFL, 0));
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = handler };
	int type = !strcmp(argv[1], "stream") ? SOCK_STREAM :
		   !strcmp(argv[1], "dgram")  ? SOCK_DGRAM :
						SOCK_SEQPACKET;
	char b[4096];
	struct t_call c;
	int fd[2];

	CHECK(argc == 2 && !sigaction(SIGUSR1, &sa, NULL));
	t_be_threaded();
	CHECK(!socketpair(AF_UNIX, type, 0, fd));
	fill(fd[1]);
	t_begin(&c, one, &fd[1]);
	CHECK(read(fd[0], b, sizeof(b)) == sizeof(b));
	t_waits(&c);
	while (!atomic_load(&c.ended)) {
		pthread_kill(c.th, SIGUSR1);
		t_settle();
	}
	t_ended("write", &c);
	return 0;
}
