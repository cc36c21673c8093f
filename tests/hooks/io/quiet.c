/*
 * What poll has said nothing of, and what has just been accepted from, may be read
 * without a wait all the same: a listener (ENOTCONN), a FIFO that nobody has opened to
 * write (the end). And poll tells of what comes after it has said nothing, of several
 * descriptors, by new files of the same number.
 *
 * t-case: polled
 * t-case: accepted
 * t-case: fifo
 * t-case: several
 * t-case: anew
 */
#include "../calls.h"
#include <poll.h>
#include <sys/stat.h>

enum { TIMES = 3, CONNECTIONS = 40 };

static int l, port;

static int look(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int n = poll(&p, 1, ms);

	return n ? p.revents : 0;
}

static void read_listener(void)
{
	char b[8];

	for (int i = 0; i < TIMES; i++) {
		CHECK(look(l, 10) == 0);
		CHECK(recv(l, b, sizeof(b), 0) == -1 && errno == ENOTCONN);
		CHECK(read(l, b, sizeof(b)) == -1 && errno == ENOTCONN);
	}
}

static void *come(void *arg)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = t_connect(port);

		t_eof(fd);
		t_close(fd);
	}
	return arg;
}

static void *polled(void *arg)
{
	read_listener();
	return arg;
}

static void *accepted(void *arg)
{
	pthread_t th = t_thread(come, NULL);

	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = accept(l, NULL, NULL);

		CHECK(fd >= 0);
		t_close(fd);
	}
	t_join(th);
	read_listener();
	return arg;
}

static void *fifo(void *arg)
{
	char dir[] = "/tmp/quietXXXXXX", path[64], b[8];
	int r, w;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/f", dir);
	CHECK_0(mkfifo(path, 0600));
	r = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(r >= 0);
	CHECK_0(fcntl(r, F_SETFL, 0));
	for (int i = 0; i < TIMES; i++) {
		CHECK(look(r, 10) == 0);
		CHECK(read(r, b, sizeof(b)) == 0);
	}
	w = open(path, O_WRONLY);
	t_write(w, "abc", 3);
	CHECK(look(r, -1) == POLLIN);
	CHECK(read(r, b, sizeof(b)) == 3);
	CHECK(look(r, 10) == 0);
	t_close(w);
	CHECK(look(r, -1) == POLLHUP);
	CHECK(read(r, b, sizeof(b)) == 0);
	unlink(path);
	rmdir(dir);
	return arg;
}

static void *write_soon(void *arg)
{
	t_pause();
	t_write((int)(intptr_t)arg, "x", 1);
	return NULL;
}

static void *several(void *arg)
{
	int pair[2], pipe[2], tcp[2];
	struct pollfd p[3];
	char b[8];

	t_pair(pair);
	t_pipe(pipe);
	t_tcp_pair(tcp);
	for (int i = 0; i < TIMES * 3; i++) {
		int in[] = { pair[0], pipe[0], tcp[0] };
		int out[] = { pair[1], pipe[1], tcp[1] };
		pthread_t th;

		for (int j = 0; j < 3; j++)
			p[j] = (struct pollfd){ in[j], POLLIN, 0 };
		CHECK(poll(p, 3, 1) == 0);
		th = t_thread(write_soon, (void *)(intptr_t)out[i % 3]);
		CHECK(poll(p, 3, -1) == 1 && p[i % 3].revents == POLLIN);
		CHECK(read(in[i % 3], b, i & 1 ? 1 : sizeof(b)) == 1);
		t_join(th);
	}
	t_close(tcp[1]);
	CHECK(poll(p, 3, -1) == 1 && p[2].revents == POLLIN);
	return arg;
}

static void *anew(void *arg)
{
	int a[2], b[2];
	char c;

	t_pair(a);
	for (int i = 0; i < TIMES; i++) {
		CHECK(look(a[0], 1) == 0);
		CHECK(look(a[0], 1) == 0);
		t_pair(b);
		t_write(b[1], "x", 1);
		/* The number is a file's that has something. */
		CHECK(dup2(b[0], a[0]) == a[0]);
		CHECK(look(a[0], -1) == POLLIN);
		t_read(a[0], &c, 1);
		t_close(b[0]);
		t_close(a[1]);
		a[1] = b[1];
	}
	t_close(a[0]);
	CHECK(look(a[0], 1000) == POLLNVAL);
	return arg;
}

int main(int argc, char **argv)
{
	static const struct t_case cases[] = {
		{ "polled", polled }, { "accepted", accepted },
		{ "fifo", fifo },     { "several", several },
		{ "anew", anew },
	};

	CHECK(argc == 2);
	l = t_listen(&port);
	t_run_case(cases, T_LEN(cases), argv[1]);
	puts("done");
	return 0;
}
