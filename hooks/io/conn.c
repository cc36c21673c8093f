/* Sockets: how they come about, their options, connect. */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/wait/slow.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/uring.h"

long fib_sys_socket(int domain, int type, int protocol)
{
	long fd = fib_raw(SYS_socket, domain, type, protocol);

	if (fd >= 0)
		fib_fd_born((int)fd,
			    fib_fd_made_kind((int)fd, domain, type, protocol),
			    O_RDWR | (type & SOCK_NONBLOCK), false);
	return fd;
}

/*
 * A connection that another thread ends while io_uring begins it would be begun anew:
 * what would wait is made again when the socket is ready, until it is cancelled. So
 * this process's shutdown() and connect(AF_UNSPEC) come before that, and then the
 * kernel is to wait, or after it. A word of the description counts both:
 *
 *	connect()				who ends it
 *	---------				-----------
 *	(A) another one begins? wait		(B) + ENDS
 *	    somebody ends it?			    begun? wait until it is not
 *	    yes: in the kernel			    the call, - ENDS
 *	    no: + 1, by io_uring, - 1
 *
 * It is begun in one go, without waiting for anything. One at a time, since one that
 * is refused leaves the socket for a moment as the kernel does not, until it is
 * disconnected: which would be another one's connection by then. tests/model/begun.pml
 * has this for spin.
 */
#define ENDS 0x10000u

/*
 * A moment for who begins it, who may have a lower priority. Nobody wakes: he is about
 * to be through.
 */
static void nap(const _Atomic uint32_t *begun, uint32_t seen)
{
	static const struct timespec moment = { 0, 20000 };

	if (!fib_filtered())
		fib_raw(SYS_futex, begun, FUTEX_WAIT_PRIVATE, seen, &moment);
}

/* Nobody begins one any more, or not yet. */
static uint32_t await_begun(const _Atomic uint32_t *begun)
{
	uint32_t seen;

	while ((seen = fib_load(begun, acquire)) % ENDS)
		nap(begun, seen);
	return seen;
}

static bool may_begin(_Atomic uint32_t *begun)
{
	uint32_t seen;

	do
		seen = await_begun(begun);
	while (seen < ENDS &&
	       !fib_cas(begun, &seen, seen + 1, seq_cst)); /* (A) */
	FIB_CHAOS_POINT(connect_begin);
	return seen < ENDS;
}

/* A listener that is shut, or taken back, may be a connection next. */
static void ask_again(struct fib_known *k)
{
	if (fib_unlikely(fib_fd_listens(k)))
		fib_fd_set_listens(k, false);
}

static long end_it(struct fib_known *k, long nr, const long a[6])
{
	_Atomic uint32_t *begun = fib_fd_begun(k);
	long r;

	fib_add(begun, ENDS, seq_cst); /* (B) */
	FIB_CHAOS_POINT(connect_end);
	await_begun(begun);
	r = fib_pass(nr, a);
	ask_again(k);
	fib_sub(begun, ENDS, release);
	return r;
}

/* Of AF_UNIX, where FIB_FD_LOCAL is SOCK_SEQPACKET as well. */
static bool has_datagrams(const struct fib_known *k)
{
	int type, len = sizeof(type);

	return k && k->kind == FIB_FD_LOCAL &&
	       fib_raw(SYS_getsockopt, k->fd, SOL_SOCKET, SO_TYPE, &type,
		       &len) == 0 &&
	       type == SOCK_DGRAM;
}

/* Who waits for room at @k is to try again, whatever poll says of it. */
static void nudge_own_writers(struct fib_known *k)
{
	fib_fd_find_twin(k);
	if (fib_load(&k->twin, relaxed) & FIB_TWIN_HAS)
		fib_iom_nudge_writers(&fib_sched);
	else
		fib_iom_pass(k->slot, FIB_IO_WRITE);
}

/*
 * unix_shutdown() wakes those who wait for room on either side, of datagrams on its own
 * alone, and unix_poll() has nothing to say to them: there is no edge.
 */
long fib_sys_shutdown(int fd, int how)
{
	struct fib_known *k = fib_io_socket(fd);
	long r;

	if (k && k->kind == FIB_FD_TCP) {
		if (how >= SHUT_RD && how <= SHUT_RDWR)
			fib_fd_ends(k, FIB_DESC_ALL_HEAR);
		return end_it(k, SYS_shutdown, (long[6]){ fd, how });
	}
	r = fib_raw(SYS_shutdown, fd, how);
	if (k)
		ask_again(k);
	if (r == 0 && has_datagrams(k))
		nudge_own_writers(k);
	else if (r == 0)
		fib_iom_nudge_writers(&fib_sched);
	return r;
}

long fib_sys_socketpair(int domain, int type, int protocol, int *user)
{
	int fd[2];
	long r = fib_raw(SYS_socketpair, domain, type, protocol, fd);

	if (r == 0)
		return fib_fd_pair(
			fd, fib_fd_made_kind(fd[0], domain, type, protocol),
			O_RDWR, O_RDWR, type, user);
	/* __sys_socketpair() leaves the numbers there before it finds what is wrong. */
	return fib_raw(SYS_socketpair, domain, type, protocol, user);
}

/* What is known by option @name of a socket. */
static uint8_t part_of(int level, int name)
{
	if (level != SOL_SOCKET)
		return 0;
	switch (name) {
	case SO_RCVTIMEO_OLD:
	case SO_RCVTIMEO_NEW:
		return FIB_DESC_READ;
	case SO_SNDTIMEO_OLD:
	case SO_SNDTIMEO_NEW:
		return FIB_DESC_WRITE;
	case SO_RCVLOWAT:
		return FIB_DESC_LOWAT;
	}
	return 0;
}

static _Atomic bool fastopen_used;

/* Of few sockets: until one has it, none is asked. */
static void note_use(int level, int name)
{
	if ((level == SOL_TCP && name == TCP_ULP) ||
	    (level == SOL_IP && name == IP_RECVERR) ||
	    (level == SOL_IPV6 && name == IPV6_RECVERR))
		fib_store(&fib_fd_glue_used, true, relaxed);
	/*
	 * Data is put there without an edge, and a read fails at once meanwhile; or a read
	 * ends where a record of another type follows (tls_sw_recvmsg()).
	 */
	if (level == SOL_TCP && (name == TCP_REPAIR || name == TCP_ULP))
		fib_store(&fib_io_urgent, true, relaxed);
	if (level == SOL_TCP && name == TCP_FASTOPEN_CONNECT)
		fib_store(&fastopen_used, true, relaxed);
	if (level != SOL_SOCKET)
		return;
	switch (name) {
	case SO_INQ:
		fib_store(&fib_io_inq_used, true, relaxed);
		fib_store(&fib_fd_glue_used, true, relaxed);
		break;
	case SO_RCVLOWAT:
		fib_store(&fib_fd_lowat_used, true, relaxed);
		break;
	case SO_PEEK_OFF:
		fib_store(&fib_fd_peek_off_used, true, relaxed);
		break;
	case SO_PASSCRED:
	case SO_PASSPIDFD:
	case SO_PASSSEC:
		fib_store(&fib_fd_glue_used, true, relaxed);
	}
}

/* sock_set_timeout() of the kernel keeps whole seconds as they are, if so few. */
#define WHOLE_SECONDS 1000000

/*
 * A time limit. Another thread may write *@user meanwhile: the kernel reads what is
 * known here. What it rounds is asked.
 */
static long set_limit(int fd, uint8_t part, int name, const void *user)
{
	struct fib_change c = fib_fd_change(fd, part);
	struct timeval tv;
	bool read = !fib_copy(&tv, user, sizeof(tv));
	long r = fib_raw(SYS_setsockopt, fd, SOL_SOCKET, name,
			 read ? &tv : user, sizeof(tv));

	if (r == 0 && read && tv.tv_usec == 0 && tv.tv_sec >= 0 &&
	    tv.tv_sec <= WHOLE_SECONDS)
		fib_fd_set_limit(&c,
				 tv.tv_sec ? fib_timeval_ns(&tv) : FIB_NEVER);
	else
		fib_fd_changed(&c);
	if (r == 0 && read)
		fib_fd_limited(fd, (uint8_t)(part >> 1), tv.tv_sec < 0);
	return r;
}

/*
 * tpacket_snd(): a send waits until all that is in the ring is sent, or with
 * MSG_DONTWAIT does not.
 */
static void note_ring(int fd)
{
	struct fib_known *k = fib_io_socket(fd);

	if (k)
		fib_fd_be_odd(k, FIB_IO_WRITE);
}

long fib_sys_setsockopt(int fd, int level, int name, const void *val,
			unsigned len)
{
	uint8_t part = part_of(level, name);
	struct fib_change c;
	long r;

	if ((part & FIB_DESC_LIMITS) && (int)len >= (int)sizeof(struct timeval))
		return set_limit(fd, part, name, val);
	note_use(level, name);
	c = fib_fd_change(fd, part);
	r = fib_raw(SYS_setsockopt, fd, level, name, val, len);
	fib_fd_changed(&c);
	if (r == 0 && level == SOL_PACKET && name == PACKET_TX_RING)
		note_ring(fd);
	return r;
}

/*
 * tcp_disconnect(), which does not wait: who waits for data hears of it, and of those who
 * wait for a connection the first one: sock_def_error_report() wakes one of them.
 */
static long undo(struct fib_known *k, const long a[6])
{
	_Atomic uint8_t *undone = fib_fd_undone(k);
	uint8_t one = !fib_io_listens(k);
	long r;

	fib_add(undone, one, release);
	if (!one)
		fib_fd_ends(k, FIB_DESC_ONE_IS_TO_HEAR);
	r = end_it(k, SYS_connect, a);
	if (r)
		fib_sub(undone, one, release);
	if (r && !one)
		fib_fd_ends(k, FIB_DESC_ALL_HEAR);
	return r;
}

/* --- connections of TCP ------------------------------------------------------ */

/*
 * A connection is begun by a call that does not wait (runtime/uring.h), and then is
 * under way, as with O_NONBLOCK; inet_wait_for_connect() waits for no more than its
 * socket's readiness. Then the second call ends it: __inet_stream_connect() finds
 * it in SS_CONNECTING, and what its wait would have found.
 *
 * Who else makes a call on the socket meanwhile makes a difference: where another
 * connect() is under way already, the kernel waits for it; and one that has been
 * ended by another's call must not be begun anew. So what came of one that is closed
 * is told by SO_ERROR, and connect(AF_UNSPEC) leaves the socket as the failure
 * would: tcp_disconnect().
 */
struct connecting {
	struct fib_parts parts;
	struct sockaddr_storage
		to; /* the program may change its own meanwhile */
	unsigned len;
	uint8_t undone; /* before it began */
};

static int tcp_state(int fd)
{
	uint8_t state = 0; /* the first of struct tcp_info */
	int len = sizeof(state);

	fib_raw(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &state, &len);
	return state;
}

static void disconnect(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	fib_raw(SYS_connect, fd, &none, sizeof(none));
}

static long failed(int fd)
{
	int err = 0, len = sizeof(err);

	fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &len);
	disconnect(fd);
	return err ? -err : -ECONNABORTED;
}

/* Nobody else begins one on the socket meanwhile, and nobody has. */
static long failed_alone(_Atomic uint32_t *begun, int fd)
{
	bool alone = may_begin(begun);
	long r = tcp_state(fd) == TCP_CLOSE ? failed(fd) : -ECONNABORTED;

	if (alone)
		fib_sub(begun, 1, release);
	return r;
}

/*
 * io_connect() of the kernel takes the error of a connection that has been refused
 * before it waits, and leaves the socket in SS_CONNECTING.
 */
static bool is_left_connecting(long r)
{
	return r == -ECONNREFUSED || r == -ECONNRESET || r == -ETIMEDOUT;
}

/*
 * A connection has ended here, which tcp_done() has shut. If it was under way, and its
 * error has been taken since, the next connect() takes it back: ECONNABORTED. That
 * io_connect() of the kernel takes for itself, and makes the call again.
 */
static bool has_ended(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };

	return fib_raw(SYS_poll, &p, 1, 0) == 1 && (p.revents & POLLRDHUP);
}

/* Its readiness has changed. */
static long end_connect(struct fib_parts *p, int fd, struct iovec *v,
			unsigned n)
{
	const struct connecting *c =
		fib_container_of(p, struct connecting, parts);
	long r;

	/* As in inet_wait_for_connect()'s caller, and the error stays. */
	if (c->undone != fib_load(fib_fd_undone(fib_fd_of(p->io.s)), acquire))
		return -EPIPE;
	switch (tcp_state(fd)) {
	case TCP_SYN_SENT:
	case TCP_SYN_RECV:
		return -EAGAIN;
	case TCP_CLOSE:
		return failed_alone(fib_fd_begun(fib_fd_of(p->io.s)), fd);
	}
	r = fib_raw(SYS_connect, fd, &c->to, c->len);
	return r == -EISCONN ? 0 : r;
}

static long connect_tcp(struct fib_known *k, const long a[6])
{
	struct connecting c = {
		.parts = { .io = FIB_HOOK_IO(k, FIB_IO_WRITE),
			   .part = end_connect,
			   .blocked = true },
		.len = (unsigned)a[2],
	};
	struct fib_parts *p = &c.parts;
	_Atomic uint32_t *begun = fib_fd_begun(k);
	bool again = fib_fd_had_connect(k);
	long r = -ENOSYS;

	if (fib_self()->bound || fib_filtered() || fib_fd_nonblock(k) ||
	    fib_fd_impatient(k, FIB_IO_WRITE) || c.len > sizeof(c.to) ||
	    fib_connect_is_quick((const void *)a[1], c.len) ||
	    fib_copy(&c.to, (const void *)a[1], c.len) ||
	    (again && has_ended(k->fd)))
		return fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);
	fib_cancel_begin();
	c.undone = fib_load(fib_fd_undone(k), acquire);
	p->io.closes = fib_iom_enter(k->slot);
	fib_io_begin(&p->io);
	if (may_begin(begun)) {
		r = fib_uring_connect(k->fd, &c.to, c.len);
		FIB_CHAOS_POINT(connect_refused);
		/* Who waits in the kernel may have another connection by now. */
		if (is_left_connecting(r) && tcp_state(k->fd) == TCP_CLOSE)
			disconnect(k->fd);
		fib_sub(begun, 1, release);
	}
	/*
	 * Of one that was under way already the kernel waits for the end as well. It
	 * may be this one: poll calls a socket ready that was shut before, and then
	 * io_uring has made the call again.
	 */
	if (r == -EINPROGRESS ||
	    (r == -EALREADY && fib_fd_limit(k, FIB_IO_WRITE) == FIB_NEVER)) {
		r = fib_io_parts(p);
		return r == -EAGAIN ? -EINPROGRESS : r;
	}
	fib_iom_leave(k->slot);
	if (r == 0)
		fib_slow_less();
	if (r == -ENOSYS || r == -EALREADY)
		return fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);
	return r;
}

/*
 * TCP_FASTOPEN_CONNECT: the first send is to connect, and to wait for that, or with
 * MSG_DONTWAIT not to (tcp_sendmsg_fastopen()).
 */
static long note_deferred(struct fib_known *k, long r)
{
	if (fib_unlikely(r == 0 && fib_load(&fastopen_used, relaxed)) &&
	    tcp_state(k->fd) == TCP_SYN_SENT)
		fib_fd_be_odd(k, FIB_IO_WRITE);
	else if (r == 0 || r == -EINPROGRESS)
		fib_io_connected(k->slot);
	return r;
}

/*
 * unix_dgram_connect() wakes those who wait for room in a datagram socket that had a peer,
 * whatever poll says of it: where there is some, what they send goes to the new one.
 */
static long connect_kernel(struct fib_known *k, const long a[6])
{
	struct sockaddr_un was;
	int len = sizeof(was);
	bool had = k->kind == FIB_FD_LOCAL &&
		   !fib_raw(SYS_getpeername, k->fd, &was, &len);
	long r = fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);

	if (had && r == 0)
		nudge_own_writers(k);
	return r;
}

/*
 * There is no flag for one connect that does not block, and what comes of one
 * depends on what else is done with the socket meanwhile: the kernel waits, but
 * for what connect_tcp() can do. (A datagram's is done at once.)
 */
long fib_sys_connect(int fd, const void *addr, unsigned addrlen)
{
	struct fib_known *k = fib_io_socket(fd);
	long a[6] = { fd, (long)addr, addrlen };
	sa_family_t family;
	long r;

	if (!k)
		return fib_pass(SYS_connect, a);
	if (k->kind == FIB_FD_TCP && addrlen >= sizeof(family) &&
	    !fib_copy(&family, addr, sizeof(family)) && family == AF_UNSPEC)
		return undo(k, a);
	if (k->kind == FIB_FD_TCP)
		return note_deferred(k, connect_tcp(k, a));
	r = k->kind == FIB_FD_STREAM ? fib_io_connect_unix(k, a) :
				       connect_kernel(k, a);
	ask_again(k);
	if (r == 0 && k->kind == FIB_FD_STREAM)
		fib_io_connected(k->slot);
	return r;
}
