/* How long a call may wait, and how: for the loop of runtime/trywait.h. */
#include <fcntl.h>
#include "hooks/core/deadline.h"
#include "hooks/fd/procfs.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "hooks/wait/way.h"
#include "runtime/chaos.h"
#include "runtime/reserved.h"
#include "runtime/uring.h"

long fib_io_failed(const struct fib_io *io, long r)
{
	if (r == -ETIMEDOUT)
		return -EAGAIN;
	if (r == -EINTR)
		return io->deadline_ns == FIB_NEVER ? -FIB_ERESTARTSYS :
						      -FIB_ERESTARTNOHAND;
	return r;
}

/* A kick that brings no handler may have cut a write short. */
static bool goes_on(long nr, const long a[6], long r)
{
	return nr == SYS_write && r > 0 && r < a[2] &&
	       !(fib_raw(SYS_fcntl, a[0], F_GETFL) & O_NONBLOCK) &&
	       fib_attention_clear(fib_self());
}

long fib_io_own(long nr, const long a[6])
{
	long v[6] = { a[0], a[1], a[2], a[3], a[4], a[5] };
	long r, done = 0;

	while (goes_on(nr, v, r = fib_blocking(nr, v))) {
		done += r;
		v[1] += r;
		v[2] -= r;
	}
	if (r == -EPIPE && !done)
		fib_signal_raise(fib_self(), SIGPIPE, true);
	return done ? done + (r > 0 ? r : 0) : r;
}

/* The hold of a call that has @s among its files. */
static struct fib_hold *hold_of(const struct fib_fd *s)
{
	struct fib_hold *h = fib_self()->io.hold;

	while (h && h->also && fib_load(&h->w.slot, acquire) != s)
		h = h->also;
	return h;
}

/* A wait at @h is over: if the number was closed meanwhile, it was not for @h. */
static void go_back(struct fib_io *io, struct fib_hold *h)
{
	struct fib_fd *s;

	if (io->closes == fib_load(&io->s->closes, relaxed)) {
		fib_iom_let_go(h);
		return;
	}
	s = fib_iom_unhold(h);
	if (s && s != io->s)
		fib_io_follow(io, s);
}

/*
 * Neither fib_iom_nudge_writers() nor the monitor, which asks late, reaches who waits in
 * poll: it looks that often.
 */
#define NUDGE_NS 10000000ull

static uint64_t look_again(const struct fib_io *io)
{
	struct fib_known *k = fib_fd_of(io->s);

	if ((io->ev != FIB_IO_WRITE || k->kind == FIB_FD_TCP) &&
	    fib_fd_is_ours_alone(k))
		return FIB_NEVER;
	return fib_now_ns() + NUDGE_NS;
}

/*
 * epoll would not have the descriptor (no memory, no watches left). What comes of
 * the wait is the same as in fib_io_park().
 */
static long __attribute__((noinline)) wait_in_kernel(struct fib_io *io)
{
	uint64_t look_ns = look_again(io);
	struct fib *f = fib_self();
	struct pollfd p = { .fd = io->s->fd,
			    .events =
				    io->ev == FIB_IO_READ ? POLLIN : POLLOUT };
	struct fib_hold hold, *h = hold_of(io->s);
	uint64_t step_ns = NUDGE_NS, until;
	struct timespec ts;
	bool held;
	long r;

	/* A call in parts has hold of it already. */
	held = !f->io.hold && !io->moved &&
	       fib_iom_hold(io->s, &hold, io->closes);
	if (held)
		f->io.hold = h = &hold;
	io->parked = true;
	if (look_ns > io->deadline_ns)
		look_ns = io->deadline_ns;
	/*
	 * By the number: as many duplicates as there are waits would stand in
	 * the way of the program's dup2(). A close between this look and the call
	 * is seen at the next one, when the wait is twice as old.
	 */
	do {
		if (h)
			p.fd = fib_iom_number(h);
		until = fib_ns_add(fib_now_ns(), step_ns);
		if (!h || until > look_ns)
			until = look_ns;
		FIB_CHAOS_POINT(poll_number);
		r = p.fd < 0 ? 1 :
			       fib_blocking(SYS_ppoll,
					    (long[6]){ (long)&p, 1,
						       fib_time_left(until, &ts),
						       0, 8 });
		step_ns *= 2;
	} while (r == 0 && until < look_ns);
	if (held && f->io.hold) {
		f->io.hold = NULL;
		go_back(io, &hold);
	}
	if (r == -FIB_ERESTARTNOINTR) /* a signal was there before it began */
		return -EINTR;
	io->woken |= r > 0 && p.fd >= 0;
	if (r == 0)
		fib_fd_ask_late(fib_fd_of(io->s), io->ev);
	return r || look_ns < io->deadline_ns ? r : -ETIMEDOUT;
}

/* __sys_accept4_file(): the number is taken before the wait. */
static int reserve(void)
{
	struct fib *f = fib_self();
	int at = fib_reserved_take();

	if (at >= 0)
		f->io.reserved = at + 1;
	return at == -EMFILE ? at : 0;
}

/* It is not known how long it waits, or that it does. */
static int __attribute__((noinline))
terms_asked(struct fib_io *io, struct fib_known *k, struct fib_fd_terms *t)
{
	t->found = fib_fd_found(k); /* (A) */
	if (fib_fd_nonblock(k) || fib_fd_impatient(k, io->ev))
		return -EAGAIN;
	t->limit_ns = fib_fd_limit(k, io->ev);
	t->undone = fib_load(fib_fd_undone(k), acquire);
	t->ours = fib_fd_is_ours_alone(k);
	return 0;
}

static int limit(struct fib_io *io)
{
	struct fib_known *k = fib_fd_of(io->s);
	struct fib_fd_terms t;

	if (fib_unlikely(!fib_fd_terms(k, io->ev, &t))) {
		int r = terms_asked(io, k, &t);

		if (r)
			return r;
	}
	io->found = t.found;
	io->undone = t.undone;
	io->deadline_ns = t.limit_ns == FIB_NEVER ? FIB_NEVER :
						    fib_deadline_in(t.limit_ns);
	if (!t.ours) {
		io->since_ns = fib_now_ns();
		fib_iom_hurries();
	}
	return io->opens && !fib_self()->io.reserved ? reserve() : 0;
}

/* It waits already: has another process changed how long it may? hooks/fd/desc.h */
static int limit_again(struct fib_io *io, struct fib_known *k)
{
	uint64_t ns;

	if (fib_likely(io->found == fib_fd_found(k)))
		return 0;
	io->found = fib_fd_found(k);
	if (fib_fd_nonblock(k))
		return -EAGAIN;
	ns = fib_fd_limit(k, io->ev);
	io->deadline_ns =
		ns == FIB_NEVER ? FIB_NEVER : fib_ns_add(io->since_ns, ns);
	return 0;
}

/*
 * A datagram socket that is shut says EAGAIN to who does not wait, and 0 to who
 * does: __skb_wait_for_more_packets(). An edge has told of it.
 */
static bool is_shut(const struct fib_io *io)
{
	return io->flags && fib_load(&io->s->untrusted, relaxed) &&
	       (fib_io_ready(io->s->fd, POLLIN | POLLRDHUP) & POLLRDHUP);
}

/*
 * A unix listener that is shut says EINVAL to who waits, and EAGAIN to who does not:
 * unix_accept(). What came before that goes first, and nothing comes after it.
 */
static bool is_shut_listener(struct fib_io *io, const struct fib_known *k)
{
	return io->opens && fib_load(&io->s->untrusted, relaxed) &&
	       (k->kind == FIB_FD_STREAM || k->kind == FIB_FD_LOCAL) &&
	       (fib_io_ready(io->s->fd, POLLIN | POLLRDHUP) & POLLRDHUP);
}

/*
 * Its connection was taken back under it, connect(AF_UNSPEC): EPIPE, and the error
 * stays with the socket (sk_wait_event(), since Linux 6.6). A send takes the error
 * itself (sk_stream_error()).
 */
static bool is_undone(const struct fib_io *io)
{
	return io->ev == FIB_IO_READ &&
	       io->undone != fib_load(fib_fd_undone(fib_fd_of(io->s)), acquire);
}

/* accept(): those who wait with it are in the kernel now. Nobody is to be woken. */
static bool goes_over(struct fib_io *io)
{
	bool over = io->opens && !io->moved && fib_way_is_kernel();

	if (over)
		io->woken = false;
	return over;
}

/*
 * Do those who wait for the file stand elsewhere? Asked once it has other numbers. (Nobody
 * comes to where it is a guest.)
 */
static bool has_queue(struct fib_io *io, struct fib_known *k)
{
	uint32_t closes;
	uint8_t twin = fib_load(&k->twin, relaxed);

	if (fib_unlikely(!twin)) {
		fib_fd_find_twin(k);
		twin = fib_load(&k->twin, relaxed);
	}
	if (fib_likely(!(twin & FIB_TWIN_HAS)))
		return false;
	io->shared = false;
	return !fib_load(&io->s->guests, relaxed) &&
	       fib_fd_queue(k, io->ev, io->closes, &closes);
}

/*
 * A hint has woken it for fewer bytes than SO_RCVLOWAT, which may have been set while it
 * waits: tcp_data_ready() wakes nobody for these, and all who wait for more. So who was
 * woken for those tries, whatever others have left. (Who waits by what is presumed has
 * not tried yet.)
 */
static bool is_too_little(struct fib_io *io)
{
	if (fib_likely(!fib_load(&fib_fd_lowat_used, relaxed)) ||
	    io->ev != FIB_IO_READ || io->opens || io->doubts || io->came ||
	    fib_fd_of(io->s)->kind != FIB_FD_TCP || fib_io_lost(io) ||
	    fib_fd_lowat(fib_fd_of(io->s)) <= 1)
		return false;
	fib_io_begin(io);
	return !fib_io_ready(io->s->fd, POLLIN | POLLRDHUP);
}

/*
 * It is empty: there is room for who writes to the other end. Where that is the same
 * file, as of an eventfd, the hint would be an edge that has the caller look again, and
 * again.
 */
static void hint_room(struct fib_io *io, struct fib_known *k)
{
	if (fib_likely(fib_fd_peer(k).slot != io->s))
		fib_fd_hint_peer(k, FIB_IO_WRITE);
}

/*
 * It has not tried yet: what else a wait looks at, and what ends it, is for one that
 * has, as that a stop ends it, or that others stand elsewhere.
 */
static long __attribute__((noinline, cold)) wait_early(struct fib_io *io)
{
	fib_io_wait(io);
	return fib_filtered() ? -FIB_ERESTARTNOINTR : 0;
}

/* n_tty_read() lets in one reader at a time, who sleeps until something is there. */
static bool is_first_at_master(const struct fib_io *io)
{
	return io->ev == FIB_IO_READ && !fib_iom_has_reader(io->s, io->turn) &&
	       fib_job_is_master(io->s->fd);
}

/*
 * Each time that they are woken, n_tty_read(), inotify_read() and fanotify_read(), and a
 * pipe_write() that has no room, look at O_NONBLOCK again, before they look at signals. (Not so
 * splice() and its like, whose flags are what they were when the call began.)
 */
static bool ends_by_nonblock(struct fib_io *io)
{
	struct fib_known *k = fib_fd_of(io->s);

	if (io->rules != &fib_io_hooked || !fib_fd_nonblock(k))
		return false;
	if (k->kind == FIB_FD_PIPE && io->ev == FIB_IO_WRITE)
		return !fib_io_lost(io) && !fib_io_ready(k->fd, POLLOUT);
	return (k->kind == FIB_FD_POLLED || k->kind == FIB_FD_NOWAIT) &&
	       (is_first_at_master(io) ||
		(fib_fd_asks() && fib_procfs_is_watch(k->fd)));
}

/* The one before it at a master has left, or what has woken it is another's by now. */
static bool looks_again(struct fib_io *io, struct fib_known *k)
{
	return k->kind == FIB_FD_POLLED && fib_fd_nonblock(k) &&
	       is_first_at_master(io);
}

/* Does the kernel look for what is waited for before it heeds a signal, or after? */
static bool comes_before_signal(const struct fib_io *io,
				const struct fib_known *k)
{
	/* pipe_read(), tcp_recvmsg_locked(), __skb_recv_datagram(), ... */
	if (io->ev == FIB_IO_READ) /* but unix_stream_read_generic() */
		return k->kind != FIB_FD_STREAM;
	/* pipe_write(), eventfd_write(), sock_alloc_send_pskb(), of which poll tells late */
	return k->kind == FIB_FD_PIPE || k->kind == FIB_FD_NOWAIT ||
	       k->kind == FIB_FD_STREAM || k->kind == FIB_FD_DGRAM;
}

/* A signal has woken it, and what it waits for has come before, perhaps: once more, then. */
static bool tries_last(struct fib_io *io, const struct fib_known *k)
{
	if (io->tries_last || !comes_before_signal(io, k) || fib_io_lost(io) ||
	    fib_cancel_is_near() || fib_filtered())
		return false;
	io->tries_last = true;
	return k->kind == FIB_FD_STREAM ||
	       fib_io_ready(io->s->fd,
			    io->ev == FIB_IO_READ ? POLLIN : POLLOUT);
}

/*
 * A stop has come in the call, whose wait has ended: signal_pending() is true until the
 * call returns, and no other wait begins.
 */
static long __attribute__((noinline, cold)) was_stopped(struct fib_io *io)
{
	if (ends_by_nonblock(io))
		return -EAGAIN;
	if (io->deadline_ns != FIB_NEVER || fib_self()->io.part)
		fib_store(&fib_self()->io.stop, FIB_STOP_ENDED, relaxed);
	return fib_io_failed(io, -EINTR);
}

static long block(struct fib_io *io)
{
	struct fib_known *k = fib_fd_of(io->s);
	long r;

	if (fib_unlikely(io->early))
		return wait_early(io);
	r = limit_again(io, k);
	if (fib_unlikely(r))
		return r;
	if (fib_unlikely(io->came) && looks_again(io, k))
		return -EAGAIN;
	if (fib_unlikely(is_shut(io))) {
		if (!(*io->flags & MSG_DONTWAIT)) /* it is O_NONBLOCK by now */
			return -EAGAIN;
		*io->flags &= ~MSG_DONTWAIT;
		return 0;
	}
	if (fib_unlikely(is_shut_listener(io, k))) {
		bool again = io->shut;

		io->shut = true;
		return again ? -EINVAL : 0;
	}
	if (fib_unlikely(goes_over(io)))
		return -FIB_IO_GOES_OVER;
	if (io->shared && fib_unlikely(has_queue(io, k)))
		return -FIB_IO_ELSEWHERE;
	if (io->ev == FIB_IO_READ)
		hint_room(io, k);
	if (fib_unlikely(fib_stop_came()))
		return was_stopped(io);
	fib_io_waits(io->opens);
	/* sock_intr_errno(); and whoever has done a part leaves it at that */
	if (io->deadline_ns != FIB_NEVER || fib_self()->io.part)
		fib_stop_ends();
	else
		fib_stop_may_repeat();
	do
		r = FIB_CHAOS_ODDS(no_watch, 64) ? -ENOSPC : fib_io_wait(io);
	while (r == 0 && is_too_little(io));
	/* Who has only presumed that nothing is there tries first. */
	if (r != 0 && r != -EINTR && r != -ETIMEDOUT)
		r = io->doubts ? 0 : wait_in_kernel(io);
	if (fib_unlikely(r == 0 && goes_over(io)))
		return -FIB_IO_GOES_OVER;
	if (fib_unlikely(is_undone(io)))
		return -EPIPE;
	/* Only a handler ends a call of which a part may be done. */
	if (r >= 0 || (r == -EINTR && fib_part_goes_on()))
		/* Another fiber has put it under a filter: it begins anew. */
		return fib_unlikely(fib_filtered()) ? -FIB_ERESTARTNOINTR : 0;
	if (r == -EINTR && !fib_cancel_is_near() && ends_by_nonblock(io))
		return -EAGAIN;
	if (r == -EINTR && tries_last(io, k))
		return 0;
	return fib_io_failed(io, r);
}

#define MISLED	  255 /* reads for which poll is asked again */
#define MISLED_NS 5000000

/* The monitor ends it at a tick; of this fiber a close knows, see_to() of hooks/fd/fd.c. */
static long read_after_edge(struct fib_known *k, long nr, const long a[6])
{
	long r = 0;

	if (fib_io_as_it_is(k, nr, a, &r))
		return r;
	if (r)
		k->misled = MISLED;
	return -ENOSYS;
}

/* It stays there, as it may if poll is asked once more. */
static long read_after_poll(struct fib_known *k, long nr, const long a[6])
{
	uint64_t began = fib_now_ns();
	long r = fib_host_call_may_block(nr, (int)a[0], a);

	if (fib_now_ns() - began > MISLED_NS)
		k->misled = MISLED;
	return r;
}

/*
 * An edge says that there is something for who reads a FIFO or a terminal, which know of no
 * way not to wait, or poll has said so; it need not be asked again. Where another process
 * has taken that, the call waits in the kernel. (Whom another reader has woken that had it
 * before is told of nothing.)
 */
static long read_as_told(struct fib_io *io, long nr, const long a[6])
{
	struct fib_known *k = fib_fd_of(io->s);
	long v[6] = { io->s->fd, a[1], a[2], a[3], a[4], a[5] };

	long r;

	if (io->ev != FIB_IO_READ || io->asks ||
	    !(fib_fd_takes_nowait(k) || fib_fd_is_terminal(k)) || io->handed ||
	    !(io->woken || fib_io_is_polled(io->s)))
		return -ENOSYS;
	if (k->misled) {
		k->misled--;
		return -ENOSYS;
	}
	r = io->woken ? read_after_edge(k, nr, v) : read_after_poll(k, nr, v);
	/* At an end poll is asked whether it hangs up: fib_io.hung_up. */
	return r == 0 && io->hung_up ? -ENOSYS : r;
}

/* Of other families than these two it is not known that they heed it. */
static long at_once(struct fib_io *io, long nr, const long a[6],
		    enum fib_left *left)
{
	uint8_t kind = fib_fd_of(io->s)->kind;
	bool more;
	long r;

	if (nr != SYS_accept4)
		return read_as_told(io, nr, a);
	if (fib_self()->bound || fib_filtered() ||
	    (kind != FIB_FD_TCP && kind != FIB_FD_STREAM))
		return -ENOSYS;
	r = fib_uring_accept(io->s->fd, a, &more);
	/* inet_csk_accept() tells, unix_accept() does not. */
	if (r >= 0 && kind == FIB_FD_TCP)
		*left = more ? FIB_LEFT_SOME : FIB_LEFT_NONE;
	return r;
}

/* Nobody listens any more. The others do not hear of it by who is told alone. */
static bool untold(struct fib_io *io, long r)
{
	enum fib_desc_ended how = r == -EINVAL ?
					  fib_fd_hears(fib_fd_of(io->s)) :
					  FIB_DESC_ALL_HEAR;

	if (how == FIB_DESC_ONE_IS_TO_HEAR)
		io->woken = false;
	return how == FIB_DESC_ONE_HAS_HEARD;
}

const struct fib_io_rules fib_io_hooked = { limit,	     block,
					    at_once,	     fib_io_refuses,
					    fib_io_was_told, untold };

bool fib_io_is_kick(long r, struct fib_rest *rest, long *nr, long v[6])
{
	if (r == -EINTR || r == -FIB_ERESTARTNOINTR)
		return fib_part_goes_on();
	return rest && (r > 0 || (r == 0 && rest->nothing)) &&
	       rest->next(rest, r, nr, v);
}

#define LONG_NS 20000 /* it may have waited */

/*
 * Does the monitor look, so that a call which waits is found? Of workers for all, always;
 * else it may sleep: tests/model/presumes.pml.
 */
static bool is_looked_after(const struct fib_worker *w)
{
	if (fib_likely(!w->bound))
		return true;
	fib_fence(seq_cst);
	return !fib_load(&fib_monitor_asleep, relaxed);
}

/* The call goes on: of its time, what has passed since @began is over. */
static void wait_on(struct fib *f, struct fib_known *k, uint64_t began)
{
	uint64_t ns = fib_fd_limit_anew(k, FIB_IO_READ);

	if (ns != FIB_NEVER && !f->hook.restarted) {
		f->io.restart_deadline = fib_ns_add(began, ns);
		f->hook.restarted = true;
	}
	if (fib_xchg(&f->sig.preempt, false, relaxed))
		fib_sched_preempted();
}

bool fib_io_as_it_is(struct fib_known *k, long nr, const long a[6], long *r)
{
	struct fib_worker *w = fib_worker_self();
	uint64_t began = fib_now_ns();
	struct fib *f = fib_self();
	bool looked;

	fib_store(&w->presumes, true, relaxed);
	looked = is_looked_after(w);
	if (looked)
		*r = fib_signal_raw_intr(f, nr, a);
	fib_store(&w->presumes, false, relaxed);
	if (!looked)
		return false;
	if (fib_likely(*r != -EINTR && *r != -FIB_ERESTARTNOINTR)) {
		if (fib_unlikely(fib_now_ns() - began > LONG_NS))
			fib_fd_nonblock(k);
		return true;
	}
	if (fib_io_is_kick(*r, NULL, NULL, NULL)) {
		wait_on(f, k, began);
		return false;
	}
	fib_cancel_end();
	return true;
}
