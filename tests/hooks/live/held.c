/*
 * Who waits for bytes, room, connections or readiness, held.h.
 *
 * t-case: read
 * t-case: sendfile
 * t-case: sendfile_pipe
 * t-case: splice_in
 * t-case: splice_out
 * t-case: splice_pipes
 * t-case: splice_tcp
 * t-case: tee
 * t-case: vmsplice
 * t-case: preadv2
 * t-case: pwritev2
 * t-case: preadv2_unix
 * t-case: preadv2_tcp
 * t-case: preadv2_udp
 * t-case: pwritev2_unix
 * t-case: pwritev2_tcp
 * t-case: recvmmsg
 * t-case: recvmmsg_limit
 * t-case: connect
 * t-case: connect_tcp
 * t-case: connect_abstract
 * t-case: connect_limit
 * t-case: connect_read_limit
 * t-case: datagram
 * t-case: datagram_named
 * t-case: datagram_limit
 * t-case: datagram_named_peer
 * t-case: select
 * t-case: open_fifo
 * t-case: open_fifos
 * t-case: open_fifo_write
 * t-case: write_fifo
 * t-case: waitall
 * t-case: waitall_tcp
 * t-case: lowat
 * t-case: lowat_tcp
 * t-case: terminal
 * t-case: terminals
 */
#include "held.h"
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>

static char big[65536];

static void fill(int fd)
{
	int fl = fcntl(fd, F_GETFL);

	CHECK(fcntl(fd, F_SETFL, fl | O_NONBLOCK) == 0);
	while (write(fd, big, 65536) > 0)
		;
	while (write(fd, big, 1) > 0)
		;
	CHECK(fcntl(fd, F_SETFL, fl) == 0);
}

static void setup_pipes(void)
{
	t_pipe(in);
	t_pipe(out);
}

static void setup_full(void)
{
	setup_pipes();
	fill(out[1]);
}

/* The output is a stream that is full. */
static void setup_stream(void)
{
	t_pipe(in);
	t_pair(out);
	fill(out[1]);
}

static void setup_pair(void)
{
	t_pair(in);
}

static void setup_tcp_full(void)
{
	t_tcp_pair(out);
	fill(out[1]);
	/* What the other end takes makes room, until that is full as well. */
	for (int none = 0; none < 20; none++) {
		if (send(out[1], big, 65536, MSG_DONTWAIT) > 0)
			none = 0;
		t_settle();
	}
}

static void setup_tcp(void)
{
	t_tcp_pair(in);
	t_pipe(out);
}

static void feed(void)
{
	t_write(in[1], big, N);
}

static long call_read(void)
{
	char c;

	return read(in[0], &c, 1);
}

static long call_sendfile(void)
{
	off_t at = 0;

	return sendfile(out[1], file, &at, 10);
}

static long call_splice_in(void)
{
	return splice(in[0], NULL, file, NULL, 1, 0);
}

static long call_splice(void)
{
	return splice(in[0], NULL, out[1], NULL, 1, 0);
}

static long call_tee(void)
{
	long r;

	/* 0: another one has taken the room since this one waited, link_pipe() */
	do
		r = tee(in[0], out[1], 1, 0);
	while (r == 0);
	return r;
}

static long call_vmsplice(void)
{
	struct iovec v = { big, 1 };

	return vmsplice(out[1], &v, 1, 0);
}

static long call_preadv2(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return preadv2(in[0], &v, 1, -1, 0);
}

static long call_pwritev2(void)
{
	struct iovec v = { big, 10 };

	return pwritev2(out[1], &v, 1, -1, 0);
}

/* --- datagrams ------------------------------------------------------------- */

static void setup_udp(void)
{
	struct sockaddr_in a;
	int port;

	in[0] = t_bound(SOCK_DGRAM, &port);
	in[1] = socket(AF_INET, SOCK_DGRAM, 0);
	a = t_addr(port);
	CHECK(connect(in[1], (struct sockaddr *)&a, sizeof(a)) == 0);
}

static long call_recvmmsg(void)
{
	char c[2];
	struct iovec v[2] = { { &c[0], 1 }, { &c[1], 1 } };
	struct mmsghdr m[2];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 2; i++) {
		m[i].msg_hdr.msg_iov = &v[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	return recvmmsg(in[0], m, 2, 0, NULL);
}

static long call_recvmmsg_limit(void)
{
	struct timespec none = { 0, 0 };
	char c;
	struct iovec v = { &c, 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };

	return recvmmsg(in[0], &m, 1, 0, &none);
}

/* One at a time, lest some be dropped. */
static void feed_datagrams(void)
{
	int unread = 0, sent = 0;

	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < N) {
		CHECK(ioctl(in[0], FIONREAD, &unread) == 0);
		if (!unread && sent < 2 * N) {
			t_put(in[1], 'x');
			sent++;
		}
		sched_yield();
	}
}

static struct sockaddr_un at;
static socklen_t at_len;

static void name_it(int abstract)
{
	at.sun_family = AF_UNIX;
	snprintf(at.sun_path + abstract, sizeof(at.sun_path) - 1, "%s/here",
		 abstract ? getenv("T_TMP") : ".");
	at_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
			     (size_t)abstract + strlen(at.sun_path + abstract));
	if (!abstract)
		unlink(at.sun_path);
}

/* Sends until its receiver takes no more. */
static void fill_receiver(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	while (sendto(fd, "x", 1, MSG_DONTWAIT, (struct sockaddr *)&at,
		      at_len) == 1)
		;
	CHECK(errno == EAGAIN);
	t_close(fd);
}

static void setup_receiver(void)
{
	name_it(0);
	in[0] = socket(AF_UNIX, SOCK_DGRAM, 0);
	CHECK(bind(in[0], (struct sockaddr *)&at, at_len) == 0);
	fill_receiver();
}

static long call_datagram(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	long r;

	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	r = send(fd, "x", 1, 0);
	t_close(fd);
	return r;
}

static struct timeval hour = { 3600, 0 };

static long call_datagram_limit(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	long r;

	CHECK(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &hour, sizeof(hour)) ==
	      0);
	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	r = send(fd, "x", 1, 0);
	t_close(fd);
	return r;
}

/* By its address, and it is connected to that one. */
static long call_datagram_named_peer(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	long r;

	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	r = sendto(fd, "x", 1, 0, (struct sockaddr *)&at, at_len);
	t_close(fd);
	return r;
}

static long call_datagram_named(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	long r = sendto(fd, "x", 1, 0, (struct sockaddr *)&at, at_len);

	t_close(fd);
	return r;
}

static void feed_receiver(void)
{
	struct pollfd p = { in[0], POLLIN, 0 };
	char c;

	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < N)
		if (poll(&p, 1, 10) == 1)
			CHECK(read(in[0], &c, 1) == 1);
}

/* --- connections ----------------------------------------------------------- */

static void setup_listener(int abstract)
{
	name_it(abstract);
	in[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(bind(in[0], (struct sockaddr *)&at, at_len) == 0);
	CHECK(listen(in[0], 0) == 0);
	in[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK(connect(in[1], (struct sockaddr *)&at, at_len) == 0);
}

static void setup_path(void)
{
	setup_listener(0);
}

static void setup_abstract(void)
{
	setup_listener(1);
}

static long call_connect(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	t_close(fd);
	return 1;
}

static long connect_limited(int name)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	CHECK(setsockopt(fd, SOL_SOCKET, name, &hour, sizeof(hour)) == 0);
	CHECK(connect(fd, (struct sockaddr *)&at, at_len) == 0);
	t_close(fd);
	return 1;
}

static long call_connect_limit(void)
{
	return connect_limited(SO_SNDTIMEO);
}

static long call_connect_read_limit(void)
{
	return connect_limited(SO_RCVTIMEO);
}

/* A listener that has no room drops who calls. */
static struct sockaddr_in tcp;
static int callers[N], ncallers;

static void setup_tcp_listener(void)
{
	int port;

	in[0] = t_bound(SOCK_STREAM, &port);
	CHECK(listen(in[0], 0) == 0);
	tcp = t_addr(port);
	in[1] = t_connect(port);
}

static long call_connect_tcp(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	__atomic_store_n(
		&callers[__atomic_fetch_add(&ncallers, 1, __ATOMIC_SEQ_CST)],
		fd, __ATOMIC_SEQ_CST);
	CHECK_ERR(connect(fd, (struct sockaddr *)&tcp, sizeof(tcp)),
		  ECONNRESET);
	return 1;
}

/* Each as soon as it waits. */
static void shut_callers(void)
{
	for (int i = 0; i < N; i++) {
		int fd;

		while (!(fd = __atomic_load_n(&callers[i], __ATOMIC_SEQ_CST)))
			sched_yield();
		while (shutdown(fd, SHUT_RDWR))
			CHECK(errno == ENOTCONN);
		t_close(fd);
	}
}

static void feed_listener(void)
{
	for (int i = 0; i <= N; i++) {
		int fd = accept(in[0], NULL, NULL);

		CHECK(fd >= 0);
		t_close(fd);
	}
}

/* --- many descriptors ------------------------------------------------------ */

static void setup_high(void)
{
	struct rlimit lim;
	int fd;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	if (lim.rlim_cur < 2000)
		t_skip("no descriptors above 1024");
	t_pipe(in);
	fd = fcntl(in[0], F_DUPFD, 1500);
	CHECK(fd == 1500);
}

static long call_select(void)
{
	unsigned long set[32] = { 0 };
	int fd = 1500;

	set[fd / 64] |= 1ul << fd % 64;
	return select(fd + 1, (fd_set *)set, NULL, NULL, NULL);
}

static void feed_one(void)
{
	t_put(in[1], 'x');
}

/* --- FIFOs whose writer has not come --------------------------------------- */

static int fifos, here[N];

static void fifo_named(char path[PATH_MAX], int i)
{
	snprintf(path, PATH_MAX, "%s/fifo%d", getenv("T_TMP"), i);
}

static void need_descriptors(rlim_t n)
{
	struct rlimit lim;

	CHECK(getrlimit(RLIMIT_NOFILE, &lim) == 0);
	lim.rlim_cur = lim.rlim_max;
	if (lim.rlim_cur < n)
		t_skip("not as many descriptors");
	CHECK(setrlimit(RLIMIT_NOFILE, &lim) == 0);
}

static void setup_fifos(int n)
{
	char path[PATH_MAX];

	need_descriptors(2 * N + 100);
	fifos = n;
	learned = 1;
	for (int i = 0; i < n; i++) {
		fifo_named(path, i);
		CHECK(mkfifo(path, 0600) == 0);
	}
}

static void setup_fifo(void)
{
	setup_fifos(1);
}

static void setup_fifo_each(void)
{
	setup_fifos(N);
}

static long call_open(void)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST);
	char path[PATH_MAX], c;
	int fd;
	long r;

	fifo_named(path, i % fifos);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	r = read(fd, &c, 1);
	t_close(fd);
	return r;
}

/* Each writer comes when there is a reader, or before: as it may be. */
static void feed_fifos(void)
{
	char path[PATH_MAX];

	for (int i = 0; i < fifos; i++) {
		fifo_named(path, i);
		here[i] = open(path, O_WRONLY);
		CHECK(here[i] >= 0);
		t_write(here[i], big, N / (size_t)fifos);
	}
}

/* --- a FIFO whose reader has not come ----------------------------------------- */

static long call_open_write(void)
{
	char path[PATH_MAX];
	int fd;

	fifo_named(path, 0);
	fd = open(path, O_WRONLY);
	CHECK(fd >= 0);
	t_close(fd);
	return 1;
}

static void feed_reader(void)
{
	char path[PATH_MAX];

	fifo_named(path, 0);
	here[0] = open(path, O_RDONLY);
	CHECK(here[0] >= 0);
}

/* --- FIFOs that do not take all of a write ------------------------------------- */

enum { FIFO_PART = 4096 };

static void setup_fifo_small(void)
{
	char path[PATH_MAX];

	need_descriptors(2 * N + 100);
	for (int i = 0; i < N; i++) {
		fifo_named(path, i);
		CHECK(mkfifo(path, 0600) == 0);
		here[i] = open(path, O_RDWR);
		CHECK(here[i] >= 0);
		CHECK(fcntl(here[i], F_SETPIPE_SZ, FIFO_PART) == FIFO_PART);
	}
}

static long call_write_fifo(void)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST);

	CHECK(write(here[i], big, 3 * FIFO_PART) == 3 * FIFO_PART);
	return 1;
}

static void feed_readers(void)
{
	static char b[3 * FIFO_PART];

	for (int i = 0; i < N; i++)
		t_read(here[i], b, sizeof(b));
}

/* --- the rest of a record ------------------------------------------------------ */

static int ends[N][2];

static void setup_records(void (*make)(int[2]))
{
	need_descriptors(3 * N);
	for (int i = 0; i < N; i++) {
		make(ends[i]);
		t_write(ends[i][1], "head", 4);
	}
}

static void setup_records_unix(void)
{
	setup_records(t_pair);
}

static void setup_records_tcp(void)
{
	setup_records(t_tcp_pair);
}

static void set_lowat(void)
{
	int n = 8;

	for (int i = 0; i < N; i++)
		CHECK(setsockopt(ends[i][0], SOL_SOCKET, SO_RCVLOWAT, &n,
				 sizeof(n)) == 0);
}

static void setup_lowat_unix(void)
{
	setup_records_unix();
	set_lowat();
}

static void setup_lowat_tcp(void)
{
	setup_records_tcp();
	set_lowat();
}

static long record(int flags)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST);
	char b[8];

	CHECK(recv(ends[i][0], b, sizeof(b), flags) == sizeof(b));
	CHECK(memcmp(b, "headbody", sizeof(b)) == 0);
	return sizeof(b);
}

static long call_waitall(void)
{
	return record(MSG_WAITALL);
}

static long call_lowat(void)
{
	return record(0);
}

static void feed_records(void)
{
	for (int i = 0; i < N; i++)
		t_write(ends[i][1], "body", 4);
}

/* Fewer than SO_RCVLOWAT wake nobody, of TCP, even if they are all that is missing. */
static void feed_more(void)
{
	for (int i = 0; i < N; i++)
		t_write(ends[i][1], "bodymore", 8);
}

/* --- terminals ----------------------------------------------------------------- */

static int terminals;

static void setup_terminals(int n, int raw)
{
	struct termios t;

	need_descriptors(2 * N + 100);
	terminals = n;
	for (int i = 0; i < n; i++) {
		if (openpty(&ends[i][0], &ends[i][1], NULL, NULL, NULL))
			t_skip("not as many pseudo terminals");
		CHECK(tcgetattr(ends[i][1], &t) == 0);
		if (raw)
			cfmakeraw(&t);
		else
			t.c_lflag &= ~(tcflag_t)ECHO;
		CHECK(tcsetattr(ends[i][1], TCSANOW, &t) == 0);
	}
}

static void setup_terminal(void)
{
	setup_terminals(1, 0);
}

static void setup_terminal_each(void)
{
	setup_terminals(N, 1);
}

static long call_terminal(void)
{
	static int next;
	int i = __atomic_fetch_add(&next, 1, __ATOMIC_SEQ_CST) % terminals;
	char b[8];

	return read(ends[i][1], b, sizeof(b));
}

static void feed_terminals(void)
{
	for (int i = 0; i < N; i++)
		t_write(ends[i % terminals][0], "x\n", 2);
}

static const struct wait waits[] = {
	{ "read", setup_pipes, call_read, feed, 0 },
	{ "sendfile", setup_stream, call_sendfile, NULL, 1 },
	{ "sendfile_pipe", setup_full, call_sendfile, NULL, 1 },
	{ "splice_in", setup_pipes, call_splice_in, feed, 0 },
	{ "splice_out", setup_stream, call_splice, feed, 1 },
	{ "splice_pipes", setup_pipes, call_splice, feed, 1 },
	{ "splice_tcp", setup_tcp, call_splice, feed, 1 },
	{ "tee", setup_full, call_tee, feed, 1 },
	{ "vmsplice", setup_full, call_vmsplice, NULL, 1 },
	{ "preadv2", setup_pipes, call_preadv2, feed, 0 },
	{ "pwritev2", setup_full, call_pwritev2, NULL, 1 },
	{ "preadv2_unix", setup_pair, call_preadv2, feed, 0 },
	{ "preadv2_tcp", setup_tcp, call_preadv2, feed, 0 },
	{ "preadv2_udp", setup_udp, call_preadv2, feed_datagrams, 0 },
	{ "pwritev2_unix", setup_stream, call_pwritev2, NULL, 1 },
	{ "pwritev2_tcp", setup_tcp_full, call_pwritev2, NULL, 1 },
	{ "recvmmsg", setup_udp, call_recvmmsg, feed_datagrams, 0 },
	{ "recvmmsg_limit", setup_udp, call_recvmmsg_limit, feed_datagrams, 0 },
	{ "connect", setup_path, call_connect, feed_listener, 0 },
	{ "connect_tcp", setup_tcp_listener, call_connect_tcp, shut_callers,
	  0 },
	{ "connect_abstract", setup_abstract, call_connect, feed_listener, 0 },
	{ "connect_limit", setup_path, call_connect_limit, feed_listener, 0 },
	{ "connect_read_limit", setup_path, call_connect_read_limit,
	  feed_listener, 0 },
	{ "datagram", setup_receiver, call_datagram, feed_receiver, 0 },
	{ "datagram_limit", setup_receiver, call_datagram_limit, feed_receiver,
	  0 },
	{ "datagram_named_peer", setup_receiver, call_datagram_named_peer,
	  feed_receiver, 0 },
	{ "datagram_named", setup_receiver, call_datagram_named, feed_receiver,
	  0 },
	{ "select", setup_high, call_select, feed_one, 0 },
	{ "open_fifo", setup_fifo, call_open, feed_fifos, 0 },
	{ "open_fifos", setup_fifo_each, call_open, feed_fifos, 0 },
	{ "open_fifo_write", setup_fifo, call_open_write, feed_reader, 0 },
	{ "write_fifo", setup_fifo_small, call_write_fifo, feed_readers, 0 },
	{ "waitall", setup_records_unix, call_waitall, feed_records, 0 },
	{ "waitall_tcp", setup_records_tcp, call_waitall, feed_records, 0 },
	{ "lowat", setup_lowat_unix, call_lowat, feed_records, 0 },
	{ "lowat_tcp", setup_lowat_tcp, call_lowat, feed_more, 0 },
	{ "terminal", setup_terminal, call_terminal, feed_terminals, 0 },
	{ "terminals", setup_terminal_each, call_terminal, feed_terminals, 0 },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	held(waits, T_LEN(waits), argv[1]);
	return 0;
}
