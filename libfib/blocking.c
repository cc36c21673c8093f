/*
 * Blocking calls, by the loops of runtime/trywait.h. What a descriptor is was not
 * seen by anybody, so each call finds out: a socket takes MSG_DONTWAIT, a pipe
 * RWF_NOWAIT, and what knows neither is polled first.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/uio.h>
#include "runtime/trywait.h"
#include "libfib/lib.h"

/* A thread, or what epoll does not take, waits in the kernel. */
static long wait_in_poll(const struct fib_io *io)
{
	struct pollfd p = { .fd = io->s->fd,
			    .events =
				    io->ev == FIB_EV_READ ? POLLIN : POLLOUT };
	struct timespec ts, *tp = NULL;
	long r;

	do {
		if (io->deadline_ns != FIB_NEVER) {
			ts = fib_timespec(fib_ns_left(io->deadline_ns));
			tp = &ts;
		}
		r = fib_call(SYS_ppoll, &p, 1, tp, 0, 8);
	} while (r == -EINTR);
	if (r > 0 && (p.revents & POLLNVAL))
		return -EBADF;
	return r < 0 ? r : r ? 0 : -ETIMEDOUT;
}

static int limit(struct fib_io *io)
{
	if (!io->lib.timeout_ns)
		return -ETIMEDOUT;
	io->deadline_ns = fib_deadline(io->lib.timeout_ns);
	return 0;
}

static long block(struct fib_io *io)
{
	int r = fib_self() ? fib_io_park(io) : -ENOSYS;

	if (r == -EINTR)
		return -ECANCELED;
	if (r == 0 || r == -ETIMEDOUT || r == -EBADF || r == -EPERM)
		return r;
	return wait_in_poll(io);
}

const struct fib_io_rules fib_io_timed = { .limit = limit, .block = block };

/* A call of the caller's. A thread waits for nobody's slot but its own. */
struct call {
	struct fib_io io;
	struct fib_fd slot;
};

static int begin(struct call *c, int fd, uint8_t ev, uint64_t timeout_ns)
{
	struct fib_fd *s = fib_self() ? fib_fd_get(fd) : NULL;

	if (fib_canceled_here())
		return -ECANCELED;
	if (fd < 0 || fd >= (int)FIB_FD_MAX)
		return -EBADF;
	if (!s && fib_self())
		return -ENOMEM;
	if (!s) {
		s = &c->slot;
		memset(s, 0, sizeof(*s));
		s->fd = fd;
		fib_list_init(&s->waiters);
		fib_lock_init(&s->lock, SLOT);
	}
	c->io = FIB_IO(s, ev, &fib_io_timed);
	c->io.lib.timeout_ns = timeout_ns;
	return 0;
}

static long polled(struct call *c, long nr, const long a[6])
{
	long r;

	do {
		r = fib_io_polled(&c->io, 0, nr, a);
	} while (r == -EINTR);
	return r;
}

/* Where no flag tells one call not to wait: O_NONBLOCK is set for that moment. */
static long at_once(long nr, const long a[6])
{
	long fl = fib_call(SYS_fcntl, a[0], F_GETFL), r;

	if (fl < 0)
		return fl;
	if (!(fl & O_NONBLOCK))
		fib_call(SYS_fcntl, a[0], F_SETFL, fl | O_NONBLOCK);
	r = fib_call6(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (!(fl & O_NONBLOCK))
		fib_call(SYS_fcntl, a[0], F_SETFL, fl);
	return r;
}

/* There are files (fanotify, /dev/kmsg) whose poll never tells of room. */
static bool tells_room(int fd)
{
	return fib_io_ready(fd, POLLOUT) != 0;
}

/*
 * The three ways to move the same bytes, of which a descriptor takes one: a
 * socket's, one for what has bytes at once (RWF_NOWAIT), and the plain one.
 * a[0] stands for the descriptor.
 */
struct way {
	long nr;
	long a[6];
};

static long transfer(int fd, uint8_t ev, const struct way *socket,
		     const struct way *nowait, const struct way *plain,
		     uint64_t timeout_ns)
{
	struct call c;
	long r = begin(&c, fd, ev, timeout_ns);

	if (r)
		return r;
	r = fib_io_call(&c.io, 0, socket->nr, socket->a);
	if (r != -ENOTSOCK)
		return r;
	r = fib_io_call(&c.io, 0, nowait->nr, nowait->a);
	/* EPERM: a file that is not in memory; a poll says that it is ready. */
	if (r != -EOPNOTSUPP && r != -ESPIPE && r != -EPERM)
		return r;
	if (ev == FIB_EV_WRITE && !tells_room(fd)) {
		r = at_once(plain->nr, plain->a);
		if (r != -EAGAIN)
			return r;
	}
	return polled(&c, plain->nr, plain->a);
}

#define SEND_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL)

long fib_read(int fd, void *buf, size_t n, uint64_t timeout_ns)
{
	struct iovec iov = { buf, n };

	return transfer(
		fd, FIB_EV_READ,
		&(struct way){ SYS_recvfrom,
			       { fd, (long)buf, (long)n, MSG_DONTWAIT } },
		&(struct way){ SYS_preadv2,
			       { fd, (long)&iov, 1, -1, -1, RWF_NOWAIT } },
		&(struct way){ SYS_read, { fd, (long)buf, (long)n } },
		timeout_ns);
}

long fib_write(int fd, const void *buf, size_t n, uint64_t timeout_ns)
{
	struct iovec iov = { (void *)buf, n };

	return transfer(
		fd, FIB_EV_WRITE,
		&(struct way){ SYS_sendto,
			       { fd, (long)buf, (long)n, SEND_FLAGS } },
		&(struct way){ SYS_pwritev2,
			       { fd, (long)&iov, 1, -1, -1, RWF_NOWAIT } },
		&(struct way){ SYS_write, { fd, (long)buf, (long)n } },
		timeout_ns);
}

long fib_readv(int fd, const struct iovec *iov, int n, uint64_t timeout_ns)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = (size_t)n };

	if (n < 0)
		return -EINVAL;
	return transfer(
		fd, FIB_EV_READ,
		&(struct way){ SYS_recvmsg, { fd, (long)&msg, MSG_DONTWAIT } },
		&(struct way){ SYS_preadv2,
			       { fd, (long)iov, n, -1, -1, RWF_NOWAIT } },
		&(struct way){ SYS_readv, { fd, (long)iov, n } }, timeout_ns);
}

long fib_writev(int fd, const struct iovec *iov, int n, uint64_t timeout_ns)
{
	struct msghdr msg = { .msg_iov = (struct iovec *)iov,
			      .msg_iovlen = (size_t)n };

	if (n < 0)
		return -EINVAL;
	return transfer(
		fd, FIB_EV_WRITE,
		&(struct way){ SYS_sendmsg, { fd, (long)&msg, SEND_FLAGS } },
		&(struct way){ SYS_pwritev2,
			       { fd, (long)iov, n, -1, -1, RWF_NOWAIT } },
		&(struct way){ SYS_writev, { fd, (long)iov, n } }, timeout_ns);
}

/* --- messages ------------------------------------------------------------------ */

/* One call of a socket's: @flags are the program's. */
static long message(int fd, uint8_t ev, int flags, const struct way *way,
		    uint64_t timeout_ns)
{
	struct call c;
	long r;

	/* They would not end with the first part, or begin a connection. */
	if (flags & (MSG_WAITALL | MSG_FASTOPEN))
		return -EINVAL;
	/* What is in the error queue is there now, or it is not. */
	if (flags & MSG_ERRQUEUE)
		timeout_ns = 0;
	r = begin(&c, fd, ev, timeout_ns);
	return r ? r : fib_io_call(&c.io, 0, way->nr, way->a);
}

long fib_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *addr,
		  socklen_t *len, uint64_t timeout_ns)
{
	return message(fd, FIB_EV_READ, flags,
		       &(struct way){ SYS_recvfrom,
				      { fd, (long)buf, (long)n,
					flags | MSG_DONTWAIT, (long)addr,
					(long)len } },
		       timeout_ns);
}

long fib_sendto(int fd, const void *buf, size_t n, int flags,
		const struct sockaddr *addr, socklen_t len, uint64_t timeout_ns)
{
	return message(fd, FIB_EV_WRITE, flags,
		       &(struct way){ SYS_sendto,
				      { fd, (long)buf, (long)n,
					flags | SEND_FLAGS, (long)addr, len } },
		       timeout_ns);
}

long fib_recvmsg(int fd, struct msghdr *msg, int flags, uint64_t timeout_ns)
{
	return message(fd, FIB_EV_READ, flags,
		       &(struct way){ SYS_recvmsg,
				      { fd, (long)msg, flags | MSG_DONTWAIT } },
		       timeout_ns);
}

long fib_sendmsg(int fd, const struct msghdr *msg, int flags,
		 uint64_t timeout_ns)
{
	return message(fd, FIB_EV_WRITE, flags,
		       &(struct way){ SYS_sendmsg,
				      { fd, (long)msg, flags | SEND_FLAGS } },
		       timeout_ns);
}

/* --- more than one call ------------------------------------------------------- */

int fib_write_all(int fd, const void *buf, size_t n, uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns);
	const char *p = buf;

	while (n) {
		long r = fib_write(fd, p, n, fib_timeout_left(deadline));

		if (r < 0)
			return (int)r;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}

int fib_accept(int fd, struct sockaddr *addr, socklen_t *len,
	       uint64_t timeout_ns)
{
	struct call c;
	int r = begin(&c, fd, FIB_EV_READ, timeout_ns);

	return r ? r :
		   (int)polled(&c, SYS_accept4,
			       (long[6]){ fd, (long)addr, (long)len,
					  SOCK_CLOEXEC });
}

int fib_wait_fd(int fd, int event, uint64_t timeout_ns)
{
	struct call c;
	long r;

	if (event != FIB_EV_READ && event != FIB_EV_WRITE)
		return -EINVAL;
	r = begin(&c, fd, (uint8_t)event, timeout_ns);
	if (r == 0)
		r = polled(&c, SYS_fcntl, (long[6]){ fd, F_GETFD });
	return r < 0 ? (int)r : 0;
}

#define ASK_FIRST_NS 100000ull
#define ASK_LAST_NS  10000000ull

int fib_connect(int fd, const struct sockaddr *addr, socklen_t len,
		uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns), ask = ASK_FIRST_NS, left;
	int err = 0, size = sizeof(err);
	long r;

	if (fib_canceled_here())
		return -ECANCELED;
	/*
	 * AF_UNIX has no room in the backlog, and no way to be told when there
	 * is: it can but be asked again.
	 */
	while ((r = at_once(SYS_connect, (long[6]){ fd, (long)addr, len })) ==
	       -EAGAIN) {
		left = fib_timeout_left(deadline);
		if (!left)
			return -ETIMEDOUT;
		r = fib_sleep(left < ask ? left : ask);
		if (r)
			return (int)r;
		if (ask < ASK_LAST_NS)
			ask *= 2;
	}
	if (r != -EINPROGRESS)
		return (int)r;
	r = fib_wait_fd(fd, FIB_EV_WRITE, fib_timeout_left(deadline));
	if (r)
		return (int)r;
	r = fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &size);
	return r ? (int)r : -err;
}
