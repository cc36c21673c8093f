/*
 * open(). All but a FIFO's is quick. That one waits for the other end, in the kernel,
 * fifo_open() of fs/pipe.c: who waits counts as a reader or writer for others.
 *
 * As a reader counts who opens with O_NONBLOCK as well, and does not wait; whom a writer
 * then finds, so that its own open does not wait either. When that is done, inotify
 * says so (IN_OPEN). So any number of readers wait for one descriptor of inotify, of
 * which a worker that looks at epoll tells them:
 *
 *	reader					worker
 *	------					------
 *	open, O_NONBLOCK
 *	no writer? its number is reserved
 *	lock; watch the file; link; unlock (A)
 *	told = 0				lock
 *	is there a writer, or was there	  (B)	  for each event: who waits for
 *	  one? done					its file: told = 1; wake (C)
 *	park until told; again			unlock
 *	lock; unlink; the last one of the
 *	  file: no watch; unlock
 *	no O_NONBLOCK any more
 *
 * A writer that came before (A) is found at (B), also one that has gone again: there is
 * POLLHUP from when there has been one (pipe_poll()). One that comes later makes an
 * event, after it counts. Whether there is a writer says a read: 0 without, EAGAIN or
 * EFAULT with one, since what it is to read into cannot be written to.
 *
 * A writer has no such way: open_write.c.
 *
 * No open is to pay for that, so each is made as it is asked for, until one has held a
 * worker up. From then on it is asked first what the path is, for as long as slow.h says.
 */
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include "hooks/core/hook.h"
#include "hooks/fd/procfs.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"
#include "runtime/reserved.h"
#include "runtime/timer.h"

struct opener {
	struct fib_list node;
	struct fib *fib;
	int watch, fd;
	_Atomic bool told;
};

static struct fib_lock lock = FIB_LOCK(OPENERS);
static struct fib_list openers;
static int notify = -1; /* inotify's; it may move: runtime/hidden.h */
enum { NONE, BEGUN, READY };
static _Atomic int state;

void fib_open_reset(void)
{
	fib_lock_init(&lock, OPENERS);
	fib_list_init(&openers);
	notify = -1;
	fib_store(&state, NONE, relaxed);
	fib_open_writers_reset();
}

/* --- who waits for a writer --------------------------------------------------- */

/* (B) */
static bool has_had_writer(int fd)
{
	static const char nowhere;

	return fib_raw(SYS_read, fd, &nowhere, 1) != 0 ||
	       fib_io_ready(fd, POLLIN);
}

/*
 * Readers make events as well. Who was linked first, and before a writer came, had
 * opened before it, too, as all behind: if that one has had none, nobody has.
 */
static void tell_locked(int watch)
{
	bool first = watch != -1;

	fib_list_for_each (it, &openers) {
		struct opener *o = fib_container_of(it, struct opener, node);

		if (o->watch != watch && watch != -1)
			continue;
		if (first && !has_had_writer(o->fd))
			return;
		first = false;
		fib_store(&o->told, true, release);
		fib_wake(o->fib); /* (C) */
	}
}

void fib_open_news(void)
{
	struct inotify_event ev[64]; /* files alone are watched: no names */
	unsigned use;
	long n;

	do {
		use = fib_fd_use();
		n = fib_raw(SYS_read, fib_load(fib_shared(&notify), relaxed),
			    ev, sizeof(ev));
		fib_fd_used(use);
		fib_lock(&lock);
		for (long i = 0; i < n / (long)sizeof(*ev); i++)
			tell_locked(ev[i].wd); /* -1: some were lost */
		fib_unlock(&lock);
	} while (n > 0);
}

/* Once; while one does so others have to do without, as where it would be in the way. */
static bool is_ready(void)
{
	int none = NONE, fd, own;

	if (fib_likely(fib_load(&state, acquire) == READY))
		return true;
	if (!fib_fd_has_reach() || !fib_cas(&state, &none, BEGUN, seq_cst))
		return false;
	fd = (int)fib_raw(SYS_inotify_init1, IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0)
		return false;
	own = fib_fd_dup_hidden(fd);
	fib_raw(SYS_close, fd);
	if (own < 0 || fib_iom_tell_of(&fib_sched, own) < 0) {
		fib_fd_unhide(own);
		return false;
	}
	notify = own;
	fib_fd_movable(&notify);
	fib_store(&state, READY, release);
	return true;
}

static bool is_told(const void *arg)
{
	const struct opener *o = arg;

	return fib_load(&o->told, acquire);
}

static int watch_locked(int fd)
{
	char link[FIB_FD_LINK];
	unsigned use = fib_fd_use();
	long r;

	fib_fd_link(link, fd);
	r = fib_raw(SYS_inotify_add_watch, notify, link, IN_OPEN);
	fib_fd_used(use);
	return (int)r;
}

static void unlink_locked(struct opener *o)
{
	unsigned use;

	fib_list_del(&o->node);
	fib_list_for_each (it, &openers) {
		if (fib_container_of(it, struct opener, node)->watch ==
		    o->watch)
			return;
	}
	use = fib_fd_use();
	fib_raw(SYS_inotify_rm_watch, notify, o->watch);
	fib_fd_used(use);
}

/* 0: there is one, or has been. -ENOSYS: it cannot be watched. */
static long await_writer(int fd)
{
	struct opener o = { .fib = fib_self(), .fd = fd };
	long r = 0;

	fib_lock(&lock);
	o.watch = watch_locked(fd); /* (A) */
	if (o.watch >= 0)
		fib_list_add_tail(&openers, &o.node);
	fib_unlock(&lock);
	if (o.watch < 0)
		return -ENOSYS;
	fib_count(io_waits);
	fib_stop_may_repeat(); /* the path may be another file's by then */
	while (r == 0) {
		fib_store(&o.told, false, seq_cst);
		if (has_had_writer(fd))
			break;
		r = fib_park_until(is_told, &o, FIB_NEVER, FIB_WAIT_FD,
				   (uint64_t)fd);
		/* wait_for_partner() looks before it heeds a signal. */
		if (r == -EINTR && (fib_wait_goes_on(o.fib) ||
				    (!fib_cancel_is_near() && !fib_filtered() &&
				     has_had_writer(fd))))
			r = 0;
		/* Another fiber has put it under a filter: it begins anew. */
		if (r == 0 && fib_filtered())
			r = -FIB_ERESTARTNOINTR;
	}
	fib_lock(&lock);
	unlink_locked(&o);
	fib_unlock(&lock);
	return r;
}

/* --- a fork ---------------------------------------------------------------------- */

/*
 * A reader's file is open, and in the child as well until that has closed it: then
 * its end of a pipe is closed, too. The child may be stopped before it has run, by who
 * traces it.
 */
#define CHILD_MS 100

void fib_open_fork_begin(int ends[2], bool leave_out)
{
	ends[0] = ends[1] = -1;
	if (fib_likely(fib_load(&state, acquire) != READY))
		return;
	if (leave_out || !fib_fd_asks() || fib_raw(SYS_pipe2, ends, O_CLOEXEC))
		ends[0] = ends[1] = -1;
}

void fib_open_fork_made(int ends[2])
{
	if (ends[1] >= 0)
		fib_raw(SYS_close, ends[1]);
	ends[1] = -1;
}

void fib_open_fork_end(int ends[2], bool parent)
{
	struct pollfd p = { .fd = ends[0] };

	fib_open_fork_made(ends);
	if (ends[0] < 0)
		return;
	if (parent)
		fib_raw(SYS_poll, &p, 1, CHILD_MS);
	fib_raw(SYS_close, ends[0]);
}

/* --- open ------------------------------------------------------------------------ */

void fib_open_as_asked(int fd, int flags)
{
	fib_raw(SYS_fcntl, fd, F_SETFL,
		fib_raw(SYS_fcntl, fd, F_GETFL) & ~O_NONBLOCK);
	if (!(flags & O_CLOEXEC))
		fib_raw(SYS_fcntl, fd, F_SETFD, 0);
}

/* Number @fd, which is reserved and open, counts as a reader meanwhile. */
static long open_in_kernel(int fd, const long a[6])
{
	long r = fib_slow_pass_intr(SYS_openat, a);

	fib_self()->io.reserved = 0;
	if (r >= 0)
		return fib_reserved_fill(fd, (int)r, (int)a[2] & O_CLOEXEC);
	fib_reserved_free(fd);
	return r;
}

static long open_waiting(int fd, const long a[6])
{
	struct fib *f = fib_self();
	long r;

	fib_slow_again();
	f->io.reserved = fd + 1;
	r = await_writer(fd);
	if (r == -ENOSYS)
		return open_in_kernel(fd, a);
	if (r == -EINTR)
		fib_cancel_end(); /* it may have given the number back */
	if (r && f->io.reserved)
		fib_reserved_free(fd);
	else if (!r)
		fib_reserved_give(fd);
	f->io.reserved = 0;
	return r == -EINTR ? -FIB_ERESTARTSYS : r;
}

static bool is_fifo(long dir, const char *path, int flags)
{
	int at = flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0;
	struct stat st;

	return !fib_raw(SYS_newfstatat, dir, path, &st, at) &&
	       S_ISFIFO(st.st_mode);
}

/* False: the path was another file by then, and nothing has been done. */
static bool open_reader(const long a[6], long *result)
{
	struct stat st;
	long r, fd;

	fib_cancel_begin();
	fd = fib_raw(SYS_openat, a[0], a[1], a[2] | O_NONBLOCK | O_CLOEXEC, 0);
	*result = fd;
	if (fd < 0)
		return true;
	if (fib_raw(SYS_fstat, fd, &st) || !S_ISFIFO(st.st_mode) ||
	    (!has_had_writer((int)fd) && !fib_reserved_hold((int)fd))) {
		fib_raw(SYS_close, fd);
		return false;
	}
	if (fib_is_reserved((int)fd)) {
		r = open_waiting((int)fd, a);
		if (r) {
			*result = r;
			return true;
		}
	}
	fib_open_as_asked((int)fd, (int)a[2]);
	return true;
}

/* fifo_open() makes nothing else of these. O_DIRECT is refused after the wait. */
#define KNOWN                                                                  \
	(O_ACCMODE | O_APPEND | O_CLOEXEC | O_CREAT | O_DSYNC | O_NOATIME |    \
	 O_NOCTTY | O_NOFOLLOW | O_SYNC | O_TRUNC | __O_LARGEFILE)

/* A FIFO's, perhaps. False: nothing has been done. */
static bool open_fifo(const long a[6], long *result)
{
	int flags = (int)a[2], mode = flags & O_ACCMODE;

	if (fib_likely(!fib_slow_is() && !FIB_CHAOS_ODDS(open_asks, 2)) ||
	    (mode != O_RDONLY && mode != O_WRONLY) || (flags & ~KNOWN) ||
	    fib_self()->bound || !fib_fd_asks() ||
	    !is_fifo(a[0], (const char *)a[1], flags))
		return false;
	fib_slow_less(); /* but for who waits below */
	if (mode == O_WRONLY)
		return fib_open_writer(a, result);
	return !(flags & O_CREAT) && is_ready() && open_reader(a, result);
}

long fib_sys_openat(int dir, const char *path, int flags, unsigned mode)
{
	const int made = O_CREAT | O_EXCL;
	long a[6] = { dir, (long)path, flags, mode };
	char own[FIB_PROCFS_PATH];
	long r;

	if (fib_unlikely(fib_procfs_of_thread(path, flags, own)))
		a[1] = (long)own;
	else if (fib_unlikely(open_fifo(a, &r)))
		return r;
	r = fib_slow_pass_intr(SYS_openat, a);
	/* A file that was not there before: vfs_create() */
	if (r >= 0 && (flags & (made | O_PATH)) == made)
		fib_fd_born((int)r, FIB_FD_ALWAYS,
			    flags & (O_ACCMODE | O_NONBLOCK), true);
	return r;
}

long fib_sys_open(const char *path, int flags, unsigned mode)
{
	return fib_sys_openat(AT_FDCWD, path, flags, mode);
}
