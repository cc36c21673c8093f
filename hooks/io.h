/*
 * Reading and writing on what may block: what io.c, net.c and poll.c share
 * beside the loops of runtime/io.h. For hook bodies; these may park.
 */
#ifndef FIB_HOOKS_IO_H
#define FIB_HOOKS_IO_H

#include "hooks/hooks.h"

#define FIB_IOV_MAX 1024 /* UIO_MAXIOV of linux/uio.h */

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
