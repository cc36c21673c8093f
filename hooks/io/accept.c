/* accept, by one thread or by several. */
#include <fcntl.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/wait/wait.h"
#include "hooks/wait/way.h"
#include "runtime/reserved.h"

/* Others get their error at once, and poll would never say so. */
bool fib_io_listens(struct fib_known *k)
{
	int val = 0, len = sizeof(val);

	if (!k->listening) {
		fib_raw(SYS_getsockopt, k->fd, SOL_SOCKET, SO_ACCEPTCONN, &val,
			&len);
		k->listening = val != 0;
	}
	return k->listening;
}

/*
 * Its number is reserved once it waits. If that was the last one, there is none for
 * accept4() itself, and it has to do with the reserved one.
 */
static long accept_waiting(struct fib_known *k, const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);
	struct fib *f = fib_self();
	int at, cloexec = (a[3] & SOCK_CLOEXEC) ? O_CLOEXEC : 0;
	long r;

	io.opens = true;
	for (;;) {
		r = fib_io_polled(&io, SYS_accept4, a);
		at = f->io.reserved - 1;
		f->io.reserved = 0;
		if (at < 0)
			return r;
		if (r >= 0)
			return fib_reserved_fill(at, (int)r, cloexec);
		fib_reserved_free(at);
		if (r != -EMFILE)
			return r;
		io = FIB_HOOK_IO(k, FIB_IO_READ);
		io.opens = true;
	}
}

/*
 * Parked, it is poll, a number, epoll_wait, poll, accept4, dup3, close. The kernel
 * does all that in one call, on a thread that may block: one of its own, if the
 * caller lives here. A limit is counted from the call's beginning, so it parks.
 */
static long accept_in_turn(struct fib_known *k, const long a[6])
{
	bool loops = fib_fd_limit(k, FIB_IO_READ) == FIB_NEVER &&
		     fib_io_loops(false);
	long r;

	if (fib_way_enter(&k->acceptors, loops)) {
		fib_io_disarm(k->slot);
		r = fib_io_in_kernel(k, FIB_IO_READ, false, SYS_accept4, a);
	} else {
		r = accept_waiting(k, a);
	}
	fib_way_leave(fib_self());
	return r;
}

long fib_sys_accept4(int fd, void *addr, int *addrlen, int flags)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)addr, (long)addrlen, flags };
	uint32_t files;
	long r;

	if (!k || !fib_io_listens(k) || (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK)))
		return fib_pass(SYS_accept4, a);
	files = fib_load(&k->slot->files, acquire);
	r = fib_fd_nonblock(k) ? fib_pass(SYS_accept4, a) :
				 accept_in_turn(k, a);
	if (r >= 0)
		fib_fd_accepted(
			(int)r,
			fib_load(&k->slot->files, acquire) == files ? k : NULL,
			flags);
	return r;
}

long fib_sys_accept(int fd, void *addr, int *addrlen)
{
	long r = fib_sys_accept4(fd, addr, addrlen, 0);

	if (fib_unlikely(fib_is_denied(r)))
		r = fib_io_own(SYS_accept,
			       (long[6]){ fd, (long)addr, (long)addrlen });
	return r;
}
