/* Reads that the kernel refuses before it waits: or that it may, then it is asked. */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"

/* Where programs have no memory: TASK_SIZE_MAX, without five-level paging. */
#define BEYOND ((1ul << 47) - FIB_PAGE)

static bool is_beyond(uintptr_t base, size_t len)
{
	return len > BEYOND || base > BEYOND - len;
}

bool fib_io_is_refused(const struct msghdr *h)
{
	struct iovec v;

	if (h->msg_iovlen > FIB_IOV_MAX || (int)h->msg_namelen < 0)
		return true;
	for (size_t i = 0; i < h->msg_iovlen; i++)
		if (fib_copy(&v, &h->msg_iov[i], sizeof(v)) ||
		    is_beyond((uintptr_t)v.iov_base, v.iov_len))
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
	struct msghdr h = { .msg_iov = (void *)a[1],
			    .msg_iovlen = (size_t)a[2] };

	if (fib_likely(nr == SYS_recvfrom) || nr == SYS_read)
		return is_beyond((uintptr_t)a[1], (size_t)a[2]);
	if (nr == SYS_accept4)
		return false;
	if (nr == SYS_recvmsg)
		return fib_io_is_first_refused((void *)a[1]);
	return fib_io_is_refused(&h);
}
