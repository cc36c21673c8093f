/* read, write and their vectors: pick the way that suits the descriptor. */
#include <fcntl.h>
#include <linux/fs.h>
#include "hooks/io.h"
#include "runtime/chaos.h"

long fib_io_failed(const struct fib_io *io, long r)
{
	if (r == -ETIMEDOUT)
		return -EAGAIN;
	if (r == -EINTR)
		return io->deadline_ns == FIB_NEVER ? -FIB_ERESTARTSYS :
						      -FIB_ERESTARTNOHAND;
	return r;
}

/* A kick that brings no handler may have cut a write short. */
static bool goes_on(long nr, const long a[6], long r)
{
	return nr == SYS_write && r > 0 && r < a[2] &&
	       !(fib_raw(SYS_fcntl, a[0], F_GETFL) & O_NONBLOCK) &&
	       fib_signal_attend(fib_self());
}

long fib_io_own(long nr, const long a[6])
{
	long v[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	long r, done = 0;

	while (goes_on(nr, v, r = fib_blocking(nr, v))) {
		done += r;
		v[1] += r;
		v[2] -= r;
	}
	if (r == -EPIPE && !done)
		fib_signal_raised(fib_self(), SIGPIPE, true);
	return done ? done + (r > 0 ? r : 0) : r;
}

/* epoll would not have the descriptor (no memory, no watches left). */
static long wait_in_kernel(struct fib_io *io)
{
	struct pollfd p = { .fd = io->s->fd,
			    .events =
				    io->ev == FIB_EV_READ ? POLLIN : POLLOUT };
	struct timespec ts;
	long r = fib_blocking(SYS_ppoll,
			      (long[6]){ (long)&p, 1,
					 fib_time_left(io->deadline_ns, &ts), 0,
					 8 });

	if (r == -FIB_ERESTARTNOINTR) /* a signal was there before it began */
		return -EINTR;
	return r ? r : -ETIMEDOUT;
}

int fib_io_limit(struct fib_io *io)
{
	if (fib_fd_nonblock(io->s) || (io->s->impatient & io->ev))
		return -EAGAIN;
	io->deadline_ns = fib_fd_deadline(io->s, io->ev);
	return 0;
}

/*
 * A datagram socket that is shut says EAGAIN to who does not wait, and 0 to who
 * does: __skb_wait_for_more_packets(). An edge has told of it.
 */
static bool is_shut(const struct fib_io *io)
{
	return io->flags && fib_load(&io->s->untrusted, relaxed) &&
	       (fib_io_ready(io->s->fd, POLLIN | POLLRDHUP) & POLLRDHUP);
}

long fib_io_block(struct fib_io *io)
{
	long r;

	if (fib_unlikely(is_shut(io))) {
		*io->flags &= ~MSG_DONTWAIT;
		return 0;
	}
	r = FIB_CHAOS_ODDS(no_watch, 64) ? -ENOSPC : fib_io_wait(io);

	if (r != 0 && r != -EINTR && r != -ETIMEDOUT)
		r = wait_in_kernel(io);
	/* Only a handler ends a call of which a part may be done. */
	if (r >= 0 || (r == -EINTR && !fib_cancel_cuts() &&
		       fib_signal_attend(fib_self())))
		/* Another fiber has put it under a filter: it begins anew. */
		return fib_unlikely(fib_filtered()) ? -FIB_ERESTARTNOINTR : 0;
	return fib_io_failed(io, r);
}

/*
 * There are devices that take what is written and whose poll never says so
 * (/dev/kmsg): the kernel waits for room in them, if they ever have none.
 */
static bool tells_room(struct fib_fd *s)
{
	if (!s->tells_room)
		s->tells_room = fib_io_ready(s->fd, POLLOUT) != 0;
	return s->tells_room;
}

/*
 * A kick that is for no handler ends the call as any signal does: it is made
 * again, on the same file.
 */
static long blocking_on(struct fib_io *io, long nr, long v[6])
{
	struct fib *f = fib_self();
	struct fib_hold hold;
	struct fib_fd *s;
	long r;

	if (fib_iom_hold(io->s, &hold, io->closes))
		f->hold = &hold;
	for (;;) {
		r = fib_blocking(nr, v);
		if ((r != -EINTR && r != -FIB_ERESTARTNOINTR) || !f->hold ||
		    fib_cancel_cuts() || !fib_signal_attend(f))
			break;
		if (fib_xchg(&f->preempt, false, relaxed))
			fib_sched_preempted();
		s = fib_iom_try(&hold);
		if (!s)
			break;
		v[0] = s->fd;
		fib_iom_tried(&hold);
	}
	if (f->hold)
		fib_iom_let_go(&hold);
	f->hold = NULL;
	return r;
}

long fib_io_in_kernel(struct fib_fd *s, uint8_t ev, bool first, long nr,
		      const long a[6])
{
	struct fib_io io = FIB_IO(s, ev);
	long v[6] = { 0, a[1], a[2], a[3], a[4], a[5] };
	bool timed = fib_fd_timed(s);
	long r = 0;

	/* A limit is for the whole call, and not for what is left of it. */
	if (fib_fd_nonblock(s))
		return fib_pass(nr, a);
	if (timed)
		first = false;
	fib_io_start(&io);
	while (first && r == 0) {
		fib_io_begin(&io);
		if (fib_io_ready(io.s->fd,
				 ev == FIB_EV_READ ? POLLIN : POLLOUT))
			break;
		r = fib_io_again(&io);
	}
	if (r == 0) {
		v[0] = io.s->fd;
		r = blocking_on(&io, nr, v);
		if (r == -EINTR)
			r = timed ? -FIB_ERESTARTNOHAND : -FIB_ERESTARTSYS;
	}
	fib_io_end(&io);
	return r;
}

/* The kernel is too old, or a filter has it not. */
static _Atomic bool no_preadv2;

/* What knows of no way not to block: polled first, if it is for @ev at all. */
static long polled(struct fib_fd *s, uint8_t ev, long nr, const long a[6])
{
	long r = s->kind == FIB_FD_POLLED ? fib_job_io(s, ev) : 0;

	if (r)
		return r;
	if (fib_fd_nonblock(s) ||
	    s->access == (ev == FIB_EV_READ ? O_WRONLY : O_RDONLY))
		return fib_pass(nr, a);
	/* One that has to fail at once would wait for data first. */
	if (s->kind == FIB_FD_NOWAIT && fib_load(&no_preadv2, relaxed))
		return fib_blocking(nr, a);
	if (ev == FIB_EV_READ)
		return fib_io_polled(&FIB_IO(s, ev), nr, a);
	/*
	 * An eventfd or the like: there is room for some values and not for
	 * others, and wrong ones fail at once. It is full once in a blue moon.
	 */
	if (s->kind == FIB_FD_NOWAIT)
		return fib_raw_intr(&fib_self()->attention, nr, a);
	return tells_room(s) ? fib_io_polled(&FIB_IO(s, ev), nr, a) :
			       fib_blocking(nr, a);
}

/* RWF_NOWAIT is unknown to the file; it is polled from then. */
static bool no_nowait(struct fib_fd *s, uint8_t ev, long r)
{
	if (r != -EOPNOTSUPP && r != -ESPIPE && !fib_is_denied(r))
		return false;
	s->polled |= ev;
	/* Not this file alone: then nobody asks whether a call would wait. */
	if (fib_is_denied(r) &&
	    fib_raw(SYS_preadv2, -1, 0, 0, -1, -1, 0) != -EBADF)
		fib_store(&no_preadv2, true, relaxed);
	return true;
}

/* Pipes and their like take RWF_NOWAIT. */
static long read_file(struct fib_fd *s, const struct iovec *iov, int n, long nr,
		      const long a[6])
{
	if (s->kind == FIB_FD_NOWAIT && !(s->polled & FIB_EV_READ)) {
		long v[6] = { s->fd, (long)iov, n, -1, -1, RWF_NOWAIT };
		long r = fib_io_call(&FIB_IO(s, FIB_EV_READ), 0, SYS_preadv2,
				     v);

		if (!no_nowait(s, FIB_EV_READ, r))
			return r;
	}
	return polled(s, FIB_EV_READ, nr, a);
}

/* More than there is memory for programs: EFAULT, before all else. */
#define TOO_MUCH (1ul << 47)

/* No byte: readv() and writev() do not ask the file at all then. */
static bool is_empty(const struct iovec *iov, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint32_t *len = (const uint32_t *)&iov[i].iov_len;
		struct iovec v;
		uint32_t low;

		/* One load is enough mostly. */
		if ((!fib_peek32(len, &low) && low) ||
		    fib_copy(&v, &iov[i], sizeof(v)) || v.iov_len)
			return false;
	}
	return true;
}

/* Is that for the kernel, which does not wait? */
static bool odd_vector(const struct iovec *iov, unsigned n)
{
	return !n || n > FIB_IOV_MAX || is_empty(iov, n);
}

long fib_sys_read(int fd, void *buf, size_t count)
{
	struct fib_fd *s = fib_fd_know(fd);
	long a[6] = { fd, (long)buf, (long)count };

	while (fib_likely(s && fib_fd_is_socket(s) && count - 1 < TOO_MUCH)) {
		long r = fib_io_receive(s, count, SYS_recvfrom, a, &a[3]);

		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_read, a);
		if (fib_likely(r != -ENOTSOCK))
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || count - 1 >= TOO_MUCH)
		return fib_raw(SYS_read, fd, buf, count);
	return read_file(s, &(struct iovec){ buf, count }, 1, SYS_read, a);
}

long fib_sys_readv(int fd, const struct iovec *iov, unsigned n)
{
	struct fib_fd *s = fib_fd_know(fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = n };
	long a[6] = { fd, (long)iov, n };

	if (!s || s->kind == FIB_FD_ALWAYS || odd_vector(iov, n))
		return fib_raw(SYS_readv, fd, iov, n);
	while (s && fib_fd_is_socket(s)) {
		long m[6] = { fd, (long)&msg };
		long r = fib_io_receive(s, 0, SYS_recvmsg, m, &m[2]);

		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_readv, a);
		if (r != -ENOTSOCK)
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS)
		return fib_raw(SYS_readv, fd, iov, n);
	return read_file(s, iov, (int)n, SYS_readv, a);
}

/* --- transfers in parts ----------------------------------------------------- */

long fib_io_window(struct fib_parts *p, struct iovec *v)
{
	size_t left = FIB_IO_MAX - (size_t)p->done;
	unsigned n = 0;

	while (n < FIB_PART_VECTOR && n < p->n) {
		if (fib_copy(&v[n], &p->iov[n], sizeof(*v)))
			return -EFAULT;
		if ((ssize_t)v[n].iov_len < 0)
			return -EINVAL;
		if (n == 0 && p->skip >= v[0].iov_len) {
			p->skip -= v[0].iov_len;
			p->iov++;
			p->n--;
			continue;
		}
		n++;
	}
	if (n) {
		v[0].iov_base = (char *)v[0].iov_base + p->skip;
		v[0].iov_len -= p->skip;
	}
	for (unsigned i = 0; i < n; i++) {
		if (v[i].iov_len > left)
			v[i].iov_len = left;
		left -= v[i].iov_len;
	}
	return left < FIB_IO_MAX - (size_t)p->done ? n : 0;
}

static long one_part(struct fib_parts *p)
{
	struct iovec v[FIB_PART_VECTOR];
	struct fib *f = fib_self();
	struct fib_fd *s;
	long n = fib_io_window(p, v), r;

	if (n <= 0 && p->done)
		return n;
	/* A cancel came near, and did not act. */
	if (!f->hold && fib_iom_hold(p->io.s, &p->hold, p->io.closes))
		f->hold = &p->hold;
	s = f->hold ? fib_iom_try(&p->hold) : NULL;
	if (!s)
		return -EBADF;
	if (s != p->io.s) {
		if (p->io.moved)
			fib_iom_guest_leave(p->io.s);
		p->io.moved = false;
		p->io.s = s;
		p->io.closes = fib_load(&s->closes, relaxed);
	}
	fib_io_begin(&p->io);
	r = p->part(p, s->fd, v, n < 0 ? 0 : (unsigned)n);
	fib_iom_tried(&p->hold);
	return r;
}

/* As fib_io_again(), but that what has been held is not lost. */
static long wait_for_part(struct fib_parts *p)
{
	long r;

	if (!p->io.limited) {
		r = fib_io_limit(&p->io);
		if (r)
			return r;
		p->io.limited = true;
	}
	p->waited = true;
	return fib_io_block(&p->io);
}

long fib_io_parts(struct fib_parts *p)
{
	struct fib *f = fib_self();
	long r;

	if (!fib_iom_hold(p->io.s, &p->hold, p->io.closes)) {
		r = p->done ? p->done : -FIB_ERESTARTNOINTR;
		if (!p->done && (p->io.closes & FIB_CLOSING)) {
			long err = fib_io_again(&p->io);

			r = err ? err : r;
			fib_io_end(&p->io);
		}
		return r;
	}
	f->hold = &p->hold;
	if (p->done)
		fib_part_done();
	for (;;) {
		r = p->blocked ? -EAGAIN : one_part(p);
		p->blocked = false;
		if (r > 0) {
			p->done += r;
			p->skip += (size_t)r;
			f->restarted = 0;
			fib_part_done();
			/* sock_alloc_send_pskb(): one limit for each buffer */
			if (p->io.s->kind == FIB_FD_STREAM && p->io.limited)
				p->io.deadline_ns = fib_fd_deadline(
					p->io.s, FIB_EV_WRITE);
			continue;
		}
		if (r != -EAGAIN)
			break;
		r = wait_for_part(p);
		if (r)
			break;
	}
	if (f->hold)
		fib_iom_let_go(&p->hold);
	f->hold = NULL;
	fib_io_end(&p->io);
	return p->done ? p->done : r;
}

/* pipe_write() of the kernel: O_NONBLOCK counts for each part, and a reader that
 * has gone makes a signal, whatever was written before. */
static long pipe_part(struct fib_parts *p, int fd, struct iovec *v, unsigned n)
{
	long r = fib_raw(SYS_pwritev2, fd, v, n, -1, -1, RWF_NOWAIT);

	p->io.limited = false;
	if (r == -EPIPE)
		fib_signal_raised(fib_self(), SIGPIPE, true);
	return r;
}

static size_t length(const struct iovec *iov, int n)
{
	struct iovec v;
	size_t sum = 0;

	for (int i = 0; i < n && !fib_copy(&v, &iov[i], sizeof(v)); i++)
		sum += v.iov_len;
	return sum < FIB_IO_MAX ? sum : FIB_IO_MAX;
}

/* A blocking write goes on until all is written. */
static long write_file(struct fib_fd *s, const struct iovec *iov, int n,
		       long nr, const long a[6])
{
	struct fib_parts p = { .io = FIB_IO(s, FIB_EV_WRITE),
			       .part = pipe_part,
			       .iov = iov,
			       .n = (size_t)n };
	long v[6] = { s->fd, (long)iov, n, -1, -1, RWF_NOWAIT };
	long r;

	if (s->kind == FIB_FD_NOWAIT && !(s->polled & FIB_EV_WRITE)) {
		fib_io_start(&p.io);
		fib_io_begin(&p.io);
		r = fib_pass(SYS_pwritev2, v);
		if (!no_nowait(s, FIB_EV_WRITE, r)) {
			if (r != -EAGAIN && (r < 0 || (size_t)r == length(iov, n)))
				goto out;
			if (fib_fd_nonblock(s))
				return r;
			p.blocked = r == -EAGAIN;
			p.done = r > 0 ? r : 0;
			p.skip = (size_t)p.done;
			return fib_io_parts(&p);
		}
	}
	r = polled(s, FIB_EV_WRITE, nr, a);
out:
	if (r == -EPIPE)
		fib_signal_raised(fib_self(), SIGPIPE, true);
	return r;
}

long fib_sys_write(int fd, const void *buf, size_t count)
{
	struct fib_fd *s = fib_fd_know(fd);
	struct iovec iov = { (void *)buf, count };

	while (fib_likely(s && fib_fd_is_socket(s) && count < TOO_MUCH)) {
		long r = fib_sys_sendto(fd, buf, count, 0, NULL, 0);

		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_write, (long[6]){ fd, (long)buf,
								(long)count });
		if (fib_likely(r != -ENOTSOCK))
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || count - 1 >= TOO_MUCH) {
		long r = fib_raw(SYS_write, fd, buf, count);

		if (r == -EPIPE)
			fib_signal_raised(fib_self(), SIGPIPE, true);
		return r;
	}
	return write_file(s, &iov, 1, SYS_write,
			  (long[6]){ fd, (long)buf, (long)count });
}

long fib_sys_writev(int fd, const struct iovec *iov, unsigned n)
{
	struct fib_fd *s = fib_fd_know(fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = n };
	bool odd = s && s->kind != FIB_FD_ALWAYS && odd_vector(iov, n);
	long r;

	while (s && fib_fd_is_socket(s) && !odd) {
		r = fib_sys_sendmsg(fd, &msg, 0);
		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_writev,
					  (long[6]){ fd, (long)iov, n });
		if (r != -ENOTSOCK)
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || odd) {
		r = fib_raw(SYS_writev, fd, iov, n);
		if (r == -EPIPE)
			fib_signal_raised(fib_self(), SIGPIPE, true);
		return r;
	}
	return write_file(s, iov, (int)n, SYS_writev,
			  (long[6]){ fd, (long)iov, n });
}
