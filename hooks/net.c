/*
 * Sockets: recv, send, accept, connect. MSG_DONTWAIT makes one call not block
 * without touching the descriptor's flags, which others may share.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include "hooks/io.h"

#define NEVER_BLOCKS (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)

static struct fib_fd *socket_slot(int fd)
{
	struct fib_fd *s = fib_fd_know(fd);

	return s && fib_fd_is_socket(s) ? s : NULL;
}

/* --- receiving ----------------------------------------------------------- */

/* MSG_WAITALL on a stream: again until the buffer is full. */
static long recv_all(struct fib_fd *s, char *buf, size_t len, int flags)
{
	size_t done = 0;
	long r = 0;

	while (done < len) {
		long a[6] = { s->fd, (long)(buf + done), (long)(len - done),
			      flags | MSG_DONTWAIT };

		r = fib_io_call(&FIB_IO(s, FIB_EV_READ), 0, SYS_recvfrom, a);
		if (r <= 0)
			break;
		done += (size_t)r;
		fib_part_done();
	}
	return done ? (long)done : r;
}

long fib_sys_recvfrom(int fd, void *buf, size_t len, int flags, void *addr,
		      int *addrlen)
{
	struct fib_fd *s = socket_slot(fd);
	long a[6] = { fd,	  (long)buf,	(long)len, flags | MSG_DONTWAIT,
		      (long)addr, (long)addrlen };

	if (!s || (flags & NEVER_BLOCKS))
		return fib_raw(SYS_recvfrom, fd, buf, len, flags, addr,
			       addrlen);
	if ((flags & MSG_WAITALL) && !(flags & MSG_PEEK) &&
	    s->kind != FIB_FD_DGRAM && !fib_fd_nonblock(s))
		return recv_all(s, buf, len, flags);
	return fib_io_call(&FIB_IO(s, FIB_EV_READ), flags ? 0 : len,
			   SYS_recvfrom, a);
}

long fib_sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct fib_fd *s = socket_slot(fd);
	long a[6] = { fd, (long)msg, flags | MSG_DONTWAIT };
	struct iovec *iov;
	long r, done;

	if (!s || (flags & NEVER_BLOCKS))
		return fib_raw(SYS_recvmsg, fd, msg, flags);
	r = fib_io_call(&FIB_IO(s, FIB_EV_READ), 0, SYS_recvmsg, a);
	if (r <= 0 || !(flags & MSG_WAITALL) || (flags & MSG_PEEK) ||
	    s->kind == FIB_FD_DGRAM || fib_fd_nonblock(s))
		return r;
	done = r;
	fib_part_done();
	iov = msg->msg_iov;
	for (size_t i = 0; i < msg->msg_iovlen; i++, iov++) {
		size_t skip =
			(size_t)r < iov->iov_len ? (size_t)r : iov->iov_len;
		long more;

		r -= (long)skip;
		if (skip == iov->iov_len)
			continue;
		more = recv_all(s, (char *)iov->iov_base + skip,
				iov->iov_len - skip, flags);
		if (more > 0)
			done += more;
		if (more != (long)(iov->iov_len - skip))
			break;
	}
	return done;
}

/* The first message is waited for; the rest is what is there. */
long fib_sys_recvmmsg(int fd, void *vec, unsigned n, int flags,
		      struct timespec *timeout)
{
	struct fib_fd *s = socket_slot(fd);
	long a[6] = { fd, (long)vec, 1, flags | MSG_DONTWAIT };
	struct mmsghdr *v = vec;
	unsigned got;
	long r;

	if (!s || (flags & NEVER_BLOCKS) || !n || fib_fd_nonblock(s))
		return fib_raw(SYS_recvmmsg, fd, vec, n, flags, timeout);
	if (timeout) {
		/* The kernel looks at the time between messages only. */
		return fib_blocking(
			SYS_recvmmsg,
			(long[6]){ fd, (long)vec, n, flags, (long)timeout });
	}
	r = fib_io_call(&FIB_IO(s, FIB_EV_READ), 0, SYS_recvmmsg, a);
	for (got = 1; r > 0 && got < n; got += (unsigned)r) {
		if (flags & MSG_WAITFORONE) {
			r = fib_raw(SYS_recvmmsg, fd, v + got, n - got,
				    (flags & ~MSG_WAITFORONE) | MSG_DONTWAIT,
				    0);
			return r > 0 ? got + r : got;
		}
		fib_part_done();
		a[1] = (long)(v + got);
		r = fib_io_call(&FIB_IO(s, FIB_EV_READ), 0, SYS_recvmmsg, a);
		if (r <= 0)
			return got;
	}
	return r < 0 ? r : got;
}

/* --- sending ------------------------------------------------------------- */

/* We ask for MSG_NOSIGNAL, lest the worker get the signal: the fiber does. */
static long sent(long done, long r, int flags)
{
	if (r == -EPIPE && !done && !(flags & MSG_NOSIGNAL))
		fib_signal_raised(fib_self(), SIGPIPE, false);
	return done ? done : r;
}

/*
 * A datagram socket says that it is writable when its own buffer is, though
 * the receiver's queue (AF_UNIX) may be full, and makes no edge for that.
 */
static bool edge_unreliable(const struct fib_fd *s)
{
	return s->kind == FIB_FD_DGRAM;
}

static long blocking_send(struct fib_fd *s, long nr, long a[6], int flag_arg,
			  int flags)
{
	long r;

	a[flag_arg] = flags | MSG_DONTWAIT | MSG_NOSIGNAL;
	r = fib_pass(nr, a);
	if (r != -EAGAIN || fib_fd_nonblock(s))
		return r;
	a[flag_arg] = flags | MSG_NOSIGNAL;
	return fib_blocking(nr, a);
}

long fib_sys_sendto(int fd, const void *buf, size_t len, int flags,
		    const void *addr, unsigned addrlen)
{
	struct fib_fd *s = socket_slot(fd);
	long a[6] = { fd,	  (long)buf,	(long)len, flags | MSG_NOSIGNAL,
		      (long)addr, (long)addrlen };
	size_t done = 0;
	long r;

	if (!s || (flags & MSG_DONTWAIT))
		return sent(0, fib_pass(SYS_sendto, a), flags);
	if (edge_unreliable(s))
		return sent(0, blocking_send(s, SYS_sendto, a, 3, flags),
			    flags);
	a[3] |= MSG_DONTWAIT;
	for (;;) {
		r = fib_io_call(&FIB_IO(s, FIB_EV_WRITE), 0, SYS_sendto, a);
		if (r < 0) {
			if (done)
				fib_io_keep_error(s, r);
			break;
		}
		done += (size_t)r;
		if (done >= len || r == 0 || fib_fd_nonblock(s))
			break;
		fib_part_done();
		a[1] = (long)buf + (long)done;
		a[2] = (long)(len - done);
	}
	return sent((long)done, r, flags);
}

/* With a control message a descriptor may have gone to another process. */
static long passed(const struct msghdr *msg, long r)
{
	if (r >= 0 && msg->msg_controllen)
		fib_fd_shared();
	return r;
}

long fib_sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct fib_fd *s = socket_slot(fd);
	long a[6] = { fd, (long)msg, flags | MSG_NOSIGNAL };
	struct msghdr rest;
	long done = 0, r;

	if (!s || (flags & MSG_DONTWAIT))
		return sent(0, passed(msg, fib_pass(SYS_sendmsg, a)), flags);
	if (edge_unreliable(s)) {
		r = blocking_send(s, SYS_sendmsg, a, 2, flags);
		return sent(0, passed(msg, r), flags);
	}
	a[2] |= MSG_DONTWAIT;
	r = fib_io_call(&FIB_IO(s, FIB_EV_WRITE), 0, SYS_sendmsg, a);
	if (r < 0)
		return sent(0, r, flags);
	passed(msg, r);
	done = r;
	fib_part_done();
	rest = *msg;
	rest.msg_control = NULL;
	rest.msg_controllen = 0;
	while (rest.msg_iovlen && !fib_fd_nonblock(s)) {
		struct iovec *v = rest.msg_iov;

		if ((size_t)r >= v->iov_len) {
			r -= (long)v->iov_len;
			rest.msg_iov++;
			rest.msg_iovlen--;
			continue;
		}
		if (r) {
			long part = fib_sys_sendto(fd, (char *)v->iov_base + r,
						   v->iov_len - (size_t)r,
						   flags, NULL, 0);

			if (part > 0)
				done += part;
			if (part != (long)v->iov_len - r)
				break;
			r = (long)v->iov_len;
			continue;
		}
		a[1] = (long)&rest;
		r = fib_io_call(&FIB_IO(s, FIB_EV_WRITE), 0, SYS_sendmsg, a);
		if (r <= 0)
			break;
		done += r;
	}
	return done;
}

long fib_sys_sendmmsg(int fd, void *vec, unsigned n, int flags)
{
	struct mmsghdr *v = vec;
	unsigned i;
	long r = 0;

	if (!socket_slot(fd))
		return fib_raw(SYS_sendmmsg, fd, vec, n, flags);
	for (i = 0; i < n && i < FIB_IOV_MAX; i++) {
		r = fib_sys_sendmsg(fd, &v[i].msg_hdr, flags);
		if (r < 0)
			break;
		v[i].msg_len = (unsigned)r;
		fib_part_done();
	}
	return i ? (long)i : r;
}

/* --- connections --------------------------------------------------------- */

long fib_sys_socket(int domain, int type, int protocol)
{
	long fd = fib_raw(SYS_socket, domain, type, protocol);

	if (fd >= 0)
		fib_fd_born((int)fd, FIB_FD_UNKNOWN);
	return fd;
}

long fib_sys_setsockopt(int fd, int level, int name, const void *val,
			unsigned len)
{
	long r = fib_raw(SYS_setsockopt, fd, level, name, val, len);

	if (level == SOL_SOCKET)
		fib_fd_changed();
	return r;
}

/* Others get their error at once, and poll would never say so. */
static bool is_listening(struct fib_fd *s)
{
	int val = 0, len = sizeof(val);

	if (!s->listening) {
		fib_raw(SYS_getsockopt, s->fd, SOL_SOCKET, SO_ACCEPTCONN, &val,
			&len);
		s->listening = val != 0;
	}
	return s->listening;
}

long fib_sys_accept4(int fd, void *addr, int *addrlen, int flags)
{
	struct fib_fd *s = socket_slot(fd);
	long a[6] = { fd, (long)addr, (long)addrlen, flags };
	long r;

	if (!s || !is_listening(s))
		return fib_pass(SYS_accept4, a);
	r = fib_fd_nonblock(s) ?
		    fib_pass(SYS_accept4, a) :
		    fib_io_polled(&FIB_IO(s, FIB_EV_READ), SYS_accept4, a);
	if (r >= 0)
		fib_fd_born((int)r, s->kind);
	return r;
}

long fib_sys_accept(int fd, void *addr, int *addrlen)
{
	return fib_sys_accept4(fd, addr, addrlen, 0);
}

/*
 * There is no flag for one connect that does not block. O_NONBLOCK is set on
 * the description for the length of the call that starts the handshake, which
 * another process that shares the socket could see: a socket that is shared
 * before it is connected is rare. Other calls of this process on it know
 * better (connecting).
 */
static long start_connect(struct fib_fd *s, const void *addr, unsigned len)
{
	long fl = fib_raw(SYS_fcntl, s->fd, F_GETFL), r;

	s->connecting = true;
	fib_raw(SYS_fcntl, s->fd, F_SETFL, fl | O_NONBLOCK);
	r = fib_raw(SYS_connect, s->fd, addr, len);
	fib_raw(SYS_fcntl, s->fd, F_SETFL, fl);
	s->connecting = false;
	return r;
}

long fib_sys_connect(int fd, const void *addr, unsigned addrlen)
{
	struct fib_fd *s = socket_slot(fd);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	struct fib_io io = FIB_IO(s, FIB_EV_WRITE);
	long r;

	if (!s || s->kind == FIB_FD_DGRAM || fib_fd_nonblock(s))
		return fib_raw(SYS_connect, fd, addr, addrlen);
	/* AF_UNIX waits for room in the backlog, which poll does not tell. */
	if (s->kind != FIB_FD_TCP)
		return fib_blocking(SYS_connect,
				    (long[6]){ fd, (long)addr, addrlen });
	r = start_connect(s, addr, addrlen);
	if (r != -EINPROGRESS && r != -EALREADY)
		return r;
	io.deadline_ns = fib_fd_deadline(s, FIB_EV_WRITE);
	for (;;) {
		fib_io_begin(&io);
		if (fib_raw(SYS_poll, &p, 1, 0))
			break;
		r = fib_io_wait(&io);
		if (r) {
			fib_io_end(&io);
			return r == -ETIMEDOUT ? -EINPROGRESS :
						 fib_io_failed(&io, r);
		}
	}
	fib_io_end(&io);
	/* Only a second call takes note of the outcome (af_inet.c). */
	return start_connect(s, addr, addrlen);
}
