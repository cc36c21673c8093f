/*
 * The echo server over io_uring, as one would write it by hand: one thread, a
 * multishot accept, one receive and one send in flight for each connection, and
 * one system call for all that is ready. A baseline, as epoll_echo.c is.
 *
 *	uring_echo PORT		(0: any free port; it is printed)
 *
 * Status 3, and the reason on stderr: there is no io_uring here.
 */
#include "listen.h"
#include <arpa/inet.h>
#include <errno.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENTRIES	 4096
#define BUF_SIZE 4096

struct conn {
	int fd, sending;
	unsigned int off, len;
	char buf[BUF_SIZE];
};

static struct io_uring ring;
static volatile sig_atomic_t stopping;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

/* A full queue is handed over first. */
static struct io_uring_sqe *entry(void *data)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

	if (!sqe) {
		io_uring_submit(&ring);
		sqe = io_uring_get_sqe(&ring);
	}
	if (!sqe) {
		fprintf(stderr, "uring_echo: the queue is full\n");
		exit(1);
	}
	io_uring_sqe_set_data(sqe, data);
	return sqe;
}

/* io_uring_prep_*() resets the data of an entry. */
static void receive(struct conn *c)
{
	struct io_uring_sqe *sqe = entry(c);

	c->sending = 0;
	io_uring_prep_recv(sqe, c->fd, c->buf, BUF_SIZE, 0);
	io_uring_sqe_set_data(sqe, c);
}

static void send_rest(struct conn *c)
{
	struct io_uring_sqe *sqe = entry(c);

	c->sending = 1;
	io_uring_prep_send(sqe, c->fd, c->buf + c->off, c->len - c->off,
			   MSG_NOSIGNAL);
	io_uring_sqe_set_data(sqe, c);
}

static void accept_all(int listener)
{
	struct io_uring_sqe *sqe = entry(NULL);

	io_uring_prep_multishot_accept(sqe, listener, NULL, NULL, 0);
	io_uring_sqe_set_data(sqe, NULL);
}

static void accepted(int fd)
{
	struct conn *c = fd < 0 ? NULL : malloc(sizeof(*c));
	int one = 1;

	if (!c) {
		if (fd >= 0)
			close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->fd = fd;
	receive(c);
}

static void completed(struct conn *c, int res)
{
	if (res <= 0) {
		close(c->fd);
		free(c);
	} else if (!c->sending) {
		c->off = 0;
		c->len = (unsigned int)res;
		send_rest(c);
	} else {
		c->off += (unsigned int)res;
		if (c->off < c->len)
			send_rest(c);
		else
			receive(c);
	}
}

static void serve(int listener)
{
	struct io_uring_cqe *cqe;
	unsigned int head, n;

	accept_all(listener);
	while (!stopping) {
		int err = io_uring_submit_and_wait(&ring, 1);

		if (err < 0 && err != -EINTR && err != -EBUSY) {
			fprintf(stderr, "uring_echo: %s\n", strerror(-err));
			exit(1);
		}
		n = 0;
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			struct conn *c = io_uring_cqe_get_data(cqe);

			n++;
			if (c) {
				completed(c, cqe->res);
				continue;
			}
			accepted(cqe->res);
			if (!(cqe->flags & IORING_CQE_F_MORE))
				accept_all(listener);
		}
		io_uring_cq_advance(&ring, n);
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_stop };
	struct io_uring_params params = {
		.flags = IORING_SETUP_CQSIZE | IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_COOP_TASKRUN,
		.cq_entries = 8 * ENTRIES,
	};
	char *end;
	long port;
	int fd, err;

	port = argc == 2 ? strtol(argv[1], &end, 10) : -1;
	if (port < 0 || port > 65535 || end == argv[1] || *end) {
		fprintf(stderr, "usage: uring_echo PORT\n");
		return 2;
	}
	err = io_uring_queue_init_params(ENTRIES, &ring, &params);
	if (err < 0) {
		fprintf(stderr, "uring_echo: no io_uring: %s\n",
			strerror(-err));
		return 3;
	}
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	fd = listen_on((unsigned short)port, 0);
	if (fd < 0) {
		perror("uring_echo: listen");
		return 1;
	}
	serve(fd);
	return 0;
}
