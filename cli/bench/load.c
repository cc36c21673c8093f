/*
 * A load for servers that echo, or that answer GET / by HTTP: which of them it is,
 * the first answer tells. A closed loop over epoll: each connection sends its
 * next request when the answer to the one before is complete, until the time is
 * up; what is under way then is awaited. So the server has seen as many requests
 * as are counted here, from the first to the last.
 *
 * What an echo server returns is compared byte by byte; the status of an HTTP
 * answer has to be that of the first, and its body as long as it says. The first
 * wrong answer ends it. A server may close a connection where HTTP lets it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include "cli/bench/bench.h"
#include "cli/cli.h"

#define ANSWER_MS  10000 /* for one answer */
#define ECHO_BYTES 64
#define EVENTS	   256

static const char get[] = "GET / HTTP/1.1\r\nHost: localhost\r\n"
			  "User-Agent: fibhook\r\nAccept: */*\r\n\r\n";

struct conn {
	int fd; /* -1: none */
	bool busy, fresh;
	size_t sent, got;
	uint64_t round;
	int64_t start_ns;
	struct bench_http http;
	char echo[ECHO_BYTES];
};

static struct bench_load *load;
static bool is_http;
static int status; /* of the first answer */
static struct conn *conns;
static unsigned busy;
static bool going;
static int ep;
static float *times; /* us */
static size_t ntimes, room;

__attribute__((format(printf, 1, 2), noreturn)) static void
wrong(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(CLI_ERROR);
}

/* --- one connection ----------------------------------------------------------- */

static void want(struct conn *c, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = c };

	if (epoll_ctl(ep, op, c->fd, &ev))
		wrong("epoll_ctl: %s", strerror(errno));
}

static void close_conn(struct conn *c)
{
	close(c->fd);
	c->fd = -1;
}

static void send_rest(struct conn *c)
{
	const char *data = is_http ? get : c->echo;
	size_t size = is_http ? sizeof(get) - 1 : ECHO_BYTES;
	ssize_t n = send(c->fd, data + c->sent, size - c->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
		n = 0;
	/* What became of the connection, reading tells. */
	if (n > 0)
		c->sent += (size_t)n;
	want(c, EPOLL_CTL_MOD,
	     c->sent < size && n >= 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void connect_conn(struct conn *c)
{
	c->fd = run_connect(&load->to, true);
	if (c->fd < 0)
		wrong("connection to %s: %s", run_address_name(&load->to),
		      strerror(-c->fd));
	c->fresh = true;
	want(c, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static void request(struct conn *c)
{
	if (!c->busy) {
		c->busy = true;
		busy++;
		c->start_ns = run_now_ns();
		c->round++;
	}
	c->sent = c->got = 0;
	memset(&c->http, 0, sizeof(c->http));
	for (size_t i = 0; i < ECHO_BYTES; i++)
		c->echo[i] = (char)('!' + ((size_t)(c - conns) * 7 +
					   c->round * 11 + i * 5) %
						  90);
	if (c->fd < 0) {
		connect_conn(c);
		return; /* when it is connected */
	}
	send_rest(c);
}

static void answered(struct conn *c)
{
	if (ntimes == room) {
		room = room ? 2 * room : 1 << 16;
		times = realloc(times, room * sizeof(*times));
		if (!times)
			wrong("out of memory");
	}
	times[ntimes++] = (float)((double)(run_now_ns() - c->start_ns) / 1e3);
	c->busy = false;
	busy--;
	c->fresh = false;
	if (is_http && (c->http.close || c->http.state == HTTP_TO_END))
		close_conn(c);
	if (going)
		request(c);
}

static void at_end(struct conn *c, int err)
{
	if (is_http && c->http.state == HTTP_TO_END && !err) {
		answered(c);
		return;
	}
	/* Between two answers it may close: the request was not looked at. */
	if (is_http && !c->fresh && !c->got) {
		close_conn(c);
		if (c->busy)
			request(c);
		return;
	}
	wrong("%s %s instead of %s", run_address_name(&load->to),
	      err ? strerror(err) : "closed a connection",
	      c->got ? "the rest of an answer" : "an answer");
}

static void take(struct conn *c, const char *data, size_t n)
{
	size_t used;

	c->got += n;
	if (!c->busy)
		wrong("%zu bytes that were not asked for", n);
	if (!is_http) {
		if (c->got > ECHO_BYTES ||
		    memcmp(data, c->echo + c->got - n, n) != 0)
			wrong("a wrong answer: other bytes than were sent");
		if (c->got == ECHO_BYTES)
			answered(c);
		return;
	}
	used = bench_http(&c->http, data, n);
	if (c->http.state == HTTP_BAD || used < n)
		wrong("a wrong answer: it is not HTTP");
	if (c->http.status && c->http.state > HTTP_HEADER &&
	    c->http.status != status)
		wrong("a wrong answer: status %d, before it was %d",
		      c->http.status, status);
	if (c->http.state == HTTP_DONE)
		answered(c);
}

static void handle(struct conn *c, uint32_t events)
{
	static char buf[65536];
	ssize_t n;

	if (events & EPOLLOUT)
		send_rest(c);
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	n = recv(c->fd, buf, sizeof(buf), 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		take(c, buf, (size_t)n);
	else
		at_end(c, n < 0 ? errno : 0);
}

/* --- the first answer ------------------------------------------------------------ */

static void probe(void)
{
	int fd = run_connect(&load->to, false);
	int64_t end = run_now_ns() + ANSWER_MS * 1000000ll;
	struct bench_http h = { 0 };
	char buf[sizeof(get)];
	size_t got = 0;

	if (fd < 0)
		wrong("connection to %s: %s", run_address_name(&load->to),
		      strerror(-fd));
	send(fd, get, sizeof(get) - 1, MSG_NOSIGNAL);
	while (got < sizeof(get) - 1 &&
	       (h.state <= HTTP_HEADER || h.state == HTTP_BAD)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int left = (int)((end - run_now_ns()) / 1000000);
		ssize_t n;

		if (left <= 0 || poll(&p, 1, left) <= 0)
			break;
		n = recv(fd, buf + got, sizeof(buf) - 1 - got, 0);
		if (n <= 0)
			break;
		bench_http(&h, buf + got, (size_t)n);
		got += (size_t)n;
		if (h.state > HTTP_STATUS && h.state != HTTP_BAD)
			got = 0; /* no echo: only the state counts */
	}
	status = h.status;
	is_http = h.state > HTTP_STATUS && h.state != HTTP_BAD;
	if (!is_http && (got < sizeof(get) - 1 || memcmp(buf, get, got)))
		wrong("it is neither an echo nor an HTTP server: give a load "
		      "for it by --load");
	if (is_http && status >= 400)
		wrong("it answers GET / with status %d: give a load for it by "
		      "--load",
		      status);
	/* Its answer has been seen in part; the server is to get rid of it. */
	while (h.state != HTTP_DONE && is_http) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);

		if (n <= 0)
			break;
		bench_http(&h, buf, (size_t)n);
	}
	close(fd);
}

/* --- all of them ------------------------------------------------------------------ */

static void turn(int64_t until)
{
	struct epoll_event evs[EVENTS];
	int64_t left = (until - run_now_ns() + 999999) / 1000000;
	int n = epoll_wait(ep, evs, EVENTS, left > 0 ? (int)left : 0);

	for (int i = 0; i < n; i++) {
		struct conn *c = evs[i].data.ptr;

		if (c->fd >= 0)
			handle(c, evs[i].events);
	}
}

static int by_time(const void *a, const void *b)
{
	const float *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void prepare(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl)) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
	ep = epoll_create1(EPOLL_CLOEXEC);
	conns = calloc(load->connections, sizeof(*conns));
	if (ep < 0 || !conns)
		wrong("%s", strerror(errno));
	signal(SIGPIPE, SIG_IGN);
}

int bench_load(void *arg)
{
	int64_t begin, end, last;
	double took;

	load = arg;
	prepare();
	begin = run_now_ns();
	probe();
	end = run_now_ns() + (int64_t)(load->seconds * 1e9);
	going = true;
	for (unsigned i = 0; i < load->connections; i++) {
		conns[i].fd = -1;
		request(&conns[i]);
	}
	while (run_now_ns() < end)
		turn(end);
	going = false;
	last = run_now_ns() + ANSWER_MS * 1000000ll;
	while (busy && run_now_ns() < last)
		turn(last);
	if (busy)
		wrong("%u of %u connections have no answer within %d s", busy,
		      load->connections, ANSWER_MS / 1000);
	took = (double)(run_now_ns() - begin) / 1e9;
	/* All connections are open: the server is looked at, and we go on. */
	raise(SIGSTOP);
	qsort(times, ntimes, sizeof(*times), by_time);
	/* The probe was a request too. */
	printf("requests=%zu seconds=%.6f rps=%.3f p50_us=%.1f p99_us=%.1f "
	       "errors=0 load=%s\n",
	       ntimes + 1, took, (double)(ntimes + 1) / took, times[ntimes / 2],
	       times[ntimes * 99 / 100], is_http ? "http" : "echo");
	return 0;
}
