/*
 * Event loops, for counting their system calls: count.py.
 *
 *	loop HOW LOOPS CONNS ROUNDS
 *
 * Each loop has an epoll descriptor and CONNS connections to a client in another
 * process, that has no threads. It sends a message on every connection, and waits for
 * every answer, ROUNDS times. HOW: wait (for good), timed (with a limit).
 *
 *	loop looks
 *
 * A thread that always finds something where it looks, and does not wait: how many
 * kernel threads there are more after that.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "t.h"

static int loops, conns, timeout, listener, port;
static long rounds;

static void answer(int fd)
{
	char buf[256];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) == 63)
		CHECK(write(fd, buf, 63) == 63);
	CHECK(n == 0 || (n < 0 && errno == EAGAIN));
}

static void *loop(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN }, got[64];
	int ep = epoll_create1(0);
	long left = conns * rounds; /* messages: each event is one */

	for (int i = 0; i < conns; i++) {
		ev.data.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev));
	}
	while (left > 0) {
		int n = epoll_wait(ep, got, T_LEN(got), timeout);

		CHECK(n > 0);
		left -= n;
		while (n > 0)
			answer(got[--n].data.fd);
	}
	return arg;
}

static void client(void)
{
	int n = loops * conns, *fd = calloc((size_t)n, sizeof(*fd));
	char buf[63] = { 0 };

	for (int i = 0; i < n; i++)
		fd[i] = t_connect(port);
	for (long r = 0; r < rounds; r++) {
		for (int i = 0; i < n; i++)
			t_write(fd[i], buf, sizeof(buf));
		for (int i = 0; i < n; i++)
			t_read(fd[i], buf, sizeof(buf));
	}
	_exit(0);
}

static void *looks(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int ep = epoll_create1(0), fd = eventfd(1, 0), before;

	CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	before = t_kernel_threads();
	for (int i = 0; i < 200; i++)
		CHECK(epoll_wait(ep, &ev, 1, 0) == 1);
	printf("more=%d\n", t_kernel_threads() - before);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t th[64];
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "looks")) {
		t_join(t_thread(looks, NULL));
		return 0;
	}

	CHECK(argc == 5);
	timeout = strcmp(argv[1], "timed") ? -1 : 10000;
	loops = atoi(argv[2]);
	conns = atoi(argv[3]);
	rounds = atol(argv[4]);
	CHECK(loops > 0 && loops <= (int)T_LEN(th));
	listener = t_listen(&port);
	pid = fork();
	if (pid == 0)
		client();
	t_be_threaded();
	/* One of them is main. */
	for (int i = 1; i < loops; i++)
		th[i] = t_thread(loop, NULL);
	loop(NULL);
	for (int i = 1; i < loops; i++)
		t_join(th[i]);
	t_wait_ok(pid);
	return 0;
}
