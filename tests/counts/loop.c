/*
 * Event loops, for counting their system calls: count.py.
 *
 *	loop HOW LOOPS CONNS ROUNDS
 *
 * Each loop has an epoll descriptor and CONNS connections to a client in another
 * process, that has no threads. It sends a message on every connection, and waits for
 * every answer, ROUNDS times. HOW: wait (for good), timed (with a limit). Or,
 * in nice threads, once: one read of each, which would wait; whole: the same by recv()
 * with MSG_WAITALL; poll, select: as once, but for what tells of it.
 *
 *	loop looks
 *
 * A thread that always finds something where it looks, and does not wait: how many
 * kernel threads there are more after that.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/select.h>
#include "t.h"
#include <stdbool.h>

static int loops, conns, timeout, listener, port;
static long rounds;
static const char *how;

static void answer(int fd)
{
	char buf[256];
	ssize_t n;

	if (strcmp(how, "wait") && strcmp(how, "timed")) {
		n = *how == 'w' ? recv(fd, buf, 63, MSG_WAITALL) :
				  read(fd, buf, sizeof(buf));
		CHECK(n == 63 && write(fd, buf, 63) == 63);
		return;
	}
	while ((n = read(fd, buf, sizeof(buf))) == 63)
		CHECK(write(fd, buf, 63) == 63);
	CHECK(n == 0 || (n < 0 && errno == EAGAIN));
}

static void *by_poll(void *arg)
{
	long left = conns * rounds;
	struct pollfd p[64];

	for (int i = 0; i < conns; i++)
		p[i] = (struct pollfd){ accept(listener, NULL, NULL), POLLIN,
					0 };
	CHECK_0(setpriority(PRIO_PROCESS, 0, 1));
	while (left > 0) {
		CHECK(poll(p, (nfds_t)conns, -1) > 0);
		for (int i = 0; i < conns; i++)
			if (p[i].revents) {
				answer(p[i].fd);
				left--;
			}
	}
	return arg;
}

static void *by_select(void *arg)
{
	long left = conns * rounds;
	int fd[64];

	for (int i = 0; i < conns; i++)
		fd[i] = accept(listener, NULL, NULL);
	CHECK_0(setpriority(PRIO_PROCESS, 0, 1));
	while (left > 0) {
		fd_set set;

		FD_ZERO(&set);
		for (int i = 0; i < conns; i++)
			FD_SET(fd[i], &set);
		CHECK(select(fd[conns - 1] + 1, &set, NULL, NULL, NULL) > 0);
		for (int i = 0; i < conns; i++)
			if (FD_ISSET(fd[i], &set)) {
				answer(fd[i]);
				left--;
			}
	}
	return arg;
}

static void *loop(void *arg)
{
	struct epoll_event ev = { .events = EPOLLIN }, got[64];
	int ep = epoll_create1(0);
	bool one = !strcmp(how, "once") || !strcmp(how, "whole");
	long left = conns * rounds; /* messages: each event is one */

	for (int i = 0; i < conns; i++) {
		ev.data.fd =
			accept4(listener, NULL, NULL, one ? 0 : SOCK_NONBLOCK);
		CHECK(!epoll_ctl(ep, EPOLL_CTL_ADD, ev.data.fd, &ev));
	}
	if (one)
		CHECK_0(setpriority(PRIO_PROCESS, 0, 1));
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
	void *(*run)(void *) = loop;
	pthread_t th[64];
	int first;
	pid_t pid;

	if (argc == 2 && !strcmp(argv[1], "looks")) {
		t_join(t_thread(looks, NULL));
		return 0;
	}

	CHECK(argc == 5);
	how = argv[1];
	timeout = strcmp(how, "timed") ? -1 : 10000;
	if (!strcmp(how, "poll"))
		run = by_poll;
	else if (!strcmp(how, "select"))
		run = by_select;
	loops = atoi(argv[2]);
	conns = atoi(argv[3]);
	rounds = atol(argv[4]);
	CHECK(loops > 0 && loops <= (int)T_LEN(th) && conns <= 64);
	listener = t_listen(&port);
	pid = fork();
	if (pid == 0)
		client();
	t_be_threaded();
	/* One of them is main, but where that would be alone and nice. */
	first = !strcmp(how, "wait") || !strcmp(how, "timed");
	for (int i = first; i < loops; i++)
		th[i] = t_thread(run, NULL);
	if (first)
		run(NULL);
	for (int i = first; i < loops; i++)
		t_join(th[i]);
	t_wait_ok(pid);
	return 0;
}
