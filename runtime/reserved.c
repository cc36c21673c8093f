/* Numbers that a waiting call has taken, see reserved.h. */
#include <fcntl.h>
#include "runtime/chaos.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"
#include "runtime/reserved.h"
#include "runtime/sched.h" /* FIB_FD_MAX */

static _Atomic uint64_t taken[FIB_FD_MAX / 64];
static _Atomic uint32_t ntaken;
static _Atomic uint32_t replacing, replaced;
static int blank = -1;

void fib_reserved_init(int fd)
{
	char path[32] = "/proc/self/fd/";

	path[14 + fib_put_decimal(path + 14, (unsigned)fd)] = '\0';
	blank = fib_fd_hide(
		(int)fib_raw(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC));
	fib_fd_movable(&blank);
}

void fib_reserved_fini(void)
{
	fib_fd_unhide(blank);
	blank = -1;
}

/* False: it has been lost to somebody. */
static bool forget(int at)
{
	uint64_t bit = 1ull << at % 64;

	if (!(fib_and(&taken[at / 64], ~bit, seq_cst) & bit))
		return false;
	fib_sub(&ntaken, 1, seq_cst);
	return true;
}

int fib_reserved_take(void)
{
	uint32_t before = fib_load(&replaced, seq_cst);
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
	FIB_CHAOS_POINT(reserved_take);
	fib_or(&taken[fd / 64], 1ull << fd % 64, seq_cst);
	fib_add(&ntaken, 1, seq_cst); /* (A) */
	if (fib_likely(!fib_load(&replacing, seq_cst) &&
		       fib_load(&replaced, seq_cst) == before))
		return (int)fd;
	if (fib_raw(SYS_fcntl, fd, F_GETFL) & O_PATH) /* (B) */
		return (int)fd;
	forget((int)fd);
	return fib_reserved_take();
}

void fib_reserved_replace(void)
{
	fib_add(&replacing, 1, seq_cst); /* (C) */
}

void fib_reserved_replaced(int to, bool done)
{
	if (done && fib_is_reserved(to)) /* (D) */
		forget(to);
	fib_add(&replaced, 1, seq_cst);
	fib_sub(&replacing, 1, seq_cst);
}

int fib_reserved_fill(int at, int fd, int flags)
{
	long r;

	if (fib_unlikely(!fib_is_reserved(at)))
		return fd;
	r = fib_raw(SYS_dup3, fd, at, flags);
	forget(at);
	fib_raw(SYS_close, r < 0 ? at : fd);
	return r < 0 ? fd : at;
}

void fib_reserved_free(int at)
{
	if (forget(at))
		fib_raw(SYS_close, at);
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

void fib_reserved_reset(void)
{
	unsigned fd = 0;

	blank = -1;
	fib_store(&replacing, 0, relaxed);
	while ((fd = fib_reserved_next(fd, FIB_FD_MAX)) != UINT_MAX)
		fib_reserved_free((int)fd);
}
