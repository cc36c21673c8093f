/*
 * Who waits for bytes or room, held.h.
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
 * t-case: pwritev2_unix
 * t-case: pwritev2_tcp
 * t-case: preadv2_flags
 * t-case: preadv2_tcp_flags
 * t-case: pwritev2_flags
 * t-case: recv_flags
 * t-case: send_flags
 */
#include "held.h"
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
	enum { SETTLES = 200 };

	t_tcp_pair(out);
	fill(out[1]);
	/*
	 * What the other end takes makes room, until that is full as well: the last of its
	 * window goes with a probe, after TCP_RTO_MIN of 200 ms (tcp_write_wakeup()).
	 */
	for (int none = 0; none < SETTLES; none++) {
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

/* Which neither a pipe nor a socket looks at. */
static long call_preadv2_flags(void)
{
	char c;
	struct iovec v = { &c, 1 };

	return preadv2(in[0], &v, 1, -1, RWF_HIPRI | RWF_APPEND);
}

static long call_pwritev2_flags(void)
{
	struct iovec v = { big, 10 };

	return pwritev2(out[1], &v, 1, -1, RWF_SYNC | RWF_DSYNC);
}

/* Nor a receive of TCP, nor a unix socket. */
static long call_recv_flags(void)
{
	char c;

	return recv(in[0], &c, 1, MSG_EOR | MSG_MORE);
}

static long call_send_flags(void)
{
	return send(out[1], big, 10, MSG_EOR | MSG_ZEROCOPY);
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
	{ "pwritev2_unix", setup_stream, call_pwritev2, NULL, 1 },
	{ "pwritev2_tcp", setup_tcp_full, call_pwritev2, NULL, 1 },
	{ "preadv2_flags", setup_pipes, call_preadv2_flags, feed, 0 },
	{ "preadv2_tcp_flags", setup_tcp, call_preadv2_flags, feed, 0 },
	{ "pwritev2_flags", setup_full, call_pwritev2_flags, NULL, 1 },
	{ "recv_flags", setup_tcp, call_recv_flags, feed, 0 },
	{ "send_flags", setup_stream, call_send_flags, NULL, 1 },
};

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	held(waits, T_LEN(waits), argv[1]);
	return 0;
}
