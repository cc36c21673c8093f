/* Numbers that a waiting call has taken, see reserved.h. */
#include <fcntl.h>
#include "runtime/chaos.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"
#include "runtime/reserved.h"
#include "runtime/sched.h" /* FIB_FD_MAX */

static _Atomic uint64_t taken[FIB_FD_MAX / 64] FIB_LARGE;
static _Atomic uint32_t ntaken;
static _Atomic bool used; /* ever */
static struct fib_lock lock = FIB_LOCK(RESERVED);
static int blank FIB_START = -1;

void fib_reserved_init(int fd)
{
	char path[FIB_FD_LINK];

	fib_fd_link(path, fd);
	blank = fib_fd_hide(
		(int)fib_raw(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC));
	fib_fd_movable(&blank);
}

void fib_reserved_fini(void)
{
	fib_fd_unhide(blank);
	blank = -1;
}

static void mark_locked(long fd)
{
	FIB_CHAOS_POINT(reserved_take);
	fib_or(&taken[fd / 64], 1ull << fd % 64, seq_cst);
	fib_add(&ntaken, 1, seq_cst);
}

static long take_locked(void)
{
	unsigned use = fib_fd_use();
	long fd = blank < 0 ? -ENOSYS :
			      fib_raw(SYS_fcntl, blank, F_DUPFD_CLOEXEC, 0);

	fib_fd_used(use);
	if (fd == -EMFILE || fd == -EINVAL) /* RLIMIT_NOFILE is 0 */
		return -EMFILE;
	if (fd >= (long)FIB_FD_MAX)
		fib_raw(SYS_close, fd);
	if (fd < 0 || fd >= (long)FIB_FD_MAX)
		return -ENOSYS;
	mark_locked(fd);
	return fd;
}

static void note_use(void)
{
	if (!fib_load(&used, relaxed))
		fib_store(&used, true, seq_cst);
}

int fib_reserved_take(void)
{
	long fd;

	note_use();
	fib_lock(&lock);
	fd = take_locked();
	fib_unlock(&lock);
	return (int)fd;
}

bool fib_reserved_hold(int fd)
{
	if ((unsigned)fd >= FIB_FD_MAX)
		return false;
	note_use();
	fib_lock(&lock);
	mark_locked(fd);
	fib_unlock(&lock);
	return true;
}

static void forget_locked(int at)
{
	fib_and(&taken[at / 64], ~(1ull << at % 64), seq_cst);
	fib_sub(&ntaken, 1, seq_cst);
	FIB_CHAOS_POINT(reserved_forget);
}

void fib_reserved_give(int at)
{
	fib_lock(&lock);
	forget_locked(at);
	fib_unlock(&lock);
}

int fib_reserved_fill(int at, int fd, int flags)
{
	long r;

	fib_lock(&lock);
	r = fib_raw(SYS_dup3, fd, at, flags);
	forget_locked(at);
	if (r < 0)
		fib_raw(SYS_close, at);
	fib_unlock(&lock);
	if (r >= 0)
		fib_raw(SYS_close, fd);
	return r < 0 ? fd : at;
}

int fib_reserved_open(int at, const char *path, int flags)
{
	long fd;

	fib_lock(&lock);
	forget_locked(at);
	fib_raw(SYS_close, at);
	fd = fib_raw(SYS_openat, AT_FDCWD, path, flags, 0);
	fib_unlock(&lock);
	return (int)fd;
}

void fib_reserved_free(int at)
{
	fib_lock(&lock);
	forget_locked(at);
	fib_raw(SYS_close, at);
	fib_unlock(&lock);
}

long fib_reserved_put(int from, int to, long nr, int flags)
{
	long r = -EBUSY;
	bool open;

	if (!fib_load(&used, seq_cst))
		return fib_raw(nr, from, to, flags);
	fib_lock(&lock);
	if (!fib_is_reserved(to)) {
		open = fib_raw(SYS_fcntl, to, F_GETFD) >= 0;
		r = open ? -EAGAIN : fib_raw(nr, from, to, flags);
	}
	fib_unlock(&lock);
	return r == -EAGAIN ? fib_raw(nr, from, to, flags) : r;
}

bool fib_is_reserved(int fd)
{
	return fib_unlikely(fib_load(&ntaken, relaxed)) &&
	       (unsigned)fd < FIB_FD_MAX &&
	       (fib_load(&taken[fd / 64], relaxed) >> fd % 64 & 1);
}

unsigned fib_reserved_next(unsigned fd, unsigned end)
{
	if (!fib_load(&ntaken, relaxed))
		return UINT_MAX;
	for (; fd < end && fd < FIB_FD_MAX; fd++) {
		if (!fib_load(&taken[fd / 64], relaxed))
			fd |= 63;
		else if (fib_is_reserved((int)fd))
			return fd;
	}
	return UINT_MAX;
}

void fib_reserved_leave(void)
{
	fib_store(&ntaken, 0, relaxed);
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(taken); i++)
		if (fib_load(&taken[i], relaxed))
			fib_store(&taken[i], 0, relaxed);
}

void fib_reserved_reset(void)
{
	unsigned fd = 0;

	blank = -1;
	fib_lock_init(&lock, RESERVED);
	while ((fd = fib_reserved_next(fd, FIB_FD_MAX)) != UINT_MAX)
		fib_reserved_free((int)fd);
}
