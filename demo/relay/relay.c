/*
 * A TCP relay. The thread of a connection looks the backend up, connects to
 * it, and carries the bytes one way; a second thread carries them the other
 * way and is joined at the end.
 *
 *	relay PORT BACKEND_HOST BACKEND_PORT	(PORT 0: any free port)
 *
 * SIGTERM and SIGINT leave the accept loop, which accept() leaves by EINTR.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BUF_SIZE 16384

struct pipe_way {
	int from;
	int to;
};

static volatile sig_atomic_t stopping;
static const char *backend_host, *backend_port;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

static void set_signals(void)
{
	struct sigaction sa = { .sa_handler = on_stop };

	sigemptyset(&sa.sa_mask);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
}

/* The signals that end the accept loop are for the main thread alone. */
static void leave_signals_to_main(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int write_all(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		buf += n;
		len -= (size_t)n;
	}
	return 0;
}

/* An end of stream is passed on; an error ends both ways at once. */
static void *carry(void *arg)
{
	const struct pipe_way *way = arg;
	char buf[BUF_SIZE];

	for (;;) {
		ssize_t n = read(way->from, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0) {
			shutdown(way->to, SHUT_WR);
			return NULL;
		}
		if (n < 0 || write_all(way->to, buf, (size_t)n) < 0)
			break;
	}
	shutdown(way->from, SHUT_RDWR);
	shutdown(way->to, SHUT_RDWR);
	return NULL;
}

/*
 * connect() that was interrupted goes on in the background: wait for its end
 * and ask for its result, as POSIX says.
 */
static int connect_fully(int fd, const struct addrinfo *ai)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	int err = 0;
	socklen_t len = sizeof(err);

	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return 0;
	if (errno != EINTR)
		return -1;
	while (poll(&pfd, 1, -1) < 0) {
		if (errno != EINTR)
			return -1;
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -1;
	errno = err;
	return err ? -1 : 0;
}

static int connect_backend(void)
{
	struct addrinfo hints = {
		.ai_family = AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
	};
	struct addrinfo *list, *ai;
	int err, fd = -1;

	err = getaddrinfo(backend_host, backend_port, &hints, &list);
	if (err) {
		fprintf(stderr, "relay: %s: %s\n", backend_host,
			gai_strerror(err));
		return -1;
	}
	for (ai = list; ai; ai = ai->ai_next) {
		fd = socket(ai->ai_family, ai->ai_socktype, ai->ai_protocol);
		if (fd < 0)
			continue;
		if (connect_fully(fd, ai) == 0)
			break;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	if (fd < 0)
		perror("relay: connect");
	return fd;
}

static void *serve(void *arg)
{
	int client = (int)(intptr_t)arg, backend, err, one = 1;
	struct pipe_way there, back;
	pthread_t thread;

	leave_signals_to_main();
	backend = connect_backend();
	if (backend < 0) {
		close(client);
		return NULL;
	}
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(backend, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	there = (struct pipe_way){ .from = client, .to = backend };
	back = (struct pipe_way){ .from = backend, .to = client };

	err = pthread_create(&thread, NULL, carry, &back);
	if (err) {
		fprintf(stderr, "relay: no thread: %s\n", strerror(err));
	} else {
		carry(&there);
		pthread_join(thread, NULL);
	}
	close(backend);
	close(client);
	return NULL;
}

static int listen_on(unsigned short port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(sin);
	int fd, one = 1;

	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sin, &len) < 0) {
		close(fd);
		return -1;
	}
	printf("listening on %d\n", ntohs(sin.sin_port));
	fflush(stdout);
	return fd;
}

static void start_thread(int fd)
{
	pthread_t thread;
	int err;

	err = pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd);
	if (err) {
		fprintf(stderr, "relay: no thread: %s\n", strerror(err));
		close(fd);
		return;
	}
	pthread_detach(thread);
}

/* Returns 0 when told to stop, -1 when the listener is broken. */
static int accept_loop(int listener)
{
	while (!stopping) {
		int fd = accept(listener, NULL, NULL);

		if (fd >= 0) {
			start_thread(fd);
		} else if (errno == EMFILE || errno == ENFILE ||
			   errno == ENOBUFS || errno == ENOMEM) {
			/* Others must finish before there is room again. */
			struct timespec pause = { .tv_nsec = 10 * 1000000 };

			nanosleep(&pause, NULL);
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return -1;
		}
	}
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: relay PORT BACKEND_HOST BACKEND_PORT\n");
	return 2;
}

int main(int argc, char **argv)
{
	char *end;
	long port;
	int fd;

	if (argc != 4 || !*argv[2] || !*argv[3])
		return usage();
	port = strtol(argv[1], &end, 10);
	if (end == argv[1] || *end || port < 0 || port > 65535)
		return usage();
	backend_host = argv[2];
	backend_port = argv[3];

	set_signals();
	fd = listen_on((unsigned short)port);
	if (fd < 0) {
		perror("relay: listen");
		return 1;
	}
	if (accept_loop(fd) < 0) {
		perror("relay: accept");
		return 1;
	}
	return 0;
}
