/* What is known of each descriptor, see fd.h. */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "runtime/chaos.h"
#include "runtime/hidden.h"

_Atomic bool fib_fd_lowat_used;
static _Atomic uint32_t attr_epoch = 1;
static _Atomic uint32_t share_epoch = 1;

void fib_fd_changed(void)
{
	fib_add(&attr_epoch, 1, seq_cst);
}

void fib_fd_unshared(void)
{
	fib_self()->thread.own_files = true;
	fib_self()->thread.plain |= FIB_FILES;
}

void fib_fd_shared(void)
{
	fib_add(&share_epoch, 1, seq_cst);
}

bool fib_fd_may_be_shared(void)
{
	return fib_load(&share_epoch, relaxed) != 1;
}

/* By number, in chunks as the slots are. */
static struct fib_known *_Atomic table[FIB_FD_MAX / FIB_FD_CHUNK];
static struct fib_lock table_lock = FIB_LOCK(RECORDS);

static struct fib_known *peek(int fd)
{
	struct fib_known *c;

	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	c = fib_load(&table[(unsigned)fd >> FIB_FD_CHUNK_BITS], acquire);
	return c ? &c[(unsigned)fd & (FIB_FD_CHUNK - 1)] : NULL;
}

static struct fib_known *chunk_create(int first)
{
	struct fib_known *c =
		fib_fd_get(first) ? fib_pages_alloc(FIB_FD_CHUNK * sizeof(*c)) :
				    NULL;

	for (int n = 0; c && n < (int)FIB_FD_CHUNK; n++) {
		c[n].fd = first + n;
		fib_lock_init(&c[n].lock, RECORD);
		c[n].slot = fib_fd_get(first + n);
		/* none yet */
		fib_store(&c[n].files, fib_load(&c[n].slot->files, relaxed) - 1,
			  relaxed);
	}
	return c;
}

/* NULL: there is no memory, or no such number. */
static struct fib_known *get(int fd)
{
	struct fib_known *k = peek(fd);
	unsigned i = (unsigned)fd >> FIB_FD_CHUNK_BITS;

	if (fib_likely(k))
		return k;
	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	fib_lock(&table_lock);
	if (!fib_load(&table[i], relaxed))
		fib_store(&table[i], chunk_create((int)(i * FIB_FD_CHUNK)),
			  release);
	fib_unlock(&table_lock);
	return peek(fd);
}

static int sock_opt(int fd, int name)
{
	int val = 0, len = sizeof(val);
	long r = fib_raw(SYS_getsockopt, fd, SOL_SOCKET, name, &val, &len);

	return r < 0 ? (int)r : val;
}

static uint8_t find_kind(int fd)
{
	struct stat st;
	int domain, type;

	if (fib_raw(SYS_fstat, fd, &st) < 0)
		return FIB_FD_UNKNOWN;
	switch (st.st_mode & S_IFMT) {
	case S_IFSOCK:
		domain = sock_opt(fd, SO_DOMAIN);
		type = sock_opt(fd, SO_TYPE);
		if (sock_opt(fd, SO_RCVLOWAT) > 1)
			fib_store(&fib_fd_lowat_used, true, relaxed);
		if (type == SOCK_STREAM &&
		    (domain == AF_INET || domain == AF_INET6) &&
		    sock_opt(fd, SO_PROTOCOL) == IPPROTO_TCP)
			return FIB_FD_TCP;
		return type == SOCK_STREAM && domain == AF_UNIX ?
			       FIB_FD_STREAM :
			       FIB_FD_DGRAM;
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK:
	case S_IFLNK:
		return FIB_FD_ALWAYS;
	case S_IFCHR:
		return FIB_FD_POLLED;
	default:
		return FIB_FD_NOWAIT;
	}
}

/* Nothing is known of file number @files yet. */
static void begin_locked(struct fib_known *k, uint32_t files)
{
	if (fib_load(&k->files, relaxed) == files)
		return;
	k->kind = FIB_FD_UNKNOWN;
	k->attr_epoch = k->born_epoch = 0;
	k->listening = k->tells_room = k->tells_end = false;
	k->polled = 0;
	/* It cannot be asked, and may have been set since the number was left. */
	if ((fib_load(&k->files, relaxed) ^ files) >= FIB_FILE_LEFT)
		k->impatient = 0;
	k->tty = FIB_TTY_UNKNOWN;
	k->lowat = 1;
	/* pairs with kind_of() */
	fib_store(&k->files, files, release);
}

static bool is_current(const struct fib_known *k)
{
	return fib_load(&k->files, acquire) ==
	       fib_load(&k->slot->files, relaxed);
}

static uint8_t kind_of(const struct fib_known *k)
{
	return fib_likely(is_current(k)) ? k->kind : FIB_FD_UNKNOWN;
}

/* Meanwhile the number may be closed and become another file's. */
static bool learn_kind(struct fib_known *k)
{
	for (;;) {
		uint32_t files = fib_load(&k->slot->files, acquire);
		uint8_t kind = find_kind(k->fd);
		bool same;

		FIB_CHAOS_POINT(kind_found);
		fib_lock(&k->lock);
		same = fib_load(&k->slot->files, acquire) == files;
		if (same) {
			begin_locked(k, files);
			k->kind = kind;
		}
		fib_unlock(&k->lock);
		if (same)
			return kind != FIB_FD_UNKNOWN;
	}
}

struct fib_known *fib_fd_know(int fd)
{
	struct fib_known *k = get(fd);

	if (fib_unlikely(!k || fib_self()->thread.own_files))
		return NULL;
	if (fib_unlikely(kind_of(k) == FIB_FD_UNKNOWN)) {
		if (fib_fd_is_ours(fd) || !learn_kind(k))
			return NULL;
	}
	return k;
}

struct fib_known *fib_fd_relearn(struct fib_known *k)
{
	fib_lock(&k->lock);
	k->kind = FIB_FD_UNKNOWN;
	fib_unlock(&k->lock);
	return fib_fd_know(k->fd);
}

struct fib_known *fib_fd_of(const struct fib_fd *s)
{
	return peek(s->fd);
}

uint8_t fib_fd_kind(int fd)
{
	const struct fib_known *k = peek(fd);

	return k ? kind_of(k) : FIB_FD_UNKNOWN;
}

static uint64_t sock_timeout(int fd, int name)
{
	struct timeval tv = { 0, 0 };
	int len = sizeof(tv);

	fib_raw(SYS_getsockopt, fd, SOL_SOCKET, name, &tv, &len);
	if (tv.tv_sec == 0 && tv.tv_usec == 0)
		return FIB_NEVER;
	return fib_timeval_ns(&tv);
}

/*
 * The number may be closed and become another file's while this looks. Until a
 * kind is known again, it may be a socket's.
 */
static void refresh(struct fib_known *k)
{
	uint32_t now, files;
	uint64_t rcv, snd;
	bool done = false;
	int lowat;
	long fl;

	while (!done) {
		now = fib_load(&attr_epoch, acquire);
		if (is_current(k) && k->attr_epoch == now &&
		    k->born_epoch == fib_load(&share_epoch, relaxed))
			return;
		files = fib_load(&k->slot->files, acquire);
		fl = fib_raw(SYS_fcntl, k->fd, F_GETFL);
		rcv = snd = FIB_NEVER;
		if (fib_fd_is_socket(k) || kind_of(k) == FIB_FD_UNKNOWN) {
			rcv = sock_timeout(k->fd, SO_RCVTIMEO);
			snd = sock_timeout(k->fd, SO_SNDTIMEO);
		}
		lowat = fib_load(&fib_fd_lowat_used, relaxed) ?
				sock_opt(k->fd, SO_RCVLOWAT) :
				1;
		FIB_CHAOS_POINT(attr_found);
		fib_lock(&k->lock);
		done = fib_load(&k->slot->files, acquire) == files;
		if (done) {
			begin_locked(k, files);
			k->nonblock = fl >= 0 && (fl & O_NONBLOCK);
			k->access = fl >= 0 ? fl & O_ACCMODE : O_RDWR;
			k->lowat = lowat;
			k->rcvtimeo_ns = rcv;
			k->sndtimeo_ns = snd;
			k->timed = (rcv & snd) != FIB_NEVER;
			k->attr_epoch = now;
		}
		fib_unlock(&k->lock);
	}
}

bool fib_fd_nonblock(struct fib_known *k)
{
	refresh(k);
	return k->nonblock;
}

bool fib_fd_timed(struct fib_known *k)
{
	refresh(k);
	return k->timed;
}

bool fib_fd_lowat(struct fib_known *k)
{
	refresh(k);
	return k->lowat > 1;
}

uint64_t fib_fd_deadline(struct fib_known *k, uint8_t ev)
{
	uint64_t ns;

	refresh(k);
	if (fib_likely(!k->timed))
		return FIB_NEVER;
	ns = ev == FIB_IO_READ ? k->rcvtimeo_ns : k->sndtimeo_ns;
	return ns == FIB_NEVER ? FIB_NEVER : fib_deadline_in(ns);
}

void fib_fd_born(int fd, uint8_t kind)
{
	struct fib_known *k = get(fd);

	if (!k || fib_self()->thread.own_files)
		return;
	/* It was closed where nobody saw it: io_uring, an instruction. */
	fib_iom_opened(k->slot);
	fib_lock(&k->lock);
	begin_locked(k, fib_load(&k->slot->files, acquire));
	k->kind = kind;
	k->born_epoch = fib_load(&share_epoch, relaxed);
	k->attr_epoch = 0;
	fib_unlock(&k->lock);
}

void fib_fd_accepted(int fd, const struct fib_known *listener)
{
	struct fib_known *k;

	fib_fd_born(fd, listener->kind);
	k = peek(fd);
	if (k)
		k->impatient = listener->impatient;
}

/* getsockopt() shows such a limit as none. */
void fib_fd_limited(int fd, uint8_t ev, bool negative)
{
	struct fib_known *k = fib_fd_know(fd);

	if (!k || (!negative && !(k->impatient & ev)))
		return;
	fib_lock(&k->lock);
	if (negative)
		k->impatient |= ev;
	else
		k->impatient &= (uint8_t)~ev;
	fib_unlock(&k->lock);
}

bool fib_fd_copy_known(struct fib_fd *from, struct fib_fd *to)
{
	const struct fib_known *old = peek(from->fd);
	struct fib_known *new = get(to->fd);

	if (!new)
		return false;
	fib_lock(&new->lock);
	begin_locked(new, fib_load(&to->files, acquire));
	if (old && is_current(old)) {
		new->kind = old->kind;
		new->impatient = old->impatient;
	}
	fib_unlock(&new->lock);
	return true;
}

void fib_fd_known_reset(void)
{
	fib_lock_init(&table_lock, RECORDS);
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(table); i++) {
		struct fib_known *c = fib_load(&table[i], relaxed);

		for (unsigned n = 0; c && n < FIB_FD_CHUNK; n++)
			fib_lock_init(&c[n].lock, RECORD);
	}
}
