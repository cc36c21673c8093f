/* read, write and their vectors: pick the way that suits the descriptor. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include "hooks/core/hook.h"
#include "hooks/fd/procfs.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/trywait.h"

/*
 * There may be terminals that take what is written and whose poll never says so: the
 * kernel waits for room in them, if they ever have none.
 */
static bool tells_room(struct fib_known *k)
{
	if (!k->tells_room)
		k->tells_room = fib_io_ready(k->fd, POLLOUT) != 0;
	return k->tells_room;
}

/*
 * A FIFO that was opened without waiting for a writer: until there has been one,
 * a read finds the end at once, and poll does not say so (fifo_open(), pipe_poll()).
 * Who can write has been one itself. What there is to read may be left of others.
 */
static bool tells_end(struct fib_known *k, short ready)
{
	struct stat st;

	if ((ready & POLLHUP) || fib_fd_access(k) == O_RDWR ||
	    fib_raw(SYS_fstat, k->fd, &st) || !S_ISFIFO(st.st_mode))
		k->tells_end = FIB_TELLS_END;
	return k->tells_end == FIB_TELLS_END;
}

/* One that has to wait, or has been empty, and gets something, has had a writer. */
static long read_fifo(struct fib_known *k, short ready, long nr,
		      const long a[6])
{
	struct fib_place p = { .key = { [2] = SYS_read } };
	struct fib_place *line = fib_fd_file(k, p.key) ? &p : NULL;
	long r = fib_io_whole(k, FIB_IO_READ, false, nr, a, NULL, line);

	if (r > 0 && (!ready || k->tells_end == FIB_WAS_EMPTY))
		k->tells_end = FIB_TELLS_END;
	else if (r > 0 && !fib_io_ready(k->fd, POLLIN))
		k->tells_end = FIB_WAS_EMPTY;
	return r;
}

/* The kernel is too old, or a filter has it not. */
static _Atomic bool no_preadv2;

/*
 * A master's side is in raw mode, and whatever comes behind a read that was short makes
 * an edge: n_tty_read(), __receive_buf().
 */
static bool shows_end(const struct fib_known *k)
{
	return fib_fd_shows_end(k) ||
	       (fib_fd_is_master(k) &&
		!fib_load(&fib_fd_packets_used, relaxed));
}

struct pieces {
	struct fib_rest rest;
	const struct iovec *iov;
	unsigned left;
};

/* Is the last piece that was begun full, and was the wait for the next cut short? */
static bool next_piece(struct fib_rest *rest, long r, long *nr, long v[6])
{
	struct pieces *p = fib_container_of(rest, struct pieces, rest);
	struct iovec piece;

	(void)nr;
	rest->done += r;
	while (r && p->left && !fib_copy(&piece, p->iov, sizeof(piece)) &&
	       piece.iov_len <= (size_t)r) {
		r -= (long)piece.iov_len;
		p->iov++;
		p->left--;
	}
	if (r || !p->left || !fib_io_was_cut())
		return false;
	v[1] = (long)p->iov;
	v[2] = p->left;
	return true;
}

/*
 * inotify and fanotify know of no vectors: the kernel asks for each piece, and waits for
 * the next when one is full, do_loop_readv_writev().
 */
static long read_pieces(struct fib_known *k, const long a[6])
{
	struct pieces p = { .rest.next = next_piece,
			    .iov = (const struct iovec *)a[1],
			    .left = (unsigned)a[2] };

	return fib_io_whole(k, FIB_IO_READ, true, SYS_readv, a, &p.rest, NULL);
}

/*
 * Does eventfd_read(), timerfd_read() or signalfd_read() refuse so few bytes, before it
 * waits? Others of their kind wait all the same.
 */
static bool is_too_short(const struct fib_known *k, uint8_t ev, size_t len)
{
	return ev == FIB_IO_READ && k->kind == FIB_FD_NOWAIT && len &&
	       (len < sizeof(uint64_t) ||
		(len >= 2 * sizeof(uint64_t) &&
		 len < sizeof(struct signalfd_siginfo) &&
		 fib_procfs_is(k->fd, "anon_inode:[signalfd]")));
}

/* What knows of no way not to block: polled first, if it is for @ev, @len bytes, at all. */
static long polled(struct fib_known *k, uint8_t ev, size_t len, long nr,
		   const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, ev);
	long r = 0;

	if (k->kind == FIB_FD_POLLED) {
		r = fib_job_io(k, ev);
		/* n_tty_read() tells who waited of it, and others of EOF. */
		io.hung_up = -EIO;
	}
	if (r)
		return r;
	if (fib_fd_seems_nonblock(k) && fib_io_as_it_is(k, nr, a, &r))
		return r;
	if (fib_fd_nonblock(k) ||
	    fib_fd_access(k) == (ev == FIB_IO_READ ? O_WRONLY : O_RDONLY))
		return fib_pass(nr, a);
	/* One that has to fail at once would wait for data first. */
	if (fib_fd_takes_nowait(k) &&
	    (fib_load(&no_preadv2, relaxed) || is_too_short(k, ev, len)))
		return fib_blocking(nr, a);
	if (ev == FIB_IO_READ) {
		/* How many bytes, how long after the first: n_tty_read() */
		if (k->kind == FIB_FD_POLLED && fib_fd_is_tty(k))
			return fib_io_read_tty(k, nr, a);
		if (fib_fd_takes_nowait(k) && k->tells_end != FIB_TELLS_END) {
			short ready = fib_io_ready(k->fd, POLLIN);

			if (!tells_end(k, ready))
				return read_fifo(k, ready, nr, a);
		}
		fib_store(&fib_self()->sig.kicked, false, relaxed);
		r = nr == SYS_readv && a[2] > 1 && fib_fd_asks() &&
				    fib_procfs_is_watch(k->fd) ?
			    read_pieces(k, a) :
			    fib_io_polled(&io, shows_end(k) ? len : 0, nr, a);
		if (k->tty == FIB_TTY_NOT)
			r = fib_io_whole_read(nr, a, r);
		/* A handler ends the first: read_nothing() is next, or block(). */
		if (fib_unlikely(r < 0) && k->kind == FIB_FD_POLLED &&
		    !fib_iom_has_reader(io.s, io.turn))
			fib_iom_pass(io.s, FIB_IO_READ);
		return r;
	}
	/*
	 * An eventfd or the like: there is room for some values and not for
	 * others, and wrong ones fail at once. It is full once in a blue moon.
	 * So is a device, and what its poll says of room need not be what a write
	 * does: a tunnel that is down has none, and refuses it (tun_chr_poll()).
	 */
	if (fib_fd_takes_nowait(k) || k->tty == FIB_TTY_NOT) {
		r = fib_slow_pass_intr((unsigned)nr, a);
		if (r == -EINTR || r == -FIB_ERESTARTNOINTR)
			fib_cancel_end();
		return r;
	}
	return tells_room(k) ? fib_io_polled(&io, 0, nr, a) :
			       fib_blocking(nr, a);
}

/*
 * pipe_read() and pipe_write() tell who is at the other end by O_ASYNC of each call that
 * they make, and of one that has found nothing to do as well.
 */
static bool tells_of_tries(const struct fib_known *k)
{
	return fib_unlikely(fib_load(&fib_desc_async_used, relaxed)) &&
	       k->kind == FIB_FD_PIPE;
}

/* RWF_NOWAIT is unknown to the file; it is polled from then. */
static bool no_nowait(struct fib_known *k, uint8_t ev, long r)
{
	if (r != -EOPNOTSUPP && r != -ESPIPE && !fib_is_denied(r))
		return false;
	k->polled |= ev;
	/* Not this file alone: then nobody asks whether a call would wait. */
	if (fib_is_denied(r) &&
	    fib_raw(SYS_preadv2, -1, 0, 0, -1, -1, 0) != -EBADF)
		fib_store(&no_preadv2, true, relaxed);
	return true;
}

/* Then the call as it is costs the kernel less than one with RWF_NOWAIT. */
static bool does_not_wait(const struct fib_known *k)
{
	return fib_fd_takes_nowait(k) && fib_fd_never_waits(k);
}

/*
 * How much of @len a read tells by what it takes: trywait.h. An eventfd or the like
 * refuses at once what is too short for what it says, though it has nothing to say.
 */
static size_t plain_length(const struct fib_known *k, size_t len)
{
	if (fib_fd_shows_end(k))
		return len;
	if (fib_load(&k->slot->took, relaxed) != len)
		fib_store(&k->slot->presumed, 0, relaxed);
	return FIB_IO_ANY;
}

/* Of @iov, which is the program's, or that of a call without a vector. */
static size_t length_of(long nr, const long a[6], const struct iovec *iov,
			int n)
{
	size_t len = (size_t)a[2];

	if (nr != SYS_read && nr != SYS_write)
		return fib_io_length(iov, n);
	return fib_io_most(len);
}

/* Pipes and their like take RWF_NOWAIT. */
static long read_file(struct fib_known *k, const struct iovec *iov, int n,
		      long nr, const long a[6])
{
	size_t len = length_of(nr, a, iov, n);
	long r;

	if (does_not_wait(k))
		return fib_io_receive_now(k, len, nr, a);
	if (fib_fd_takes_nowait(k) && fib_fd_seems_nonblock(k) &&
	    fib_io_receive_as_it_is(k, len, nr, a, &r))
		return r;
	if (fib_fd_takes_nowait(k) && !(k->polled & FIB_IO_READ) &&
	    !tells_of_tries(k)) {
		long v[6] = { k->fd, (long)iov, n, -1, -1, RWF_NOWAIT };
		struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);

		r = fib_io_shared_call(&io, plain_length(k, len), SYS_preadv2,
				       v);
		fib_io_end(&io);
		if (!no_nowait(k, FIB_IO_READ, r))
			return r;
	}
	return polled(k, FIB_IO_READ, len, nr, a);
}

/* As it is, by the kernel. */
static long read_through(long nr, const long a[6])
{
	return fib_io_whole_read(nr, a, fib_slow_pass_intr(nr, a));
}

static long write_through(struct fib_known *k, const struct iovec *iov,
			  unsigned n, int flags, long nr, const long a[6])
{
	uint32_t closes = k ? fib_load(&k->slot->closes, relaxed) : 0;
	long r = fib_slow_pass_intr(nr, a);

	if (fib_unlikely(r > 0 && fib_load(&fib_self()->sig.kicked, relaxed)) &&
	    k && (size_t)r < fib_io_length(iov, (int)n) &&
	    k->kind != FIB_FD_ALWAYS && !fib_fd_nonblock(k) && fib_io_was_cut())
		r = fib_io_write_rest(k->slot, closes, iov, n, flags, r);
	return r;
}

/*
 * vfs_read() and vfs_write() look whether all of a buffer is the program's, before all
 * else; the calls that are made here in their place cut it to FIB_IO_MAX before that.
 */
static bool is_too_much(const void *buf, size_t count)
{
	return fib_unlikely(count > FIB_IO_MAX) &&
	       fib_io_is_beyond((uintptr_t)buf, count);
}

/* No byte: readv() and writev() do not ask the file at all then. */
static bool is_empty(const struct iovec *iov, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		const uint32_t *len = (const uint32_t *)&iov[i].iov_len;
		struct iovec v;
		uint32_t low;

		/* One load is enough mostly. */
		if ((!fib_peek32(len, &low) && low) ||
		    fib_copy(&v, &iov[i], sizeof(v)) || v.iov_len)
			return false;
	}
	return true;
}

/* Is that for the kernel, which does not wait? */
static bool odd_vector(const struct iovec *iov, unsigned n)
{
	return !n || n > FIB_IOV_MAX || is_empty(iov, n);
}

/*
 * No byte of a terminal, by its master's side: it waits for nothing but who reads,
 * n_tty_read() lets in one at a time. (The other side's readers are in the kernel.)
 */
static long read_nothing(struct fib_known *k, const long a[6])
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_READ);
	long r;

	fib_io_start(&io);
	do {
		fib_io_begin(&io);
		r = fib_iom_has_reader(io.s, io.turn) ?
			    -EAGAIN :
			    fib_raw(SYS_read, io.s->fd, a[1], 0);
	} while (r == -EAGAIN && (r = fib_io_again(&io)) == 0);
	fib_io_end(&io);
	return r;
}

static bool reads_nothing(struct fib_known *k, size_t count)
{
	return !count && k && k->kind == FIB_FD_POLLED &&
	       fib_iom_has_reader(k->slot, 0) && fib_job_is_master(k->fd);
}

/* No socket; or so much of one. Its frame is not to lie below each socket's that waits. */
static long __attribute__((noinline))
read_other(struct fib_known *k, const long a[6])
{
	size_t count = (size_t)a[2];
	long r;

	if (fib_unlikely(reads_nothing(k, count)))
		return read_nothing(k, a);
	if (!count && k && (r = fib_job_io(k, FIB_IO_READ)))
		return r;
	if (!k || fib_fd_is_prompt(k) || !count ||
	    is_too_much((void *)a[1], count))
		return read_through(SYS_read, a);
	return read_file(k, &(struct iovec){ (void *)a[1], count }, 1, SYS_read,
			 a);
}

long fib_sys_read(int fd, void *buf, size_t count)
{
	struct fib_known *k = fib_fd_know(fd);
	long a[6] = { fd, (long)buf, (long)count };
	long r;

	while (fib_likely(k && fib_fd_is_socket(k) && count) &&
	       !is_too_much(buf, count)) {
		r = fib_io_receive(k, count, SYS_recvfrom, a, &a[3]);

		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_read, a);
		if (fib_likely(r != -ENOTSOCK))
			return r;
		k = fib_fd_relearn(k);
	}
	return read_other(k, a);
}

long fib_sys_readv(int fd, const struct iovec *iov, unsigned n)
{
	struct fib_known *k = fib_fd_know(fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	long a[6] = { fd, (long)iov, n };

	if (!k || fib_fd_is_prompt(k) || odd_vector(iov, n))
		return read_through(SYS_readv, a);
	while (k && fib_fd_is_socket(k)) {
		long m[6] = { fd, (long)&msg };
		long r = fib_io_receive(k, fib_io_message_length(&msg),
					SYS_recvmsg, m, &m[2]);

		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_readv, a);
		if (r != -ENOTSOCK)
			return r;
		k = fib_fd_relearn(k);
	}
	if (!k || fib_fd_is_prompt(k))
		return read_through(SYS_readv, a);
	return read_file(k, iov, (int)n, SYS_readv, a);
}

/*
 * pipe_write() of the kernel: O_NONBLOCK counts for each part, not for who has waited and
 * finds no room (wait_event() of pipe_writable()), and a reader that has gone makes a
 * signal, whatever was written before. A splice() takes RWF_NOWAIT from the file for ever,
 * pipe_clear_nowait(). Who was woken by another writer goes on if there is a buffer left,
 * and not where there is room in the last one.
 */
static long pipe_part(struct fib_parts *p, int fd, struct iovec *v, unsigned n)
{
	bool full = p->waited && p->io.handed && !fib_io_ready(fd, POLLOUT);
	long r = full ? -EAGAIN :
			fib_raw(SYS_pwritev2, fd, v, n, -1, -1, RWF_NOWAIT);

	p->io.limited &= p->waited;
	p->refused = r == -EOPNOTSUPP;
	if (r == -EPIPE)
		fib_signal_raise(fib_self(), SIGPIPE, true);
	return r;
}

/* A write that may wait in the kernel, and go in parts there: a terminal's. */
static long write_polled(struct fib_known *k, const struct iovec *iov, int n,
			 long nr, const long a[6])
{
	uint32_t closes = fib_load(&k->slot->closes, relaxed);
	long r;

	fib_store(&fib_self()->sig.kicked, false, relaxed);
	r = polled(k, FIB_IO_WRITE, 0, nr, a);
	if (fib_unlikely(r > 0 && fib_load(&fib_self()->sig.kicked, relaxed)) &&
	    (size_t)r < fib_io_length(iov, n) && !fib_fd_nonblock(k) &&
	    fib_io_was_cut())
		r = fib_io_write_rest(k->slot, closes, iov, (size_t)n, 0, r);
	return r;
}

/* Has a first try, which does not wait, left something of @len bytes to do? */
static bool wants_more(long r, size_t len)
{
	return r == -EAGAIN || (r >= 0 && (size_t)r != len);
}

/*
 * One call has written @r of @len bytes, and the kernel has signalled the worker,
 * perhaps.
 */
static long written(struct fib_known *k, size_t len, long r)
{
	fib_fd_wrote(k, r);
	/* As in pipe_part(): a FIFO's writer may have done a part before. */
	if (r == -EPIPE || (r > 0 && k->kind == FIB_FD_PIPE && (size_t)r < len))
		fib_signal_raise(fib_self(), SIGPIPE, true);
	return r;
}

/* A blocking write goes on until all is written. */
static long __attribute__((noinline))
write_all(struct fib_known *k, const struct iovec *iov, int n, size_t len,
	  long nr, const long a[6])
{
	struct fib_parts p = { .io = FIB_HOOK_IO(k, FIB_IO_WRITE),
			       .part = pipe_part,
			       .iov = iov,
			       .n = (size_t)n };
	long v[6] = { k->fd, (long)iov, n, -1, -1, RWF_NOWAIT };
	long r;

	if (tells_of_tries(k))
		return written(k, len, write_polled(k, iov, n, nr, a));
	if (fib_fd_takes_nowait(k) && !(k->polled & FIB_IO_WRITE)) {
		p.io.closes = fib_iom_enter(k->slot);
		fib_io_begin(&p.io);
		r = fib_pass(SYS_pwritev2, v);
		if (wants_more(r, len) && !fib_fd_nonblock(k)) {
			FIB_CHAOS_POINT(io_partial);
			p.io.shared = true;
			p.blocked = r == -EAGAIN;
			p.done = r > 0 ? r : 0;
			p.skip = (size_t)p.done;
			r = fib_io_parts(&p);
			return p.refused ? written(k, len, r) : r;
		}
		fib_iom_leave(k->slot);
		if (!no_nowait(k, FIB_IO_WRITE, r))
			return written(k, len, r);
	}
	if (k->kind == FIB_FD_PIPE && fib_fd_asks() &&
	    fib_io_is_too_much(k, iov, n))
		return written(k, len, fib_io_write_fifo(k, iov, n));
	return written(k, len, write_polled(k, iov, n, nr, a));
}

static long write_file(struct fib_known *k, const struct iovec *iov, int n,
		       long nr, const long a[6])
{
	size_t len = length_of(nr, a, iov, n);

	return does_not_wait(k) ? written(k, len, fib_pass(nr, a)) :
				  write_all(k, iov, n, len, nr, a);
}

/* As read_other(). */
static long __attribute__((noinline))
write_other(struct fib_known *k, const long a[6])
{
	struct iovec iov = { (void *)a[1], (size_t)a[2] };
	long r;

	if (!iov.iov_len && k && (r = fib_job_io(k, FIB_IO_WRITE)))
		return r;
	if (!k || fib_fd_is_prompt(k) || !iov.iov_len ||
	    is_too_much(iov.iov_base, iov.iov_len)) {
		r = write_through(k, &iov, 1, 0, SYS_write, a);
		if (r == -EPIPE)
			fib_signal_raise(fib_self(), SIGPIPE, true);
		return r;
	}
	return write_file(k, &iov, 1, SYS_write, a);
}

long fib_sys_write(int fd, const void *buf, size_t count)
{
	struct fib_known *k = fib_fd_know(fd);
	long a[6] = { fd, (long)buf, (long)count };
	long r;

	while (fib_likely(k && fib_fd_is_socket(k)) &&
	       !is_too_much(buf, count)) {
		r = fib_io_send(k, a);

		a[3] = 0;
		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_write, a);
		if (fib_likely(r != -ENOTSOCK))
			return r;
		k = fib_fd_relearn(k);
	}
	return write_other(k, a);
}

long fib_sys_writev(int fd, const struct iovec *iov, unsigned n)
{
	struct fib_known *k = fib_fd_know(fd);
	struct msghdr msg = { .msg_iov = (struct iovec *)iov, .msg_iovlen = n };
	bool odd = k && !fib_fd_is_prompt(k) && odd_vector(iov, n);
	long a[6] = { fd, (long)iov, n };
	long r;

	while (k && fib_fd_is_socket(k) && !odd) {
		r = fib_sys_sendmsg(fd, &msg, 0);
		if (fib_unlikely(fib_is_denied(r)))
			return fib_io_own(SYS_writev, a);
		if (r != -ENOTSOCK)
			return r;
		k = fib_fd_relearn(k);
	}
	if (!k || fib_fd_is_prompt(k) || odd) {
		r = write_through(k, iov, n, 0, SYS_writev, a);
		if (r == -EPIPE)
			fib_signal_raise(fib_self(), SIGPIPE, true);
		return r;
	}
	return write_file(k, iov, (int)n, SYS_writev, a);
}

/*
 * With these flags a call on a terminal is as without, and on a socket or a pipe:
 * sock_read_iter(), pipe_write() and their kin do not look at them.
 */
#define PLAIN_FLAGS (RWF_HIPRI | RWF_DSYNC | RWF_SYNC | RWF_APPEND)

static int heeded(int fd, int flags)
{
	const struct fib_known *k;

	if (fib_likely(!flags) || (flags & ~PLAIN_FLAGS))
		return flags;
	k = fib_fd_know(fd);
	return k && (fib_fd_is_socket(k) || k->kind == FIB_FD_PIPE) ? 0 : flags;
}

static long job_vector(int fd, uint8_t ev, const struct iovec *iov, unsigned n,
		       int flags)
{
	struct fib_known *k = fib_fd_know(fd);

	return k && k->kind == FIB_FD_POLLED && !(flags & ~PLAIN_FLAGS) &&
			       !odd_vector(iov, n) ?
		       fib_job_io(k, ev) :
		       0;
}

/*
 * Without a position these are readv() and writev(), do_preadv() of the kernel;
 * with one they are for files that do not wait. Other flags are the kernel's.
 */
long fib_sys_preadv2(int fd, const struct iovec *iov, unsigned n,
		     unsigned long low, unsigned long high, int flags)
{
	const long a[6] = { fd, (long)iov, n, (long)low, (long)high, flags };
	long r = 0;

	if (low == ~0ul && !heeded(fd, flags))
		return fib_sys_readv(fd, iov, n);
	if (low == ~0ul)
		r = job_vector(fd, FIB_IO_READ, iov, n, flags);
	return r ? r : read_through(SYS_preadv2, a);
}

long fib_sys_pwritev2(int fd, const struct iovec *iov, unsigned n,
		      unsigned long low, unsigned long high, int flags)
{
	const long a[6] = { fd, (long)iov, n, (long)low, (long)high, flags };
	long r = 0;

	if (low == ~0ul && !heeded(fd, flags))
		return fib_sys_writev(fd, iov, n);
	if (low == ~0ul)
		r = job_vector(fd, FIB_IO_WRITE, iov, n, flags);
	if (r)
		return r;
	r = low == ~0ul ? write_through(fib_fd_know(fd), iov, n, flags,
					SYS_pwritev2, a) :
			  fib_slow_pass_intr(SYS_pwritev2, a);
	/* The signal comes beside a part that went before, too. */
	if (r == -EPIPE || (r > 0 && low == ~0ul))
		fib_signal_raise(fib_self(), SIGPIPE, true);
	return r;
}
