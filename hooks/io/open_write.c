/*
 * open() of a FIFO for writing, without a reader. Nothing tells of one that comes: with
 * O_NONBLOCK who opens does not count, and so a reader would not go on either. So one of
 * those who wait for the same file waits in the kernel, the first, and counts for all. A
 * reader lets all go on who wait natively (wait_for_partner() of fs/pipe.c), and sees the
 * end when the last of them has closed it. So the first one opens it for the others,
 * before it returns itself:
 *
 *	first				others
 *	-----				------
 *	lock; nobody is: first; unlock	lock; somebody is: link; unlock
 *	open, in the kernel		park until told
 *	lock; unlink; unlock
 *	for each of the others: lock
 *	  unlink; open at its number
 *	  tell; unlock			the number is open
 *	no success: another is first	it is the first
 *
 * Each has its number from when it waits: the FIFO by O_PATH, which is EBADF to all
 * calls that read, write or wait; by that it is opened again.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/digits.h"
#include "runtime/hidden.h"
#include "runtime/reserved.h"
#include "runtime/timer.h"

/* What an open at the number has nothing to do with: it is there. */
#define BY_PATH (O_CREAT | O_TRUNC | O_NOFOLLOW)

struct writer {
	struct fib_list node;
	struct fib *fib;
	dev_t dev;
	ino_t ino;
	int fd, flags;
	bool first, linked;
	_Atomic bool told; /* it is the first, or its file is open */
};

static struct fib_lock lock = FIB_LOCK(OPEN_WRITERS);
static struct fib_list writers;

void fib_open_writers_reset(void)
{
	fib_lock_init(&lock, OPEN_WRITERS);
	fib_list_init(&writers);
}

static long open_again(int fd, int flags)
{
	char path[FIB_FD_LINK];

	fib_fd_link(path, fd);
	return fib_raw(SYS_openat, AT_FDCWD, path, flags, 0);
}

static int without_path(const struct writer *w)
{
	return (w->flags & ~BY_PATH) | O_NONBLOCK | O_CLOEXEC;
}

/*
 * The table is full, but for its own number. Meanwhile one of the library's is the
 * FIFO, or the reader that has gone.
 */
static bool open_in_place(struct writer *w)
{
	int own = fib_fd_dup_hidden(w->fd);
	char path[FIB_FD_LINK];
	long fd;

	if (own < 0)
		return false;
	fib_fd_link(path, own);
	fd = fib_reserved_open(w->fd, path, without_path(w));
	if (fd == -ENXIO) {
		fd = open_again(own, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0) {
			fib_raw(SYS_dup3, fd, own, O_CLOEXEC);
			fib_raw(SYS_close, fd);
			fd = open_again(own, without_path(w));
		}
	}
	if (fd >= 0)
		fib_open_as_asked((int)fd, w->flags);
	w->fd = (int)fd;
	fib_fd_give_back(own, fib_sched.iom.wakefd);
	return true;
}

/* A reader has come, and may have gone again, which is nothing to who has waited. */
static bool open_for(struct writer *w)
{
	long fd = open_again(w->fd, without_path(w)), reader;

	if (fd == -ENXIO) {
		reader = open_again(w->fd, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		fd = open_again(w->fd, without_path(w));
		if (reader >= 0)
			fib_raw(SYS_close, reader);
	}
	if (fd == -EMFILE)
		return open_in_place(w);
	if (fd < 0)
		return false;
	fib_open_as_asked((int)fd, O_CLOEXEC);
	return fib_reserved_fill(w->fd, (int)fd, w->flags & O_CLOEXEC) == w->fd;
}

static struct writer *find_locked(const struct writer *of, bool first)
{
	fib_list_for_each (it, &writers) {
		struct writer *w = fib_container_of(it, struct writer, node);

		if (w->dev == of->dev && w->ino == of->ino && w->first == first)
			return w;
	}
	return NULL;
}

static void unlink_locked(struct writer *w)
{
	fib_list_del(&w->node);
	w->linked = false;
}

static void tell_locked(struct writer *w)
{
	fib_store(&w->told, true, release);
	fib_wake(w->fib);
}

static void make_first_locked(struct writer *w)
{
	w->first = true;
	tell_locked(w);
}

/* One of the others is done; false: there are none, or none that can be served. */
static bool serve_one(const struct writer *first)
{
	struct writer *w;
	bool served = false;

	fib_lock(&lock);
	w = find_locked(first, false);
	if (w && open_for(w)) {
		unlink_locked(w);
		tell_locked(w);
		served = true;
	} else if (w) {
		make_first_locked(w);
	}
	fib_unlock(&lock);
	return served;
}

static void link_up(struct writer *w)
{
	FIB_CHAOS_POINT(writer_link);
	fib_lock(&lock);
	w->first = !find_locked(w, true);
	fib_list_add_tail(&writers, &w->node);
	w->linked = true;
	fib_unlock(&lock);
}

/* It leaves without a file, if it has none: who is first now? Does it? */
static bool leave(struct writer *w)
{
	struct writer *next;
	bool linked;

	fib_lock(&lock);
	linked = w->linked;
	if (linked)
		unlink_locked(w);
	next = linked && w->first ? find_locked(w, false) : NULL;
	if (next)
		make_first_locked(next);
	fib_unlock(&lock);
	return linked;
}

/* Who told it is done with it. */
static void stay(void)
{
	fib_lock(&lock);
	fib_unlock(&lock);
}

static bool is_told(const void *arg)
{
	const struct writer *w = arg;

	return fib_load(&w->told, acquire);
}

/* 0: it is told. -EINTR, or it begins anew: it is to leave. */
static long await_turn(struct writer *w)
{
	long r;

	fib_count(io_waits);
	fib_stop_may_repeat();
	do
		r = fib_park_until(is_told, w, FIB_NEVER, FIB_WAIT_FD,
				   (uint64_t)w->fd);
	while (r == -EINTR && fib_wait_goes_on(w->fib));
	/* Another fiber has put it under a filter. */
	return r == 0 && fib_filtered() ? -FIB_ERESTARTNOINTR : r;
}

/* The file of @fd is that of @w. */
static bool is_of(const struct writer *w, int fd)
{
	struct stat st;

	return !fib_raw(SYS_fstat, fd, &st) && st.st_dev == w->dev &&
	       st.st_ino == w->ino;
}

/*
 * As fib_slow_pass_intr(). But the kernel would make it anew after a stop by the number: so it stays
 * one that a stop has begin anew (await_turn()), as natively by its path.
 */
static long open_by_number(struct writer *w, const long a[6])
{
	uint64_t began = fib_slow_begins();
	long r = fib_raw_intr(&w->fib->attention, SYS_openat, a);

	fib_slow_ends(began);
	return r;
}

/* @a are the arguments of openat(): by its path, or by its number. */
static long wait_in_kernel(struct writer *w, const long a[6], bool by_number)
{
	long r;

	do
		r = by_number ? open_by_number(w, a) :
				fib_slow_pass_intr(SYS_openat, a);
	while (r == -EINTR && fib_wait_goes_on(w->fib));
	if (r < 0 || !is_of(w, (int)r)) {
		/*
		 * Who waits there fails by a signal alone. Else the kernel has made the open anew,
		 * after a stop, by a path that is another's: the next is to do so as well.
		 */
		if (r != -EINTR && r != -FIB_ERESTARTNOINTR)
			fib_signal_look_for_stop();
		leave(w);
		return r;
	}
	fib_lock(&lock);
	unlink_locked(w);
	fib_unlock(&lock);
	do
		FIB_CHAOS_POINT(writer_serve);
	while (serve_one(w));
	return r;
}

/* It was behind another one, and has a number; the kernel takes a second one. */
static long wait_by_number(struct writer *w)
{
	char path[FIB_FD_LINK];
	long r;

	fib_fd_link(path, w->fd);
	r = wait_in_kernel(w,
			   (long[6]){ AT_FDCWD, (long)path,
				      (w->flags & ~BY_PATH) | O_CLOEXEC },
			   true);
	if (r >= 0)
		return fib_reserved_fill(w->fd, (int)r, w->flags & O_CLOEXEC);
	fib_reserved_free(w->fd);
	return r;
}

static long wait_behind(struct writer *w)
{
	struct fib *f = w->fib;
	long r;

	f->io.reserved = w->fd + 1;
	r = await_turn(w);
	if (!r)
		stay();
	else if (!leave(w))
		r = 0; /* it was served meanwhile */
	if (r == -EINTR)
		fib_cancel_end(); /* it may have given the number back */
	if (r && f->io.reserved)
		fib_reserved_free(w->fd);
	f->io.reserved = 0;
	if (r)
		return r == -EINTR ? -FIB_ERESTARTSYS : r;
	return w->first ? wait_by_number(w) : w->fd;
}

/* Is it a FIFO, and can it be opened by its number? */
static bool find_fifo(struct writer *w)
{
	struct stat st;

	if (fib_raw(SYS_fstat, w->fd, &st) || !S_ISFIFO(st.st_mode) ||
	    open_again(w->fd, O_PATH | O_CLOEXEC | O_DIRECTORY) != -ENOTDIR)
		return false;
	w->dev = st.st_dev;
	w->ino = st.st_ino;
	return true;
}

bool fib_open_writer(const long a[6], long *result)
{
	struct writer w = { .fib = fib_self(), .flags = (int)a[2] };
	long fd;

	fib_cancel_begin();
	fd = fib_raw(SYS_openat, a[0], a[1], a[2] | O_NONBLOCK | O_CLOEXEC,
		     a[3]);
	*result = fd;
	if (fd >= 0)
		fib_open_as_asked((int)fd, w.flags);
	if (fd != -ENXIO)
		return true;
	fd = fib_raw(SYS_openat, a[0], a[1],
		     O_PATH | O_CLOEXEC | (a[2] & O_NOFOLLOW));
	if (fd < 0)
		return false;
	w.fd = (int)fd;
	if (!find_fifo(&w) || !fib_reserved_hold(w.fd)) {
		fib_raw(SYS_close, fd);
		return false;
	}
	fib_slow_again();
	link_up(&w);
	if (w.first) /* the kernel takes one */
		fib_reserved_free(w.fd);
	*result = w.first ? wait_in_kernel(&w, a, false) : wait_behind(&w);
	return true;
}
