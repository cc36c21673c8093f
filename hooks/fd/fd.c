/* How a descriptor ends, and calls on it that are neither read nor written. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/timerfd.h>
#include "hooks/core/hook.h"
#include "hooks/core/threads.h"
#include "hooks/fd/fd.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/reserved.h"
#include "runtime/trywait.h"

/* Who waits takes along what is known. */
struct fib_fd *fib_fd_refuge(struct fib_fd *s)
{
	struct fib_fd *to = fib_iom_refuge(s);

	if (to && !fib_fd_duplicated(s->fd, fib_fd_files(s->fd), to->fd)) {
		fib_fd_unhide(to->fd);
		to = NULL;
	}
	return to;
}

bool fib_fd_hold(struct fib_fd *s, struct fib_hold *h, uint32_t closes)
{
	bool held = fib_iom_hold(s, h, closes);
	struct fib_fd *to;

	/* A close waits for the end of the try. */
	if (!held && !(closes & FIB_CLOSING)) {
		to = fib_fd_refuge(s);
		held = to && fib_iom_move(s, h, to);
	}
	fib_iom_leave(s);
	return held;
}

void fib_fd_try(struct fib_place *p, int fd)
{
	p->slot = fib_self()->call.own_files ? NULL : fib_fd_get(fd);
	if (p->slot)
		p->closes = fib_iom_enter(p->slot);
}

void fib_fd_tried(struct fib_place *p)
{
	if (p->slot)
		fib_iom_leave(p->slot);
}

/*
 * The process's locks go with any number of the file, a duplicate's as well; and a
 * lock that has come after its number was closed is given back (fcntl_setlk()).
 */
static bool stays(const long nr, const long a[6])
{
	return nr != SYS_fcntl || a[1] != F_SETLKW;
}

long fib_fd_in_line(struct fib_place *p, uint64_t deadline_ns, long nr,
		    const long a[6])
{
	struct fib_known *k = p->slot ? fib_fd_know((int)a[0]) : NULL;
	long r = -FIB_ERESTARTNOINTR;
	struct fib_hold hold;
	struct fib_desc *d;

	if (k && (nr == SYS_flock || nr == SYS_fcntl)) {
		p->owner = d = fib_load(&k->desc, acquire);
		p->keeps = d && stays(nr, a);
		/* What the first one waits for may be this one's own lock. */
		if (d && nr == SYS_fcntl && a[1] == F_OFD_SETLKW &&
		    fib_load(&d->locked, relaxed))
			p->key[4] ^= (uint64_t)d << 16;
	}
	if (!k || !fib_fd_file(k, p->key)) {
		fib_fd_tried(p);
		return fib_blocking(nr, a);
	}
	if (!stays(nr, a)) {
		fib_fd_tried(p);
		return fib_line_call(p, deadline_ns, nr, a);
	}
	if (fib_fd_hold(p->slot, &hold, p->closes)) {
		fib_self()->io.hold = &hold;
		r = fib_line_call(p, deadline_ns, nr, a);
		if (fib_self()->io.hold)
			fib_iom_let_go(&hold);
		fib_self()->io.hold = NULL;
	}
	return r;
}

/* None is where main has left the runtime in this call, CLOSE_RANGE_UNSHARE. */
static bool has_common_files(const struct fib *f)
{
	return f && !f->call.own_files;
}

/*
 * The caller has made @fd ready for somebody who waits there, perhaps, and closes it now.
 * Natively that one has its file, and gets what it has waited for. Here it has been woken,
 * is in the file's queue no more, and makes its call again by the number: so it goes
 * first. It is in that call until it makes another one or is in none. Not for ever: it
 * may be a guess, of one that has been there before. tests/model/told.pml.
 */
#define COMES_NS 50000000u

static bool comes(const struct fib *f)
{
	switch (fib_load(&f->state, acquire)) { /* run(), runtime/sched.c */
	case FIB_IS_READY:
		return true;
	case FIB_IS_RUNNING:
		return fib_load(&f->hook.in_hook, relaxed) &&
		       !fib_load(fib_shared(&f->hook.calls), relaxed);
	}
	return false;
}

static void see_to(struct fib_fd *s)
{
	const struct fib *f;
	uint64_t until = 0;

	if (!fib_load(fib_shared(&s->woken), relaxed))
		return;
	f = fib_iom_woken(s);
	if (!f)
		return;
	while (f != fib_self() && comes(f)) {
		uint64_t now = fib_now_ns();

		if (!until)
			until = now + COMES_NS;
		if (now > until)
			break;
		fib_sched_yield();
	}
	fib_iom_seen_to(s, f);
}

static void let_come(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd);

	if (s && has_common_files(fib_self()))
		see_to(s);
}

static void forget(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd), *to;
	int waited_for;

	if (!s || !has_common_files(fib_self()))
		return;
	while ((waited_for = fib_iom_closing_seen(s)) < 0)
		see_to(s);
	if (waited_for) {
		to = fib_fd_refuge(s);
		/* The duplicate's first event is of what was there before. */
		if (to)
			to->had = fib_io_ready(fd, POLLIN | POLLRDHUP);
		fib_iom_evict(s, to);
	}
	fib_iom_forget(s, fib_fd_has_others(fd));
	fib_fd_let_go(fd);
}

/* What was done meanwhile with the old file is undone. */
static void closed(int fd)
{
	struct fib_fd *s = fib_fd_peek(fd);

	if (s && has_common_files(fib_self()))
		fib_iom_closed(s);
}

long fib_sys_close(int fd)
{
	struct fib_peer peer;
	long r;

	if (fib_unlikely(fib_fd_is_ours(fd)))
		return -EBADF;
	let_come(fd);
	peer = fib_fd_peer_of(fd);
	forget(fd);
	r = fib_slow_pass(SYS_close, (long[6]){ fd }); /* SO_LINGER */
	closed(fd);
	fib_fd_hint(peer, FIB_IO_READ);
	fib_fd_hint(peer, FIB_IO_WRITE);
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

	if (closes) {
		each(from, to, let_come);
		each(from, to, forget);
	}
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

_Static_assert(SOCK_NONBLOCK == O_NONBLOCK, "flags of either");

/* As the kernel, which makes them before it finds that nobody can be told. */
long fib_fd_pair(const int fd[2], uint8_t kind, int first, int second,
		 int flags, int *user)
{
	if (fib_copy(user, fd, 2 * sizeof(*fd))) {
		fib_raw(SYS_close, fd[0]);
		fib_raw(SYS_close, fd[1]);
		return -EFAULT;
	}
	fib_fd_born(fd[0], kind, first | (flags & O_NONBLOCK), true);
	fib_fd_born(fd[1], kind, second | (flags & O_NONBLOCK), true);
	fib_fd_meet(fd[0], fd[1]);
	return 0;
}

long fib_sys_pipe(int *user)
{
	int fd[2];
	long r = fib_raw(SYS_pipe, fd);

	return r ? r :
		   fib_fd_pair(fd, FIB_FD_PIPE, O_RDONLY, O_WRONLY, 0, user);
}

long fib_sys_pipe2(int *user, int flags)
{
	int fd[2];
	long r = fib_raw(SYS_pipe2, fd, flags);

	if (r == 0)
		r = fib_fd_pair(fd, FIB_FD_PIPE, O_RDONLY, O_WRONLY, flags,
				user);
	/* Each packet ends a read. */
	if (r == 0 && (flags & (O_DIRECT | O_EXCL)) && fib_fd_get(fd[0]))
		fib_store(&fib_fd_get(fd[0])->untrusted, true, relaxed);
	return r;
}

_Static_assert(EFD_NONBLOCK == O_NONBLOCK && TFD_NONBLOCK == O_NONBLOCK,
	       "flags");

/* Its other end is itself. */
static long own_end(long fd, int flags)
{
	if (fd >= 0) {
		fib_fd_born((int)fd, FIB_FD_NOWAIT,
			    O_RDWR | (flags & O_NONBLOCK), true);
		fib_fd_meet((int)fd, (int)fd);
	}
	return fd;
}

long fib_sys_eventfd2(unsigned value, int flags)
{
	return own_end(fib_raw(SYS_eventfd2, value, flags), flags);
}

long fib_sys_timerfd_create(int clock, int flags)
{
	return own_end(fib_raw(SYS_timerfd_create, clock, flags), flags);
}

long fib_sys_memfd_create(const char *name, unsigned flags)
{
	long fd = fib_raw(SYS_memfd_create, name, flags);

	if (fd >= 0)
		fib_fd_born((int)fd, FIB_FD_ALWAYS, O_RDWR, true);
	return fd;
}

/* Another process has it too, if it is not this one itself. */
long fib_sys_pidfd_getfd(int pidfd, int fd, unsigned flags)
{
	long r = fib_raw(SYS_pidfd_getfd, pidfd, fd, flags);

	if (r >= 0)
		fib_fd_shared();
	return r;
}

/* @r may be a second number of the file that @from had. */
static long duplicated(int from, uint32_t files, long r)
{
	if (r >= 0 && r != from)
		fib_fd_duplicated(from, files, (int)r);
	return r;
}

long fib_sys_dup(int fd)
{
	uint32_t files = fib_fd_files(fd);

	return fib_fd_is_ours(fd) ? -EBADF :
				    duplicated(fd, files, fib_raw(SYS_dup, fd));
}

/* Before anything is closed: ksys_dup3() of fs/file.c. */
static bool is_refused(int from, int to, int flags)
{
	struct rlimit lim = { .rlim_cur = RLIM_INFINITY };

	if (from == to || (flags & ~O_CLOEXEC))
		return true;
	if (fib_filtered())
		return false;
	if (fib_fd_peek(to))
		fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	return (unsigned)to >= lim.rlim_cur ||
	       fib_raw(SYS_fcntl, from, F_GETFD) < 0;
}

/*
 * Programs ask what they have opened: then nobody has to do so for the first read. By way
 * of here, since others may write the program's memory.
 */
static long stat_open(int fd, void *user, unsigned nr, long a[6], int at)
{
	uint32_t files;
	bool learns = fib_fd_is_unknown(fd, &files);
	struct stat st;
	long r;

	if (learns)
		a[at] = (long)&st;
	r = fib_slow_pass_intr(nr, a);
	if (!learns || r)
		return r;
	fib_fd_shown(fd, files, &st);
	return fib_copy(user, &st, sizeof(st)) ? -EFAULT : 0;
}

static bool is_of_number(const char *path, int flags)
{
	char c;

	return (flags & AT_EMPTY_PATH) && !fib_copy(&c, path, 1) && !c;
}

long fib_sys_fstat(int fd, void *st)
{
	return stat_open(fd, st, SYS_fstat, (long[6]){ fd, (long)st }, 1);
}

long fib_sys_newfstatat(int dir, const char *path, void *st, int flags)
{
	long a[6] = { dir, (long)path, (long)st, flags };

	return is_of_number(path, flags) ?
		       stat_open(dir, st, SYS_newfstatat, a, 2) :
		       fib_slow_pass_intr(SYS_newfstatat, a);
}

long fib_sys_statx(int dir, const char *path, int flags, unsigned mask,
		   void *user)
{
	long a[6] = { dir, (long)path, flags, mask, (long)user };
	struct statx x;
	struct stat st;
	uint32_t files;
	long r;

	if (!is_of_number(path, flags) || !fib_fd_is_unknown(dir, &files))
		return fib_slow_pass_intr(SYS_statx, a);
	a[4] = (long)&x;
	r = fib_slow_pass_intr(SYS_statx, a);
	if (r)
		return r;
	st.st_mode = x.stx_mode;
	st.st_dev = makedev(x.stx_dev_major, x.stx_dev_minor);
	if (x.stx_mask & STATX_TYPE)
		fib_fd_shown(dir, files, &st);
	return fib_copy(user, &x, sizeof(x)) ? -EFAULT : 0;
}

static long dup_onto(int from, int to, long nr, int flags)
{
	bool closes = !is_refused(from, to, flags);
	bool wanted = closes && fib_fd_is_hidden(to), moved = false;
	uint32_t files;
	long r;

	if (closes)
		let_come(to);
	files = fib_fd_files(from);
	if (fib_fd_is_ours(from))
		return -EBADF;
	if (closes && fib_is_reserved(to))
		return -EBUSY;
	FIB_CHAOS_POINT(dup_onto);
	if (wanted)
		fib_fd_yield(to);
	/* What is reserved by now fib_reserved_put() finds. */
	if (fib_fd_is_hidden(to)) {
		moved = closes && fib_fd_move_away(to);
		if (!moved)
			return -EBADF;
	}
	if (closes)
		forget(to);
	r = closes ? fib_reserved_put(from, to, nr, flags) :
		     fib_raw(nr, from, to, flags);
	if (moved && r < 0)
		fib_raw(SYS_close, to);
	if (closes)
		closed(to);
	duplicated(from, files, r);
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
 * ready (O_ASYNC, F_SETSIG). Natively the handler has run when it returns.
 */
static _Atomic bool signals;

bool fib_fd_signals(void)
{
	return fib_load(&signals, relaxed) ||
	       fib_load(&fib_desc_async_used, relaxed);
}

static bool makes_signals(int cmd)
{
	return cmd == F_NOTIFY || cmd == F_SETSIG || cmd == F_SETLEASE;
}

/* The kernel does not know a fiber: the signal goes to its process. */
static int known_owner(int pid)
{
	return fib_by_tid(pid) ? fib_signal_pid : pid;
}

static long set_owner(int fd, int cmd, long arg)
{
	struct f_owner_ex owner;

	if (cmd == F_SETOWN)
		return fib_raw(SYS_fcntl, fd, cmd, known_owner((int)arg));
	if (fib_copy(&owner, (void *)arg, sizeof(owner)))
		return fib_raw(SYS_fcntl, fd, cmd, arg);
	if ((owner.type == F_OWNER_TID || owner.type == F_OWNER_PID) &&
	    fib_by_tid(owner.pid)) {
		owner.type = F_OWNER_PID;
		owner.pid = fib_signal_pid;
	}
	return fib_raw(SYS_fcntl, fd, F_SETOWN_EX, &owner);
}

/* sock_ioctl(): FIOSETOWN and SIOCSPGRP are F_SETOWN. */
static long set_socket_owner(int fd, unsigned cmd, const int *user)
{
	int pid;

	if (fib_copy(&pid, user, sizeof(pid)))
		return fib_raw(SYS_ioctl, fd, cmd, user);
	pid = known_owner(pid);
	return fib_raw(SYS_ioctl, fd, cmd, &pid);
}

static long set_flags(int fd, long flags)
{
	struct fib_change c = fib_fd_change(fd, FIB_DESC_FLAGS);
	struct fib_known *k = flags & O_DIRECT ? fib_fd_know(fd) : NULL;
	long r = fib_raw(SYS_fcntl, fd, F_SETFL, flags);

	if (r == 0 && (flags & O_ASYNC))
		fib_store(&fib_desc_async_used, true, relaxed);
	/* From now on it makes packets, for whoever reads them. */
	if (k && k->kind == FIB_FD_PIPE)
		fib_store(&fib_io_urgent, true, relaxed);
	if (r == 0)
		fib_fd_set_nonblock(&c, flags & O_NONBLOCK);
	else
		fib_fd_changed(&c);
	return r;
}

/* Another thread may write *@user meanwhile: the kernel reads what it will. */
static long set_nonblock(int fd, const int *user)
{
	struct fib_change c = fib_fd_change(fd, FIB_DESC_FLAGS);
	int on;
	bool read = !fib_copy(&on, user, sizeof(on));
	long r = fib_raw(SYS_ioctl, fd, FIONBIO, read ? &on : user);

	if (r == 0 && read)
		fib_fd_set_nonblock(&c, on != 0);
	else
		fib_fd_changed(&c);
	return r;
}

/* F_OFD_SETLK or its like has been successful: has that description a lock? */
static void note_lock(int fd, int cmd, long arg)
{
	struct fib_known *k = cmd == F_SETLKW ? NULL : fib_fd_know(fd);
	struct fib_desc *d = k ? fib_load(&k->desc, acquire) : NULL;
	struct flock l;

	if (!d || fib_copy(&l, (void *)arg, sizeof(l)))
		return;
	if (l.l_type != F_UNLCK)
		fib_store(&d->locked, true, relaxed);
	else if (l.l_whence == SEEK_SET && !l.l_start && !l.l_len)
		fib_store(&d->locked, false, relaxed);
}

/*
 * A lock of a part of a file. Requests for the same one are alike: who has a part
 * of it already has given that up (flock), or all have it (the process's), or it
 * stands apart (a description's). From elsewhere than the file's beginning, each is one
 * by itself.
 */
static long lock_part(int fd, int cmd, long arg)
{
	struct fib_place p = { 0 };
	struct flock l;
	long a[6] = { fd, cmd, arg }, r;

	fib_fd_try(&p, fd);
	/* Most locks are free: ask first. */
	r = fib_raw(SYS_fcntl, fd, cmd == F_SETLKW ? F_SETLK : F_OFD_SETLK,
		    arg);
	if (r != -EAGAIN && r != -EACCES) {
		fib_fd_tried(&p);
		if (r == 0)
			note_lock(fd, cmd, arg);
		if (fib_unlikely(fib_self()->io.claims))
			fib_line_give_up(fib_self());
		fib_signal_sync_handled(fib_self());
		return r;
	}
	if (fib_copy(&l, (void *)arg, sizeof(l)) || l.l_whence != SEEK_SET) {
		fib_fd_tried(&p);
		return fib_blocking(SYS_fcntl, a);
	}
	p.key[2] = (uint64_t)l.l_start;
	p.key[3] = (uint64_t)l.l_len;
	p.key[4] = (uint64_t)cmd << 32 | (uint16_t)l.l_type;
	a[2] = (long)&l; /* the program may change its own meanwhile */
	r = fib_fd_in_line(&p, FIB_NEVER, SYS_fcntl, a);
	if (r == 0)
		note_lock(fd, cmd, a[2]);
	return r;
}

/*
 * A pipe's size was set: pipe_set_size() wakes the first who waits to write, whatever it
 * is. One who finds no room stands behind the others then; of room an edge tells.
 */
static void resized(int fd)
{
	struct fib_known *k = fib_fd_know(fd);
	struct fib_peer w;

	if (!k || k->kind != FIB_FD_PIPE)
		return;
	w = fib_fd_access(k) == O_RDONLY ?
		    fib_fd_peer(k) :
		    (struct fib_peer){ k->slot, fib_fd_files(fd) };
	if (w.slot && (fib_load(&w.slot->waiting, relaxed) & FIB_IO_WRITE) &&
	    fib_load(&w.slot->files, relaxed) == w.files &&
	    !fib_io_ready(w.slot->fd, POLLOUT))
		fib_iom_first_goes_last(w.slot, FIB_IO_WRITE);
}

long fib_sys_fcntl(int fd, int cmd, long arg)
{
	uint32_t files;
	long r;

	if (fib_unlikely(fib_fd_is_ours(fd)))
		return -EBADF;
	if (cmd == F_SETLKW || cmd == F_OFD_SETLKW)
		return lock_part(fd, cmd, arg);
	if (makes_signals(cmd))
		fib_store(&signals, true, relaxed);
	if (cmd == F_SETOWN || cmd == F_SETOWN_EX)
		return set_owner(fd, cmd, arg);
	if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC) {
		files = fib_fd_files(fd);
		return duplicated(fd, files, fib_raw(SYS_fcntl, fd, cmd, arg));
	}
	r = cmd == F_SETFL ? set_flags(fd, arg) :
			     fib_raw(SYS_fcntl, fd, cmd, arg);
	if (r == 0 && cmd == F_OFD_SETLK)
		note_lock(fd, cmd, arg);
	if (fib_unlikely(cmd == F_SETPIPE_SZ) && r > 0)
		resized(fd);
	return r;
}

long fib_sys_ioctl(int fd, unsigned cmd, long arg)
{
	const long a[6] = { fd, cmd, arg };
	long r;

	if (fib_unlikely(fib_fd_is_ours(fd)))
		return -EBADF;
	r = fib_job_ioctl(fd, cmd);
	if (r)
		return r;
	if (cmd == FIOASYNC)
		fib_store(&fib_desc_async_used, true, relaxed);
	if (cmd == FIONBIO)
		return set_nonblock(fd, (int *)arg);
	if (cmd == FIOSETOWN || cmd == SIOCSPGRP)
		return set_socket_owner(fd, cmd, (int *)arg);
	r = fib_slow_pass_intr(SYS_ioctl, a);
	if (r == 0 && fib_job_signals(cmd))
		fib_signal_sync(~0ull);
	return r;
}

long fib_sys_flock(int fd, int op)
{
	struct fib_place p = { .key = { 0, 0, (uint64_t)op, 0, SYS_flock } };
	long r;

	fib_fd_try(&p, fd);
	r = fib_raw(SYS_flock, fd, op | 4 /* LOCK_NB */);
	if (r == -EWOULDBLOCK && !(op & 4))
		return fib_fd_in_line(&p, FIB_NEVER, SYS_flock,
				      (long[6]){ fd, op });
	fib_fd_tried(&p);
	if (fib_unlikely(fib_self()->io.claims))
		fib_line_give_up(fib_self());
	return r;
}
