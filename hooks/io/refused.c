/*
 * Reads that are tried though there seems to be nothing: which the kernel refuses before it
 * waits, or may; and those of which it has been told.
 */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"

bool fib_io_is_refused(const struct msghdr *h)
{
	struct iovec v;

	if (h->msg_iovlen > FIB_IOV_MAX || (int)h->msg_namelen < 0)
		return true;
	for (size_t i = 0; i < h->msg_iovlen; i++)
		if (fib_copy(&v, &h->msg_iov[i], sizeof(v)) ||
		    fib_io_is_beyond((uintptr_t)v.iov_base, v.iov_len))
			return true;
	return false;
}

bool fib_io_is_first_refused(const void *vec)
{
	struct msghdr h;

	return fib_copy(&h, vec, sizeof(h)) || fib_io_is_refused(&h);
}

static bool is_vector_refused(const long a[6])
{
	struct msghdr h = { .msg_iov = (void *)a[1],
			    .msg_iovlen = (size_t)a[2] };

	return fib_io_is_refused(&h);
}

bool fib_io_refuses(long nr, const long a[6])
{
	if (fib_likely(nr == SYS_recvfrom) || nr == SYS_read)
		return fib_io_is_beyond((uintptr_t)a[1], (size_t)a[2]);
	if (nr == SYS_accept4)
		return false;
	if (nr == SYS_recvmsg)
		return fib_io_is_first_refused((void *)a[1]);
	return is_vector_refused(a);
}

void fib_io_tells(long r)
{
	struct fib *f = fib_self();

	if (fib_unlikely(f->bound != NULL))
		f->io.told = (uint8_t)(r < 0 ? 0 : r < 255 ? r : 255);
}

bool fib_io_was_told(struct fib_io *io)
{
	struct fib *f = fib_self();

	if (fib_likely(!f->io.told))
		return false;
	f->io.told--;
	fib_io_has_waited(io->s);
	return true;
}
