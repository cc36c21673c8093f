/*
 * A thread that accepts, for counting its system calls: count.py.
 *
 *	accept HOW THREADS ROUNDS
 *
 * A client in another process, that has no threads, opens one connection after the
 * other, each when the one before has been closed. THREADS accept at the same
 * listener. HOW: close (at once), serve (a thread for each answers one message),
 * and the same by a thread that first waits in poll or select, with a limit of its own;
 * peek: the connection has limits, and its message is looked at before it is read;
 * relay: a backend in a third process gives the answer. answer: who has accepted
 * answers, itself.
 */
#include <netinet/in.h>
#include <poll.h>
#include <sys/select.h>
#include "t.h"

static int listener, port, backend;
static long rounds;
static const char *how;
static _Atomic long left;

static void await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timeval tv = { 10, 0 };
	fd_set set;

	if (strcmp(how, "select")) {
		CHECK(poll(&p, 1, 10000) == 1);
		return;
	}
	FD_ZERO(&set);
	FD_SET(fd, &set);
	CHECK(select(fd + 1, &set, NULL, NULL, &tv) == 1);
}

static void look(int fd, void *buf, size_t len)
{
	struct timeval tv = { 10, 0 };

	CHECK(!setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
	CHECK(!setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	CHECK(recv(fd, buf, len, MSG_PEEK) == (ssize_t)len);
}

/* There and back, whichever side has something. */
static void relay(int fd)
{
	int to = t_connect(backend);
	struct pollfd p[2] = { { .fd = fd, .events = POLLIN },
			       { .fd = to, .events = POLLIN } };
	char buf[63];

	for (int i = 0; i < 2; i++) {
		CHECK(poll(p, 2, 10000) == 1 && p[i].revents == POLLIN);
		t_read(p[i].fd, buf, sizeof(buf));
		t_write(p[!i].fd, buf, sizeof(buf));
	}
	t_close(to);
}

static void answer(int fd)
{
	char buf[63];

	t_read(fd, buf, sizeof(buf));
	t_write(fd, buf, sizeof(buf));
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[63];

	if (!strcmp(how, "poll") || !strcmp(how, "select"))
		await(fd);
	else if (!strcmp(how, "peek"))
		look(fd, buf, sizeof(buf));
	if (strcmp(how, "relay"))
		answer(fd);
	else
		relay(fd);
	t_close(fd);
	return NULL;
}

static void *acceptor(void *arg)
{
	while (left-- > 0) {
		int fd = accept(listener, NULL, NULL);

		CHECK(fd >= 0);
		if (!strcmp(how, "answer"))
			answer(fd);
		if (strcmp(how, "close") && strcmp(how, "answer"))
			CHECK_0(pthread_detach(
				t_small_thread(serve, (void *)(intptr_t)fd)));
		else
			t_close(fd);
	}
	return arg;
}

static void client(void)
{
	char buf[63] = { 0 };

	for (long r = 0; r < rounds; r++) {
		int fd = t_connect(port);

		if (strcmp(how, "close")) {
			t_write(fd, buf, sizeof(buf));
			t_read(fd, buf, sizeof(buf));
		}
		t_eof(fd);
		t_close(fd);
	}
	_exit(0);
}

/* One connection after the other, by another process. */
static pid_t start_backend(void)
{
	int l = t_listen(&backend);
	pid_t pid = fork();

	for (long r = 0; pid == 0 && r < rounds; r++) {
		int fd = accept(l, NULL, NULL);

		answer(fd);
		t_close(fd);
	}
	if (pid == 0)
		_exit(0);
	t_close(l);
	return pid;
}

int main(int argc, char **argv)
{
	pthread_t th[64];
	pid_t pid, behind = 0;
	int threads;

	CHECK(argc == 4);
	how = argv[1];
	threads = atoi(argv[2]);
	left = rounds = atol(argv[3]);
	CHECK(threads > 0 && threads <= (int)T_LEN(th));
	listener = t_listen(&port);
	if (!strcmp(how, "relay"))
		behind = start_backend();
	pid = fork();
	if (pid == 0)
		client();
	t_be_threaded();
	/* One of them is main. */
	for (int i = 1; i < threads; i++)
		th[i] = t_thread(acceptor, NULL);
	acceptor(NULL);
	for (int i = 1; i < threads; i++)
		t_join(th[i]);
	t_wait_ok(pid);
	if (behind)
		t_wait_ok(behind);
	return 0;
}
