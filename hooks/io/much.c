/*
 * A receive that waits for more than one byte: MSG_WAITALL, SO_RCVLOWAT. For the
 * first one it waits in a fiber, for the rest in the kernel.
 */
#include <poll.h>
#include <sys/ioctl.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "runtime/trywait.h"

/* How much the vector has. What is not there, the kernel will complain of. */
size_t fib_io_message_length(const struct msghdr *h)
{
	struct iovec v;
	size_t sum = 0;

	for (size_t i = 0; i < h->msg_iovlen && i < FIB_IOV_MAX; i++) {
		if (fib_copy(&v, &h->msg_iov[i], sizeof(v)))
			return 0;
		sum += v.iov_len;
	}
	return sum < FIB_IO_MAX ? sum : FIB_IO_MAX;
}

struct receive {
	struct fib_rest rest;
	struct fib_parts left; /* its vector, and how much of it is done */
	struct iovec all, v[FIB_PART_VECTOR];
	struct msghdr m;
	long flags;
	size_t target;	 /* that many end it */
	size_t asked;	 /* of the last call */
	bool alone;	 /* it ends with what comes beside the data */
	uint32_t closes; /* of the number, when it began */
};

/* @v, @n without what is beyond @most bytes; how much is left of it. */
static size_t limit_vector(struct iovec *v, size_t n, size_t most)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].iov_len > most - sum)
			v[i].iov_len = most - sum;
		sum += v[i].iov_len;
	}
	return sum;
}

static bool next_call(struct receive *c, long *nr, long v[6])
{
	long n = fib_io_window(&c->left, c->v);

	if (n <= 0)
		return false;
	c->asked =
		limit_vector(c->v, (size_t)n, c->target - (size_t)c->rest.done);
	c->m = (struct msghdr){ .msg_iov = c->v, .msg_iovlen = (size_t)n };
	*nr = SYS_recvmsg;
	v[1] = (long)&c->m;
	v[2] = c->flags | MSG_WAITALL;
	return true;
}

/*
 * The rest goes without control messages. Only the kernel knows what else may have
 * ended the call: then it does the same with the rest.
 */
static bool receive_rest(struct fib_rest *rest, long r, long *nr, long v[6])
{
	struct receive *c = fib_container_of(rest, struct receive, rest);
	bool whole = (size_t)r >= c->asked;

	/* What was only looked at is looked at again. */
	if (c->flags & MSG_PEEK) {
		rest->done = r;
		return !whole && (size_t)r < c->target && fib_io_was_cut();
	}
	rest->done = c->left.done += r;
	c->left.skip += (size_t)r;
	if ((size_t)rest->done >= c->target || c->alone ||
	    (!whole && !fib_io_was_cut()))
		return false;
	return next_call(c, nr, v);
}

/* A stream, of which @r is not all: it may have to wait for the rest. */
static bool is_part(const struct receive *c, const struct fib_known *k, long r)
{
	if (k->kind == FIB_FD_DGRAM)
		return false;
	return r == -EAGAIN || (r > 0 && (size_t)r < c->target &&
				(!c->alone || k->kind == FIB_FD_TCP));
}

/*
 * The kernel goes by what O_NONBLOCK and SO_RCVTIMEO were when the call began:
 * sock_rcvtimeo(). Here it was in a fiber then, and they may have changed before the
 * kernel came to wait: it has said EAGAIN, or how much was there. So the rest is
 * awaited in the fiber, until the end, an error or a mark.
 */
static long go_on(struct receive *c, struct fib_known *k, long nr,
		  const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);
	long v[6] = { 0, a[1], a[2], a[3], a[4], a[5] };
	int mark = 0;
	long r = 0;

	if (c->rest.done && !next_call(c, &nr, v))
		return c->rest.done;
	io.limited = true;
	io.found = fib_fd_found(k);
	io.undone = fib_load(fib_fd_undone(k), acquire);
	fib_io_start(&io);
	if (io.closes != c->closes)
		r = -EBADF; /* it may be another file's */
	while (r == 0) {
		fib_io_begin(&io);
		if (c->rest.done &&
		    ((fib_io_ready(io.s->fd, POLLIN) & POLLERR) ||
		     (fib_raw(SYS_ioctl, io.s->fd, SIOCATMARK, &mark) == 0 &&
		      mark)))
			break;
		v[nr == SYS_recvfrom ? 3 : 2] |= MSG_DONTWAIT;
		r = fib_raw6(nr, io.s->fd, v[1], v[2], v[3], v[4], v[5]);
		if (r > 0) {
			c->rest.done = c->left.done += r;
			c->left.skip += (size_t)r;
			if (!is_part(c, k, c->rest.done) ||
			    !next_call(c, &nr, v))
				break;
			r = 0;
		} else if (r == -EAGAIN) {
			r = fib_io_again(&io);
		} else {
			break;
		}
	}
	fib_io_end(&io);
	return c->rest.done ? c->rest.done : r;
}

/* Where programs have no memory: TASK_SIZE_MAX, without five-level paging. */
#define BEYOND ((1ul << 47) - FIB_PAGE)

/* One that the kernel refuses, before it waits; or that it may. */
static bool is_refused(const struct msghdr *h)
{
	struct iovec v;

	if (h->msg_iovlen > FIB_IOV_MAX || (int)h->msg_namelen < 0)
		return true;
	for (size_t i = 0; i < h->msg_iovlen; i++)
		if (fib_copy(&v, &h->msg_iov[i], sizeof(v)) ||
		    v.iov_len > BEYOND ||
		    (uintptr_t)v.iov_base > BEYOND - v.iov_len)
			return true;
	return false;
}

/* The same of the first message of recvmmsg's @vec. */
bool fib_io_is_first_refused(const void *vec)
{
	struct msghdr h;

	return fib_copy(&h, vec, sizeof(h)) || is_refused(&h);
}

static bool is_impatient(struct fib_known *k)
{
	return fib_fd_nonblock(k) || fib_fd_limit(k, FIB_IO_READ) != FIB_NEVER;
}

/*
 * MSG_WAITALL of a stream, mostly for a record whose length is known, or for its head:
 * what it is to have comes at once, as a rule. FIONREAD says so (tcp_inq(), which
 * counts up to a mark, and unix_inq_len()), and then the call does not wait, whatever
 * else there is to know of it. Where there is only a part, or another kind of end, the
 * rest is for the kernel as ever. 0, and *@there, when the call is to be made.
 */
static long await_whole(struct receive *c, struct fib_io *io, bool waits,
			uint32_t *turn, int *there)
{
	long r = waits ? fib_io_first(io) : 0;

	while (r == 0) {
		*there = 0;
		*turn = fib_io_turn(io);
		fib_io_begin(io);
		fib_raw(SYS_ioctl, io->s->fd, FIONREAD, there);
		c->rest.briefly = (size_t)*there >= c->target;
		if (*there || !waits || fib_io_ready(io->s->fd, POLLIN))
			return 0;
		r = fib_io_again(io);
		c->rest.waited = true;
	}
	return r;
}

static long receive_whole(struct receive *c, struct fib_known *k, long nr,
			  const long a[6], bool waits)
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);
	uint32_t turn;
	int there;
	long r;

	fib_io_start(&io);
	r = await_whole(c, &io, waits, &turn, &there);
	if (r == 0) {
		/* It may have moved, to a duplicate's number. */
		r = fib_io_whole(fib_fd_of(io.s), FIB_IO_READ, false, nr, a,
				 &c->rest, NULL);
		/* 0 is the end, and says so again. */
		fib_io_took(&io, turn, r > 0 && r == there);
	}
	fib_io_end(&io);
	return r;
}

long fib_io_receive_much(struct fib_known *k, long nr, const long a[6],
			 long flags, bool first)
{
	struct receive c = { .rest.next = receive_rest, .flags = flags };
	struct msghdr h = { .msg_iov = &c.all, .msg_iovlen = 1 };
	size_t all;
	long r;

	if (nr == SYS_recvfrom)
		c.all = (struct iovec){ (void *)a[1], (size_t)a[2] };
	else if (fib_copy(&h, (void *)a[1], sizeof(h)))
		return -EFAULT;
	first = first && !is_refused(&h);
	all = fib_io_message_length(&h);
	c.closes = fib_load(&k->slot->closes, relaxed);
	c.left.iov = h.msg_iov;
	c.left.n = h.msg_iovlen;
	c.asked = all;
	c.target = flags & MSG_WAITALL ? all : fib_fd_lowat(k);
	if (c.target > all)
		c.target = all;
	/* It may end with what came beside the data. */
	c.alone = k->kind == FIB_FD_DGRAM || h.msg_controllen;
	if (first && !c.alone && (flags & MSG_WAITALL) && c.target)
		r = receive_whole(&c, k, nr, a,
				  fib_fd_limit(k, FIB_IO_READ) == FIB_NEVER);
	else
		r = fib_io_whole(k, FIB_IO_READ, first, nr, a, &c.rest, NULL);
	if (!c.rest.waited || !is_part(&c, k, r) || !is_impatient(k))
		return r;
	if (r > 0 && !c.rest.done) {
		c.rest.done = c.left.done = r;
		c.left.skip += (size_t)r;
	}
	return go_on(&c, k, nr, a);
}
