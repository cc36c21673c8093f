/* Both ends at home, see fd.h: which number is the other end's. */
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"

/*
 * Pairs of numbers that were made before the start, when nobody sees how numbers are
 * closed or duplicated: the last of them. 0: none.
 */
#define EARLY 64
static _Atomic uint64_t early[EARLY];
static _Atomic uint32_t earlies;

void fib_fd_met_early(int a, int b)
{
	uint32_t n = fib_add(&earlies, 1, relaxed);

	fib_store(&early[n % EARLY], (uint64_t)(a + 1) << 32 | (uint32_t)b,
		  relaxed);
}

/* -1: @fd is none of them. */
static int met_early(int fd)
{
	uint32_t n = fib_load(&earlies, relaxed);

	for (uint32_t i = 0; i < n && i < EARLY; i++) {
		uint64_t pair = fib_load(&early[(n - 1 - i) % EARLY], relaxed);
		int a = (int)(pair >> 32) - 1, b = (int)(uint32_t)pair;

		if (a == fd || b == fd)
			return a == fd ? b : a;
	}
	return -1;
}

/* The other end of one that is older than the start and was not closed since. */
static struct fib_fd *find_early(int fd, uint8_t kind, uint32_t files)
{
	int other = files ? -1 : met_early(fd);
	struct fib_fd *s = other < 0 ? NULL : fib_fd_get(other);

	return s && !fib_load(&s->files, relaxed) &&
			       fib_fd_find_kind(other) == kind ?
		       s :
		       NULL;
}

struct fib_peer fib_fd_find_peer(struct fib_fd *s, uint8_t kind, uint32_t files)
{
	switch (kind) {
	case FIB_FD_NOWAIT: /* an eventfd, or nobody writes to it */
		return (struct fib_peer){ s, files };
	case FIB_FD_PIPE:
	case FIB_FD_STREAM:
	case FIB_FD_DGRAM:
		return (struct fib_peer){ find_early(s->fd, kind, files), 0 };
	default:
		return (struct fib_peer){ 0 };
	}
}

struct fib_peer fib_fd_peer_of(int fd)
{
	const struct fib_fd *s = fib_fd_peek(fd);
	const struct fib_known *k = s ? fib_fd_of(s) : NULL;

	return k ? fib_fd_peer(k) : (struct fib_peer){ 0 };
}

static void point(int fd, int peer)
{
	struct fib_fd *s = fib_fd_peek(fd), *to = fib_fd_peek(peer);
	struct fib_known *k = s ? fib_fd_of(s) : NULL;

	if (!k || !to)
		return;
	fib_lock(&k->lock);
	fib_fd_set_peer_locked(
		k, (struct fib_peer){ to, fib_load(&to->files, acquire) });
	fib_unlock(&k->lock);
}

void fib_fd_meet(int a, int b)
{
	if (fib_self()->call.own_files)
		return;
	point(a, b);
	point(b, a);
}
