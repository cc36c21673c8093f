/*
 * A file server with a thread for each connection, and sendfile().
 *
 *	files PORT DIRECTORY	(0: any free port; it is printed)
 *
 * HTTP/1.0, GET, one request for each connection, files of that directory alone.
 * SIGTERM and SIGINT leave the accept loop.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t stopping;
static int directory;

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

/* Until the empty line that ends it. */
static int read_request(int fd, char *buf, size_t size)
{
	size_t have = 0;

	while (have < size - 1) {
		ssize_t n = read(fd, buf + have, size - 1 - have);

		if (n <= 0)
			return -1;
		have += (size_t)n;
		buf[have] = 0;
		if (strstr(buf, "\r\n\r\n"))
			return 0;
	}
	return -1;
}

static void say(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n = write(fd, text, left);

		if (n <= 0)
			return;
		text += n;
		left -= (size_t)n;
	}
}

static void send_file(int fd, const char *name)
{
	char head[128];
	struct stat st;
	off_t at = 0;
	int file = strchr(name, '/') ? -1 : openat(directory, name, O_RDONLY);

	if (file < 0 || fstat(file, &st) || !S_ISREG(st.st_mode)) {
		say(fd, "HTTP/1.0 404 Not Found\r\n\r\n");
	} else {
		snprintf(head, sizeof(head),
			 "HTTP/1.0 200 OK\r\nContent-Length: %lld\r\n\r\n",
			 (long long)st.st_size);
		say(fd, head);
		while (at < st.st_size &&
		       sendfile(fd, file, &at, (size_t)(st.st_size - at)) > 0)
			;
	}
	if (file >= 0)
		close(file);
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char request[2048], name[256];

	leave_signals_to_main();
	if (read_request(fd, request, sizeof(request)) == 0) {
		if (sscanf(request, "GET /%255s HTTP/", name) == 1)
			send_file(fd, name);
		else
			say(fd, "HTTP/1.0 400 Bad Request\r\n\r\n");
	}
	close(fd);
	return NULL;
}

static int listen_on(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(fd, 4096) || getsockname(fd, (struct sockaddr *)&a, &len)) {
		perror("files");
		exit(1);
	}
	printf("listening on %d\n", ntohs(a.sin_port));
	fflush(stdout);
	return fd;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	int listener;

	if (argc != 3) {
		fprintf(stderr, "usage: files PORT DIRECTORY\n");
		return 2;
	}
	directory = open(argv[2], O_RDONLY | O_DIRECTORY);
	if (directory < 0) {
		perror(argv[2]);
		return 1;
	}
	set_signals();
	listener = listen_on(atoi(argv[1]));
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	while (!stopping) {
		int fd = accept(listener, NULL, NULL);
		pthread_t th;

		if (fd >= 0 &&
		    pthread_create(&th, &attr, serve, (void *)(intptr_t)fd)) {
			say(fd, "HTTP/1.0 503 Service Unavailable\r\n\r\n");
			close(fd);
		}
	}
	return 0;
}
