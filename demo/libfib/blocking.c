/*
 * An echo server as one would write it with threads: a fiber accepts, a fiber
 * serves each connection, and each reads and writes as if it could block. All of
 * them share one thread. demo/libfib/echo.c does the same by events.
 *
 *	blocking	listens on a free port, and talks to itself: three
 *			clients, one of which waits in vain for an answer
 *	blocking PORT	serves 127.0.0.1:PORT until it is ended
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fib.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CLIENTS 3
#define SECOND	1000000000ull

static struct sockaddr_in server;
static int listener, left = CLIENTS;
static char answer[CLIENTS][64];

static void check(int err, const char *what)
{
	if (err < 0) {
		fprintf(stderr, "%s: %s\n", what, strerror(-err));
		exit(1);
	}
}

static void start(void (*fn)(void *), int arg)
{
	check(fib_sched_submit(fib_sched_current(), fn, (void *)(intptr_t)arg,
			       FIB_ANY_THREAD),
	      "fib_sched_submit");
}

/* --- the server ------------------------------------------------------------- */

static void serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[4096];
	long n;

	while ((n = fib_read(fd, buf, sizeof(buf), FIB_NEVER)) > 0)
		if (fib_write_all(fd, buf, (size_t)n, 10 * SECOND))
			break;
	fib_close(fd);
}

/* Until somebody closes the listener. */
static void accept_all(void *arg)
{
	int fd;

	while ((fd = fib_accept(listener, NULL, NULL, FIB_NEVER)) >= 0)
		start(serve, fd);
}

/* --- the clients ------------------------------------------------------------ */

static void client(void *arg)
{
	int i = (int)(intptr_t)arg, fd = socket(AF_INET, SOCK_STREAM, 0);
	char line[64];
	long n;

	check(fib_connect(fd, (struct sockaddr *)&server, sizeof(server),
			  SECOND),
	      "fib_connect");
	snprintf(line, sizeof(line), "this is client %d", i);
	/* The last one says nothing, and so there is no answer. */
	if (i < CLIENTS - 1)
		check(fib_write_all(fd, line, strlen(line), SECOND), "write");
	n = fib_read(fd, answer[i], sizeof(answer[i]) - 1,
		     i < CLIENTS - 1 ? FIB_NEVER : SECOND / 10);
	if (n < 0)
		snprintf(answer[i], sizeof(answer[i]), "client %d: %s", i,
			 strerror((int)-n));
	fib_close(fd);
	if (--left == 0)
		fib_close(listener);
}

static void start_all(void *arg)
{
	start(accept_all, 0);
	for (int i = 0; arg && i < CLIENTS; i++)
		start(client, i);
}

int main(int argc, char **argv)
{
	socklen_t len = sizeof(server);
	struct fib_sched *s;

	server.sin_family = AF_INET;
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server.sin_port = htons(argc > 1 ? (uint16_t)atoi(argv[1]) : 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&server, len) ||
	    listen(listener, 128) ||
	    getsockname(listener, (struct sockaddr *)&server, &len))
		check(-errno, "listen");
	check(fib_sched_create(&s, 1, true, "blocking"), "fib_sched_create");
	check(fib_sched_start(s), "fib_sched_start");
	check(fib_sched_submit(s, start_all, argc > 1 ? NULL : s,
			       FIB_ANY_THREAD),
	      "fib_sched_submit");
	fib_sched_stop(s);
	fib_sched_destroy(s);
	for (int i = 0; i < CLIENTS; i++)
		printf("%s\n", answer[i]);
	return 0;
}
