/*
 * A closed-loop load generator for the servers beside it. It is one thread
 * over epoll, never hooked, and speaks to 127.0.0.1 only.
 *
 * It connects all connections, has each answered once, warms up, measures,
 * lets the last answers come in, ends every stream and waits for the server's
 * end of it. Each byte of each answer is compared with what it must be. The
 * whole is bounded in time: a server that stops answering is an error, never
 * a hang.
 *
 * Result: one line of NAME=VALUE on stdout. With -P the CPU time, threads and
 * memory of the server are read as well: CPU from its process clock over the
 * measured interval, so that threads that have ended are counted.
 */
#include "hist.h"
#include "watched.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNS     20000
#define MAX_SIZE      65536
#define MAX_CHAT_SIZE 1024
#define MAX_SECONDS   60.0
#define MAX_REQUESTS  100000000
#define MAX_EVENTS    256
#define POOL_SPREAD   4096
#define CHAT_LINE     (MAX_CHAT_SIZE + 64)

/* How long a phase may take, in nanoseconds. */
#define NSEC	     1000000000ull
#define CONNECT_NS   (10 * NSEC)
#define FIRST_NS     (15 * NSEC)
#define DRAIN_NS     (10 * NSEC)
#define QUIESCE_NS   (3 * NSEC)
#define REQUESTS_NS  (60 * NSEC)
#define WATCHDOG_SEC (2 * (unsigned int)MAX_SECONDS + 60)

enum mode {
	MODE_ECHO,  /* raw bytes come back */
	MODE_CHAT,  /* SET, GET and TAKE lines */
	MODE_IDLE,  /* one echo each, then silence */
	MODE_CHURN, /* an echo, and a new connection */
};

enum conn_state {
	CONN_REST, /* nothing outstanding */
	CONN_BUSY, /* an answer is awaited */
	CONN_SHUT, /* our end is closed, the server's is awaited */
	CONN_DEAD, /* closed */
};

struct conn {
	int fd;
	unsigned int id;
	enum conn_state state;
	int want_out;
	uint64_t round;	 /* requests made */
	uint64_t served; /* answers within the interval */
	uint64_t start_ns;
	const char *out, *want;
	size_t out_left, want_left;
	struct conn *peer; /* chat: the other one of a pair, or NULL */
	char *lines;	   /* chat: request and answer, CHAT_LINE each */
};

static enum mode mode = MODE_ECHO;
static unsigned int nconns = 100;
static size_t size = 64;
static double seconds = 1.0, warmup = 0.2;
static uint64_t max_requests;

static struct conn conns[MAX_CONNS];
static unsigned int busy, open_conns;
static int ep;
static int going; /* new requests are made */
static int measuring;
static char pool[MAX_SIZE + POOL_SPREAD];
static uint64_t requests, errors;
static struct sockaddr_in to = { .sin_family = AF_INET };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NSEC + (uint64_t)ts.tv_nsec;
}

/* Counts every error and tells the first few. */
static void error(const char *fmt, ...)
{
	va_list ap;

	if (errors++ >= 3)
		return;
	fprintf(stderr, "load: ");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

static void conn_events(struct conn *c, int op, int want_out)
{
	struct epoll_event ev = { .data.ptr = c };

	ev.events = EPOLLIN | (want_out ? EPOLLOUT : 0);
	c->want_out = want_out;
	if (epoll_ctl(ep, op, c->fd, &ev) < 0) {
		perror("load: epoll_ctl");
		exit(1);
	}
}

static void conn_kill(struct conn *c)
{
	if (c->state == CONN_BUSY)
		busy--;
	c->state = CONN_DEAD;
	open_conns--;
	close(c->fd);
}

static void conn_send(struct conn *c)
{
	while (c->out_left) {
		ssize_t n = send(c->fd, c->out, c->out_left, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0) {
			error("connection %u: send: %s", c->id,
			      strerror(errno));
			conn_kill(c);
			return;
		}
		c->out += n;
		c->out_left -= (size_t)n;
	}
	if (c->want_out != (c->out_left > 0))
		conn_events(c, EPOLL_CTL_MOD, c->out_left > 0);
}

/*
 * The rounds of a chat connection. Those of a pair make each round together:
 * in the first of three one takes what the other sets, so that it waits on
 * the server's condition variable; in the others each sets and gets its own.
 */
static void chat_request(struct conn *c)
{
	char *out = c->lines, *want = c->lines + CHAT_LINE;
	unsigned int low = c->id & ~1u, taker = !(c->id & 1);
	uint64_t round = c->round;
	char value[MAX_CHAT_SIZE + 1];
	unsigned int from = c->id;
	size_t i;

	if (c->peer && round % 3 == 0)
		from = low + 1;
	if (round % 3 == 2)
		round--;
	for (i = 0; i < size; i++)
		value[i] = (char)('a' + (from * 7 + round * 11 + i * 5) % 26);
	value[size] = '\0';

	if (c->peer && c->round % 3 == 0) {
		snprintf(out, CHAT_LINE,
			 taker ? "TAKE pair%u\n" : "SET pair%u %s\n", low,
			 value);
	} else {
		taker = c->round % 3 == 2;
		snprintf(out, CHAT_LINE,
			 taker ? "GET own%u\n" : "SET own%u %s\n", c->id,
			 value);
	}
	if (taker)
		snprintf(want, CHAT_LINE, "VALUE %s\n", value);
	else
		strcpy(want, "OK\n");
	c->out = out;
	c->out_left = strlen(out);
	c->want = want;
	c->want_left = strlen(want);
}

static void conn_request(struct conn *c)
{
	if (mode == MODE_CHAT) {
		chat_request(c);
	} else {
		c->out = pool + (c->id * 2654435761u + c->round * 40503u) %
					POOL_SPREAD;
		c->want = c->out;
		c->out_left = size;
		c->want_left = size;
	}
	c->round++;
	c->state = CONN_BUSY;
	busy++;
	c->start_ns = now_ns();
	conn_send(c);
}

static void conn_next(struct conn *c)
{
	struct conn *peer = c->peer;

	if (!peer) {
		conn_request(c);
	} else if (peer->state == CONN_REST) {
		/* The taker first: its wait is the point. */
		conn_request(c->id < peer->id ? c : peer);
		if (c->state == CONN_REST)
			conn_request(c);
		if (peer->state == CONN_REST)
			conn_request(peer);
	}
}

static void conn_done(struct conn *c)
{
	c->state = CONN_REST;
	busy--;
	if (measuring) {
		hist_add(now_ns() - c->start_ns);
		requests++;
		c->served++;
	}
	if (going && mode == MODE_CHURN) {
		c->state = CONN_SHUT;
		shutdown(c->fd, SHUT_WR);
	} else if (going) {
		conn_next(c);
	}
}

/*
 * Its number is free for the next one. Each comes from another address of the
 * loopback, since ports are not free again for a minute.
 */
static int conn_open(struct conn *c)
{
	static uint32_t from;
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct timeval tv = { .tv_sec = 5 };
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0) {
		perror("load: socket");
		exit(1);
	}
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (from++ % 200 << 8));
	setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
		   sizeof(one));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(c->fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    connect(c->fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		fprintf(stderr, "load: connection %u: connect: %s\n", c->id,
			strerror(errno));
		close(c->fd);
		return -1;
	}
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	c->state = CONN_REST;
	conn_events(c, EPOLL_CTL_ADD, 0);
	open_conns++;
	return 0;
}

/* The server has ended its side of a connection of whose answer all is there. */
static void conn_again(struct conn *c)
{
	conn_kill(c);
	if (!going)
		return;
	if (conn_open(c) < 0)
		error("no new connection");
	else
		conn_request(c);
}

static void conn_recv(struct conn *c)
{
	static char buf[MAX_SIZE + 1];
	ssize_t n = recv(c->fd, buf, sizeof(buf), 0);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		if (n < 0)
			error("connection %u: recv: %s", c->id,
			      strerror(errno));
		else if (c->state != CONN_SHUT)
			error("connection %u: the server closed it", c->id);
		if (n == 0 && mode == MODE_CHURN && c->state == CONN_SHUT)
			conn_again(c);
		else
			conn_kill(c);
		return;
	}
	if (c->state != CONN_BUSY || (size_t)n > c->want_left) {
		error("connection %u: %zd bytes nobody asked for", c->id, n);
		conn_kill(c);
		return;
	}
	if (memcmp(buf, c->want, (size_t)n) != 0) {
		error("connection %u: wrong bytes in answer %llu", c->id,
		      (unsigned long long)c->round);
		conn_kill(c);
		return;
	}
	c->want += n;
	c->want_left -= (size_t)n;
	if (c->want_left == 0)
		conn_done(c);
}

static void handle(const struct epoll_event *ev)
{
	struct conn *c = ev->data.ptr;

	if (c->state != CONN_DEAD && (ev->events & EPOLLOUT))
		conn_send(c);
	if (c->state != CONN_DEAD && (ev->events & ~(uint32_t)EPOLLOUT))
		conn_recv(c);
}

/* One turn of the loop, not past the deadline; 0 when that has passed. */
static int turn(uint64_t deadline)
{
	struct epoll_event evs[MAX_EVENTS];
	uint64_t now = now_ns();
	int i, n, ms;

	if (now >= deadline)
		return 0;
	ms = (int)((deadline - now + 999999) / 1000000);
	n = epoll_wait(ep, evs, MAX_EVENTS, ms);
	for (i = 0; i < n; i++)
		handle(&evs[i]);
	return 1;
}

static void connect_all(unsigned short port)
{
	uint64_t deadline = now_ns() + CONNECT_NS;
	unsigned int i;

	to.sin_port = htons(port);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (i = 0; i < nconns; i++) {
		struct conn *c = &conns[i];

		c->id = i;
		if (conn_open(c) < 0)
			exit(1);
		if (now_ns() > deadline) {
			fprintf(stderr, "load: only %u connections in time\n",
				i);
			exit(1);
		}
		if (mode == MODE_CHAT) {
			c->lines = malloc(2 * CHAT_LINE);
			if (!c->lines)
				exit(1);
			if (i & 1) {
				c->peer = &conns[i - 1];
				conns[i - 1].peer = c;
			}
		}
	}
}

static void drain(uint64_t limit_ns, const char *what)
{
	uint64_t deadline = now_ns() + limit_ns;

	while (busy && turn(deadline)) {
		/* What went wrong already may be why others wait. */
		if (errors && deadline > now_ns() + NSEC)
			deadline = now_ns() + NSEC;
	}
	if (busy)
		error("%u connections without %s in time", busy, what);
}

static void request_all(void)
{
	unsigned int i;

	for (i = 0; i < nconns; i++)
		if (conns[i].state == CONN_REST)
			conn_next(&conns[i]);
}

/* Ends our side of each stream and waits until the server ends its side. */
static void close_all(void)
{
	uint64_t deadline = now_ns() + DRAIN_NS;
	unsigned int i;

	for (i = 0; i < nconns; i++) {
		struct conn *c = &conns[i];

		if (c->state == CONN_BUSY)
			conn_kill(c);
		if (c->state != CONN_REST)
			continue;
		c->state = CONN_SHUT;
		shutdown(c->fd, SHUT_WR);
	}
	while (open_conns && turn(deadline))
		;
	if (open_conns)
		error("the server left %u connections open", open_conns);
}

/* The threads of our connections end a little after their sockets. */
static void quiesce(long threads)
{
	uint64_t deadline = now_ns() + QUIESCE_NS;
	struct timespec ms = { .tv_nsec = 1000000 };
	struct usage u;

	do {
		nanosleep(&ms, NULL);
		usage_read(&u);
	} while (u.threads > threads && now_ns() < deadline);
}

/* Jain's index of the answers of each connection: 1 if all are served alike. */
static double fairness(void)
{
	double sum = 0, squares = 0;
	unsigned int i;

	for (i = 0; i < nconns; i++) {
		sum += (double)conns[i].served;
		squares += (double)conns[i].served * (double)conns[i].served;
	}
	return squares > 0 ? sum * sum / (nconns * squares) : 0;
}

static void measure(uint64_t first_ns)
{
	uint64_t start, end, deadline, cpu;
	unsigned int i, starved = 0;
	struct usage u;
	double took;

	cpu = server_cpu_ns();
	measuring = 1;
	start = now_ns();
	if (max_requests)
		deadline = start + REQUESTS_NS;
	else
		deadline = start + (uint64_t)(seconds * 1e9);
	while (open_conns && (!max_requests || requests < max_requests) &&
	       turn(deadline))
		;
	end = now_ns();
	cpu = server_cpu_ns() - cpu;
	measuring = 0;
	going = 0;
	usage_read(&u);
	drain(DRAIN_NS, "an answer");

	took = (double)(end - start) / 1e9;
	for (i = 0; i < nconns; i++)
		starved += conns[i].served == 0;
	if (mode == MODE_IDLE)
		starved = 0;
	else if (requests == 0)
		error("no request was answered");
	printf("requests=%llu seconds=%.3f rps=%.0f p50_us=%.1f p99_us=%.1f "
	       "starved=%u jain=%.4f first_ms=%.1f",
	       (unsigned long long)requests, took, (double)requests / took,
	       hist_quantile(0.5, requests), hist_quantile(0.99, requests),
	       starved, fairness(), (double)first_ns / 1e6);
	if (server)
		printf(" cpu_us=%.4f cpu_s=%.4f threads=%ld rss_kb=%ld "
		       "pte_kb=%ld",
		       requests ? (double)cpu / 1e3 / (double)requests : 0.0,
		       (double)cpu / 1e9, u.threads, u.rss_kb, u.pte_kb);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: load [-m echo|chat|idle|churn] [-c CONNECTIONS] [-s "
		"BYTES]\n"
		"            [-t SECONDS | -r REQUESTS] [-w WARMUP_SECONDS]\n"
		"            [-P SERVER_PID] PORT\n"
		"At most %d connections, %d bytes (chat: %d), %.0f seconds.\n",
		MAX_CONNS, MAX_SIZE, MAX_CHAT_SIZE, MAX_SECONDS);
	return 2;
}

/* A number between min and max, or usage and exit. */
static double number(const char *text, double min, double max)
{
	char *end;
	double d = strtod(text, &end);

	if (end == text || *end || !(d >= min && d <= max))
		exit(usage());
	return d;
}

static unsigned short options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "m:c:s:t:r:w:P:")) != -1) {
		switch (opt) {
		case 'm':
			if (strcmp(optarg, "echo") == 0)
				mode = MODE_ECHO;
			else if (strcmp(optarg, "chat") == 0)
				mode = MODE_CHAT;
			else if (strcmp(optarg, "idle") == 0)
				mode = MODE_IDLE;
			else if (strcmp(optarg, "churn") == 0)
				mode = MODE_CHURN;
			else
				exit(usage());
			break;
		case 'c':
			nconns = (unsigned int)number(optarg, 1, MAX_CONNS);
			break;
		case 's':
			size = (size_t)number(optarg, 1, MAX_SIZE);
			break;
		case 't':
			seconds = number(optarg, 0.01, MAX_SECONDS);
			break;
		case 'r':
			max_requests =
				(uint64_t)number(optarg, 1, MAX_REQUESTS);
			break;
		case 'w':
			warmup = number(optarg, 0, MAX_SECONDS);
			break;
		case 'P':
			server = (pid_t)number(optarg, 1, 1 << 30);
			break;
		default:
			exit(usage());
		}
	}
	if (optind != argc - 1 || (mode == MODE_CHAT && size > MAX_CHAT_SIZE))
		exit(usage());
	return (unsigned short)number(argv[optind], 1, 65535);
}

static void set_up(void)
{
	struct rlimit rl;
	uint32_t x = 2463534242u;
	size_t i;

	/* Xorshift: bytes without a short period, the same in every run. */
	for (i = 0; i < sizeof(pool); i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		pool[i] = (char)(x >> 24);
	}
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur < nconns + 16) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	/* The last resort: the default action ends the process. */
	alarm(WATCHDOG_SEC);
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0) {
		perror("load: epoll_create1");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned short port = options(argc, argv);
	struct usage before;
	uint64_t start, first, end;

	set_up();
	usage_read(&before);
	start = now_ns();
	connect_all(port);
	request_all();
	drain(FIRST_NS, "a first answer");
	first = now_ns() - start;
	if (!errors) {
		if (mode != MODE_IDLE) {
			going = 1;
			request_all();
		}
		end = now_ns() + (uint64_t)(warmup * 1e9);
		while (turn(end))
			;
		measure(first);
		putchar(' ');
	}
	close_all();
	if (server)
		quiesce(before.threads);
	printf("errors=%llu\n", (unsigned long long)errors);
	return errors ? 1 : 0;
}
