/*
 * What is known of each descriptor, and how it ends.
 *
 * The slot remembers the kind of file (found once by fstat) and attributes
 * (O_NONBLOCK, SO_RCVTIMEO, SO_SNDTIMEO) that decide how a call waits. Kind
 * belongs to the file and holds until the number is closed. Attributes belong
 * to the open file description, which other numbers and other processes may
 * share: a change through any number of this process starts a new attr_epoch,
 * and what is remembered counts only for descriptors born after the last fork
 * (share_epoch). Others are asked anew each time that a call would block.
 *
 * A fiber may leave the table of descriptors (CLOSE_RANGE_UNSHARE, unshare() of
 * CLONE_FILES): the same numbers are other files to it. It is dedicated then,
 * has nothing to do with the slots, and waits in the kernel.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include "hooks/hooks.h"
#include "runtime/chaos.h"

_Atomic bool fib_fd_lowat_used;
static _Atomic uint32_t attr_epoch = 1;
static _Atomic uint32_t share_epoch = 1;

void fib_fd_changed(void)
{
	fib_add(&attr_epoch, 1, seq_cst);
}

void fib_fd_unshared(void)
{
	fib_self()->own_files = true;
	fib_self()->plain |= FIB_FILES;
}

void fib_fd_shared(void)
{
	fib_add(&share_epoch, 1, seq_cst);
}

bool fib_fd_may_be_shared(void)
{
	return fib_load(&share_epoch, relaxed) != 1;
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

/* Meanwhile the number may be closed and become another file's. */
static bool learn_kind(struct fib_fd *s)
{
	for (;;) {
		uint32_t generation;
		uint8_t kind;

		fib_lock(&s->lock);
		generation = s->generation;
		fib_unlock(&s->lock);
		kind = find_kind(s->fd);
		FIB_CHAOS_POINT(kind_found);
		fib_lock(&s->lock);
		if (s->generation == generation) {
			s->kind = kind;
			fib_unlock(&s->lock);
			return kind != FIB_FD_UNKNOWN;
		}
		fib_unlock(&s->lock);
	}
}

struct fib_fd *fib_fd_know(int fd)
{
	struct fib_fd *s = fib_fd_get(fd);

	if (fib_unlikely(!s || fib_self()->own_files))
		return NULL;
	if (fib_unlikely(s->kind == FIB_FD_UNKNOWN)) {
		if (fib_fd_is_ours(fd) || !learn_kind(s))
			return NULL;
	}
	return s;
}

struct fib_fd *fib_fd_relearn(struct fib_fd *s)
{
	fib_lock(&s->lock);
	s->kind = FIB_FD_UNKNOWN;
	fib_unlock(&s->lock);
	return fib_fd_know(s->fd);
}

static bool is_socket(const struct fib_fd *s)
{
	return s->kind == FIB_FD_TCP || s->kind == FIB_FD_STREAM ||
	       s->kind == FIB_FD_DGRAM;
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
 * The number may be closed and become another file's while this looks, and the
 * close() of the file before it may have yet to say that it is over: generation
 * tells of both. Until a kind is known again, it may be a socket's.
 */
static void refresh(struct fib_fd *s)
{
	uint64_t rcv, snd;
	uint32_t now, generation;
	bool done = false;
	int lowat;
	long fl;

	while (!done) {
		now = fib_load(&attr_epoch, acquire);
		if (s->attr_epoch == now &&
		    s->born_epoch == fib_load(&share_epoch, relaxed))
			return;
		fib_lock(&s->lock);
		generation = s->generation;
		fib_unlock(&s->lock);
		fl = fib_raw(SYS_fcntl, s->fd, F_GETFL);
		rcv = snd = FIB_NEVER;
		if (is_socket(s) || s->kind == FIB_FD_UNKNOWN) {
			rcv = sock_timeout(s->fd, SO_RCVTIMEO);
			snd = sock_timeout(s->fd, SO_SNDTIMEO);
		}
		lowat = fib_load(&fib_fd_lowat_used, relaxed) ?
				sock_opt(s->fd, SO_RCVLOWAT) :
				1;
		FIB_CHAOS_POINT(attr_found);
		fib_lock(&s->lock);
		done = s->generation == generation;
		if (done) {
			s->nonblock = fl >= 0 && (fl & O_NONBLOCK);
			s->access = fl >= 0 ? fl & O_ACCMODE : O_RDWR;
			s->lowat = lowat;
			s->rcvtimeo_ns = rcv;
			s->sndtimeo_ns = snd;
			s->timed = (rcv & snd) != FIB_NEVER;
			s->attr_epoch = now;
		}
		fib_unlock(&s->lock);
	}
}

bool fib_fd_nonblock(struct fib_fd *s)
{
	refresh(s);
	return s->nonblock;
}

bool fib_fd_timed(struct fib_fd *s)
{
	refresh(s);
	return s->timed;
}

bool fib_fd_lowat(struct fib_fd *s)
{
	refresh(s);
	return s->lowat > 1;
}

uint64_t fib_fd_deadline(struct fib_fd *s, uint8_t ev)
{
	uint64_t ns;

	refresh(s);
	if (fib_likely(!s->timed))
		return FIB_NEVER;
	ns = ev == FIB_EV_READ ? s->rcvtimeo_ns : s->sndtimeo_ns;
	return ns == FIB_NEVER ? FIB_NEVER : fib_deadline_in(ns);
}

void fib_fd_born(int fd, uint8_t kind)
{
	struct fib_fd *s = fib_fd_get(fd);

	if (!s || fib_self()->own_files)
		return;
	/* It was closed where nobody saw it: io_uring, an instruction. */
	if (fib_unlikely(s->registered))
		fib_iom_forget(s, false);
	s->kind = kind;
	s->born_epoch = fib_load(&share_epoch, relaxed);
	s->attr_epoch = 0;
}

void fib_fd_accepted(int fd, const struct fib_fd *listener)
{
	struct fib_fd *s = fib_fd_get(fd);

	fib_fd_born(fd, listener->kind);
	if (s)
		s->impatient = listener->impatient;
}

/* getsockopt() shows such a limit as none. */
void fib_fd_limited(int fd, uint8_t ev, bool negative)
{
	struct fib_fd *s = fib_fd_know(fd);

	if (!s || (!negative && !(s->impatient & ev)))
		return;
	fib_lock(&s->lock);
	if (negative)
		s->impatient |= ev;
	else
		s->impatient &= (uint8_t)~ev;
	fib_unlock(&s->lock);
}

/* --- the end of a descriptor --------------------------------------------- */

static void forget(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd);

	if (!s || fib_self()->own_files)
		return;
	if (fib_iom_closing(s))
		fib_iom_evict(s);
	fib_iom_forget(s, fib_fd_may_be_shared());
}

/* What was done meanwhile with the old file is undone. */
static void closed(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd);

	if (s && !fib_self()->own_files)
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

/* Ours stay out of reach: the range is closed piece by piece around them. */
long fib_sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	unsigned from = first, ours;
	long r = 0;

	if (first > last ||
	    (flags & ~(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC)))
		return fib_raw(SYS_close_range, first, last, flags);
	if (flags & CLOSE_RANGE_UNSHARE) {
		r = fib_sys_unshare(CLONE_FILES);
		if (r)
			return r;
	}
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
	bool wanted = closes && fib_fd_is_ours(to);
	long r;

	if (fib_fd_is_ours(from))
		return -EBADF;
	if (wanted)
		fib_fd_yield(to);
	if (fib_fd_is_ours(to))
		return -EBADF;
	if (closes)
		forget(to);
	r = duplicated(fib_raw(nr, from, to, flags));
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
			fib_signal_catch_up(fib_self());
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

long fib_sys_setrlimit(int resource, const void *new)
{
	return fib_sys_prlimit64(0, resource, new, NULL);
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
