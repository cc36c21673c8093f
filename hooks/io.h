/*
 * Reading and writing on what may block: what io.c, net.c and poll.c share
 * beside the loops of runtime/io.h. For hook bodies; these may park.
 */
#ifndef FIB_HOOKS_IO_H
#define FIB_HOOKS_IO_H

#include "hooks/hooks.h"

#define FIB_IOV_MAX 1024 /* UIO_MAXIOV of linux/uio.h */
#define FIB_IO_MAX  0x7ffff000 /* MAX_RW_COUNT of linux/fs.h */

/** What a wait's failure is to the program. */
long fib_io_failed(const struct fib_io *io, long r);

/**
 * Call @nr as the program asked for it, on a kernel thread that may block: for
 * whatever is not on the short list of cases that are made here. @first: wait
 * until poll says that it has something to do, so as to hold none until then.
 */
long fib_io_in_kernel(struct fib_fd *s, uint8_t ev, bool first, long nr,
		      const long a[6]);

/*
 * A transfer in parts, each by a call that does not block. It is one call to the
 * program: one file, one result, one time limit.
 */
struct fib_parts {
	struct fib_io io;
	struct fib_hold hold;
	/** Try at descriptor @fd; > 0, -EAGAIN, or the end of it. */
	long (*part)(struct fib_parts *p, int fd, struct iovec *v, unsigned n);
	const struct iovec *iov; /* the program's; it may not be there */
	size_t n;
	size_t skip; /* bytes of iov that are done */
	long done;
	bool blocked; /* by the first try, which was made already */
	bool waited;
	/* of net.c */
	long nr, *first; /* the call that the first part is made by */
	long *first_flags;
	int flags;
};

#define FIB_PART_VECTOR 16
/** The next vector of @p in @v: its length, 0 at the end; -EFAULT, -EINVAL. */
long fib_io_window(struct fib_parts *p, struct iovec *v);
/** All but what is done already: how much is, or -errno if nothing is. */
long fib_io_parts(struct fib_parts *p);

/** net.c: receive by call @nr, whose flags are *@flags; @plain as fib_io_call(). */
long fib_io_receive(struct fib_fd *s, size_t plain, long nr, long a[6],
		 long *flags);

static inline bool fib_fd_is_socket(const struct fib_fd *s)
{
	return s->kind >= FIB_FD_TCP && s->kind <= FIB_FD_DGRAM;
}

/**
 * The kernel has no call of that name, or a filter has it not: what the program
 * called may be allowed.
 */
static inline bool fib_is_denied(long r)
{
	return r == -EPERM || r == -EACCES || r == -ENOSYS;
}
/** Call @nr as the program made it; it holds its kernel thread. */
long fib_io_own(long nr, const long a[6]);

#endif
