/* Both ends at home, see fd.h: which number is the other end's. */
#include <netinet/in.h>
#include <string.h>
#include "hooks/core/hook.h"
#include "hooks/fd/known_int.h"

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
	case FIB_FD_LOCAL:
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

/*
 * Connections of TCP and UDP within the process. A number that was used for a while
 * leaves itself where all find it who have the same two addresses, whichever is their
 * own one, unless nobody has waited for it: a duplicate that is written to alone. That
 * one may come too early, and looks again.
 */
struct address {
	uint8_t ip[16]; /* as of IPv6 */
	uint16_t port;
};
struct route {
	struct address own, other;
};

#define ROUTES 1024
static _Atomic int used[ROUTES] FIB_LARGE; /* numbers, plus 1 */

static bool find_address(long nr, int fd, struct address *a)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} u;
	int len = sizeof(u);

	memset(a, 0, sizeof(*a));
	if (fib_raw(nr, fd, &u, &len))
		return false;
	if (u.any.sa_family == AF_INET) {
		memset(a->ip + 10, 0xff, 2);
		memcpy(a->ip + 12, &u.v4.sin_addr, 4);
		a->port = u.v4.sin_port;
		return true;
	}
	if (u.any.sa_family != AF_INET6)
		return false;
	memcpy(a->ip, &u.v6.sin6_addr, sizeof(a->ip));
	a->port = u.v6.sin6_port;
	return true;
}

static bool find_route(int fd, struct route *r)
{
	return find_address(SYS_getsockname, fd, &r->own) &&
	       find_address(SYS_getpeername, fd, &r->other);
}

static bool is_same(const struct address *a, const struct address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static uint32_t hash(const struct address *a)
{
	uint32_t h = a->port;

	for (unsigned i = 0; i < sizeof(a->ip); i++)
		h = (h ^ a->ip[i]) * 16777619u; /* as FNV-1a does */
	return h ^ h >> 16;
}

static void look_for_peer(struct fib_known *k)
{
	struct route own, r;
	_Atomic int *at;
	int other;

	if (!find_route(k->fd, &own))
		return;
	at = &used[(hash(&own.own) + hash(&own.other)) % ROUTES];
	other = (k->slot->registered & FIB_IO_READ ?
			 fib_xchg(at, k->fd + 1, acq_rel) :
			 fib_load(at, acquire)) -
		1;
	if (other < 0 || other == k->fd || !find_route(other, &r))
		return;
	if (is_same(&r.own, &own.other) && is_same(&r.other, &own.own)) {
		point(k->fd, other);
		if (k->slot->registered & FIB_IO_READ)
			point(other, k->fd);
	} else if (is_same(&r.own, &own.own) && is_same(&r.other, &own.other)) {
		const struct fib_known *same = fib_fd_record_known(other);

		fib_lock(&k->lock);
		fib_fd_set_peer_locked(k, fib_fd_peer(same));
		fib_unlock(&k->lock);
	}
}

void fib_fd_seek_peer(struct fib_known *k, uint32_t missed)
{
	if (!fib_cas(&k->peer_files, &missed, missed + 1, relaxed) ||
	    (missed + 1) % FIB_PEER_SEEK || fib_fd_listens(k) ||
	    !fib_fd_asks() || fib_self()->call.own_files)
		return;
	if (k->slot->registered & FIB_IO_READ)
		fib_store(&k->peer_files, FIB_PEER_LAST, relaxed);
	look_for_peer(k);
}
