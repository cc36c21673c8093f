/*
 * Sockets: recv and send. MSG_DONTWAIT makes one call not block
 * without touching the descriptor's flags, which others may share.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/trywait.h"

#define NEVER_BLOCKS (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)
/* MSG_WAITALL is much.c's, the rest for the kernel: MSG_FASTOPEN, MSG_ZEROCOPY, ... */
#define PLAIN_RECV                                                             \
	(MSG_PEEK | MSG_TRUNC | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC |              \
	 MSG_WAITFORONE)
/* Of these, what a short read does not depend on. */
#define INDIFFERENT (MSG_NOSIGNAL | MSG_CMSG_CLOEXEC | MSG_DONTWAIT)
#define PLAIN_SEND  (MSG_NOSIGNAL | MSG_MORE | MSG_CONFIRM | MSG_DONTROUTE)

#define ONE_BY_ONE_NS 1000000u /* of recvmmsg's messages */

/* --- receiving ----------------------------------------------------------- */

/*
 * SO_PEEK_OFF: from where a call peeks is decided when it begins, and goes for all
 * of its wait, of which poll knows nothing.
 */
static bool has_offset(struct fib_known *k)
{
	if (fib_likely(!fib_load(&fib_fd_peek_off_used, relaxed) &&
		       fib_fd_is_ours_alone(k)))
		return false;
	return fib_io_option(k, SO_PEEK_OFF, -1) >= 0;
}

/* O_ASYNC: there is no SIGIO for data that somebody waits for (sk_wake_async()). */
static bool is_async(struct fib_known *k)
{
	long fl = fib_raw(SYS_fcntl, k->fd, F_GETFL);

	return fl >= 0 && (fl & O_ASYNC);
}

/*
 * A receive of no bytes: tcp_recvmsg_locked() ends with 0 whatever has woken it, and
 * an error stays with the socket.
 */
static bool __attribute__((noinline)) has_no_room(const long a[6])
{
	struct msghdr h;
	struct iovec v;

	if (fib_copy(&h, (void *)a[1], sizeof(h)) || h.msg_iovlen > FIB_IOV_MAX)
		return false;
	for (size_t i = 0; i < h.msg_iovlen; i++)
		if (fib_copy(&v, &h.msg_iov[i], sizeof(v)) || v.iov_len)
			return false;
	return true;
}

static bool asks_nothing(long nr, const long a[6])
{
	return nr == SYS_recvfrom ? a[2] == 0 : has_no_room(a);
}

static size_t lowat_of(struct fib_known *k)
{
	return fib_load(&fib_fd_lowat_used, relaxed) ? fib_fd_lowat(k) : 1;
}

/* Does the wait go by more than poll knows of? */
static bool is_odd_wait(struct fib_known *k, long nr, const long a[6],
			long flags)
{
	return fib_unlikely((flags & MSG_PEEK) && has_offset(k)) ||
	       (k->kind == FIB_FD_TCP && fib_unlikely(asks_nothing(nr, a))) ||
	       fib_fd_is_odd(k, FIB_IO_READ) ||
	       (fib_unlikely(fib_load(&fib_desc_async_used, relaxed)) &&
		is_async(k));
}

/*
 * It has waited, and the socket is shut, and O_NONBLOCK by now: as ____sys_recvmsg() and
 * its kin leave a call that has been told so, with no bytes from nobody.
 */
static long __attribute__((noinline, cold))
end_of_wait(long nr, const long a[6], long flags)
{
	struct msghdr none = { .msg_flags = (int)flags & MSG_CMSG_CLOEXEC };
	struct mmsghdr *m = (void *)a[1];
	struct msghdr *h = (void *)a[1];
	unsigned bytes = 0;
	bool fails;

	if (nr == SYS_recvfrom)
		return a[4] && fib_copy((void *)a[5], &none.msg_namelen,
					sizeof(none.msg_namelen)) ?
			       -EFAULT :
			       0;
	fails = fib_copy(&h->msg_namelen, &none.msg_namelen,
			 sizeof(none.msg_namelen)) ||
		fib_copy(&h->msg_controllen, &none.msg_controllen,
			 sizeof(none.msg_controllen)) ||
		fib_copy(&h->msg_flags, &none.msg_flags,
			 sizeof(none.msg_flags));
	if (nr == SYS_recvmsg)
		return fails ? -EFAULT : 0;
	fails |= fib_copy(&m->msg_len, &bytes, sizeof(bytes));
	return fails ? -EFAULT : 1;
}

/*
 * Its wait has ended with @r. Of TCP it takes what is there then, which may be fewer bytes
 * than SO_RCVLOWAT, if that has been set meanwhile.
 */
static bool may_have_less(struct fib_io *io, const struct fib_known *k, long r)
{
	return fib_load(&fib_fd_lowat_used, relaxed) && k->kind == FIB_FD_TCP &&
	       io->parked && !io->own &&
	       (r == -EAGAIN || r == -FIB_ERESTARTSYS ||
		r == -FIB_ERESTARTNOHAND) &&
	       !fib_filtered() && !fib_io_lost(io);
}

/*
 * Does poll tell when a recvmmsg() with rare flags goes on? Not of who only looks at what
 * has woken it, which would keep that from others, nor of who asks a stream for no bytes.
 */
static bool poll_tells(const struct fib_known *k, const long a[6], long flags)
{
	return !(flags & MSG_PEEK) && !fib_io_is_first_refused((void *)a[1]) &&
	       (fib_fd_has_messages(k) || !has_no_room(a));
}

/*
 * As fib_io_receive(), but that @io stays where it has moved to. Its frame would lie below
 * each call that waits.
 */
static inline __attribute__((always_inline)) long
receive(struct fib_io *io, struct fib_known *k, size_t plain, long nr,
	long a[6], long *flags)
{
	size_t lowat = lowat_of(k);
	bool first;
	long r;

	if (is_odd_wait(k, nr, a, *flags))
		return k->kind == FIB_FD_TCP && nr != SYS_recvmmsg &&
				       asks_nothing(nr, a) ?
			       fib_io_receive_nothing(k, nr, a) :
			       fib_io_in_kernel(k, FIB_IO_READ, false, nr, a);
	if (fib_unlikely((*flags & ~PLAIN_RECV) || lowat > 1)) {
		if (nr != SYS_recvmmsg)
			return fib_io_receive_much(k, nr, a, *flags, lowat);
		first = lowat <= 1 && poll_tells(k, a, *flags);
		return fib_io_in_kernel(k, FIB_IO_READ, first, nr, a);
	}
	*flags |= MSG_DONTWAIT;
	if (k->kind >= FIB_FD_OTHER)
		io->flags = flags;
	/* After an accept() a listener is known to be empty, and cannot be read. */
	if (fib_unlikely(fib_fd_listens(k)))
		plain = 0;
	else if (plain && plain != FIB_IO_LOOK && !fib_fd_shows_end(k))
		plain = FIB_IO_ANY;
	r = fib_io_shared_call(io, plain, nr, a);
	if (fib_unlikely(r == -EAGAIN) && io->flags && !(*flags & MSG_DONTWAIT))
		r = end_of_wait(nr, a, *flags);
	if (fib_unlikely(r < 0) && fib_unlikely(may_have_less(io, k, r))) {
		long last =
			fib_raw6(nr, io->s->fd, a[1], a[2], a[3], a[4], a[5]);

		r = last == -EAGAIN ? r : last;
	}
	return r;
}

/* One that did not wait had @r of @plain bytes. */
static void note_now(struct fib_known *k, uint32_t reads, size_t plain, long r)
{
	bool is_short = r > 0 && plain < FIB_IO_MAX && (size_t)r < plain;
	bool shows = fib_fd_shows_end(k);

	if (shows || fib_fd_is_socket(k))
		fib_io_read_now(k->slot, reads,
				shows && (r == -EAGAIN || is_short), r);
}

long fib_io_receive_now(struct fib_known *k, size_t plain, long nr,
			const long a[6])
{
	uint32_t reads = fib_load(&k->slot->reads, acquire);
	long r = fib_pass(nr, a);

	note_now(k, reads, plain, r);
	return r;
}

bool fib_io_receive_as_it_is(struct fib_known *k, size_t plain, long nr,
			     const long a[6], long *r)
{
	uint32_t reads = fib_load(&k->slot->reads, acquire);

	if (!fib_io_as_it_is(k, nr, a, r))
		return false;
	note_now(k, reads, plain, *r);
	return true;
}

/* Does not wait, says a flag. */
static long receive_now(struct fib_known *k, size_t plain, long nr,
			const long a[6], int flags)
{
	if (flags & MSG_OOB)
		fib_store(&fib_io_urgent, true, relaxed);
	return k && !(flags & ~PLAIN_RECV & ~MSG_DONTWAIT) &&
			       !(flags & MSG_PEEK) ?
		       fib_io_receive_now(k, plain, nr, a) :
		       fib_pass(nr, a);
}

bool fib_io_never_waits(const struct fib_known *k, long *flags)
{
	bool never = fib_fd_never_waits(k);

	if (never)
		*flags |= MSG_DONTWAIT;
	return never;
}

long fib_io_receive(struct fib_known *k, size_t plain, long nr, long a[6],
		    long *flags)
{
	struct fib_io io;
	long r;

	if (fib_io_never_waits(k, flags))
		return receive_now(k, plain, nr, a, *flags);
	/* Of a peek, EAGAIN does not say that nothing is there; the other goes in parts. */
	if (!(*flags & (MSG_PEEK | MSG_WAITALL)) && fib_fd_seems_nonblock(k) &&
	    fib_io_receive_as_it_is(k, plain, nr, a, &r))
		return r;
	io = FIB_HOOK_IO(k, FIB_IO_READ);
	r = receive(&io, k, plain, nr, a, flags);
	fib_io_end(&io);
	return r;
}

/* Of one that asks for @len bytes, as fib_io_call() has it. */
static size_t plain_by(int flags, size_t len)
{
	flags &= ~INDIFFERENT;
	if (flags)
		return flags == MSG_PEEK ? FIB_IO_LOOK : 0;
	return fib_io_most(len);
}

long fib_sys_recvfrom(int fd, void *buf, size_t len, int flags, void *addr,
		      int *addrlen)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)buf, (long)len, 0, (long)addr, (long)addrlen };
	size_t plain;

	a[3] = flags = fib_io_heeded(k, flags);
	plain = plain_by(flags, len);
	if (!k || (flags & NEVER_BLOCKS))
		return receive_now(k, plain, SYS_recvfrom, a, flags);
	return fib_io_receive(k, plain, SYS_recvfrom, a, &a[3]);
}

/* So much is read of a stream that has more; 0: it takes nothing, or is odd. */
static size_t plain_length(const struct fib_known *k, const struct msghdr *msg,
			   int flags)
{
	struct msghdr h;

	if ((flags & ~INDIFFERENT) || fib_copy(&h, msg, sizeof(h)))
		return plain_by(flags, 0);
	/* What comes with descriptors, or tells of its sender, may end a read. */
	if (!fib_fd_shows_end(k) || (h.msg_controllen && k->kind != FIB_FD_TCP))
		return FIB_IO_ANY;
	return fib_io_message_length(&h);
}

long fib_sys_recvmsg(int fd, struct msghdr *msg, int flags)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)msg, 0 };
	size_t plain;

	a[2] = flags = fib_io_heeded(k, flags);
	plain = k ? plain_length(k, msg, flags) : 0;
	if (!k || (flags & NEVER_BLOCKS))
		return receive_now(k, plain, SYS_recvmsg, a, flags);
	return fib_io_receive(k, plain, SYS_recvmsg, a, &a[2]);
}

/*
 * do_recvmmsg(), with its clock, which it looks at after each message: so what is
 * there is taken one by one where the time is nearly over. What it does with an
 * error after the first is to keep it for the next call. So with POLLERR there is
 * nothing more for this one. (A signal's EINTR, which the kernel keeps as well, is
 * not an error of the socket's.) Where the number is closed under a wait, the rest
 * comes from the same file: we stay the guest of its duplicate.
 */
static long receive_each(struct fib_known *k, struct mmsghdr *vec, unsigned n,
			 int flags, uint64_t deadline)
{
	uint32_t closes = fib_load(&k->slot->closes, relaxed);
	struct fib_fd *home = NULL; /* the duplicate's slot */
	long r = 0, a[6] = { k->fd };
	unsigned i = 0;

	while (i < n) {
		struct fib_io io;

		if (i && (fib_load(&k->slot->closes, relaxed) != closes ||
			  (fib_io_ready(k->fd, 0) & POLLERR)))
			break;
		io = FIB_HOOK_IO(k, FIB_IO_READ);
		a[1] = (long)&vec[i];
		a[3] = flags;
		a[2] = n - i;
		/* The kernel would wait for all of them. */
		if (deadline != FIB_NEVER &&
		    (fib_ns_left(deadline) <= ONE_BY_ONE_NS ||
		     lowat_of(k) > 1 || is_odd_wait(k, SYS_recvmmsg, a, flags)))
			a[2] = 1;
		if (i && (flags & MSG_WAITFORONE)) {
			a[3] |= MSG_DONTWAIT;
			r = fib_pass(SYS_recvmmsg, a);
		} else {
			r = receive(&io, k, 0, SYS_recvmmsg, a, &a[3]);
		}
		if (fib_unlikely(io.moved)) {
			if (home)
				fib_iom_guest_leave(home);
			home = io.s;
			k = fib_fd_of(home);
			a[0] = k->fd;
			closes = fib_load(&home->closes, relaxed);
			if (io.woken)
				fib_iom_pass(home, FIB_IO_READ);
		} else {
			fib_io_end(&io);
		}
		if (r <= 0)
			break;
		i += (unsigned)r;
		fib_part_done();
		fib_self()->hook.restarted = 0;
		if (deadline != FIB_NEVER && fib_now_ns() >= deadline)
			break;
	}
	if (home)
		fib_iom_guest_leave(home);
	return i ? (long)i : r;
}

/*
 * With MSG_WAITFORONE the first message is waited for; the rest is what is there.
 */
long fib_sys_recvmmsg(int fd, void *vec, unsigned n, int flags,
		      struct timespec *timeout)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)vec, n, 0, (long)timeout };
	uint64_t deadline = FIB_NEVER;
	bool first;
	int64_t ns;
	long r;

	/*
	 * With MSG_ERRQUEUE do_recvmmsg() does not look at the socket's error, but who
	 * receives a message does (__skb_try_recv_datagram()).
	 */
	if (!(flags & MSG_ERRQUEUE) || (k && fib_fd_has_messages(k)))
		flags = fib_io_heeded(k, flags);
	a[3] = flags;
	if (!k || (flags & NEVER_BLOCKS) || !n)
		return receive_now(k, 0, SYS_recvmmsg, a, flags);
	if (!timeout && (n == 1 || (flags & MSG_WAITFORONE)))
		return fib_io_receive(k, 0, SYS_recvmmsg, a, &a[3]);
	if ((flags & ~PLAIN_RECV) || fib_fd_timed(k) || fib_fd_nonblock(k)) {
		first = !timeout && lowat_of(k) <= 1 && poll_tells(k, a, flags);
		return fib_io_in_kernel(k, FIB_IO_READ, first, SYS_recvmmsg, a);
	}
	if (timeout) {
		ns = fib_timespec_ns(timeout);
		if (ns < 0)
			return ns;
		deadline = fib_ns_add(fib_now_ns(), (uint64_t)ns);
	}
	r = receive_each(k, vec, n < FIB_IOV_MAX ? n : FIB_IOV_MAX, flags,
			 deadline);
	if (r > 0 && timeout &&
	    fib_timespec_put(timeout, fib_ns_left(deadline)))
		return -EFAULT;
	return r;
}

/* --- sending ------------------------------------------------------------- */

/* The kernel has signalled the worker, if it is the kind of socket that does. */
long fib_io_sent(long r, long flags)
{
	if (fib_unlikely(r == -EPIPE) && !(flags & MSG_NOSIGNAL))
		fib_signal_raise(fib_self(), SIGPIPE, true);
	return r;
}

/*
 * The first part that goes is the program's own call, with its address and
 * control messages; the others follow by the bytes alone, of whom that says.
 */
static long send_part(struct fib_parts *p, int fd, struct iovec *v, unsigned n)
{
	struct msghdr rest = { .msg_iov = v, .msg_iovlen = n };
	const long *a = p->first;

	if (p->done) {
		fib_io_put_creds(&p->creds, &rest);
		return fib_raw(SYS_sendmsg, fd, &rest,
			       p->flags | MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	return fib_io_sent(fib_raw6(p->nr, fd, a[1], a[2], a[3], a[4], a[5]),
			   *p->first_flags);
}

/*
 * do_tcp_sendmsg(): an error after a part stays with the socket. To try would be
 * to take it, so poll is asked for it first. (POLLERR alone may be the queue of
 * errors, which stops nobody.) Who was woken goes on where there is any room, of
 * which poll tells only when it is a third of the buffer (sk_stream_is_writeable()).
 */
static long tcp_part(struct fib_parts *p, int fd, struct iovec *v, unsigned n)
{
	if (p->done) {
		short ready = fib_io_ready(fd, POLLOUT);

		if (ready & POLLHUP)
			return -EPIPE;
		if (!ready && !p->waited)
			return -EAGAIN;
	}
	return send_part(p, fd, v, n);
}

/*
 * unix_stream_sendmsg(): who is in the midst of it, waiting for a buffer, takes
 * the socket's error, and gets no signal (sock_alloc_send_pskb()). By a stop it has
 * come to its beginning.
 */
static long unix_part(struct fib_parts *p, int fd, struct iovec *v, unsigned n)
{
	int err = 0, size = sizeof(err);

	if (p->done || (p->waited && !fib_stop_came())) {
		fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &size);
		if (err)
			return -err;
		*p->first_flags |= MSG_NOSIGNAL;
	}
	return send_part(p, fd, v, n);
}

static long send_in_kernel(struct fib_known *k, const struct iovec *iov,
			   size_t n, size_t len, long nr, const long a[6],
			   long flags)
{
	long r = fib_io_send_whole(k, nr, a, flags, iov, n, len);

	return fib_fd_wrote(k, fib_io_sent(r, flags));
}

/* What send_all() has begun: @r came of the first try, if it was @tried. */
static long __attribute__((noinline))
send_rest(struct fib_known *k, const struct iovec *iov, size_t n, long nr,
	  long a[6], long *flags, uint32_t seq, uint32_t closes, bool tried,
	  long r)
{
	size_t done = r < 0 ? 0 : (size_t)r;
	struct msghdr h = { 0 };
	struct fib_parts p = { .io = { .s = k->slot,
				       .rules = &fib_io_hooked,
				       .ev = FIB_IO_WRITE,
				       .seq = seq,
				       .closes = closes,
				       .shared = true },
			       .part = k->kind == FIB_FD_TCP ? tcp_part :
							       unix_part,
			       .iov = iov,
			       .n = n,
			       .done = (long)done,
			       .skip = done,
			       .blocked = tried && r < 0,
			       .nr = nr,
			       .first = a,
			       .first_flags = flags,
			       .flags = (int)(*flags & ~MSG_DONTWAIT),
			       .at_last = k->kind != FIB_FD_TCP };

	if (fib_fd_nonblock(k)) {
		fib_iom_leave(k->slot);
		return fib_fd_wrote(k, r);
	}
	if (nr == SYS_sendmsg && k->kind == FIB_FD_STREAM)
		fib_copy(&h, (void *)a[1], sizeof(h));
	/* scm_send() takes its descriptors before it waits. */
	if (fib_unlikely(h.msg_controllen) && !done) {
		fib_iom_leave(k->slot);
		*flags = p.flags;
		return send_in_kernel(k, iov, n, fib_io_message_length(&h), nr,
				      a, *flags);
	}
	fib_io_find_creds(&h, &p.creds);
	return fib_io_parts(&p);
}

/* Bytes @len at @iov, by call @nr with flags *@flags. */
static long send_all(struct fib_known *k, const struct iovec *iov, size_t n,
		     size_t len, long nr, long a[6], long *flags)
{
	long asked = *flags, r = -EAGAIN;
	uint32_t closes, seq;
	bool tried;

	if ((asked & MSG_DONTWAIT) || fib_io_never_waits(k, flags))
		return fib_fd_wrote(k, fib_io_sent(fib_pass(nr, a), asked));
	if (fib_unlikely((asked & ~PLAIN_SEND) || k->kind == FIB_FD_OTHER ||
			 fib_fd_is_odd(k, FIB_IO_WRITE)))
		return send_in_kernel(k, iov, n, len, nr, a, asked);
	if (fib_fd_has_messages(k))
		return fib_fd_wrote(k, fib_io_send_datagram(k, nr, a, flags));
	*flags |= MSG_DONTWAIT;
	tried = !FIB_CHAOS_ODDS(would_block, 16) || fib_fd_nonblock(k);
	closes = fib_iom_enter(k->slot);
	seq = fib_iom_begin(k->slot);
	if (tried)
		r = fib_io_sent(fib_pass(nr, a), asked);
	if (fib_likely(r >= (long)len || (r <= 0 && r != -EAGAIN))) {
		fib_iom_leave(k->slot);
		return fib_fd_wrote(k, r);
	}
	FIB_CHAOS_POINT(io_partial);
	return send_rest(k, iov, n, nr, a, flags, seq, closes, tried, r);
}

long fib_io_send(struct fib_known *k, long a[6])
{
	size_t len = fib_io_most((size_t)a[2]);

	return send_all(k, &(struct iovec){ (void *)a[1], len }, 1, len,
			SYS_sendto, a, &a[3]);
}

long fib_sys_sendto(int fd, const void *buf, size_t len, int flags,
		    const void *addr, unsigned addrlen)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = {
		fd, (long)buf, (long)len, flags, (long)addr, (long)addrlen
	};

	if (k)
		a[3] = fib_io_heeded_send(k, flags);
	return k ? fib_io_send(k, a) :
		   fib_io_sent(fib_pass(SYS_sendto, a), flags);
}

/*
 * A packet with control messages, whose descriptors scm_send() takes before it waits.
 * False: it is as any other.
 */
static bool send_control(struct fib_known *k, const long a[6], long *result)
{
	long v[6] = { a[0], a[1], a[2] | MSG_DONTWAIT };
	long r;

	if ((a[2] & ~PLAIN_SEND) || !fib_fd_has_messages(k) ||
	    fib_fd_is_odd(k, FIB_IO_WRITE))
		return false;
	r = fib_io_sent(fib_pass(SYS_sendmsg, v), a[2]);
	if (fib_unlikely(r == -EAGAIN) && !fib_fd_nonblock(k)) {
		if (k->kind != FIB_FD_LOCAL)
			return false;
		r = fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_sendmsg, a);
		r = fib_io_sent(r, a[2]);
	}
	*result = fib_fd_wrote(k, r);
	return true;
}

long fib_io_send_message(struct fib_known *k, struct msghdr *msg, int flags,
			 bool *whole)
{
	long a[6] = { k->fd, (long)msg, flags };
	struct msghdr h = { 0 };
	size_t len;
	long r;

	if (fib_copy(&h, msg, sizeof(h)))
		return -EFAULT;
	len = fib_io_message_length(&h);
	if (fib_likely(!h.msg_controllen) || !send_control(k, a, &r))
		r = send_all(k, h.msg_iov, h.msg_iovlen, len, SYS_sendmsg, a,
			     &a[2]);
	/* A descriptor may have gone to another process. */
	if (r >= 0 && h.msg_controllen)
		fib_fd_shared();
	/* A filter may have made a message of netlink's shorter. */
	*whole = r >= (fib_fd_has_messages(k) ? 0 : (long)len);
	return r;
}

long fib_sys_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	struct fib_known *k = fib_io_socket(fd);
	bool whole;

	if (!k)
		return fib_io_sent(fib_raw(SYS_sendmsg, fd, msg, flags), flags);
	flags = fib_io_heeded_send(k, flags);
	return fib_io_send_message(k, (struct msghdr *)msg, flags, &whole);
}
