/* Waiting for many descriptors: many.h. */
#include <sys/vfs.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/io/many.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/doubt.h"
#include "runtime/timer.h"

void fib_many_free(struct fib_many *m)
{
	if (m->pages)
		fib_pages_free(m->watch, m->pages);
	if (m->also)
		fib_pages_free(m->also, m->also_size);
}

static struct fib_fd *place(const struct fib_watch *x)
{
	return fib_load(&x->w.slot, acquire);
}

/* Its number was closed: it waits for the file by another one. */
static bool is_away(const struct fib_watch *x)
{
	return x->published && place(x) != x->s;
}

/* It is published no more. */
static void left(struct fib_watch *x)
{
	if (is_away(x))
		fib_iom_guest_leave(place(x));
	x->published = false;
}

#define QUEUE_MAGIC 0x19800202 /* MQUEUE_MAGIC of ipc/mqueue.c */

/*
 * A POSIX message queue is a regular file, which has a poll function: it looks at how
 * many messages there are, and whatever changes that wakes all who poll
 * (mqueue_poll_file(), __do_notify(), pipelined_receive()).
 */
static bool is_queue(int fd)
{
	struct statfs fs;

	return !fib_filtered() && !fib_raw(SYS_fstatfs, fd, &fs) &&
	       fs.f_type == QUEUE_MAGIC;
}

/*
 * Files whose poll functions tell of a change once, to whoever asks first:
 * mounts_poll(), swaps_poll(), proc_sys_poll(), perf_poll(). That would be epoll. So may the
 * program's epoll descriptors, with one of them in it: epoll.c.
 */
static bool tells_once(const struct fib_fd *s)
{
	bool in_epoll = fib_load(&fib_fd_tells_once, seq_cst);
	const struct fib_known *k =
		s->registered && !in_epoll ? NULL : fib_fd_know(s->fd);

	return k && ((k->kind == FIB_FD_ALWAYS && !is_queue(s->fd)) ||
		     (in_epoll && fib_fd_may_be_epoll(k->kind)));
}

static bool is_waiting(const struct fib_watch *x)
{
	return x->published && !fib_load(&x->w.woken, acquire);
}

/*
 * What poll has said nothing of when its edges were these: of a kind whose poll function
 * asks for nothing that an edge depends on (vsock's may).
 */
static uint64_t quiet(const struct fib_watch *x)
{
	return ((uint64_t)x->files << 32 | x->seq) + 1;
}

static void note_quiet(const struct fib_many *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		const struct fib_watch *x = &m->watch[i];
		uint8_t kind = fib_fd_kind(x->fd);

		if (x->s && (x->want & POLLIN) &&
		    (kind == FIB_FD_TCP || kind == FIB_FD_STREAM ||
		     kind == FIB_FD_PIPE))
			fib_store(&x->s->quiet, quiet(x), relaxed);
	}
}

/*
 * Poll would say nothing, and an edge is going to tell of whatever changes that. (It
 * may say nothing of what a read would not wait for: a FIFO that nobody has written
 * to, a listener. So what it has said is for poll alone.) A short read says so where it
 * is the last: not of a packet pipe, nor of what comes with descriptors.
 */
static bool is_quiet(const struct fib_watch *x)
{
	return x->s && x->events == FIB_IO_READ &&
	       (x->s->registered & FIB_IO_READ) &&
	       !fib_load(&x->s->untrusted, relaxed) &&
	       (fib_load(&x->s->quiet, relaxed) == quiet(x) ||
		(fib_io_is_empty(x->s) && fib_fd_short_is_last(x->fd)));
}

static bool is_registered(const struct fib_watch *x)
{
	return x->s->registered & FIB_IO_READ;
}

/* The same is presumed; so it is after a short read that need not have been the last. */
static bool is_presumed(const struct fib_watch *x)
{
	return x->s && x->events == FIB_IO_READ &&
	       (fib_io_is_presumed(x->s) ||
		(is_registered(x) && fib_io_is_empty(x->s) && fib_doubt_may()));
}

/*
 * The answer was @r, at once. Of several it does not tell which is ready, and of one that
 * may be for writing, not for what.
 */
static void learn(const struct fib_many *m, long r)
{
	for (unsigned i = 0; i < m->n && (r == 0 || m->n == 1); i++) {
		const struct fib_watch *x = &m->watch[i];

		if (x->s && (r == 0 ? (x->events & FIB_IO_READ) :
				      x->events == FIB_IO_READ))
			fib_io_learn(x->s, r == 0);
	}
}

static long ask(const struct fib_many *m)
{
	return m->none ? 0 : m->ask(m->arg);
}

long fib_many_ask(struct fib_many *m)
{
	bool first = !m->asked, known;
	long r;

	m->asked = true;
	/* Before a mask is opened comes who is ready, of whom an edge tells later. */
	known = first && !fib_self()->hook.restore_mask;
	for (unsigned i = 0; i < m->n; i++) {
		struct fib_watch *x = &m->watch[i];

		if (is_waiting(x))
			continue;
		left(x);
		x->s = fib_fd_get(x->fd);
		if (x->s) {
			x->seq = fib_iom_begin(x->s);
			x->files = fib_load(&x->s->files, relaxed);
			if (!first && (x->events & FIB_IO_READ))
				fib_io_has_waited(x->s);
		}
		x->doubts = known && !is_quiet(x);
		known = known && (!x->doubts || is_presumed(x));
	}
	m->presumed = known;
	if (known && m->n)
		return 0;
	r = ask(m);
	if (first)
		learn(m, r);
	if (r == 0 && first)
		note_quiet(m);
	return r;
}

/* 0; 1: an edge came meanwhile, so ask again; < 0: the kernel is to wait. */
static int publish_all(struct fib_many *m)
{
	int again = 0;

	for (unsigned i = 0; i < m->n; i++) {
		struct fib_watch *x = &m->watch[i];
		bool doubts;
		int r;

		if (x->published)
			continue;
		if (!x->s || tells_once(x->s))
			return -ENOMEM;
		/* To register it asks as well. */
		doubts = m->presumed && x->doubts && is_registered(x);
		r = fib_iom_observe(x->s, &x->w, x->events, x->seq);
		if (r == 0) {
			x->published = true;
			if (doubts)
				fib_doubt(x->s, x->seq);
		} else if (r == 1)
			again = 1;
		else if (r != -EPERM && r != -EBADF)
			return -ENOMEM;
	}
	return again;
}

static bool any_woken(const void *arg)
{
	const struct fib_many *m = arg;

	for (unsigned i = 0; i < m->n; i++)
		if (m->watch[i].published &&
		    fib_load(&m->watch[i].w.woken, acquire))
			return true;
	return false;
}

/*
 * Would @x, whose number is closed, have been woken by now? pollwake() goes by the key
 * of the wake-up: what is waited for, which was not there, or everything at the end of
 * a pipe or a connection, which has none. Data has POLLPRI in its key at a socket
 * (sock_def_readable()).
 */
static bool tells(const struct fib_watch *x, const struct fib_fd *s)
{
	const struct fib_known *k = fib_fd_know(s->fd);
	short data =
		(x->want & POLLPRI) && k && fib_fd_is_socket(k) ? POLLIN : 0;
	short ready = fib_io_ready(s->fd, x->want | POLLRDHUP | data);

	return ready & (x->want | ~s->had);
}

/*
 * do_poll() and do_select() have all files from the beginning of the call to its
 * end, and look by number when one of them has woken them up: a number that is
 * closed by then is POLLNVAL. So where one is, the wake-up has to be of the kind that
 * the kernel would have sent (tells()). Who is woken for nothing watches on, where it is.
 */
static bool is_nothing(struct fib_many *m)
{
	bool away = false;

	for (unsigned i = 0; i < m->n && !away; i++)
		away = is_away(&m->watch[i]);
	for (unsigned i = 0; i < m->n && away; i++) {
		struct fib_watch *x = &m->watch[i];
		struct fib_fd *s;

		if (!x->published || !fib_load(&x->w.woken, acquire))
			continue;
		s = place(x);
		if (fib_iom_observe(s, &x->w,
				    s == x->s ? x->events : FIB_IO_BOTH,
				    fib_iom_begin(s))) {
			left(x);
			return false;
		}
		if (s == x->s ? fib_io_ready(s->fd, x->want) : tells(x, s))
			return false;
	}
	return away;
}

long fib_many_wait(struct fib_many *m)
{
	long r;

	fib_stop_may_repeat();
	fib_cancel_begin();
	for (;;) {
		r = publish_all(m);
		if (r < 0)
			break;
		if (r == 0)
			do
				r = fib_park_until(any_woken, m, m->deadline_ns,
						   FIB_WAIT_POLL, m->n);
			while ((r == 0 && is_nothing(m)) ||
			       (r == -EINTR && fib_wait_stays()));
		else
			r = 0;
		/* A cancel comes before what came after it. */
		if (r == 0 && fib_unlikely(fib_cancel_is_near()))
			r = -EINTR;
		if (r == -ETIMEDOUT) {
			r = ask(m);
			break;
		}
		if (r == -EINTR && !fib_cancel_is_near()) {
			r = ask(m);
			if (r == 0)
				r = -EINTR;
		}
		if (r == 0)
			r = fib_many_ask(m);
		if (r)
			break;
	}
	for (unsigned i = 0; i < m->n; i++) {
		if (m->watch[i].published)
			fib_iom_retract(&m->watch[i].w);
		left(&m->watch[i]);
	}
	fib_many_free(m);
	if (r < 0)
		fib_cancel_end();
	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

bool fib_many_room(struct fib_many *m, struct fib_watch *few, size_t n)
{
	m->watch = few;
	m->n = (unsigned)n;
	if (n <= FIB_FEW) {
		memset(few, 0, n * sizeof(*few));
		return true;
	}
	m->pages = n * sizeof(*few);
	m->watch = fib_pages_alloc(m->pages);
	return m->watch;
}
