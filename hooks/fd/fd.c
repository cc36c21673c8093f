/* How a descriptor ends, and calls on it that are neither read nor written. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/ioctl.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/fd/procfs.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/hidden.h"

/* Who waits takes along what is known. */
struct fib_fd *fib_fd_refuge(struct fib_fd *s)
{
	struct fib_fd *to = fib_iom_refuge(s);

	if (to && !fib_fd_copy_known(s, to)) {
		fib_fd_unhide(to->fd);
		to = NULL;
	}
	return to;
}

static void forget(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd);

	if (!s || fib_self()->thread.own_files)
		return;
	if (fib_iom_closing(s))
		fib_iom_evict(s, fib_fd_refuge(s));
	fib_iom_forget(s, fib_fd_may_be_shared());
}

/* What was done meanwhile with the old file is undone. */
static void closed(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd);

	if (s && !fib_self()->thread.own_files)
		fib_iom_closed(s);
}

long fib_sys_close(int fd)
{
	long r;

	if (fib_unlikely(fib_fd_is_ours(fd)))
		return -EBADF;
	forget(fd);
	r = fib_raw(SYS_close, fd);
	closed(fd);
	return r;
}

/* For each descriptor from @from to @to of which something may be known. */
static void each(unsigned from, unsigned to, void (*call)(int fd))
{
	for (uint64_t fd = from; fd <= to && fd < FIB_FD_MAX; fd++) {
		if (fib_fd_peek((int)fd))
			call((int)fd);
		else
			fd |= FIB_FD_CHUNK - 1;
	}
}

static long close_piece(unsigned from, unsigned to, unsigned flags)
{
	bool closes = !(flags & CLOSE_RANGE_CLOEXEC);
	long r;

	if (closes)
		each(from, to, forget);
	r = fib_raw(SYS_close_range, from, to, flags);
	if (closes)
		each(from, to, closed);
	return r;
}

long fib_fd_close_range(unsigned first, unsigned last, unsigned flags)
{
	unsigned from = first, ours;
	long r = 0;

	while (r == 0 && from <= last &&
	       (ours = fib_fd_next_of_ours(from)) <= last && ours != UINT_MAX) {
		if (ours > from)
			r = close_piece(from, ours - 1, flags);
		from = ours + 1;
	}
	return r || from > last ? r : close_piece(from, last, flags);
}

/* A second number for one file: closing either leaves it registered. */
static long duplicated(long fd)
{
	if (fd >= 0)
		fib_fd_shared();
	return fd;
}

long fib_sys_dup(int fd)
{
	return fib_fd_is_ours(fd) ? -EBADF : duplicated(fib_raw(SYS_dup, fd));
}

static long dup_onto(int from, int to, long nr, int flags)
{
	bool closes = from != to && (fib_filtered() ||
				     fib_raw(SYS_fcntl, from, F_GETFD) >= 0);
	bool wanted = closes && fib_fd_is_ours(to), moved = false;
	long r;

	if (fib_fd_is_ours(from))
		return -EBADF;
	if (wanted)
		fib_fd_yield(to);
	if (fib_fd_is_ours(to)) {
		moved = closes && fib_fd_move_away(to);
		if (!moved)
			return -EBADF;
	}
	if (closes)
		forget(to);
	r = duplicated(fib_raw(nr, from, to, flags));
	if (moved && r < 0)
		fib_raw(SYS_close, to);
	if (closes)
		closed(to);
	if (wanted)
		fib_iom_limit_changed(&fib_sched);
	return r;
}

long fib_sys_dup2(int from, int to)
{
	return dup_onto(from, to, SYS_dup2, 0);
}

long fib_sys_dup3(int from, int to, int flags)
{
	return dup_onto(from, to, SYS_dup3, flags);
}

/*
 * A call may raise a signal in its own process, by way of a descriptor: what it
 * changes is watched (F_NOTIFY), it breaks a lease, it makes another descriptor
 * ready (F_SETSIG). Natively the handler has run when it returns. (SIGIO of
 * pipes and sockets needs none of this: their calls are FIB_TELLS_FD.)
 */
static _Atomic bool signals;

bool fib_fd_signals(void)
{
	return fib_load(&signals, relaxed);
}

static bool makes_signals(int cmd)
{
	return cmd == F_NOTIFY || cmd == F_SETSIG || cmd == F_SETLEASE;
}

/* The kernel does not know a fiber: the signal goes to its process. */
static long set_owner(int fd, int cmd, long arg)
{
	struct f_owner_ex owner;

	if (cmd == F_SETOWN)
		return fib_raw(SYS_fcntl, fd, cmd,
			       fib_by_tid((int)arg) ? fib_raw(SYS_getpid) :
						      arg);
	if (fib_copy(&owner, (void *)arg, sizeof(owner)))
		return -EFAULT;
	if ((owner.type == F_OWNER_TID || owner.type == F_OWNER_PID) &&
	    fib_by_tid(owner.pid)) {
		owner.type = F_OWNER_PID;
		owner.pid = (int)fib_raw(SYS_getpid);
	}
	return fib_raw(SYS_fcntl, fd, F_SETOWN_EX, &owner);
}

long fib_sys_fcntl(int fd, int cmd, long arg)
{
	long r;

	if (fib_unlikely(fib_fd_is_ours(fd)))
		return -EBADF;
	if (cmd == F_SETLKW || cmd == F_OFD_SETLKW) {
		/* Most locks are free: ask first. */
		r = fib_raw(SYS_fcntl, fd,
			    cmd == F_SETLKW ? F_SETLK : F_OFD_SETLK, arg);
		if (r != -EAGAIN && r != -EACCES) {
			fib_signal_sync_handled(fib_self());
			return r;
		}
		return fib_blocking(SYS_fcntl, (long[6]){ fd, cmd, arg });
	}
	if (makes_signals(cmd))
		fib_store(&signals, true, relaxed);
	if (cmd == F_SETOWN || cmd == F_SETOWN_EX)
		return set_owner(fd, cmd, arg);
	r = fib_raw(SYS_fcntl, fd, cmd, arg);
	if (cmd == F_SETFL)
		fib_fd_changed();
	else if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		duplicated(r);
	return r;
}

long fib_sys_ioctl(int fd, unsigned cmd, long arg)
{
	long r;

	if (fib_unlikely(fib_fd_is_ours(fd)))
		return -EBADF;
	r = fib_job_ioctl(fd, cmd);
	if (r == 0)
		r = fib_raw(SYS_ioctl, fd, cmd, arg);
	if (cmd == FIONBIO)
		fib_fd_changed();
	return r;
}

long fib_sys_flock(int fd, int op)
{
	long r = fib_raw(SYS_flock, fd, op | 4 /* LOCK_NB */);

	if (r != -EWOULDBLOCK || (op & 4))
		return r;
	return fib_blocking(SYS_flock, (long[6]){ fd, op });
}

/* A FIFO's open waits for the other end; everything else is quick. */
long fib_sys_openat(int dir, const char *path, int flags, unsigned mode)
{
	long a[6] = { dir, (long)path, flags, mode };
	char own[FIB_PROCFS_PATH];

	if (fib_unlikely(fib_procfs_of_thread(path, flags, own)))
		a[1] = (long)own;
	return fib_raw_intr(&fib_self()->attention, SYS_openat, a);
}
