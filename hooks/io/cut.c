/*
 * Calls that a kick has cut short. A signal ends a blocked call of which a part is
 * done, whatever it is for; natively only one that has a handler comes. So where
 * it was a kick alone, the rest follows.
 */
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"

bool fib_io_was_cut(void)
{
	if (!fib_load(&fib_self()->sig.kicked, relaxed))
		return false;
	fib_part_done();
	return fib_part_goes_on();
}

bool fib_io_goes_on(long r, size_t asked)
{
	if (r > 0)
		return (size_t)r == asked || fib_io_was_cut();
	return (r == -EINTR || r == -FIB_ERESTARTNOINTR) && fib_part_goes_on();
}

long fib_io_write_rest(struct fib_fd *s, uint32_t closes,
		       const struct iovec *iov, size_t n, int flags, long done)
{
	struct fib_parts p = {
		.iov = iov, .n = n, .skip = (size_t)done, .done = done
	};
	struct iovec v[FIB_PART_VECTOR];
	struct fib *f = fib_self();
	size_t asked;
	long r;

	do {
		if (fib_xchg(&f->sig.preempt, false, relaxed))
			fib_sched_preempted();
		r = fib_load(&s->closes, relaxed) == closes ?
			    fib_io_window(&p, v) :
			    -EBADF;
		if (r <= 0)
			break;
		asked = fib_io_length(v, (int)r);
		fib_store(&f->sig.kicked, false, relaxed);
		r = fib_blocking(flags ? SYS_pwritev2 : SYS_writev,
				 (long[6]){ s->fd, (long)v, r, -1, -1, flags });
		if (r > 0) {
			p.done += r;
			p.skip += (size_t)r;
		}
	} while (fib_io_goes_on(r, asked));
	return p.done ? p.done : r;
}

/* --- reads that wait for nothing ------------------------------------------- */

/* /dev/zero, full, random, urandom: drivers/char/mem.c */
static bool has_no_end(int fd)
{
	struct stat st;

	if (fib_raw(SYS_fstat, fd, &st) || !S_ISCHR(st.st_mode) ||
	    major(st.st_rdev) != 1)
		return false;
	switch (minor(st.st_rdev)) {
	case 5:
	case 7:
	case 8:
	case 9:
		return true;
	}
	return false;
}

/* How many pieces, of *@asked bytes, come next: 0 if that was all. */
static long next_of(struct fib_parts *p, struct iovec *v, size_t *asked)
{
	long n = fib_io_window(p, v);

	*asked = n > 0 ? fib_io_length(v, (int)n) : 0;
	return *asked ? n : 0;
}

long fib_io_read_on(long nr, const long a[6], long r)
{
	struct iovec one = { (void *)a[1], (size_t)a[2] }, v[FIB_PART_VECTOR];
	struct fib_parts p = {
		.iov = &one, .n = 1, .skip = (size_t)r, .done = r
	};
	struct fib *f = fib_self();
	size_t asked;
	long n;

	switch (nr) {
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
		p.iov = (const struct iovec *)a[1];
		p.n = (size_t)a[2];
		break;
	case SYS_getrandom:
		one = (struct iovec){ (void *)a[0], (size_t)a[1] };
		break;
	case SYS_read:
	case SYS_pread64:
		break;
	default:
		return r;
	}
	if ((nr != SYS_getrandom &&
	     (fib_filtered() || !has_no_end((int)a[0]))) ||
	    !(n = next_of(&p, v, &asked)) || !fib_io_was_cut())
		return r;
	do {
		if (fib_xchg(&f->sig.preempt, false, relaxed))
			fib_sched_preempted();
		r = nr == SYS_getrandom ?
			    fib_signal_raw_intr(f, nr,
						(long[6]){ (long)v[0].iov_base,
							   (long)asked,
							   a[2] }) :
			    fib_signal_raw_intr(f, SYS_readv,
						(long[6]){ a[0], (long)v, n });
		if (r > 0) {
			p.done += r;
			p.skip += (size_t)r;
		}
	} while (fib_io_goes_on(r, asked) && (n = next_of(&p, v, &asked)));
	return p.done;
}

/* --- receives of no bytes -------------------------------------------------- */

struct nothing {
	struct fib_rest rest;
	struct msghdr h;
	struct msghdr *user; /* NULL: it is by recvfrom() */
};

/*
 * tcp_recvmsg_locked() returns 0 whatever has woken it, without a look. A kick alone, where
 * poll says that nothing has come: then it is made as it was.
 */
static bool nothing_came(struct fib_rest *rest, long r, long *nr, long v[6])
{
	struct nothing *c = fib_container_of(rest, struct nothing, rest);
	const struct msghdr *h = &c->h;

	(void)r;
	(void)nr;
	if (!fib_load(&fib_self()->sig.kicked, relaxed) ||
	    !fib_part_goes_on() || fib_io_ready((int)v[0], POLLIN | POLLRDHUP))
		return false;
	/* What the kernel has written there says how much room there is. */
	return !c->user ||
	       (!fib_copy(&c->user->msg_namelen, &h->msg_namelen,
			  sizeof(h->msg_namelen)) &&
		!fib_copy(&c->user->msg_controllen, &h->msg_controllen,
			  sizeof(h->msg_controllen)));
}

long fib_io_receive_nothing(struct fib_known *k, long nr, const long a[6])
{
	struct nothing c = { .rest = { .next = nothing_came,
				       .nothing = true } };

	if (nr == SYS_recvmsg) {
		c.user = (struct msghdr *)a[1];
		if (fib_copy(&c.h, c.user, sizeof(c.h)))
			return -EFAULT;
	}
	return fib_io_whole(k, FIB_IO_READ, false, nr, a, &c.rest, NULL);
}

/* --- sends ----------------------------------------------------------------- */

void fib_io_find_creds(const struct msghdr *h, struct fib_creds *c)
{
	const char *at = h->msg_control;
	size_t left = h->msg_controllen;
	struct fib_creds m;

	c->h.cmsg_len = 0;
	while (left >= sizeof(m.h) && !fib_copy(&m.h, at, sizeof(m.h)) &&
	       m.h.cmsg_len >= sizeof(m.h) && m.h.cmsg_len <= left) {
		size_t all = CMSG_ALIGN(m.h.cmsg_len);

		if (m.h.cmsg_level == SOL_SOCKET &&
		    m.h.cmsg_type == SCM_CREDENTIALS &&
		    m.h.cmsg_len == CMSG_LEN(sizeof(m.c)) &&
		    !fib_copy(&m, at, sizeof(m)))
			*c = m;
		if (all >= left)
			break;
		at += all;
		left -= all;
	}
}

void fib_io_put_creds(struct fib_creds *c, struct msghdr *h)
{
	if (fib_unlikely(c->h.cmsg_len)) {
		h->msg_control = c;
		h->msg_controllen = sizeof(*c);
	}
}

struct sending {
	struct fib_rest rest;
	struct fib_parts left; /* its vector, and how much of it is done */
	struct iovec v[FIB_PART_VECTOR];
	struct msghdr m;
	int flags;
	size_t asked; /* of the last call */
};

/*
 * The rest goes as in net.c's parts, and makes no connection and no notification of
 * its own. An error after a part stays with the socket.
 */
static bool send_rest(struct fib_rest *rest, long r, long *nr, long v[6])
{
	struct sending *c = fib_container_of(rest, struct sending, rest);
	bool whole = (size_t)r >= c->asked;
	long n;

	rest->done = c->left.done += r;
	c->left.skip += (size_t)r;
	if ((!whole && !fib_io_was_cut()) ||
	    (fib_io_ready((int)v[0], POLLOUT) & POLLHUP))
		return false;
	n = fib_io_window(&c->left, c->v);
	if (n <= 0)
		return false;
	c->asked = fib_io_length(c->v, (int)n);
	c->m = (struct msghdr){ .msg_iov = c->v, .msg_iovlen = (size_t)n };
	fib_io_put_creds(&c->left.creds, &c->m);
	*nr = SYS_sendmsg;
	v[1] = (long)&c->m;
	v[2] = (c->flags & ~(MSG_ZEROCOPY | MSG_FASTOPEN)) | MSG_NOSIGNAL;
	return true;
}

long fib_io_send_whole(struct fib_known *k, long nr, const long a[6],
		       long flags, const struct iovec *iov, size_t n,
		       size_t len)
{
	struct sending c = { .rest.next = send_rest,
			     .left = { .iov = iov, .n = n },
			     .flags = (int)flags,
			     .asked = len };
	struct msghdr h;

	/* A message goes whole, or not at all. */
	if (fib_fd_has_messages(k))
		return fib_io_in_kernel(k, FIB_IO_WRITE, false, nr, a);
	if (nr == SYS_sendmsg && k->kind == FIB_FD_STREAM &&
	    !fib_copy(&h, (void *)a[1], sizeof(h)))
		fib_io_find_creds(&h, &c.left.creds);
	return fib_io_whole(k, FIB_IO_WRITE, false, nr, a, &c.rest, NULL);
}
