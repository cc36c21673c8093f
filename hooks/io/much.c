/*
 * A receive that waits for more than one byte: MSG_WAITALL, SO_RCVLOWAT. Of a stream
 * it takes parts, each by a call that does not block, as tcp_recvmsg_locked() and
 * unix_stream_read_generic() do within one call. The other cases the kernel makes.
 *
 * After a part the one call ends where a next one would not: at a mark; TCP's at an error,
 * which stays with the socket; a unix socket's behind descriptors, of which control
 * messages tell. So it is looked before the next try.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "runtime/chaos.h"
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
	return fib_io_most(sum);
}

_Atomic bool fib_io_inq_used;

/* --- a stream, in parts ------------------------------------------------------- */

/* With no other flag; and a short read tells that nothing is left. */
#define IN_PARTS (MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)

struct whole {
	struct fib_parts p;
	struct msghdr h;    /* the program's, or for its recvfrom() */
	size_t all, target; /* that many end it */
	bool tcp;
	bool lowat; /* SO_RCVLOWAT is set: poll goes by it */
	bool ended; /* by what came beside the data */
};

static int ask(int fd, unsigned long what)
{
	int answer = 0;

	fib_raw(SYS_ioctl, fd, what, &answer);
	return answer;
}

static bool has_option(int fd, int level, int name)
{
	int val = 0, len = sizeof(val);

	fib_raw(SYS_getsockopt, fd, level, name, &val, &len);
	return val;
}

/* An ICMP error is one of the connection then: tcp_v4_err(). */
static bool reports_errors(int fd)
{
	return has_option(fd, SOL_IP, IP_RECVERR) ||
	       has_option(fd, SOL_IPV6, IPV6_RECVERR);
}

/* POLLERR alone may be for the queue of errors, which ends nothing. */
static bool is_over(int fd, short ready)
{
	if (ready & (POLLHUP | POLLRDHUP))
		return true;
	if (!(ready & POLLERR) || !reports_errors(fd))
		return false;
	fib_store(&fib_fd_glue_used, true, relaxed);
	return true;
}

/* FIONREAD: what came before the end is there once poll tells of it. */
static long look_tcp(int fd)
{
	if (ask(fd, FIONREAD))
		return 1;
	if (!is_over(fd, fib_io_ready(fd, POLLIN | POLLRDHUP)))
		return -EAGAIN;
	return ask(fd, FIONREAD);
}

/* After a part, is there more? Then > 0; 0: that was all; -EAGAIN. */
static long look(const struct whole *c, int fd)
{
	if (c->ended || (size_t)c->p.done >= c->target)
		return 0;
	/* The part was short, and no edge came since. */
	if (!c->lowat && !c->p.waited && fib_io_is_empty(c->p.io.s))
		return -EAGAIN;
	if (ask(fd, SIOCATMARK))
		return 0;
	return c->tcp ? look_tcp(fd) : 1;
}

/* Until anything has come by the program's own call; but of a unix socket it is seen what. */
static long try_first(const struct whole *c, int fd, struct msghdr *m)
{
	const long *a = c->p.first;
	long r;

	if (c->tcp)
		return fib_raw6(c->p.nr, fd, a[1], a[2], a[3], a[4], a[5]);
	if (c->p.nr == SYS_recvfrom)
		return fib_raw(SYS_recvmsg, fd, m, c->p.flags);
	r = fib_raw(SYS_recvmsg, fd, a[1], c->p.flags);
	if (r > 0)
		fib_copy(m, (void *)a[1], sizeof(*m));
	return r;
}

/* What came with it is the program's, as with all that one call takes. */
static long try_next(const struct whole *c, int fd, struct msghdr *m)
{
	struct msghdr *h = (void *)c->p.first[1];
	long r = fib_raw(SYS_recvmsg, fd, m, c->p.flags);

	if (r > 0 && c->p.nr == SYS_recvmsg) {
		fib_copy(&h->msg_controllen, &m->msg_controllen,
			 sizeof(h->msg_controllen));
		fib_copy(&h->msg_flags, &m->msg_flags, sizeof(h->msg_flags));
	}
	return r;
}

/*
 * Does one call not glue together what two would? A unix socket that tells of its
 * senders: what is of different ones (unix_skb_scm_eq()). TCP with TLS: records of
 * different types. And where it cannot be told what ends a call: of a unix socket with
 * SO_INQ, for which there is no getsockopt(); of TCP with IP_RECVERR, where POLLERR may
 * be for either.
 */
static bool is_not_glued(const struct fib_known *k)
{
	if (k->kind == FIB_FD_TCP)
		return has_option(k->fd, SOL_TCP, TCP_ULP) ||
		       reports_errors(k->fd);
	return fib_load(&fib_io_inq_used, relaxed) ||
	       has_option(k->fd, SOL_SOCKET, SO_PASSCRED) ||
	       has_option(k->fd, SOL_SOCKET, SO_PASSPIDFD) ||
	       has_option(k->fd, SOL_SOCKET, SO_PASSSEC);
}

static bool brings_descriptors(const struct msghdr *m)
{
	const char *at = m->msg_control, *end = at + m->msg_controllen;
	struct cmsghdr h;

	while ((size_t)(end - at) >= sizeof(h) &&
	       !fib_copy(&h, at, sizeof(h)) && h.cmsg_len >= sizeof(h) &&
	       h.cmsg_len <= (size_t)(end - at)) {
		if (h.cmsg_level == SOL_SOCKET && h.cmsg_type == SCM_RIGHTS)
			return true;
		if (CMSG_ALIGN(h.cmsg_len) >= (size_t)(end - at))
			break;
		at += CMSG_ALIGN(h.cmsg_len);
	}
	return false;
}

/*
 * Of a unix socket, does the call end with what came? Where other things come as well,
 * which other processes may have asked for or this one meanwhile, MSG_CTRUNC may be for
 * these, and the next call is the kernel's.
 */
static bool is_end(const struct whole *c, const struct msghdr *m)
{
	bool glued;

	if (!m->msg_controllen && !(m->msg_flags & MSG_CTRUNC))
		return false;
	glued = !is_not_glued(fib_fd_of(c->p.io.s));
	if (!glued)
		fib_store(&fib_fd_glue_used, true, relaxed);
	return (glued && (m->msg_flags & MSG_CTRUNC)) || brings_descriptors(m);
}

static long receive_part(struct fib_parts *p, int fd, struct iovec *v,
			 unsigned n)
{
	struct whole *c = fib_container_of(p, struct whole, p);
	struct msghdr m = c->h;
	size_t asked = c->all;
	uint32_t turn;
	long r;

	if (p->done) {
		r = look(c, fd);
		if (r <= 0)
			return r;
		asked = fib_io_length(v, (int)n);
		m.msg_name = NULL;
		m.msg_namelen = 0;
		m.msg_iov = v;
		m.msg_iovlen = n;
	}
	turn = fib_io_turn(&p->io);
	r = p->done ? try_next(c, fd, &m) : try_first(c, fd, &m);
	c->ended = !c->tcp && r > 0 && is_end(c, &m);
	fib_io_tried(&p->io, turn, c->lowat || c->ended ? FIB_IO_ANY : asked,
		     r);
	return r;
}

/* (tcp_data_ready() goes by SO_RCVLOWAT for MSG_WAITALL as well: not both.) */
static bool goes_in_parts(const struct fib_known *k, long nr, const long a[6],
			  long flags, size_t lowat, const struct msghdr *h)
{
	bool tcp = k->kind == FIB_FD_TCP;

	if ((!tcp && k->kind != FIB_FD_STREAM) || (flags & ~IN_PARTS) ||
	    !fib_fd_asks() || ((flags & MSG_WAITALL) && lowat > 1) ||
	    (!tcp && (nr == SYS_recvfrom ? a[4] != 0 : h->msg_name != NULL)))
		return false;
	return !fib_load(&fib_fd_glue_used, relaxed) || !is_not_glued(k);
}

static long receive_parts(struct fib_known *k, long nr, const long a[6],
			  long flags, const struct msghdr *h, size_t all,
			  size_t target)
{
	long at_once[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	struct whole c = { .p = { .io = FIB_HOOK_IO(k, FIB_IO_READ),
				  .part = receive_part,
				  .iov = h->msg_iov,
				  .n = h->msg_iovlen,
				  .nr = nr,
				  .first = at_once,
				  .flags = (int)(flags | MSG_DONTWAIT),
				  .at_last = !(flags & MSG_WAITALL) },
			   .h = *h,
			   .all = all,
			   .target = target,
			   .lowat = !(flags & MSG_WAITALL),
			   .tcp = k->kind == FIB_FD_TCP };
	struct fib_parts *p = &c.p;
	long r;

	at_once[nr == SYS_recvfrom ? 3 : 2] = c.p.flags;
	p->io.shared = true;
	p->io.closes = fib_iom_enter(k->slot);
	p->blocked = !c.lowat && !fib_io_is_refused(h) &&
		     !fib_io_was_told(&p->io) && fib_io_waits_first(&p->io);
	if (!p->blocked && !FIB_CHAOS_ODDS(would_block, 16)) {
		fib_io_begin(&p->io);
		r = receive_part(p, k->fd, NULL, 0);
		if (r >= (long)target || (r <= 0 && r != -EAGAIN)) {
			fib_iom_leave(k->slot);
			return r;
		}
		p->blocked = r == -EAGAIN;
		p->done = p->blocked ? 0 : r;
		p->skip = (size_t)p->done;
	}
	return fib_io_parts(p);
}

/* --- by the kernel ---------------------------------------------------------- */

struct receive {
	struct fib_rest rest;
	struct fib_parts left; /* its vector, and how much of it is done */
	struct iovec all, v[FIB_PART_VECTOR];
	struct msghdr m;
	long flags;
	size_t target; /* that many end it */
	size_t asked;  /* of the last call */
	bool alone;    /* it ends with what comes beside the data */
};

static bool next_call(struct receive *c, long *nr, long v[6])
{
	long n = fib_io_window(&c->left, c->v);

	if (n <= 0)
		return false;
	c->asked = fib_io_limit_vector(c->v, (size_t)n,
				       c->target - (size_t)c->rest.done);
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

/* Nothing is there, and so it is woken as all others are who wait for SO_RCVLOWAT's bytes. */
static bool waits_with_others(const struct fib_known *k, long flags,
			      size_t lowat)
{
	int n = 1;

	return k->kind == FIB_FD_TCP && (flags & MSG_WAITALL) && lowat > 1 &&
	       !(flags & MSG_PEEK) &&
	       !fib_raw(SYS_ioctl, k->fd, FIONREAD, &n) && n == 0;
}

long fib_io_receive_much(struct fib_known *k, long nr, const long a[6],
			 long flags, size_t lowat)
{
	struct receive c = { .rest.next = receive_rest, .flags = flags };
	struct msghdr h = { .msg_iov = &c.all, .msg_iovlen = 1 };
	uint32_t closes = fib_load(&k->slot->closes, relaxed);
	size_t all, target;
	bool first, among;
	long r;

	if (nr == SYS_recvfrom)
		c.all = (struct iovec){ (void *)a[1],
					fib_io_most((size_t)a[2]) };
	else if (fib_copy(&h, (void *)a[1], sizeof(h)))
		return -EFAULT;
	all = fib_io_message_length(&h);
	target = (flags & MSG_WAITALL) || lowat > all ? all : lowat;
	if (target && goes_in_parts(k, nr, a, flags, lowat, &h))
		return receive_parts(k, nr, a, flags, &h, all, target);
	c.left.iov = h.msg_iov;
	c.left.n = h.msg_iovlen;
	c.asked = all;
	c.target = target;
	/* It may end with what came beside the data. */
	c.alone = fib_fd_has_messages(k) || h.msg_controllen;
	/* By the terms of when it began, which may change while it waits in a fiber. */
	first = fib_fd_has_messages(k) && lowat <= 1 && !(flags & MSG_PEEK) &&
		!fib_io_is_refused(&h);
	among = waits_with_others(k, flags, lowat);
	r = fib_io_whole(k, FIB_IO_READ, first, nr, a, &c.rest, NULL);
	/* Of what it has left epoll tells nobody, if that is less. */
	if (fib_unlikely(among && r > 0 && (size_t)r == all) &&
	    fib_load(&k->slot->closes, relaxed) == closes)
		fib_iom_all_again(k->slot, FIB_IO_READ, FIB_WOKEN_FOR_IT);
	return r;
}
