/*
 * The echo server that one would write by hand: one thread, edge-triggered
 * epoll, every descriptor registered once, two system calls a request. It is
 * the baseline that the hooked thread-per-connection server is held against.
 *
 *	epoll_echo PORT		(0: any free port; it is printed)
 */
#include "listen.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BUF_SIZE   16384
#define MAX_EVENTS 256

/* What a client that does not read owes us; allocated when it comes to it. */
struct conn {
	int fd;
	int paused;
	char *pending;
	size_t len;
};

static volatile sig_atomic_t stopping;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

static void conn_destroy(struct conn *c)
{
	close(c->fd);
	free(c->pending);
	free(c);
}

/* Writes what it can and keeps the rest; -1 when the connection is broken. */
static int conn_write(struct conn *c, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = write(c->fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n < 0) {
			if (!c->pending)
				c->pending = malloc(BUF_SIZE);
			if (!c->pending)
				return -1;
			memmove(c->pending, buf, len);
			c->len = len;
			c->paused = 1;
			return 0;
		}
		buf += n;
		len -= (size_t)n;
	}
	c->paused = 0;
	return 0;
}

/* Reads until drained: a short read says so without a failing second one. */
static void conn_ready(struct conn *c, int hung_up)
{
	char buf[BUF_SIZE];
	ssize_t n;

	if (c->paused && conn_write(c, c->pending, c->len) < 0)
		goto broken;
	while (!c->paused) {
		n = read(c->fd, buf, sizeof(buf));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 || conn_write(c, buf, (size_t)n) < 0)
			goto broken;
		if ((size_t)n < sizeof(buf) && !hung_up)
			return;
	}
	return;
broken:
	conn_destroy(c);
}

static void accept_all(int ep, int listener)
{
	for (;;) {
		struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT |
						    EPOLLRDHUP | EPOLLET };
		struct conn *c;
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		int one = 1;

		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			return;
		c = calloc(1, sizeof(*c));
		if (!c) {
			close(fd);
			continue;
		}
		c->fd = fd;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		ev.data.ptr = c;
		if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
			conn_destroy(c);
	}
}

static int serve(int listener)
{
	struct epoll_event evs[MAX_EVENTS];
	struct epoll_event ev = { .events = EPOLLIN };
	int ep, i, n;

	ep = epoll_create1(0);
	if (ep < 0 || epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev) < 0)
		return -1;
	while (!stopping) {
		n = epoll_wait(ep, evs, MAX_EVENTS, -1);
		if (n < 0 && errno != EINTR)
			return -1;
		for (i = 0; i < n; i++) {
			if (!evs[i].data.ptr)
				accept_all(ep, listener);
			else
				conn_ready(evs[i].data.ptr,
					   evs[i].events &
						   (EPOLLRDHUP | EPOLLHUP |
						    EPOLLERR));
		}
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: epoll_echo PORT\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_stop };
	char *end;
	long port;
	int fd;

	if (argc != 2)
		return usage();
	port = strtol(argv[1], &end, 10);
	if (end == argv[1] || *end || port < 0 || port > 65535)
		return usage();

	sigemptyset(&sa.sa_mask);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
	fd = listen_on((unsigned short)port, SOCK_NONBLOCK);
	if (fd < 0) {
		perror("epoll_echo: listen");
		return 1;
	}
	if (serve(fd) < 0) {
		perror("epoll_echo");
		return 1;
	}
	return 0;
}
