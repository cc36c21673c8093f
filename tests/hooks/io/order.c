/*
 * Several threads wait for one descriptor: who is served first. Exclusive waiters
 * of the kernel (pipes, datagrams, connections) first come, first served; those
 * of epoll_wait() the other way round.
 *
 * t-case: pipe
 * t-case: dgram
 * t-case: recvmmsg
 * t-case: flags
 * t-case: accept
 * t-case: epoll
 * t-case: fifo
 * t-case: moved
 * t-case: writers
 * t-chaos-but no_watch: who is served first waits in fibers, not in poll
 * t-chaos-but epoll_loop: nor some of them in the kernel
 */
#include "served.h"
#include <sys/epoll.h>

#define N 5

static int at;
static long (*one)(void);

static long take(void *arg)
{
	long r = one();

	note_served((int)(intptr_t)arg);
	return r;
}

static struct t_call call[N];

static void begin_all(void)
{
	for (long i = 0; i < N; i++)
		t_begin(&call[i], take, (void *)i);
}

static void end_all(const char *what)
{
	char text[N + 1] = "";

	for (int i = 0; i < N; i++) {
		CHECK(t_end(&call[i]) >= 0);
		text[i] = (char)('0' + served[i]);
	}
	t_say("%s: %s", what, text);
}

static long read_one(void)
{
	char c;

	return read(at, &c, 1);
}

static long recv_one(void)
{
	char c;

	return recv(at, &c, 1, 0);
}

/* The last one by a call for two, which the kernel makes: there is a limit. */
static long receive_two(void)
{
	static atomic_int calls;
	char c[2];
	struct iovec v[2] = { { &c[0], 1 }, { &c[1], 1 } };
	struct mmsghdr m[2];

	if (atomic_fetch_add(&calls, 1) < N - 1)
		return recv_one();
	memset(m, 0, sizeof(m));
	for (int i = 0; i < 2; i++)
		m[i].msg_hdr =
			(struct msghdr){ .msg_iov = &v[i], .msg_iovlen = 1 };
	CHECK(recvmmsg(at, m, 2, 0, NULL) == 2);
	return 2;
}

static long accept_one(void)
{
	return accept(at, NULL, NULL);
}

static int epfd;

static long epoll_one(void)
{
	struct epoll_event ev;
	char c;

	CHECK(epoll_wait(epfd, &ev, 1, -1) == 1);
	return read(at, &c, 1);
}

static void feed(int fd)
{
	for (int i = 1; i <= N; i++) {
		t_put(fd, 'x');
		wait_served(i);
	}
}

/* With a flag that udp_recvmsg() does not look at, and a limit, or without. */
static long receive_oddly(void)
{
	static _Atomic int calls;
	struct timespec hour = { 3600, 0 };
	char c;
	struct iovec v = { &c, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };

	return calls++ % 2 ? recv(at, &c, 1, 0) :
			     recvmmsg(at, &m, 1, MSG_EOR, &hour);
}

static void run_recvmmsg(int p[2])
{
	struct timeval hour = { 3600, 0 };

	at = p[0];
	CHECK(setsockopt(at, SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof(hour)) ==
	      0);
	one = receive_two;
	begin_all();
	for (int i = 1; i < N; i++) {
		t_put(p[1], 'x');
		wait_served(i);
	}
	t_write(p[1], "x", 1);
	t_write(p[1], "x", 1);
	end_all("recvmmsg");
}

static void run_accept(void)
{
	int port;

	at = t_listen(&port);
	one = accept_one;
	begin_all();
	for (int i = 0; i < N; i++) {
		t_connect(port);
		wait_served(i + 1);
	}
	end_all("accept");
}

static void run_epoll(int p[2])
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	at = p[0];
	epfd = epoll_create1(0);
	CHECK(epoll_ctl(epfd, EPOLL_CTL_ADD, at, &ev) == 0);
	one = epoll_one;
	begin_all();
	feed(p[1]);
	end_all("epoll_wait");
}

static void run_fifo(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/fifo", getenv("T_TMP"));
	CHECK(mkfifo(path, 0600) == 0);
	at = open(path, O_RDWR);
	CHECK(at >= 0);
	one = read_one;
	begin_all();
	feed(at);
	end_all("fifo");
}

/* They go on waiting for the pipe when the number is closed. */
static void run_moved(int p[2])
{
	at = p[0];
	one = read_one;
	begin_all();
	t_close(p[0]);
	feed(p[1]);
	end_all("closed meanwhile");
}

static long write_page(void)
{
	static char page[4096];

	return write(at, page, sizeof(page));
}

/* Each has room for one when a page has been read. */
static void run_writers(int p[2])
{
	char page[4096] = "";

	at = p[1];
	CHECK(fcntl(p[1], F_SETPIPE_SZ, 4096) == 4096);
	CHECK(write(p[1], page, sizeof(page)) == sizeof(page));
	one = write_page;
	begin_all();
	for (int i = 1; i <= N; i++) {
		t_read(p[0], page, sizeof(page));
		wait_served(i);
	}
	end_all("writers");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int p[2];

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, p) == 0);
	if (!strcmp(how, "dgram")) {
		at = p[0];
		one = recv_one;
		begin_all();
		feed(p[1]);
		end_all("datagrams");
		return 0;
	}
	if (!strcmp(how, "flags")) {
		t_udp_pair(p);
		at = p[0];
		one = receive_oddly;
		begin_all();
		feed(p[1]);
		end_all("flags");
		return 0;
	}
	if (!strcmp(how, "recvmmsg")) {
		run_recvmmsg(p);
		return 0;
	}
	t_pipe(p);
	if (!strcmp(how, "accept")) {
		run_accept();
	} else if (!strcmp(how, "epoll")) {
		run_epoll(p);
	} else if (!strcmp(how, "fifo")) {
		run_fifo();
	} else if (!strcmp(how, "moved")) {
		run_moved(p);
	} else if (!strcmp(how, "writers")) {
		run_writers(p);
	} else {
		at = p[0];
		one = read_one;
		begin_all();
		feed(p[1]);
		end_all("pipe");
	}
	return 0;
}
