/* Reads that the kernel refuses before it waits: or that it may, then it is asked. */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"

/* Where programs have no memory: TASK_SIZE_MAX, without five-level paging. */
#define BEYOND ((1ul << 47) - FIB_PAGE)

bool fib_io_is_refused(const struct msghdr *h)
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

bool fib_io_is_first_refused(const void *vec)
{
	struct msghdr h;

	return fib_copy(&h, vec, sizeof(h)) || fib_io_is_refused(&h);
}

bool fib_io_refuses(long nr, const long a[6])
{
	struct iovec v = { (void *)a[1], (size_t)a[2] };
	struct msghdr h = { .msg_iov = (void *)a[1],
			    .msg_iovlen = (size_t)a[2] };

	if (nr == SYS_accept4)
		return false;
	if (nr == SYS_recvmsg)
		return fib_io_is_first_refused((void *)a[1]);
	if (nr == SYS_recvfrom || nr == SYS_read)
		h = (struct msghdr){ .msg_iov = &v, .msg_iovlen = 1 };
	return fib_io_is_refused(&h);
}
