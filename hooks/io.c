/* read, write and their vectors: pick the way that suits the descriptor. */
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

void fib_io_keep_error(struct fib_fd *s, long r)
{
	if (r != -EPIPE && r != -EAGAIN && r != -EINTR && r > -512)
		fib_store(&s->error, (int)r, relaxed);
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
	if (fib_fd_nonblock(io->s))
		return -EAGAIN;
	io->deadline_ns = fib_fd_deadline(io->s, io->ev);
	return 0;
}

long fib_io_block(struct fib_io *io)
{
	long r = FIB_CHAOS_ODDS(no_watch, 64) ? -ENOSPC : fib_io_wait(io);

	if (r != 0 && r != -EINTR && r != -ETIMEDOUT)
		r = wait_in_kernel(io);
	/* Only a handler ends a call of which a part may be done. */
	if (r >= 0 || (r == -EINTR && !fib_cancel_cuts() &&
		       fib_signal_attend(fib_self())))
		return 0;
	return fib_io_failed(io, r);
}

/*
 * There are files that take what is written and whose poll never says so
 * (fanotify, /dev/kmsg): the kernel waits for room in them, if they ever have
 * none.
 */
static bool tells_room(struct fib_fd *s)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };

	if (!s->tells_room)
		s->tells_room = fib_raw(SYS_poll, &p, 1, 0) != 0;
	return s->tells_room;
}

/* Pipes and their like take RWF_NOWAIT; what does not is polled from then. */
static long nowait(struct fib_fd *s, uint8_t ev, const struct iovec *iov, int n,
		   long nr, const long a[6])
{
	long r;

	if (s->kind == FIB_FD_NOWAIT && !(s->polled & ev)) {
		long v[6] = { s->fd, (long)iov, n, -1, -1, RWF_NOWAIT };

		r = fib_io_call(&FIB_IO(s, ev), 0,
				ev == FIB_EV_READ ? SYS_preadv2 : SYS_pwritev2,
				v);
		if (r != -EOPNOTSUPP && r != -ESPIPE && r != -ENOSYS)
			return r;
		s->polled |= ev;
	}
	if (fib_fd_nonblock(s))
		return fib_pass(nr, a);
	if (ev == FIB_EV_WRITE && !tells_room(s))
		return fib_blocking(nr, a);
	return fib_io_polled(&FIB_IO(s, ev), nr, a);
}

long fib_sys_read(int fd, void *buf, size_t count)
{
	struct fib_fd *s = fib_fd_know(fd);
	long a[6] = { fd, (long)buf, (long)count, MSG_DONTWAIT };

	while (fib_likely(s && fib_fd_is_socket(s) && count)) {
		long r = fib_io_call(&FIB_IO(s, FIB_EV_READ), count,
				     SYS_recvfrom, a);

		if (fib_likely(r != -ENOTSOCK))
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || !count)
		return fib_raw(SYS_read, fd, buf, count);
	return nowait(s, FIB_EV_READ, &(struct iovec){ buf, count }, 1,
		      SYS_read, a);
}

long fib_sys_readv(int fd, const struct iovec *iov, int n)
{
	struct fib_fd *s = fib_fd_know(fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = (size_t)n };
	long a[6] = { fd, (long)iov, n };

	while (s && fib_fd_is_socket(s) && n > 0 && n <= FIB_IOV_MAX) {
		long m[6] = { fd, (long)&msg, MSG_DONTWAIT };
		long r =
			fib_io_call(&FIB_IO(s, FIB_EV_READ), 0, SYS_recvmsg, m);

		if (r != -ENOTSOCK)
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || n <= 0 || n > FIB_IOV_MAX)
		return fib_raw(SYS_readv, fd, iov, n);
	return nowait(s, FIB_EV_READ, iov, n, SYS_readv, a);
}

/*
 * A blocking write goes on until all is written. What was written before an
 * error or a signal is the result.
 */
static long write_all(struct fib_fd *s, const struct iovec *iov, int n, long nr)
{
	struct iovec rest;
	long done = 0, r;

	for (;;) {
		long a[6] = { s->fd, (long)iov, n };

		/* write()'s vector is ours, writev()'s may not be there. */
		if (nr == SYS_write) {
			a[1] = (long)iov->iov_base;
			a[2] = (long)iov->iov_len;
		}
		r = nowait(s, FIB_EV_WRITE, iov, n, nr, a);
		if (r <= 0)
			break;
		done += r;
		fib_part_done();
		if (fib_fd_nonblock(s))
			break;
		while (n && (size_t)r >= iov->iov_len) {
			r -= (long)iov->iov_len;
			iov++;
			n--;
		}
		if (!n)
			break;
		if (r) {
			rest.iov_base = (char *)iov->iov_base + r;
			rest.iov_len = iov->iov_len - (size_t)r;
			r = write_all(s, &rest, 1, SYS_writev);
			if (r > 0)
				done += r;
			if (r != (long)rest.iov_len)
				break;
			iov++;
			if (!--n)
				break;
		}
	}
	if (r == -EPIPE)
		fib_signal_raised(fib_self(), SIGPIPE, true);
	return done ? done : r;
}

long fib_sys_write(int fd, const void *buf, size_t count)
{
	struct fib_fd *s = fib_fd_know(fd);
	struct iovec iov = { (void *)buf, count };

	while (fib_likely(s && fib_fd_is_socket(s))) {
		long r = fib_sys_sendto(fd, buf, count, 0, NULL, 0);

		if (fib_likely(r != -ENOTSOCK))
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || !count) {
		long r = fib_raw(SYS_write, fd, buf, count);

		if (r == -EPIPE)
			fib_signal_raised(fib_self(), SIGPIPE, true);
		return r;
	}
	return write_all(s, &iov, 1, SYS_write);
}

long fib_sys_writev(int fd, const struct iovec *iov, int n)
{
	struct fib_fd *s = fib_fd_know(fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = (size_t)n };
	long r;

	while (s && fib_fd_is_socket(s) && n >= 0 && n <= FIB_IOV_MAX) {
		r = fib_sys_sendmsg(fd, &msg, 0);
		if (r != -ENOTSOCK)
			return r;
		s = fib_fd_relearn(s);
	}
	if (!s || s->kind == FIB_FD_ALWAYS || n <= 0 || n > FIB_IOV_MAX) {
		r = fib_raw(SYS_writev, fd, iov, n);
		if (r == -EPIPE)
			fib_signal_raised(fib_self(), SIGPIPE, true);
		return r;
	}
	return write_all(s, iov, n, SYS_writev);
}
