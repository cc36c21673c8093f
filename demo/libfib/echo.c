/*
 * An echo server by events: fib_iom_add_event() with callbacks.
 *
 *	echo		listens on a free port, and talks to itself: two
 *			clients are fibers that wait for events of their own
 *	echo PORT	serves 127.0.0.1:PORT until it is ended
 *
 * An event fires once. Each callback runs in a fiber of its own, does what can
 * be done now, and adds the event again. A fiber that adds an event without a
 * callback is woken by it: it holds until then.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fib.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct fib_sched *sched;
static struct sockaddr_in server;
static int listener;
static int clients = 2;

static void on_event(int fd, int event, void (*fn)(void *))
{
	int err = fib_iom_add_event(sched, fd, event, fn, (void *)(intptr_t)fd);

	if (err) {
		fprintf(stderr, "fib_iom_add_event: %s\n", strerror(-err));
		exit(1);
	}
}

/* Hold the calling fiber until @fd is ready. */
static void wait_for(int fd, int event)
{
	on_event(fd, event, NULL);
	fib_yield();
}

/* All of it, however often the socket is full: 0 or -1. */
static int send_all(int fd, const char *buf, size_t n)
{
	while (n) {
		ssize_t r = send(fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (r > 0) {
			buf += r;
			n -= (size_t)r;
		} else if (r < 0 && errno == EAGAIN) {
			wait_for(fd, FIB_EV_WRITE);
		} else {
			return -1;
		}
	}
	return 0;
}

/* --- the server -------------------------------------------------------------
 */

static void on_data(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[4096];
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		if (send_all(fd, buf, (size_t)n))
			break;
	if (n < 0 && errno == EAGAIN)
		on_event(fd, FIB_EV_READ, on_data);
	else
		close(fd);
}

static void on_client(void *arg)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		on_event(fd, FIB_EV_READ, on_data);
	if (clients)
		on_event(listener, FIB_EV_READ, on_client);
}

static int listen_on(struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)addr, len) ||
	    listen(fd, 128) || getsockname(fd, (struct sockaddr *)addr, &len)) {
		perror("listen");
		exit(1);
	}
	return fd;
}

/* --- the clients ------------------------------------------------------------
 */

static int connect_to(const struct sockaddr_in *addr)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t len = sizeof(int);
	int err = 0;

	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) &&
	    errno == EINPROGRESS) {
		wait_for(fd, FIB_EV_WRITE);
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
	}
	if (err) {
		fprintf(stderr, "connect: %s\n", strerror(err));
		exit(1);
	}
	return fd;
}

static void client(void *arg)
{
	static const char hello[] = "is there anybody?";
	int fd = connect_to(&server);
	char buf[sizeof(hello)];
	size_t got = 0;
	ssize_t n = 0;

	send_all(fd, hello, sizeof(hello));
	while (got < sizeof(buf)) {
		n = recv(fd, buf + got, sizeof(buf) - got, 0);
		if (n > 0)
			got += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			wait_for(fd, FIB_EV_READ);
		else
			break;
	}
	printf("%s\n", got == sizeof(buf) ? buf : "no answer");
	close(fd);
	/* The last one lets the scheduler come to its end. */
	if (--clients == 0)
		fib_iom_del_event(sched, listener, FIB_EV_READ);
}

int main(int argc, char **argv)
{
	int err;

	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.sin_port = htons(argc > 1 ? (uint16_t)atoi(argv[1]) : 0);
	listener = listen_on(&server);
	err = fib_sched_create(&sched, 1, true, "echo");
	if (err) {
		fprintf(stderr, "fib_sched_create: %s\n", strerror(-err));
		return 1;
	}
	fib_sched_start(sched);
	on_event(listener, FIB_EV_READ, on_client);
	for (int i = 0; argc == 1 && i < 2; i++)
		fib_sched_submit(sched, client, NULL, FIB_ANY_THREAD);
	/* Returns when no event is pending any more. */
	fib_sched_stop(sched);
	fib_sched_destroy(sched);
	close(listener);
	printf("the server has ended\n");
	return 0;
}
