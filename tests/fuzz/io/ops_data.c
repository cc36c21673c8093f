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

	fz_moved(c, to,
		 splice(from, NULL, to, NULL, n,
			fz_has(c, "pipenowait") ? SPLICE_F_NONBLOCK : 0),
		 n);
}

static void op_tee(struct fz_call *c)
{
	fz_ret(c, tee(fz_fd(c, 1), fz_fd(c, 2), (size_t)fz_num(c, 3), 0));
}

static void op_vmsplice(struct fz_call *c)
{
	size_t n = (size_t)fz_num(c, 2);
	struct iovec v = { filled(c, n), n };

	fz_ret(c, vmsplice(fz_fd(c, 1), &v, 1, 0));
}

const struct fz_op fz_data_ops[] = {
	{ "read", op_read },	     { "readv", op_readv },
	{ "preadv2", op_preadv2 },   { "pread", op_pread },
	{ "write", op_write },	     { "writev", op_writev },
	{ "pwritev2", op_pwritev2 }, { "write8", op_write8 },
	{ "read8", op_read8 },	     { "recv", op_recv },
	{ "send", op_send },	     { "fill", op_fill },
	{ "drain", op_drain },	     { "sendfile", op_sendfile },
	{ "splice", op_splice },     { "tee", op_tee },
	{ "vmsplice", op_vmsplice }, { 0 },
};
