/*
 * Reading and writing on what may block: the loops that io.c and net.c share.
 * For hook bodies; all of these may park.
 */
#ifndef FIB_IO_H
#define FIB_IO_H

#include "hooks/hooks.h"

#define FIB_IOV_MAX 1024 /* UIO_MAXIOV of linux/uio.h */

/**
 * Make call @nr, which is not going to block (MSG_DONTWAIT, RWF_NOWAIT), until
 * it is not EAGAIN. @plain: of @plain bytes, a short count proves that a plain
 * TCP socket is empty; 0 if it proves nothing.
 */
long fib_io_call(struct fib_fd *s, uint8_t ev, size_t plain, long nr,
		 const long a[6]);
/** Make call @nr, which would block, when poll says that it does not. */
long fib_io_polled(struct fib_fd *s, uint8_t ev, long nr, const long a[6]);
/**
 * The kernel's own loop leaves a socket's error for the next call when part of
 * the data has gone; ours has taken it by asking once more.
 */
void fib_io_keep_error(struct fib_fd *s, long r);
/** What a wait's failure is to the program. */
long fib_io_failed(const struct fib_io *io, long r);

static inline bool fib_fd_is_socket(const struct fib_fd *s)
{
	return s->kind >= FIB_FD_TCP && s->kind <= FIB_FD_DGRAM;
}

#endif
