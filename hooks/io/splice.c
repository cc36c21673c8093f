/*
 * Calls from one descriptor to another. None has a form that does not wait for
 * any reason: SPLICE_F_NONBLOCK is for pipes (and unix sockets that are read).
 * What waits at a socket is told by its O_NONBLOCK alone, which others share.
 *
 *	waits in the kernel			here
 *	-------------------			----
 *	wait_for_space(), ipipe_prep(),		SPLICE_F_NONBLOCK
 *	splice_from_pipe_next(),
 *	splice_to_socket() for its pipe
 *	tcp_splice_read()			poll first
 *	tcp_sendmsg_locked(),			no more than there is room for
 *	sock_alloc_send_pskb()			(SO_MEMINFO)
 *
 * There is room in a TCP socket while what is queued takes less than the buffer,
 * headers included: half of what is left fits. A unix stream socket looks at its
 * room once for each buffer, and 16 pages that are spliced make one, however small
 * SO_SNDBUF is (skb_splice_from_iter()). If another thread takes
 * what poll or SO_MEMINFO saw, the call waits in the kernel, and a spare takes
 * the worker's place.
 *
 * Where a socket has a time limit, each of the parts that the kernel makes has
 * it: such calls are the kernel's, and so is what is between other files.
 */
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <sys/stat.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"

#define SPLICE_NONBLOCK 2u  /* SPLICE_F_NONBLOCK of the kernel */
#define SPLICE_ALL	15u /* SPLICE_F_ALL */
#define UNIX_PAGE	4096u
#define UNIX_PIPE	(16 * UNIX_PAGE)
#define TCP_LITTLE	16384u
#define TCP_PIECE	4096u

/* O_NONBLOCK is for the callers: vmsplice() does not go by it. */
static int no_limit(struct fib_io *io)
{
	return 0;
}

static long block(struct fib_io *io)
{
	return fib_io_hooked.block(io);
}

static const struct fib_io_rules rules = { .limit = no_limit, .block = block };

/*
 * At a pipe the last to come is before all, and who reads or writes there waits behind:
 * wait_event_interruptible() of pipe_wait_readable() and pipe_wait_writable().
 */
static void set_end(struct fib_io *io, struct fib_known *k, uint8_t ev)
{
	*io = FIB_IO(k->slot, ev, &rules);
	if (k->kind == FIB_FD_PIPE)
		io->turn = FIB_TURN_FIRST;
}

/* The kernel waits, if it has to. */
static long in_kernel(long nr, const long a[6])
{
	long asked = nr == SYS_sendfile ? a[3] : nr == SYS_splice ? a[4] : 0;
	long r = fib_slow_pass_intr((unsigned)nr, a);

	/*
	 * The signal comes beside a part that went before, too: of a pipe or socket that is
	 * broken, or of a file at its limit (iter_file_splice_write() tries what is left).
	 */
	if (r == -EPIPE || r == -EFBIG || (r > 0 && r < asked))
		fib_signal_raised(fib_self(),
				  FIB_SIG(SIGPIPE) | FIB_SIG(SIGXFSZ));
	return r;
}

/*
 * unix_stream_sendmsg(): who waits for a buffer gets the socket's error, and no
 * signal (sock_alloc_send_pskb()). The kernel's own call would begin with that.
 */
static long broken(const struct fib_ends *e, int out)
{
	int err = 0, size = sizeof(err);

	if (!e->waited || e->to->kind != FIB_FD_STREAM)
		return 0;
	fib_raw(SYS_getsockopt, out, SOL_SOCKET, SO_ERROR, &err, &size);
	if (err)
		return -err;
	/* No byte is sent, and what is shut says so. */
	return fib_raw(SYS_sendto, out, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL,
		       NULL, 0) == -EPIPE ||
			       (fib_io_ready(out, POLLOUT) & POLLHUP) ?
		       -EPIPE :
		       0;
}

/* Of socket @fd: its SO_SNDBUF, and how much of that is left, or more than used. */
static bool buffer(const struct fib_known *k, int fd, long *size, long *left)
{
	uint32_t m[SK_MEMINFO_VARS];
	int len = sizeof(m);

	if (fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_MEMINFO, m, &len))
		return false; /* not the socket any more, or a filter */
	*size = (long)m[SK_MEMINFO_SNDBUF];
	*left = *size - (long)m[k->kind == FIB_FD_TCP ? SK_MEMINFO_WMEM_QUEUED :
							SK_MEMINFO_WMEM_ALLOC];
	return true;
}

/* How much a stream socket takes without waiting; 0: nothing now. */
static size_t room(const struct fib_ends *e, int fd)
{
	bool tcp = e->to->kind == FIB_FD_TCP;
	long size, left;

	if (!buffer(e->to, fd, &size, &left))
		return FIB_IO_MAX;
	if (!tcp && left > 0)
		return left > (long)UNIX_PIPE * 2 ? (size_t)left / 2 :
						    UNIX_PIPE;
	if (tcp && left >= (long)TCP_LITTLE)
		return (size_t)left / 2;
	if (fib_io_ready(fd, POLLOUT))
		return TCP_PIECE;
	/* As tcp_part(): who was woken goes on where there is any room. */
	return tcp && e->waited && left > 0 ? (size_t)(left + 1) / 2 : 0;
}

static bool is_pipe(const struct fib_known *k)
{
	return k->kind == FIB_FD_PIPE;
}

static bool is_stream(const struct fib_known *k)
{
	return k->kind == FIB_FD_TCP || k->kind == FIB_FD_STREAM;
}

/*
 * Is the caller in the background of a terminal that is one of the ends? The kernel looks
 * when it has waited for the other end: here where that is ready.
 */
static long check_jobs(struct fib_known *from, struct fib_known *to)
{
	bool ready = false;

	if (from->kind == FIB_FD_POLLED && is_pipe(to)) {
		ready = fib_fd_access(to) != O_RDONLY &&
			fib_io_ready(to->fd, POLLOUT) == POLLOUT;
		return ready ? fib_job_io(from, FIB_IO_READ) : 0;
	}
	if (to->kind != FIB_FD_POLLED || fib_fd_access(from) == O_WRONLY ||
	    (fib_raw(SYS_fcntl, to->fd, F_GETFL) & O_APPEND))
		return 0;
	ready = is_pipe(from) ? fib_io_ready(from->fd, POLLIN) & POLLIN :
				from->kind == FIB_FD_ALWAYS;
	return ready ? fib_job_io(to, FIB_IO_WRITE) : 0;
}

/* --- sendfile ------------------------------------------------------------- */

/*
 * Is the input at its end, or none that can be sent? Then the kernel does not look at the
 * output. (What has no size, as in /proc, may be either.)
 */
static bool at_end(int in, int64_t at)
{
	struct stat st;

	return fib_raw(SYS_fstat, in, &st) || S_ISDIR(st.st_mode) ||
	       (S_ISREG(st.st_mode) && at >= st.st_size);
}

/*
 * Where the program gives no offset, the file's own is read at the beginning, and written at
 * the end (ends.c): what others do to it meanwhile has no effect, and they see none of the
 * pieces. Where the first one is to be all, the kernel sees to it.
 */
static int64_t position(const struct fib_ends *e, int in)
{
	return e->at >= 0 ? e->at + e->done :
			    fib_raw(SYS_lseek, in, 0, SEEK_CUR);
}

/*
 * How much of a file a unix stream takes in one buffer, from @at on, of which
 * e->done were sent: splice_direct_to_actor() fills a pipe of 16 pages.
 */
static size_t unix_piece(const struct fib_ends *e, int fd, int64_t at)
{
	size_t first = UNIX_PIPE - (size_t)(at - e->done) % UNIX_PAGE;
	size_t done = (size_t)e->done;
	long size, left;

	if (!buffer(e->to, fd, &size, &left))
		return FIB_IO_MAX;
	if (left <= 0)
		return 0;
	return done < first ? first - done :
			      UNIX_PIPE - (done - first) % UNIX_PIPE;
}

/* It waits for nothing, and says so whether there is room or not. */
static bool is_shut(const struct fib_ends *e, int out)
{
	return e->to->kind == FIB_FD_STREAM &&
	       fib_raw(SYS_sendto, out, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL,
		       NULL, 0) == -EPIPE;
}

/* There is no room: 0, -EAGAIN to wait, or what the call returns. */
static long no_room(struct fib_ends *e, int in, int out, int64_t at, bool pipe)
{
	long r = 0;

	/* do_sendfile() looks at both files first. */
	if (!e->held && !pipe)
		r = fib_raw(SYS_sendfile, out, in, &at, 0);
	if (r || (!pipe && at_end(in, at)))
		return r;
	e->wait = &e->out;
	return -EAGAIN;
}

/*
 * How much is left of a TCP socket's buffer when it is nearly full, only the kernel knows:
 * the last buffer of the queue takes more. That is copied, by a call that does not wait.
 * So is what others send where the system is short of memory for TCP: a buffer shrinks under
 * the call then (sk_stream_moderate_sndbuf()), and what there was room for waits. So no more
 * than some calls may be in the kernel at a time.
 */
#define AT_A_TIME 3
#define COPY_SIZE 65536u
#define COPY_LESS 512u /* where there is no memory */

static _Atomic uint32_t sending;
/* To copy by; for each piece a new one would have all threads wait for mmap_lock. */
static void *_Atomic kept[AT_A_TIME + 1];

static long copy_by(void *buf, size_t size, const struct fib_ends *e, int in,
		    int out, int64_t at)
{
	size_t n = e->left < size ? e->left : size;
	long r = fib_raw(SYS_pread64, in, buf, n, at);

	return r > 0 ? fib_raw(SYS_sendto, out, buf, r, MSG_DONTWAIT, 0, 0) : r;
}

static long __attribute__((noinline, cold))
copy_less(const struct fib_ends *e, int in, int out, int64_t at)
{
	char buf[COPY_LESS];

	return copy_by(buf, sizeof(buf), e, in, out, at);
}

static void *take_buffer(void)
{
	void *buf = NULL;

	for (size_t i = 0; i < FIB_ARRAY_SIZE(kept) && !buf; i++)
		buf = fib_xchg(&kept[i], NULL, acquire);
	return buf ? buf : fib_pages_alloc(COPY_SIZE);
}

static void put_buffer(void *buf)
{
	for (size_t i = 0; i < FIB_ARRAY_SIZE(kept) && buf; i++)
		buf = fib_xchg(&kept[i], buf, acq_rel);
	if (buf)
		fib_pages_free(buf, COPY_SIZE);
}

static long copy_piece(struct fib_ends *e, int in, int out, int64_t at)
{
	void *buf = take_buffer();
	long r = buf ? copy_by(buf, COPY_SIZE, e, in, out, at) :
		       copy_less(e, in, out, at);

	put_buffer(buf);
	if (r == -EPIPE)
		fib_signal_raise(fib_self(), SIGPIPE, true);
	if (r == -EAGAIN)
		e->wait = &e->out;
	/* The rest is to follow, till the file's end says that there is none. */
	if (r > 0)
		e->asked = (size_t)r;
	return r;
}

/*
 * A piece for which there is room, from @at on; *@own: if it is to be all, the kernel is to
 * keep the file's own position, and has done so.
 */
static long tcp_piece(struct fib_ends *e, int in, int out, int64_t at,
		      bool *own)
{
	long size, left, r = 0;
	bool sends;

	if (!buffer(e->to, out, &size, &left))
		left = FIB_IO_MAX;
	e->asked = e->left < (size_t)left / 2 ? e->left : (size_t)left / 2;
	sends = (fib_add(&sending, 1, relaxed) < AT_A_TIME || *own) &&
		left >= (long)TCP_LITTLE;
	/* What sendfile() may refuse, or finds no end of by its size, is the kernel's. */
	if (!sends && at_end(in, at)) {
		sends = true;
		if (left <= 1)
			e->asked = 1;
	}
	*own = *own && (e->asked == e->left || at < 0);
	/* do_sendfile() looks at both files first. */
	if (sends || !e->done)
		r = in_kernel(SYS_sendfile,
			      (long[6]){ out, in, *own ? 0 : (long)&at,
					 sends ? (long)e->asked : 0 });
	if (!sends && r == 0) {
		*own = false;
		r = copy_piece(e, in, out, at);
	}
	fib_sub(&sending, 1, relaxed);
	return r;
}

/* @own: nothing was tried yet, or the file has no position that can be asked for. */
static long move_piece(struct fib_ends *e, int in, int out, int64_t at,
		       bool own)
{
	bool pipe = is_pipe(e->to), tcp = e->to->kind == FIB_FD_TCP;
	long r = broken(e, out);

	if (r)
		return r;
	if (tcp) {
		r = tcp_piece(e, in, out, at, &own);
	} else {
		e->asked = pipe ? e->left : unix_piece(e, out, at);
		if (e->asked > e->left)
			e->asked = e->left;
		if (!e->asked || (pipe && !fib_io_ready(out, POLLOUT))) {
			r = is_shut(e, out) ? 0 : no_room(e, in, out, at, pipe);
			if (r)
				return r;
			e->asked = 1;
		}
		own = own && (e->asked == e->left || at < 0);
		r = in_kernel(SYS_sendfile,
			      (long[6]){ out, in, own ? 0 : (long)&at,
					 (long)e->asked });
	}
	e->stores |= r > 0 && e->own && !own;
	return r;
}

/*
 * splice_to_socket() looks at O_NONBLOCK when it begins with what is in the pipe of
 * splice_direct_to_actor(): 16 pages of the file.
 */
static bool is_nonblock(struct fib_ends *e, int64_t at)
{
	size_t into = (size_t)(at - e->done) % UNIX_PAGE + (size_t)e->done;
	size_t pipes = into / UNIX_PIPE + 1;

	if (e->pipes != pipes)
		e->nb_out = fib_fd_nonblock(fib_fd_of(e->out.s));
	e->pipes = pipes;
	return e->nb_out;
}

static long send_piece(struct fib_ends *e, int in, int out)
{
	bool own = e->own && e->at < 0;
	int64_t at = position(e, in);
	long r;

	if (own && at >= 0)
		e->at = at;
	r = move_piece(e, in, out, at, own);
	if (r == -EAGAIN && e->wait && !is_pipe(e->to) && is_nonblock(e, at))
		e->wait = NULL;
	return r;
}

/*
 * A pipe is filled once, by splice_file_to_pipe(): what is left of that, without a wait,
 * where a kick has cut it short. False: it is full, or has no reader.
 */
static bool goes_on_filling(int to, long done, long *left)
{
	long room = fib_raw(SYS_fcntl, to, F_GETPIPE_SZ) - done;

	if (room <= 0 || fib_io_ready(to, POLLOUT) != POLLOUT)
		return false;
	if (*left > room)
		*left = room;
	return true;
}

/* Only a handler cuts it short, and the end of either file. */
static long sendfile_in_kernel(struct fib_known *to, const long asked[6])
{
	uint32_t closes = to ? fib_load(&to->slot->closes, relaxed) : 0;
	long a[6] = { asked[0], asked[1], asked[2], asked[3] };
	bool pipe = to && is_pipe(to);
	struct fib *f = fib_self();
	long r, done = 0;

	do {
		fib_store(&f->sig.kicked, false, relaxed);
		if (pipe && done)
			r = in_kernel(SYS_splice,
				      (long[6]){ a[1], a[2], a[0], 0, a[3],
						 SPLICE_NONBLOCK });
		else
			r = in_kernel(SYS_sendfile, a);
		if (r > 0) {
			done += r;
			a[3] -= r;
		}
	} while (fib_unlikely(done && a[3] && r) && fib_io_goes_on(r, 0) &&
		 (!to || fib_load(&to->slot->closes, relaxed) == closes) &&
		 (!pipe || goes_on_filling(to->fd, done, &a[3])));
	return done ? done : r;
}

/* A pipe that is full is asked nothing before the wait: EBADF comes first. */
static bool takes_file(struct fib_known *to, struct fib_known *from)
{
	return is_pipe(to) && fib_fd_access(to) != O_RDONLY &&
	       fib_fd_access(from) != O_WRONLY;
}

/* May it be made in pieces, of a file to a stream? */
static bool sends_pieces(struct fib_known *to, struct fib_known *from)
{
	return to && from && from->kind == FIB_FD_ALWAYS &&
	       (is_stream(to) || takes_file(to, from)) &&
	       !fib_fd_nonblock(to) && !fib_fd_timed(to);
}

/* Of a file at its end nothing is written, and a terminal has no position. */
static long sendfile_jobs(const struct fib_ends *e)
{
	if (!e->from || !e->to || (!is_pipe(e->to) && is_pipe(e->from)) ||
	    (e->from->kind == FIB_FD_POLLED && !e->own) ||
	    (e->to->kind == FIB_FD_POLLED &&
	     at_end(e->from->fd, position(e, e->from->fd))))
		return 0;
	return check_jobs(e->from, e->to);
}

long fib_sys_sendfile(int to, int from, void *at, size_t count)
{
	struct fib_ends e = { .part = send_piece, .at = -1, .own = !at };
	const long a[6] = { to, from, (long)at, (long)count };
	long r;

	e.to = fib_fd_know(to);
	e.from = fib_fd_know(from);
	if (at && fib_copy(&e.at, at, sizeof(e.at)))
		return -EFAULT;
	if (!count || (long)count < 0 || (at && e.at < 0))
		return sendfile_in_kernel(e.to, a);
	r = sendfile_jobs(&e);
	if (r)
		return r;
	if (!sends_pieces(e.to, e.from))
		return sendfile_in_kernel(e.to, a);
	e.whole = !is_pipe(e.to);
	e.left = fib_io_most(count);
	set_end(&e.in, e.from, FIB_IO_READ);
	set_end(&e.out, e.to, FIB_IO_WRITE);
	r = fib_io_ends(&e);
	e.at += e.done;
	if (at && fib_copy(at, &e.at, sizeof(e.at)))
		return -EFAULT;
	return r;
}

/* --- splice, tee, vmsplice ------------------------------------------------- */

static bool has_nothing(const struct fib_ends *e, int in)
{
	/* The kernel refuses a listener (tcp_read_sock()): poll tells of connections. */
	return !fib_io_ready(in, POLLIN) &&
	       !(e->from->kind == FIB_FD_TCP && fib_io_listens_by_kernel(in));
}

/*
 * Of a pipe that is empty poll does not say that it has ended, if it is a FIFO that has had
 * no writer. What is to be read into cannot be written to.
 */
static bool has_ended(int in)
{
	static const char nowhere;
	struct iovec v = { (void *)&nowhere, 1 };

	return fib_raw(SYS_vmsplice, in, &v, 1, SPLICE_NONBLOCK) == 0;
}

/* ipipe_prep() does not wait for what never comes. Asked once both ends are held. */
static bool does_not_wait(struct fib_ends *e, int in)
{
	if (!is_pipe(e->from) || fib_fd_access(e->from) != O_RDONLY)
		return false;
	e->unsure = !e->held;
	return e->held && has_ended(in);
}

/*
 * EAGAIN: for which end would the call have waited? False: for none now. Pipes
 * that are read come before the output, else it is the other way round. Who has
 * moved something does not wait for more to come (splice_to_socket()).
 */
static bool find_end(struct fib_ends *e, int in, int out)
{
	bool in_first = !e->out.s || is_pipe(e->from);
	bool in_waits = e->in.s && has_nothing(e, in);
	bool out_waits = e->out.s && !fib_io_ready(out, POLLOUT);

	if (in_waits && out_waits && does_not_wait(e, in))
		in_waits = false;
	if (in_waits && (in_first || !out_waits))
		e->wait = e->nb_in || e->done ? NULL : &e->in;
	else if (out_waits)
		e->wait = e->nb_out ? NULL : &e->out;
	return in_waits || out_waits;
}

/* The call as it was made, which waits for nothing but a socket. */
static long call_now(struct fib_ends *e, int in, int out)
{
	unsigned to = e->nr == SYS_splice ? 2 : 1;
	unsigned flags = e->nr == SYS_splice ? 5 : 3;
	long v[6] = { e->a[0], e->a[1], e->a[2], e->a[3], e->a[4], e->a[5] };
	long r;

	v[0] = e->in.s ? in : out;
	if (e->nr != SYS_vmsplice) {
		v[to] = out;
		v[flags - 1] = (long)e->asked;
	}
	v[flags] |= SPLICE_NONBLOCK;
	for (int odd = 0; odd < 3; odd++) {
		r = in_kernel(e->nr, v);
		if (r != -EAGAIN || find_end(e, in, out))
			return r;
	}
	/* Both are ready, says poll. */
	v[flags] = e->a[flags];
	return in_kernel(e->nr, v);
}

static long pipe_piece(struct fib_ends *e, int in, int out)
{
	e->asked = e->left;
	return call_now(e, in, out);
}

/* From a pipe to a stream: no more than it takes. */
static long to_stream(struct fib_ends *e, int in, int out)
{
	long r = broken(e, out);
	short ready;

	if (r)
		return r;
	e->asked = room(e, out);
	if (e->asked > e->left)
		e->asked = e->left;
	if (!e->asked) {
		ready = fib_io_ready(in, POLLIN);
		if ((ready & POLLIN) && !is_shut(e, out)) {
			e->wait = &e->out;
			return -EAGAIN;
		}
		/* An end, or what it waits for, come first. */
		e->asked = 1;
	}
	return call_now(e, in, out);
}

/* From a TCP socket to a pipe: first readers and room, wait_for_space(), then data. */
static long from_tcp(struct fib_ends *e, int in, int out)
{
	e->asked = e->left;
	if (has_nothing(e, in) &&
	    (e->had_room |= fib_io_ready(out, POLLOUT) == POLLOUT)) {
		e->wait = &e->in;
		return -EAGAIN;
	}
	return call_now(e, in, out);
}

/*
 * How @e is made, do_splice(), and which ends it does not wait for; false: the
 * kernel does it all.
 */
static bool choose(struct fib_ends *e, bool now, bool offsets)
{
	bool in = fib_fd_nonblock(e->from), out = fib_fd_nonblock(e->to);

	e->part = pipe_piece;
	e->nb_in = e->nb_out = now || in || out;
	if (is_pipe(e->from) && is_pipe(e->to))
		return true;
	if (is_pipe(e->from)) {
		e->nb_in = now || in;
		e->nb_out = out;
		if (e->to->kind == FIB_FD_ALWAYS)
			return true;
		e->whole = true;
		if (!out)
			e->part = to_stream;
		return is_stream(e->to) && !fib_fd_timed(e->to) && !offsets;
	}
	if (!is_pipe(e->to))
		return false;
	e->nb_out = now || out;
	if (e->from->kind != FIB_FD_TCP)
		return e->from->kind == FIB_FD_ALWAYS ||
		       (e->from->kind == FIB_FD_STREAM &&
			!fib_fd_timed(e->from));
	e->nb_in = in;
	if (!in)
		e->part = from_tcp;
	return !fib_fd_timed(e->from) && !offsets;
}

static long between(struct fib_ends *e, int from, int to, bool now,
		    bool offsets)
{
	e->from = fib_fd_know(from);
	e->to = fib_fd_know(to);
	if (!e->from || !e->to || !e->left || (ssize_t)e->left < 0 ||
	    !choose(e, now, offsets))
		return in_kernel(e->nr, e->a);
	if (e->left > FIB_IO_MAX)
		e->left = FIB_IO_MAX;
	set_end(&e->in, e->from, FIB_IO_READ);
	set_end(&e->out, e->to, FIB_IO_WRITE);
	return fib_io_ends(e);
}

long fib_sys_splice(int from, void *from_at, int to, void *to_at, size_t len,
		    unsigned flags)
{
	const long a[6] = { from,	 (long)from_at, to,
			    (long)to_at, (long)len,	flags };
	struct fib_ends e = { .nr = SYS_splice, .a = a, .left = len };
	struct fib_known *in = fib_fd_know(from), *out = fib_fd_know(to);
	long r = 0;

	if (in && out && (ssize_t)len > 0 && !from_at && !to_at &&
	    !(flags & ~SPLICE_ALL) && (is_pipe(in) || is_pipe(out)))
		r = check_jobs(in, out);
	if (r)
		return r;
	return between(&e, from, to, flags & SPLICE_NONBLOCK, from_at || to_at);
}

long fib_sys_tee(int from, int to, size_t len, unsigned flags)
{
	const long a[6] = { from, to, (long)len, flags };
	struct fib_ends e = { .nr = SYS_tee, .a = a, .left = len };
	struct fib_known *in = fib_fd_know(from), *out = fib_fd_know(to);

	if (!in || !out || !is_pipe(in) || !is_pipe(out))
		return in_kernel(SYS_tee, a);
	return between(&e, from, to, flags & SPLICE_NONBLOCK, false);
}

/* Its pipe's O_NONBLOCK is not asked for. */
long fib_sys_vmsplice(int fd, const struct iovec *iov, unsigned long n,
		      unsigned flags)
{
	const long a[6] = { fd, (long)iov, (long)n, flags };
	struct fib_ends e = { .nr = SYS_vmsplice,
			      .a = a,
			      .left = FIB_IO_MAX,
			      .part = pipe_piece };
	struct fib_known *k = fib_fd_know(fd);

	if (!k || !is_pipe(k) || (flags & SPLICE_NONBLOCK))
		return in_kernel(SYS_vmsplice, a);
	e.from = e.to = k;
	if (fib_fd_access(k) == O_RDONLY)
		set_end(&e.in, k, FIB_IO_READ);
	else
		set_end(&e.out, k, FIB_IO_WRITE);
	return fib_io_ends(&e);
}
