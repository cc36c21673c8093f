/*
 * Who waits for messages, connections, or the rest of a record, held.h.
 *
 * t-case: preadv2_udp
 * t-case: recvmmsg
 * t-case: recvmmsg_limit
 * t-case: connect
 * t-case: connect_tcp
 * t-case: connect_abstract
 * t-case: connect_limit
 * t-case: connect_read_limit
 * t-case: datagram
 * t-case: datagram_limit
 * t-case: datagram_named_peer
 * t-case: datagram_named
 * t-case: waitall
 * t-case: waitall_tcp
 * t-case: lowat
 * t-case: lowat_tcp
 */
#include "held.h"
#include <sys/ioctl.h>

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

static long call_preadv2(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return preadv2(in[0], &v, 1, -1, 0);
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

static const struct wait waits[] = {
	{ "preadv2_udp", setup_udp, call_preadv2, feed_datagrams, 0 },
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
	{ "waitall", setup_records_unix, call_waitall, feed_records, 0 },
	{ "waitall_tcp", setup_records_tcp, call_waitall, feed_records, 0 },
	{ "lowat", setup_lowat_unix, call_lowat, feed_records, 0 },
	{ "lowat_tcp", setup_lowat_tcp, call_lowat, feed_more, 0 },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	held(waits, T_LEN(waits), argv[1]);
	return 0;
}
