/*
 * Slow clients of a file server: all of them ask for a file, and read it a little
 * at a time, in turns, so that the server always has to wait for each.
 *
 *	slow CONNECTIONS PORT NAME [SERVER_PID]
 *
 * When each has the beginning of its answer, the kernel threads and the memory of
 * the server are looked at. Every body must be the same. One line of NAME=VALUE;
 * status 1 if anything was wrong.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TURN 65536

struct client {
	int fd;
	int body; /* the head is over */
	char head[512];
	size_t have, bytes;
	uint64_t sum;
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void begin(struct client *c, int port, const char *name)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int size = 16384, n;
	char text[300];

	c->fd = socket(AF_INET, SOCK_STREAM, 0);
	/* What the kernel would read ahead for it. */
	setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&a, sizeof(a)))
		die("connect");
	n = snprintf(text, sizeof(text), "GET /%s HTTP/1.0\r\n\r\n", name);
	if (write(c->fd, text, (size_t)n) != n)
		die("write");
}

static void add(struct client *c, const char *b, size_t n)
{
	c->bytes += n;
	while (n--)
		c->sum = (c->sum ^ (unsigned char)*b++) * 0x100000001b3ull;
}

/* The head, byte by byte; then the first byte of the body. */
static void read_head(struct client *c)
{
	while (c->have < sizeof(c->head) - 1) {
		if (read(c->fd, c->head + c->have, 1) != 1)
			die("head");
		c->head[++c->have] = 0;
		if (c->have > 4 &&
		    !memcmp(c->head + c->have - 4, "\r\n\r\n", 4))
			return;
	}
	die("head is too long");
}

/* One turn: 0 at the end. */
static int read_some(struct client *c)
{
	static char b[TURN];
	ssize_t n = read(c->fd, b, sizeof(b));

	if (n < 0)
		die("read");
	add(c, b, (size_t)n);
	if (n == 0)
		close(c->fd);
	return n > 0;
}

static long field(const char *pid, const char *name)
{
	char path[64], line[256];
	long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			value = atol(line + strlen(name));
	if (f)
		fclose(f);
	return value;
}

int main(int argc, char **argv)
{
	int n = argc > 3 ? atoi(argv[1]) : 0, left, wrong = 0;
	struct client *c = calloc((size_t)n, sizeof(*c));

	if (n < 1 || !c) {
		fprintf(stderr, "usage: slow CONNECTIONS PORT NAME [PID]\n");
		return 2;
	}
	for (int i = 0; i < n; i++)
		begin(&c[i], atoi(argv[2]), argv[3]);
	for (int i = 0; i < n; i++)
		read_head(&c[i]);
	printf("connections=%d", n);
	if (argc > 4)
		printf(" threads=%ld rss_kb=%ld pte_kb=%ld",
		       field(argv[4], "Threads:"), field(argv[4], "VmRSS:"),
		       field(argv[4], "VmPTE:"));
	for (left = n; left;)
		for (int i = 0; i < n; i++)
			if (!c[i].body && !read_some(&c[i])) {
				c[i].body = 1;
				left--;
			}
	for (int i = 1; i < n; i++)
		wrong += c[i].sum != c[0].sum || c[i].bytes != c[0].bytes;
	printf(" bytes=%zu sum=%016llx wrong=%d\n", c[0].bytes,
	       (unsigned long long)c[0].sum, wrong);
	return wrong != 0;
}
