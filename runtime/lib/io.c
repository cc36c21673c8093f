/*
 * Blocking calls. Each is tried so that it cannot block, as the hooks do it
 * (hooks/io.c): sockets with MSG_DONTWAIT, others with RWF_NOWAIT, and what
 * knows neither after a poll. What would block waits in the descriptor's slot,
 * by the protocol of iom.h; a thread that is no fiber waits in poll.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/uio.h>
#include "runtime/iom.h"
#include "runtime/lib/lib.h"

struct call {
	long (*try)(const struct call *c);
	int fd;
	uint8_t ev;
	void *buf;
	size_t n;
	struct sockaddr *addr;
	socklen_t *len;
};

/* Until @w is woken: 0 or -ETIMEDOUT. */
static int park(struct fib_waiter *w, uint64_t deadline)
{
	struct fib_timer timer = { 0 };
	struct fib *f = w->fib;
	int r = 0;

	f->wait = FIB_WAIT_FD;
	if (deadline != FIB_NEVER)
		r = fib_timer_arm(&timer, f, deadline);
	while (r == 0 && !fib_load(&w->woken, acquire)) {
		if (deadline != FIB_NEVER && fib_load(&timer.fired, acquire))
			r = -ETIMEDOUT;
		else
			fib_park();
	}
	f->wait = FIB_WAIT_NONE;
	fib_timer_disarm(&timer);
	if (r)
		fib_iom_retract(w);
	return fib_load(&w->woken, acquire) ? 0 : r;
}

/* In the kernel: a thread, or what epoll does not take. */
static int wait_in_poll(int fd, uint8_t ev, uint64_t deadline)
{
	struct pollfd p = { .fd = fd,
			    .events = ev == FIB_EV_READ ? POLLIN : POLLOUT };
	struct timespec ts, *tp = NULL;
	long r;

	do {
		if (deadline != FIB_NEVER) {
			uint64_t now = fib_now_ns();
			uint64_t ns = deadline > now ? deadline - now : 0;

			ts.tv_sec = (time_t)(ns / FIB_NSEC_PER_SEC);
			ts.tv_nsec = (long)(ns % FIB_NSEC_PER_SEC);
			tp = &ts;
		}
		r = fib_call(SYS_ppoll, &p, 1, tp, 0, 8);
	} while (r == -EINTR);
	if (r > 0 && (p.revents & POLLNVAL))
		return -EBADF;
	return r < 0 ? (int)r : r ? 0 : -ETIMEDOUT;
}

static long call_in_fiber(const struct call *c, uint64_t timeout_ns)
{
	struct fib_fd *s = fib_fd_get(c->fd);
	uint64_t deadline = timeout_ns;
	bool first = true, woken = false;
	long r;

	if (!s)
		return c->fd < 0 || c->fd >= (int)FIB_FD_MAX ? -EBADF : -ENOMEM;
	for (;;) {
		struct fib_waiter w;
		uint32_t seq = fib_iom_begin(s);

		r = c->try(c);
		if (r == -EINTR)
			continue;
		if (r != -EAGAIN)
			break;
		if (first)
			deadline = fib_deadline(timeout_ns);
		first = false;
		if (!timeout_ns) {
			r = -ETIMEDOUT;
			break;
		}
		r = fib_iom_publish(s, &w, c->ev, false, seq);
		if (r > 0)
			continue;
		if (r == 0)
			r = park(&w, deadline);
		else if (r != -EBADF)
			r = wait_in_poll(c->fd, c->ev, deadline);
		if (r)
			break;
		woken = true;
	}
	if (woken)
		fib_iom_pass(s, c->ev);
	return r;
}

static long call(const struct call *c, uint64_t timeout_ns)
{
	uint64_t deadline;
	long r;

	if (fib_self())
		return call_in_fiber(c, timeout_ns);
	deadline = fib_deadline(timeout_ns);
	for (;;) {
		r = c->try(c);
		if (r == -EAGAIN)
			r = timeout_ns ? wait_in_poll(c->fd, c->ev, deadline) :
					 -ETIMEDOUT;
		else if (r != -EINTR)
			return r;
		if (r && r != -EINTR)
			return r;
	}
}

static bool ready(const struct call *c)
{
	struct pollfd p = { .fd = c->fd,
			    .events = c->ev == FIB_EV_READ ? POLLIN : POLLOUT };

	return fib_raw(SYS_poll, &p, 1, 0) != 0;
}

static long try_read(const struct call *c)
{
	struct iovec iov = { c->buf, c->n };
	long r = fib_raw(SYS_recvfrom, c->fd, c->buf, c->n, MSG_DONTWAIT, 0, 0);

	if (r != -ENOTSOCK)
		return r;
	r = fib_raw(SYS_preadv2, c->fd, &iov, 1, -1, -1, RWF_NOWAIT);
	if (r != -EOPNOTSUPP && r != -ESPIPE)
		return r;
	return ready(c) ? fib_call(SYS_read, c->fd, c->buf, c->n) : -EAGAIN;
}

static long try_write(const struct call *c)
{
	struct iovec iov = { c->buf, c->n };
	long r = fib_raw(SYS_sendto, c->fd, c->buf, c->n,
			 MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);

	if (r != -ENOTSOCK)
		return r;
	r = fib_raw(SYS_pwritev2, c->fd, &iov, 1, -1, -1, RWF_NOWAIT);
	if (r != -EOPNOTSUPP && r != -ESPIPE)
		return r;
	return ready(c) ? fib_call(SYS_write, c->fd, c->buf, c->n) : -EAGAIN;
}

static long try_accept(const struct call *c)
{
	if (!ready(c))
		return -EAGAIN;
	return fib_call(SYS_accept4, c->fd, c->addr, c->len, SOCK_CLOEXEC);
}

static long try_poll(const struct call *c)
{
	return ready(c) ? 0 : -EAGAIN;
}

long fib_read(int fd, void *buf, size_t n, uint64_t timeout_ns)
{
	struct call c = { try_read, fd, FIB_EV_READ, buf, n, NULL, NULL };

	return call(&c, timeout_ns);
}

long fib_write(int fd, const void *buf, size_t n, uint64_t timeout_ns)
{
	struct call c = { try_write, fd, FIB_EV_WRITE, (void *)buf, n, NULL,
			  NULL };

	return call(&c, timeout_ns);
}

int fib_write_all(int fd, const void *buf, size_t n, uint64_t timeout_ns)
{
	uint64_t deadline = fib_deadline(timeout_ns);
	const char *p = buf;

	while (n) {
		uint64_t now = timeout_ns == FIB_NEVER ? 0 : fib_now_ns();
		long r = fib_write(fd, p, n,
				   timeout_ns == FIB_NEVER ? FIB_NEVER :
				   deadline > now	   ? deadline - now :
							     0);

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
	struct call c = { try_accept, fd, FIB_EV_READ, NULL, 0, addr, len };

	return (int)call(&c, timeout_ns);
}

int fib_wait_fd(int fd, int event, uint64_t timeout_ns)
{
	struct call c = { try_poll, fd, (uint8_t)event, NULL, 0, NULL, NULL };

	if (event != FIB_EV_READ && event != FIB_EV_WRITE)
		return -EINVAL;
	if (fib_raw(SYS_fcntl, fd, F_GETFD) < 0)
		return -EBADF;
	return (int)call(&c, timeout_ns);
}

/* There is no flag for one connect: O_NONBLOCK is set for that moment. */
int fib_connect(int fd, const struct sockaddr *addr, socklen_t len,
		uint64_t timeout_ns)
{
	long fl = fib_call(SYS_fcntl, fd, F_GETFL), r;
	int err = 0, size = sizeof(err);

	if (fl < 0)
		return (int)fl;
	if (!(fl & O_NONBLOCK))
		fib_call(SYS_fcntl, fd, F_SETFL, fl | O_NONBLOCK);
	r = fib_call(SYS_connect, fd, addr, len);
	if (!(fl & O_NONBLOCK))
		fib_call(SYS_fcntl, fd, F_SETFL, fl);
	if (r != -EINPROGRESS)
		return (int)r;
	r = fib_wait_fd(fd, FIB_EV_WRITE, timeout_ns);
	if (r)
		return (int)r;
	r = fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &size);
	return r ? (int)r : -err;
}
