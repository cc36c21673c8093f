/*
 * Several numbers of one file: who waits for it first is served first, by whichever
 * number, and goes on waiting when any of them is closed.
 *
 * t-case: pipe
 * t-case: recv
 * t-case: readv
 * t-case: writers
 * t-case: first
 * t-case: own
 * t-case: all
 * t-case: again
 * t-case: anew
 * t-case: limit
 * t-case: intr
 * t-chaos-but no_watch: who is served first waits in fibers, not in poll
 */
#include "served.h"
#include <stdbool.h>
#include <sys/uio.h>

#define N 6

static int number[N];
static long (*one)(int fd);

static long take(void *arg)
{
	int i = (int)(intptr_t)arg;
	long r = one(number[i]);

	note_served(i);
	return r;
}

static struct t_call call[N];

/* Three numbers in turns, the first one's own in the midst. */
static void begin_all(int fd)
{
	int b = dup(fd), c = fcntl(fd, F_DUPFD, 100);

	CHECK(b >= 0 && c >= 100);
	for (long i = 0; i < N; i++) {
		number[i] = i % 3 == 0 ? b : i % 3 == 1 ? fd : c;
		t_begin(&call[i], take, (void *)i);
	}
}

static void end_some(const char *what, int n)
{
	char text[N + 1] = "";

	for (int i = 0; i < n; i++) {
		CHECK(t_end(&call[i]) > 0);
		text[i] = (char)('0' + served[i]);
	}
	t_say("%s: %s", what, text);
}

static void end_all(const char *what)
{
	end_some(what, N);
}

static long read_one(int fd)
{
	char c;

	return read(fd, &c, 1);
}

static long recv_one(int fd)
{
	char c;

	return recv(fd, &c, 1, 0);
}

static long readv_one(int fd)
{
	char c[2];
	struct iovec v[2] = { { c, 1 }, { c + 1, 1 } };

	return readv(fd, v, 2);
}

static void feed(int fd)
{
	for (int i = 1; i <= N; i++) {
		t_put(fd, 'x');
		wait_served(i);
	}
}

static long write_page(int fd)
{
	static char page[4096];

	return write(fd, page, sizeof(page));
}

/* Each has room for one when a page has been read. */
static void run_writers(int p[2])
{
	char page[4096] = "";

	CHECK(fcntl(p[1], F_SETPIPE_SZ, 4096) == 4096);
	CHECK(write(p[1], page, sizeof(page)) == sizeof(page));
	one = write_page;
	begin_all(p[1]);
	for (int i = 1; i <= N; i++) {
		t_read(p[0], page, sizeof(page));
		wait_served(i);
	}
	end_all("writers");
}

static void close_all(int p[2], bool first, bool others)
{
	one = read_one;
	begin_all(p[0]);
	if (first)
		t_close(p[0]);
	for (int i = 0; i < 3; i += 2)
		if (others)
			t_close(number[i]);
	feed(p[1]);
	end_all("closed meanwhile");
}

/* When the first one is closed and nobody waits, the others go on alike. */
static void run_again(int p[2])
{
	int d = dup(p[0]);

	one = read_one;
	begin_all(p[0]);
	feed(p[1]);
	end_all("before");
	t_close(p[0]);
	p[0] = dup(p[1]); /* the number is another file's */
	nserved = 0;
	begin_all(d);
	feed(p[1]);
	end_all("after");
}

/* Who waits for a file without a number, and those for the file that has them now. */
static void run_anew(int p[2])
{
	int q[2];

	one = read_one;
	for (int i = 0; i < 4; i++) {
		if (i == 2) {
			t_close(number[0]);
			t_close(number[1]);
			t_pipe(q);
		}
		number[i] = i == 0 ? p[0] : i == 2 ? q[0] : dup(number[i - 1]);
		t_begin(&call[i], take, (void *)(intptr_t)i);
	}
	for (int i = 0; i < 4; i++) {
		t_put(i < 2 ? q[1] : p[1], 'x');
		wait_served(i + 1);
	}
	end_some("anew", 4);
}

/* A limit of the socket, and data that comes when it is over. */
static void *run_limit(void *arg)
{
	struct timeval tv = { .tv_usec = 30000 };
	int s[2], d;
	char c;

	CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, s) == 0);
	d = dup(s[0]);
	CHECK(setsockopt(d, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)) == 0);
	CHECK_ERR(recv(d, &c, 1, 0), EAGAIN);
	CHECK_ERR(recv(s[0], &c, 1, 0), EAGAIN);
	CHECK(send(s[1], "x", 1, 0) == 1);
	CHECK(recv(d, &c, 1, 0) == 1);
	t_say("limit");
	return arg;
}

static void handler(int sig __attribute__((unused)))
{
}

static long read_late(int fd)
{
	char c;

	CHECK_ERR(read(fd, &c, 1), EINTR);
	return 1;
}

static void run_intr(int p[2])
{
	struct sigaction sa = { .sa_handler = handler };
	struct t_call by;

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	number[0] = dup(p[0]);
	one = read_late;
	t_begin(&by, take, (void *)0);
	CHECK(pthread_kill(by.th, SIGUSR1) == 0);
	CHECK(t_end(&by) == 1);
	t_put(p[1], 'x');
	CHECK(read_one(number[0]) == 1);
	t_say("interrupted");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int p[2];

	/* Streams wake all who wait. */
	if (!strcmp(how, "recv")) {
		CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, p) == 0);
		one = recv_one;
		begin_all(p[0]);
		feed(p[1]);
		end_all("datagrams");
		return 0;
	}
	t_pipe(p);
	if (!strcmp(how, "writers")) {
		run_writers(p);
	} else if (!strcmp(how, "first")) {
		close_all(p, true, false);
	} else if (!strcmp(how, "own")) {
		close_all(p, false, true);
	} else if (!strcmp(how, "all")) {
		close_all(p, true, true);
	} else if (!strcmp(how, "again")) {
		run_again(p);
	} else if (!strcmp(how, "anew")) {
		run_anew(p);
	} else if (!strcmp(how, "limit")) {
		t_join(t_thread(run_limit, NULL));
	} else if (!strcmp(how, "intr")) {
		run_intr(p);
	} else {
		one = !strcmp(how, "readv") ? readv_one : read_one;
		begin_all(p[0]);
		feed(p[1]);
		end_all("pipe");
	}
	return 0;
}
