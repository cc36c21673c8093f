/*
 * Sockets that wait for another socket of this machine: datagrams, whose receiver
 * has as many as it takes, and unix streams, whose listener has as many callers.
 *
 * Poll tells of the receiver that a socket is connected to, and a send that would
 * wait for it has asked for an edge (unix_dgram_peer_wake_me()). Of one that is
 * named by its address, and of a listener, only the kernel knows when it has room
 * (unix_wait_for_peer()). All who wait for the same one stand in line for it, and the
 * first of them waits as it can.
 */
#include <stddef.h>
#include <sys/stat.h>
#include <sys/un.h>
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

/* An abstract name: two sums of it, as good as the name. */
static void sum_up(uint64_t key[2], const char *name, unsigned n)
{
	key[0] = key[1] = n;
	for (unsigned i = 0; i < n; i++) {
		key[0] = (key[0] ^ (uint8_t)name[i]) * 0x100000001b3ull;
		key[1] = (key[1] + (uint8_t)name[i]) * 0x9e3779b97f4a7c15ull;
	}
}

/* The line for the socket of that address, by call @nr; false: there is none. */
static bool find_line(struct fib_place *p, const void *addr, unsigned len,
		      long nr)
{
	struct {
		struct sockaddr_un un;
		char end;
	} a = { 0 };
	struct stat st;

	if (len <= PATH_AT || len > sizeof(a.un) || fib_copy(&a, addr, len) ||
	    a.un.sun_family != AF_UNIX || fib_self()->thread.apart)
		return false;
	p->key[2] = (uint64_t)nr;
	if (!a.un.sun_path[0]) {
		sum_up(p->key, a.un.sun_path, (unsigned)(len - PATH_AT));
		return true;
	}
	if (fib_raw(SYS_stat, a.un.sun_path, &st))
		return false;
	p->key[0] = st.st_dev;
	p->key[1] = st.st_ino;
	return true;
}

/*
 * How many connect, to whomever. Who is alone need not ask who its line is for: it waits in
 * the kernel, if at all, and whoever comes meanwhile stands in line, and so behind it. (One
 * that a cancel has unwound, or a fork has left behind, counts for ever: then all ask.)
 */
static _Atomic uint32_t connects;

static long connect_in_line(struct fib_known *k, const long a[6])
{
	struct fib_place p = { .key = { 0 } };

	if (!find_line(&p, (const void *)a[1], (unsigned)a[2], SYS_connect))
		return fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);
	return fib_io_whole(k, FIB_IO_WRITE, false, SYS_connect, a, NULL, &p);
}

long fib_io_connect_unix(struct fib_known *k, const long a[6])
{
	bool waits = !fib_fd_nonblock(k) && !fib_fd_impatient(k, FIB_IO_WRITE);
	long r;

	if (!waits)
		return fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);
	if (fib_add(&connects, 1, seq_cst) == 0)
		r = fib_io_in_kernel(k, FIB_IO_WRITE, false, SYS_connect, a);
	else
		r = connect_in_line(k, a);
	fib_sub(&connects, 1, seq_cst);
	return r;
}

struct name {
	bool known; /* else the message is not there */
	const void *addr;
	unsigned len; /* 0: none */
};

/* Whom call @nr names. */
static struct name name_in(long nr, const long a[6])
{
	struct name n = { .known = true };
	struct msghdr h;

	if (nr == SYS_sendto)
		return (struct name){ true, (const void *)a[4],
				      a[4] ? (unsigned)a[5] : 0 };
	if (fib_copy(&h, (const void *)a[1], sizeof(h)))
		n.known = false;
	else if (h.msg_name)
		n = (struct name){ true, h.msg_name, h.msg_namelen };
	return n;
}

/* --- datagrams that would wait ------------------------------------------------ */

/* Where there is no room. */
enum full {
	FULL_SENDER,   /* its own buffer: poll tells */
	FULL_RECEIVER, /* of that one it tells too, if the two are connected, */
	FULL_UNTOLD, /* but not while more of its own buffer is used: fib_fd_tells_of_receiver() */
};

static enum full find_full(int fd)
{
	struct fib_sndbuf b = fib_fd_sndbuf(fd);

	if (b.used >= b.size)
		return FULL_SENDER;
	return fib_fd_tells_of_receiver(b) ? FULL_RECEIVER : FULL_UNTOLD;
}

/* A send by call @nr. */
struct sending {
	struct fib_io io;
	struct fib_hold hold;
	struct fib_place place; /* in line for its receiver, */
	bool has_line;		/* where there is one */
	bool told;		/* poll tells of the receiver, */
	bool named; /* which is named, and is what the sender is connected to */
	bool stood;
	enum full full;
	long nr;
	const long *a;
};

/* Its number is another file's, or nobody's. Before its first wait it begins anew, there. */
static long lost(const struct fib_io *io)
{
	return !io->limited || (io->closes & FIB_CLOSING) ?
		       -FIB_ERESTARTNOINTR :
		       -EBADF;
}

/* Stay with the file, and try. */
static long try(struct sending *s)
{
	struct fib *f = fib_self();
	const long *a = s->a;
	long r;

	/* The first time, or a cancel came near, and did not act. */
	if (!f->io.hold && fib_iom_hold(s->io.s, &s->hold, s->io.closes))
		f->io.hold = &s->hold;
	if (!f->io.hold || !fib_io_try(&s->io, &s->hold))
		return lost(&s->io);
	fib_io_begin(&s->io);
	r = fib_raw6(s->nr, s->io.s->fd, a[1], a[2], a[3], a[4], a[5]);
	if (r == -EAGAIN)
		s->full = find_full(s->io.s->fd);
	fib_iom_tried(&s->hold);
	return r;
}

static long begin_wait(struct sending *s)
{
	long r = s->io.limited ? 0 : s->io.rules->limit(&s->io);

	s->io.limited = r == 0;
	return r;
}

/* It had a limit for its own buffer, and has another one now: unix_dgram_sendmsg(). */
static long stand(struct sending *s)
{
	long r;

	if (s->io.limited && !s->stood)
		s->io.deadline_ns =
			fib_fd_deadline(fib_fd_of(s->io.s), FIB_IO_WRITE);
	r = begin_wait(s);
	if (r)
		return r;
	s->stood = true;
	if (s->io.deadline_ns != FIB_NEVER)
		fib_stop_ends();
	r = fib_line_stand(&s->place, s->io.deadline_ns);
	if (r)
		return fib_io_failed(&s->io, r);
	return fib_filtered() ? -FIB_ERESTARTNOINTR : 0;
}

/* Natively it has its buffer by now, and waits for no room in its own socket any more. */
static void note_receiver(void)
{
	struct fib *f = fib_self();

	if (f->io.counted)
		return;
	f->io.counted = &fib_fd_for_receivers;
	fib_add(&fib_fd_for_receivers, 1, release);
}

/* It would wait: 0 when it is to be tried again. */
static long wait(struct sending *s)
{
	long r;

	if (s->full == FULL_RECEIVER)
		note_receiver();
	if (s->full == FULL_RECEIVER && s->has_line && !s->place.in_line)
		return stand(s);
	if (s->full == FULL_SENDER)
		fib_line_leave(&s->place);
	r = begin_wait(s);
	return r ? r : s->io.rules->block(&s->io);
}

/*
 * Its wait has ended with *@r. sock_alloc_send_pskb() looks for room once more before it
 * looks at signals and at the limit; for room at the receiver there is another limit, which
 * @s goes on with then.
 */
static bool goes_on(struct sending *s, long *r)
{
	long last;

	if (s->full != FULL_SENDER || !s->io.limited || fib_filtered())
		return false;
	last = try(s);
	if (last != -EAGAIN && last != -EBADF)
		*r = last;
	return last == -EAGAIN && *r == -EAGAIN && s->full != FULL_SENDER;
}

/* Is @fd connected to whom line @p is for? */
static bool is_peer(int fd, const struct fib_place *p)
{
	struct fib_place peer = { .key = { 0 } };
	struct sockaddr_un addr;
	int len = sizeof(addr);

	return !fib_raw(SYS_getpeername, fd, &addr, &len) &&
	       find_line(&peer, &addr, (unsigned)len, SYS_sendto) &&
	       !memcmp(peer.key, p->key, sizeof(peer.key));
}

/* *@left: it waits for what only the kernel can tell of. */
static long send_told(struct sending *s, bool *left)
{
	struct fib *f = fib_self();
	bool again = false;
	long r;

	do {
		r = try(s);
		/* It may have been connected to another one meanwhile, or to none. */
		if (r == -EAGAIN && again && s->named && s->told)
			s->told = is_peer(s->io.s->fd, &s->place);
		again = true;
		*left = r == -EAGAIN && s->has_line &&
			(s->full == FULL_UNTOLD ||
			 (s->full == FULL_RECEIVER && !s->told));
	} while (r == -EAGAIN && !*left &&
		 ((r = wait(s)) == 0 || goes_on(s, &r)));
	fib_line_leave(&s->place);
	fib_desc_queue_leave(f);
	if (f->io.hold)
		fib_iom_let_go(&s->hold);
	f->io.hold = NULL;
	fib_io_end(&s->io);
	return r;
}

/*
 * Whom it goes to, and whether poll tells of that one. (A pair without names, or packets,
 * are connected both ways, and wait for their own buffers alone.) False: only the
 * kernel knows.
 */
static bool find_receiver(struct sending *s, const struct fib_known *k,
			  const struct name *to)
{
	struct sockaddr_un addr;
	int len = sizeof(addr);
	bool connected = !fib_raw(SYS_getpeername, k->fd, &addr, &len) &&
			 fib_io_option(k, SO_TYPE, 0) == SOCK_DGRAM;

	s->told = !to->len;
	if (!to->len) {
		s->has_line = connected && find_line(&s->place, &addr,
						     (unsigned)len, SYS_sendto);
		return true;
	}
	s->has_line = find_line(&s->place, to->addr, to->len, SYS_sendto);
	if (!connected || !s->has_line)
		return s->has_line;
	s->named = s->told = is_peer(k->fd, &s->place);
	return s->told;
}

static long send_unix(struct fib_known *k, const struct fib_io *io, long nr,
		      long a[6], long *flags, long asked, const struct name *to)
{
	struct sending s = { .io = *io, .nr = nr, .a = a };
	bool left = true;
	long r = -EAGAIN;

	if (find_receiver(&s, k, to))
		r = send_told(&s, &left);
	*flags = asked;
	if (!left)
		return r;
	if (fib_load(&k->slot->closes, relaxed) != io->closes)
		return lost(&s.io);
	return fib_io_whole(k, FIB_IO_WRITE, false, nr, a, NULL,
			    s.has_line ? &s.place : NULL);
}

/* For these poll and its edges tell when there is room. */
static bool poll_tells(const struct fib_known *k, const struct name *to)
{
	int domain;

	if (k->kind == FIB_FD_LOCAL)
		return !to->len;
	domain = fib_io_option(k, SO_DOMAIN, 0);
	return (domain == AF_INET || domain == AF_INET6) &&
	       fib_io_option(k, SO_TYPE, 0) == SOCK_DGRAM;
}

long fib_io_send_datagram(struct fib_known *k, long nr, long a[6], long *flags)
{
	struct fib_io io = FIB_HOOK_IO(k, FIB_IO_WRITE);
	long asked = *flags, r;
	struct name to;

	*flags |= MSG_DONTWAIT;
	fib_io_start(&io);
	r = fib_io_sent(fib_pass(nr, a), asked);
	if (r != -EAGAIN || fib_fd_nonblock(k) ||
	    fib_fd_impatient(k, FIB_IO_WRITE))
		return r;
	to = name_in(nr, a);
	if (to.known && k->kind == FIB_FD_LOCAL && fib_fd_asks())
		return fib_io_sent(send_unix(k, &io, nr, a, flags, asked, &to),
				   asked);
	if (to.known && poll_tells(k, &to))
		return fib_io_sent(fib_io_call(&io, 0, nr, a), asked);
	*flags = asked;
	return fib_io_sent(fib_io_in_kernel(k, FIB_IO_WRITE, false, nr, a),
			   asked);
}
