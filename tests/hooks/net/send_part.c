/*
 * A send of which a part has gone when the peer goes away: the part is the
 * result, there is no SIGPIPE, and the error is where the kernel leaves it. And
 * who gets SIGPIPE at all.
 */
#include "t.h"

static char big[8 << 20];
static volatile sig_atomic_t pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

struct job {
	int fd, how;
	ssize_t res;
	int err;
};

static void *sender(void *arg)
{
	struct job *j = arg;
	struct iovec v[2] = { { big, 100 }, { big + 100, sizeof(big) - 100 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	j->res = j->how == 0 ? write(j->fd, big, sizeof(big)) :
		 j->how == 1 ? writev(j->fd, v, 2) :
		 j->how == 2 ? sendmsg(j->fd, &m, 0) :
			       send(j->fd, "x", 1, 0);
	j->err = errno;
	return NULL;
}

/* Several times in a row: acknowledgements that come late make room once more. */
static void until_full(int wr, int rd)
{
	struct pollfd p[2] = { { rd, POLLIN, 0 }, { wr, POLLOUT, 0 } };

	CHECK(poll(&p[0], 1, -1) == 1);
	for (int full = 0; full < 5; t_settle())
		full = poll(&p[1], 1, 0) ? 0 : full + 1;
}

static int so_error(int fd)
{
	socklen_t len = sizeof(int);
	int err;

	CHECK(getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0);
	return err;
}

/* The near end of a connection whose far end was reset in the midst of it. */
static int broken(void (*make)(int[2]), int how)
{
	struct linger now = { 1, 0 };
	struct job j = { .how = how };
	pthread_t th;
	int sv[2];

	make(sv);
	j.fd = sv[0];
	pipes = 0;
	th = t_thread(sender, &j);
	until_full(sv[0], sv[1]);
	setsockopt(sv[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	t_close(sv[1]);
	t_join(th);
	CHECK(j.res > 0 && j.res < (ssize_t)sizeof(big));
	CHECK(pipes == 0);
	return sv[0];
}

static void after_tcp(int how)
{
	struct pollfd p = { .events = POLLIN };
	int fd = broken(t_tcp_pair, how), two;
	char c;

	p.fd = fd;
	CHECK(poll(&p, 1, 0) == 1);
	CHECK(p.revents & POLLERR);
	CHECK(so_error(fd) == ECONNRESET);
	t_close(fd);
	fd = broken(t_tcp_pair, how);
	CHECK_ERR(recv(fd, &c, 1, MSG_DONTWAIT), ECONNRESET);
	t_close(fd);
	fd = broken(t_tcp_pair, how);
	two = dup(fd);
	CHECK_ERR(recv(two, &c, 1, 0), ECONNRESET);
	t_close(two);
	t_close(fd);
	fd = broken(t_tcp_pair, how);
	CHECK_ERR(send(fd, "x", 1, 0), ECONNRESET);
	CHECK(pipes == 0);
	CHECK_ERR(send(fd, "x", 1, 0), EPIPE);
	CHECK(pipes == 1);
	t_close(fd);
}

static void after_unix(int how)
{
	int fd = broken(t_pair, how), sv[2];
	char c;

	CHECK(so_error(fd) == 0);
	CHECK(recv(fd, &c, 1, 0) == 0);
	/* A new file of that number is told nothing of it. */
	t_close(fd);
	t_pair(sv);
	CHECK(sv[0] == fd);
	CHECK(send(sv[0], "x", 1, 0) == 1);
	t_close(sv[0]);
	t_close(sv[1]);
}

/* Nothing has gone yet, and it was waiting. */
static void nothing_sent(void)
{
	struct job j = { .how = 3 };
	pthread_t th;
	int sv[2];

	t_pair(sv);
	while (send(sv[0], big, 4096, MSG_DONTWAIT) > 0)
		;
	while (send(sv[0], big, 1, MSG_DONTWAIT) > 0)
		;
	pipes = 0;
	j.fd = sv[0];
	th = t_thread(sender, &j);
	for (int i = 0; i < 5; i++)
		t_settle();
	t_close(sv[1]);
	t_join(th);
	/* If it came after the close, natively too, it is EPIPE and a signal. */
	CHECK(j.res == -1);
	CHECK((j.err == ECONNRESET && !pipes) || (j.err == EPIPE && pipes));
	t_close(sv[0]);
	t_say("nothing sent");
}

static void gone(const char *what, int domain, int type, int want)
{
	struct sockaddr_in a = t_addr(0);
	socklen_t len = sizeof(a);
	int sv[2];

	if (domain == AF_UNIX) {
		CHECK(socketpair(domain, type, 0, sv) == 0);
		if (type == SOCK_DGRAM)
			CHECK(shutdown(sv[0], SHUT_WR) == 0);
		t_close(sv[1]);
	} else {
		sv[0] = socket(domain, type, 0);
		CHECK(bind(sv[0], (struct sockaddr *)&a, len) == 0);
		CHECK(getsockname(sv[0], (struct sockaddr *)&a, &len) == 0);
		CHECK(connect(sv[0], (struct sockaddr *)&a, len) == 0);
		CHECK(shutdown(sv[0], SHUT_WR) == 0);
	}
	pipes = 0;
	CHECK_ERR(write(sv[0], "x", 1), EPIPE);
	CHECK_ERR(send(sv[0], "x", 1, 0), EPIPE);
	CHECK(pipes == 2 * want);
	CHECK_ERR(send(sv[0], "x", 1, MSG_NOSIGNAL), EPIPE);
	CHECK(pipes == 2 * want);
	t_close(sv[0]);
	t_say("%s: %d SIGPIPE", what, pipes);
}

int main(void)
{
	t_handle(SIGPIPE, on_pipe, SA_RESTART);
	t_be_threaded();
	for (int how = 0; how < 3; how++) {
		after_tcp(how);
		after_unix(how);
	}
	t_say("a part sent");
	nothing_sent();
	gone("unix stream", AF_UNIX, SOCK_STREAM, 1);
	gone("seqpacket", AF_UNIX, SOCK_SEQPACKET, 0);
	gone("unix datagrams", AF_UNIX, SOCK_DGRAM, 0);
	gone("udp", AF_INET, SOCK_DGRAM, 0);
	return 0;
}
