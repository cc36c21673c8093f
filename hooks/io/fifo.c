/*
 * A write to a FIFO that does not take all of it at once. A FIFO has no RWF_NOWAIT: here
 * poll is asked first, and it promises one free buffer, which is a page. So from then on
 * the write goes page by page, as pipe_write() fills them, and as much as all of its
 * buffers hold where nothing is in it. What may go at once is the kernel's: it is one
 * piece there, and a page that is filled in part takes more.
 *
 *	poll, how much		by the number, which is held (iom.h)
 *	the write		by a duplicate that nobody closes
 *
 * Another process may take the room in between, and then the write waits in the kernel.
 * A close is not to wait for it, as it does for who tries. Others of this process that
 * write by the number take turns (fib_iom_claim()).
 */
#include <fcntl.h>
#include <linux/limits.h>
#include <sys/ioctl.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"

struct fifo_write {
	struct fib_parts p;
	struct fib_hold own; /* of the duplicate */
	int fd;
};

/* How much FIFO @fd has in it; if it does not say, some. */
static size_t has(int fd)
{
	int n = 0;

	return fib_raw(SYS_ioctl, fd, FIONREAD, &n) ? 1 : (size_t)n;
}

/* And room for in all. */
static size_t size(int fd)
{
	long r = fib_raw(SYS_fcntl, fd, F_GETPIPE_SZ);

	return r > 0 ? (size_t)r : FIB_IO_MAX;
}

/* What is wrong with the vector comes before the first piece; nothing is written. */
#define NO_SUCH_FLAG (1 << 30)

bool fib_io_is_too_much(struct fib_known *k, const struct iovec *iov, int n)
{
	size_t len = fib_io_length(iov, n), in;

	/* Of a longer vector no piece has all that is left. */
	if (len <= PIPE_BUF || n > FIB_PART_VECTOR || fib_fd_nonblock(k) ||
	    fib_fd_access(k) == O_RDONLY)
		return false;
	in = has(k->fd);
	return (in + len > size(k->fd) ||
		(in && !fib_io_ready(k->fd, POLLOUT))) &&
	       fib_raw(SYS_pwritev2, k->fd, iov, n, -1, -1, NO_SUCH_FLAG) ==
		       -EOPNOTSUPP;
}

/*
 * What it takes without waiting. pipe_write() begins with what is more than whole pages,
 * if the last page has room for that: as it has if none was read in part, or spliced.
 */
static size_t room(const struct fib_parts *p, int fd, size_t left)
{
	size_t more = left % PIPE_BUF, n = has(fd), last = n % PIPE_BUF;
	bool first = !p->done && !p->waited;

	if (first && last && more && last + more <= PIPE_BUF)
		return more;
	return n ? PIPE_BUF : size(fd);
}

/* Has it a number that stays this file's? */
static bool lasts(struct fifo_write *w)
{
	struct fib_fd *s = w->p.io.s, *to;

	if (w->p.hold.also)
		return true;
	w->fd = s->fd;
	if (fib_load(&s->guests, relaxed))
		return true;
	to = fib_fd_refuge(s);
	if (!to)
		return false;
	fib_iom_hold(s, &w->own, w->p.io.closes);
	w->fd = fib_iom_move(s, &w->own, to)->fd;
	w->p.hold.also = &w->own;
	return true;
}

/* Who waits has none: it would be one more of the program's. */
static void drop(struct fifo_write *w)
{
	if (w->p.hold.also)
		fib_iom_let_go(&w->own);
	w->p.hold.also = NULL;
}

static long find_room(struct fib_parts *p, int fd, struct iovec *v, unsigned n)
{
	struct fifo_write *w = fib_container_of(p, struct fifo_write, p);
	long r = -EAGAIN;

	/* O_NONBLOCK counts for each part: pipe_part() of rw.c. */
	p->io.limited &= p->waited;
	if (!fib_iom_claim(p->io.s, FIB_IO_WRITE)) {
		drop(w);
		return r;
	}
	if (fib_io_ready(fd, POLLOUT)) {
		p->refused = !lasts(w);
		r = (long)room(p, fd, fib_io_length(v, (int)n));
	}
	if (r > 0 && !p->refused)
		return r;
	fib_iom_release(p->io.s, FIB_IO_WRITE);
	drop(w);
	return r;
}

static long write_piece(struct fib_parts *p, struct iovec *v, unsigned n,
			long most)
{
	struct fifo_write *w = fib_container_of(p, struct fifo_write, p);
	size_t asked = fib_io_limit_vector(v, n, (size_t)most);
	struct fib *f = fib_self();
	long r;

	do {
		if (fib_xchg(&f->sig.preempt, false, relaxed))
			fib_sched_preempted();
		r = fib_signal_raw_intr(f, SYS_writev,
					(long[6]){ w->fd, (long)v, n });
	} while (r < 0 && fib_io_goes_on(r, asked));
	fib_iom_release(p->io.s, FIB_IO_WRITE);
	if (r == -EPIPE || (r > 0 && (size_t)r < asked))
		fib_signal_raise(f, SIGPIPE, true);
	/* That was the end of it: a reader has gone, or a handler is to run. */
	if (r > 0 && !fib_io_goes_on(r, asked))
		p->n = 0;
	return r == -EINTR ? -FIB_ERESTARTSYS : r;
}

long fib_io_write_fifo(struct fib_known *k, const struct iovec *iov, int n)
{
	struct fifo_write w = { .p = { .io = FIB_HOOK_IO(k, FIB_IO_WRITE),
				       .part = find_room,
				       .then = write_piece,
				       .iov = iov,
				       .n = (size_t)n } };

	w.p.io.closes = fib_iom_enter(k->slot);
	w.p.io.shared = true;
	return fib_io_parts(&w.p);
}
