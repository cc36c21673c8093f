/*
 * Steps that move bytes. What a step writes is one letter, its own: what a
 * reader gets tells whose data came, and in what order.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "io.h"

static char letter(const struct fz_call *c)
{
	return (char)('a' + c->step % 26);
}

static char *filled(struct fz_call *c, size_t n)
{
	return memset(fz_buffer(c, n + 1), letter(c), n);
}

static void got(struct fz_call *c, int fd, const char *b, long r, size_t asked)
{
	int err = errno;

	fz_moved(c, fd, r, asked);
	errno = err;
	fz_data(c, fd, b, r);
}

/* Two halves, for the calls with a vector. */
static int halves(struct iovec v[2], char *b, size_t n)
{
	v[0] = (struct iovec){ b, n / 2 };
	v[1] = (struct iovec){ b + n / 2, n - n / 2 };
	return 2;
}

#define PIECES 8

/*
 * Word @i, pieces of a vector: 3,0,5 bytes; b: 4 bytes that are not there; n: a length
 * below 0. Where they lie: one behind the other, at *@b.
 */
static int pieces(struct fz_call *c, int i, struct iovec *v, char **b)
{
	char word[FZ_LINE], *rest, *w;
	size_t at = 0;
	int n = 0;

	strcpy(word, i < c->n ? c->w[i] : "");
	*b = fz_buffer(c, 1 << 21);
	memset(*b, letter(c), 1 << 21);
	for (w = strtok_r(word, ",", &rest); w && n < PIECES;
	     w = strtok_r(NULL, ",", &rest)) {
		v[n] = (struct iovec){ *b + at, strtoul(w, NULL, 0) };
		if (*w == 'b')
			v[n] = (struct iovec){ (void *)16, 4 };
		if (*w == 'n')
			v[n] = (struct iovec){ *b, (size_t)-5 };
		if (*w != 'b' && *w != 'n')
			at += v[n].iov_len;
		n++;
	}
	return n;
}

/* What has come into a vector, as far as it is there. */
static void came(struct fz_call *c, int fd, const struct iovec *v, int n,
		 long r)
{
	for (int i = 0; i < n && r > 0; i++) {
		long k = (long)v[i].iov_len < r ? (long)v[i].iov_len : r;

		if (k > 0 && v[i].iov_base != (void *)16)
			fz_data(c, fd, v[i].iov_base, k);
		r -= k;
	}
}

/* vread A PIECES [readv|recvmsg|preadv2] FLAGS, vwrite ... [writev|sendmsg|...] */
static void op_vread(struct fz_call *c)
{
	struct iovec v[PIECES];
	int fd = fz_fd(c, 1), n, flags = (int)fz_flags(c, 3);
	struct msghdr m = { .msg_iov = v };
	char *b;
	long r;
	int err;

	m.msg_iovlen = (size_t)(n = pieces(c, 2, v, &b));
	r = fz_has(c, "recvmsg") ? recvmsg(fd, &m, flags) :
	    fz_has(c, "preadv2") ? preadv2(fd, v, n, -1, flags) :
				   readv(fd, v, n);
	err = errno;
	fz_ret(c, r);
	errno = err;
	came(c, fd, v, n, r);
	if (r >= 0 && (m.msg_flags & MSG_TRUNC))
		fz_say(c, " trunc");
}

static void op_vwrite(struct fz_call *c)
{
	struct iovec v[PIECES];
	int fd = fz_fd(c, 1), n, flags = (int)fz_flags(c, 3);
	struct msghdr m = { .msg_iov = v };
	char *b;

	m.msg_iovlen = (size_t)(n = pieces(c, 2, v, &b));
	fz_ret(c, fz_has(c, "sendmsg")	? sendmsg(fd, &m, flags) :
		  fz_has(c, "pwritev2") ? pwritev2(fd, v, n, -1, flags) :
		  fz_has(c, "vmsplice") ? vmsplice(fd, v, (size_t)n, 0) :
					  writev(fd, v, n));
}

/* take A N: vmsplice() from a pipe */
static void op_take(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	struct iovec v = { fz_buffer(c, n + 1), n };
	long r = vmsplice(fz_fd(c, 1), &v, 1, 0);

	fz_ret(c, r);
	fz_data(c, fz_fd(c, 1), v.iov_base, r);
}

/* read A N, readv A N, preadv2 A N [nowait], pread A N */
static void op_read(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	int fd = fz_fd(c, 1);

	got(c, fd, b, read(fd, b, n), n);
}

static void op_readv(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	int fd = fz_fd(c, 1);
	struct iovec v[2];

	got(c, fd, b, readv(fd, v, halves(v, b, n)), n);
}

static void op_preadv2(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	int fd = fz_fd(c, 1);
	struct iovec v[2];

	got(c, fd, b, preadv2(fd, v, halves(v, b, n), -1, (int)fz_flags(c, 3)),
	    n);
}

static void op_pread(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	int fd = fz_fd(c, 1);

	got(c, fd, b, pread(fd, b, n, 0), n);
}

/* write A N, writev A N, pwritev2 A N [nowait]; write8 A N: for eventfd */
static void op_write(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	int fd = fz_fd(c, 1);
	char *b = filled(c, n);

	fz_moved(c, fd, write(fd, b, n), n);
}

static void op_writev(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	int fd = fz_fd(c, 1);
	char *b = filled(c, n);
	struct iovec v[2];

	fz_moved(c, fd, writev(fd, v, halves(v, b, n)), n);
}

static void op_pwritev2(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	int fd = fz_fd(c, 1);
	char *b = filled(c, n);
	struct iovec v[2];

	fz_moved(c, fd,
		 pwritev2(fd, v, halves(v, b, n), -1, (int)fz_flags(c, 3)), n);
}

static void op_write8(struct fz_call *c)
{
	uint64_t v = (uint64_t)fz_num(c, 2);

	if (fz_num(c, 2) < 0)
		v = UINT64_MAX + fz_num(c, 2) + 1;
	fz_ret(c, write(fz_fd(c, 1), &v, 8));
}

/* read8 A: the number that eventfds and timerfds give */
static void op_read8(struct fz_call *c)
{
	uint64_t v = 0;
	long r = read(fz_fd(c, 1), &v, 8);

	fz_ret(c, r);
	if (r == 8)
		fz_say(c, " %llu", (unsigned long long)v);
}

/* recv A N FLAGS, send A N FLAGS */
static void op_recv(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	char *b = fz_buffer(c, n + 1);
	int fd = fz_fd(c, 1);
	long r = recv(fd, b, n, (int)fz_flags(c, 3));
	int err = errno;

	fz_moved(c, fd, r, n);
	errno = err;
	fz_data(c, fd, b, r < (long)n ? r : (long)n);
}

static void op_send(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	int fd = fz_fd(c, 1);
	char *b = filled(c, n);

	fz_moved(c, fd, send(fd, b, n, (int)fz_flags(c, 3)), n);
}

/*
 * fill A: as much as goes in, in large and small pieces; waits for nothing. A
 * terminal by lines throws away what is too much: it has room for ever, 64 kB at a time.
 */
static void op_fill(struct fz_call *c)
{
	static const size_t piece[] = { 4096, 1 };
	struct timespec t = { 0, 30000000 };
	char *b = filled(c, 4096);
	int fd = fz_fd(c, 1), old = fcntl(fd, F_GETFL);
	long r = 0, n = 0, endless = isatty(fd) ? 1 << 20 : 1 << 26;

	fcntl(fd, F_SETFL, old | O_NONBLOCK);
	/* A terminal's buffers are moved on by a kernel thread, in its own time. */
	do
		for (int i = 0; i < 2; i++)
			while ((r = write(fd, b, piece[i])) > 0 && n < endless)
				n += r;
	while (r < 0 && errno == EAGAIN && isatty(fd) && !nanosleep(&t, NULL) &&
	       write(fd, b, 1) == 1);
	r = r < 0 ? errno : 0;
	fcntl(fd, F_SETFL, old & ~O_NONBLOCK);
	fz_say(c, "%s", r ? strerrorname_np((int)r) : "endless");
}

/* drain A: whatever there is; waits for nothing, and changes no flag */
static void op_drain(struct fz_call *c)
{
	int fd = fz_fd(c, 1);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	size_t size = 1 << 18;
	char *b = fz_buffer(c, size);
	long r = 0, n = 0;

	while (poll(&p, 1, 0) == 1 && p.revents & POLLIN &&
	       (r = read(fd, b, size)) > 0)
		n += r;
	fz_say(c, "%ld", n);
}

/* sendfile TO FROM N, splice FROM TO N, tee FROM TO N, vmsplice TO N */
static void op_sendfile(struct fz_call *c)
{
	int to = fz_fd(c, 1);
	size_t n = (size_t)fz_num(c, 3);
	off_t at = 0;

	if (fz_has(c, "own")) /* from where the file stands */
		fz_moved(c, to, sendfile(to, fz_fd(c, 2), NULL, n), n);
	else
		fz_moved(c, to, sendfile(to, fz_fd(c, 2), &at, n), n);
}

static void op_splice(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 3);
	int from = fz_fd(c, 1), to = fz_fd(c, 2);

	off_t at = 0;

	fz_moved(c, to,
		 splice(from, fz_has(c, "fromat") ? &at : NULL, to,
			fz_has(c, "toat") ? &at : NULL, n,
			fz_has(c, "pipenowait") ? SPLICE_F_NONBLOCK : 0),
		 n);
}

static void op_tee(struct fz_call *c)
{
	fz_ret(c, tee(fz_fd(c, 1), fz_fd(c, 2), (size_t)fz_num(c, 3),
		      fz_has(c, "pipenowait") ? SPLICE_F_NONBLOCK : 0));
}

static void op_vmsplice(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	struct iovec v = { filled(c, n), n };

	fz_ret(c, vmsplice(fz_fd(c, 1), &v, 1, 0));
}

const struct fz_op fz_data_ops[] = {
	{ "read", op_read },
	{ "readv", op_readv },
	{ "preadv2", op_preadv2 },
	{ "pread", op_pread },
	{ "write", op_write },
	{ "writev", op_writev },
	{ "pwritev2", op_pwritev2 },
	{ "write8", op_write8 },
	{ "read8", op_read8 },
	{ "recv", op_recv },
	{ "send", op_send },
	{ "fill", op_fill },
	{ "drain", op_drain },
	{ "sendfile", op_sendfile },
	{ "splice", op_splice },
	{ "tee", op_tee },
	{ "vmsplice", op_vmsplice },
	{ "vread", op_vread },
	{ "vwrite", op_vwrite },
	{ "take", op_take },
	{ 0 },
};
