/* Transfers in parts, each by a call that does not block. */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/wait/wait.h"
#include "runtime/trywait.h"

size_t fib_io_length(const struct iovec *iov, int n)
{
	struct iovec v;
	size_t sum = 0;

	for (int i = 0; i < n && !fib_copy(&v, &iov[i], sizeof(v)); i++)
		sum += v.iov_len;
	return fib_io_most(sum);
}

size_t fib_io_limit_vector(struct iovec *v, size_t n, size_t most)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].iov_len > most - sum)
			v[i].iov_len = most - sum;
		sum += v[i].iov_len;
	}
	return sum;
}

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
	long n = fib_io_window(p, v), r;

	/* The first try could read it: it has gone meanwhile. */
	if (n < 0 || (n == 0 && p->done))
		return n;
	/* A cancel came near, and did not act. */
	if (!f->io.hold && fib_iom_hold(p->io.s, &p->hold, p->io.closes))
		f->io.hold = &p->hold;
	if (!f->io.hold || !fib_io_try(&p->io, &p->hold))
		return -EBADF;
	fib_io_begin(&p->io);
	r = p->part(p, p->io.s->fd, v, (unsigned)n);
	fib_iom_tried(&p->hold);
	return r > 0 && p->then && !p->refused ? p->then(p, v, (unsigned)n, r) :
						 r;
}

/* As fib_io_again(), but that what has been held is not lost. */
static long wait_for_part(struct fib_parts *p)
{
	long r;

	if (!p->io.limited) {
		r = p->io.rules->limit(&p->io);
		if (r)
			return r;
		p->io.limited = true;
	}
	p->waited = true;
	r = p->io.rules->block(&p->io);
	p->io.doubts = false;
	return r;
}

/* @r bytes have been moved. sock_alloc_send_pskb(): one limit for each buffer. */
static void has_moved(struct fib_parts *p, long r)
{
	struct fib_known *k = fib_fd_of(p->io.s);

	fib_part_done();
	if (p->io.ev != FIB_IO_WRITE)
		return;
	fib_fd_wrote(k, r);
	if (p->io.limited && k->kind == FIB_FD_STREAM)
		p->io.deadline_ns = fib_fd_deadline(k, FIB_IO_WRITE);
}

/* The kernel is to wait for room, on the file that is held. */
static long rest_in_kernel(struct fib_parts *p, const struct iovec *iov,
			   size_t n)
{
	struct fib_fd *s = p->io.s;
	uint32_t closes = fib_load(&s->closes, relaxed);

	if (fib_iom_number(&p->hold) != s->fd)
		return -EBADF;
	return fib_io_write_rest(s, closes, iov, n, 0, p->done);
}

/* Stay with the file: where those stand who wait for it, and to be tried there. */
static bool hold(struct fib_parts *p)
{
	struct fib_fd *own = p->io.s;
	bool shared = p->io.shared;

	p->io.shared = false;
	if (!shared || !fib_io_goes_to_queue(&p->io, &p->hold))
		return fib_fd_hold(own, &p->hold, p->io.closes);
	fib_iom_leave(own);
	p->blocked = p->io.doubts = false;
	return true;
}

void fib_io_let_go(void)
{
	struct fib *f = fib_self();
	struct fib_hold *next;

	for (struct fib_hold *h = f->io.hold; h; h = next) {
		next = h->also;
		fib_iom_let_go(h);
	}
	f->io.hold = NULL;
}

/*
 * Its wait has ended with *@r, and what can be done by now is a part all the same. Does it
 * go on? Who sends looks for errors and for room once more before it looks at signals and
 * at the limit, which goes for one buffer (sock_alloc_send_pskb()).
 */
static bool take_last(struct fib_parts *p, long *r)
{
	bool sends = p->io.ev == FIB_IO_WRITE;
	long last;

	if (sends && !p->waited)
		return false;
	p->waited = sends;
	last = one_part(p);
	if (last > 0) {
		p->done += last;
		p->skip += (size_t)last;
		p->waited = false;
		has_moved(p, last);
		return sends && *r == -EAGAIN;
	}
	if (sends && last != -EAGAIN && last != -EBADF)
		*r = last;
	return false;
}

long fib_io_parts(struct fib_parts *p)
{
	const struct iovec *iov = p->iov;
	size_t n = p->n;
	struct fib *f = fib_self();
	long r;

	if (!hold(p)) {
		fib_desc_queue_leave(f);
		r = p->done ? p->done : -FIB_ERESTARTNOINTR;
		if (p->blocked && (p->io.closes & FIB_CLOSING)) {
			long err = fib_io_again(&p->io);

			r = err ? err : r;
			fib_io_end(&p->io);
		}
		return r;
	}
	f->io.hold = &p->hold;
	if (p->done)
		has_moved(p, p->done);
	for (;;) {
		r = p->blocked ? -EAGAIN : one_part(p);
		p->blocked = false;
		if (fib_unlikely(p->refused)) {
			r = rest_in_kernel(p, iov, n);
			p->done = r > 0 ? r : p->done;
			break;
		}
		if (r > 0) {
			p->done += r;
			p->skip += (size_t)r;
			f->hook.restarted = 0;
			/* pipe_write(): the next part is behind the others */
			p->io.turn = 0;
			p->waited = false;
			has_moved(p, r);
			continue;
		}
		if (r != -EAGAIN)
			break;
		r = wait_for_part(p);
		/* Under a filter, this is not what the program asks for. */
		if (r && !(p->at_last && !fib_filtered() && take_last(p, &r)))
			break;
	}
	fib_desc_queue_leave(f);
	fib_io_let_go();
	fib_io_end(&p->io);
	return p->done ? p->done : r;
}
