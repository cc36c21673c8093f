/*
 * A thread-per-connection echo server, as they have been written since 1996.
 *
 *	echo PORT		(0: any free port; it is printed)
 *
 * SIGTERM and SIGINT leave the accept loop: the handler sets a flag, and
 * accept() fails with EINTR, since the handler is set without SA_RESTART.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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

static volatile sig_atomic_t stopping;

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

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg, one = 1;
	char buf[BUF_SIZE];

	leave_signals_to_main();
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || write_all(fd, buf, (size_t)n) < 0)
			break;
	}
	close(fd);
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
		fprintf(stderr, "echo: no thread: %s\n", strerror(err));
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
	fprintf(stderr, "usage: echo PORT\n");
	return 2;
}

int main(int argc, char **argv)
{
	char *end;
	long port;
	int fd;

	if (argc != 2)
		return usage();
	port = strtol(argv[1], &end, 10);
	if (end == argv[1] || *end || port < 0 || port > 65535)
		return usage();

	set_signals();
	fd = listen_on((unsigned short)port);
	if (fd < 0) {
		perror("echo: listen");
		return 1;
	}
	if (accept_loop(fd) < 0) {
		perror("echo: accept");
		return 1;
	}
	return 0;
}
