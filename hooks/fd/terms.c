/*
 * What calls on a descriptor go by: O_NONBLOCK, time limits, SO_RCVLOWAT of its
 * description, asked for where it is not known, and changed by this process or found to
 * have been changed by another. See desc.h.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/ioctl.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/fd/known_int.h"
#include "hooks/signal/signal.h"
#include "runtime/chaos.h"
#include "runtime/trywait.h"

_Atomic bool fib_fd_may_ask;

struct fib_desc *fib_fd_desc_anew(struct fib_known *k)
{
	struct fib_desc *d;

	do {
		fib_lock(&k->lock);
		fib_fd_begin_locked(k, fib_load(&k->slot->files, acquire),
				    NULL);
		d = fib_load(&k->desc, relaxed);
		fib_unlock(&k->lock);
	} while (!fib_fd_is_current(k) || !d);
	return d;
}

/* The number may be closed and become another file's while this asks. */
static void ask(struct fib_known *k, uint8_t parts, struct fib_desc_answer *a)
{
	bool same;

	do {
		uint32_t files = fib_load(&k->slot->files, acquire);
		struct fib_desc *d = fib_fd_desc(k);

		fib_desc_ask(d, k->fd, parts, a);
		FIB_CHAOS_POINT(attr_found);
		fib_lock(&k->lock);
		same = fib_load(&k->slot->files, acquire) == files &&
		       fib_load(&k->desc, relaxed) == d;
		if (same)
			fib_desc_learn(d, a);
		fib_unlock(&k->lock);
	} while (!same);
}

static bool is_known(const struct fib_desc *d, uint8_t part)
{
	return fib_likely(fib_load(&d->known, acquire) & part);
}

bool fib_fd_nonblock(struct fib_known *k)
{
	struct fib_desc *d = fib_fd_desc(k);
	struct fib_desc_answer a;

	if (is_known(d, FIB_DESC_FLAGS)) {
		bool nonblock = d->nonblock;

		if (!nonblock || fib_desc_is_ours(d))
			return nonblock;
	}
	ask(k, FIB_DESC_FLAGS, &a);
	return a.nonblock;
}

uint8_t fib_fd_access(struct fib_known *k)
{
	struct fib_desc *d = fib_fd_desc(k);
	struct fib_desc_answer a;

	if (is_known(d, FIB_DESC_ACCESS))
		return d->access;
	ask(k, FIB_DESC_FLAGS, &a);
	return a.access;
}

bool fib_fd_file(struct fib_known *k, uint64_t file[2])
{
	struct fib_desc *d = fib_fd_desc(k);
	struct fib_desc_answer a = { 0 };
	const uint64_t *of = d->file;

	if (!is_known(d, FIB_DESC_FILE)) {
		ask(k, FIB_DESC_FILE, &a);
		if (!(a.parts & FIB_DESC_FILE))
			return false;
		of = a.file;
	}
	file[0] = of[0];
	file[1] = of[1];
	return true;
}

size_t fib_fd_lowat(struct fib_known *k)
{
	struct fib_desc *d = fib_fd_desc(k);
	struct fib_desc_answer a;

	if (is_known(d, FIB_DESC_LOWAT) && fib_desc_is_ours(d))
		return (size_t)d->lowat;
	ask(k, FIB_DESC_LOWAT, &a);
	return (size_t)a.lowat;
}

/* Until a kind is known again, it may be a socket's. */
static bool may_be_socket(const struct fib_known *k)
{
	return fib_fd_is_socket(k) || fib_fd_kind_of(k) == FIB_FD_UNKNOWN;
}

uint64_t fib_fd_limit(struct fib_known *k, uint8_t ev)
{
	struct fib_desc *d = fib_fd_desc(k);
	uint8_t part = (uint8_t)(ev << 1);
	struct fib_desc_answer a;

	if (!may_be_socket(k))
		return FIB_NEVER;
	if (is_known(d, part))
		return d->limit_ns[ev != FIB_IO_READ];
	ask(k, part, &a);
	return a.limit_ns[ev != FIB_IO_READ];
}

uint64_t fib_fd_limit_anew(struct fib_known *k, uint8_t ev)
{
	struct fib_desc_answer a = { .limit_ns = { FIB_NEVER, FIB_NEVER } };

	ask(k, FIB_DESC_FLAGS | (uint8_t)(may_be_socket(k) ? ev << 1 : 0), &a);
	return a.limit_ns[ev != FIB_IO_READ];
}

bool fib_fd_terms(struct fib_known *k, uint8_t ev, struct fib_fd_terms *t)
{
	const struct fib_desc *d = fib_fd_desc(k);
	bool socket = may_be_socket(k);
	unsigned parts = FIB_DESC_FLAGS | (socket ? ev << 1 : 0);

	t->found = fib_load(&d->found, acquire);
	t->undone = fib_load(&d->undone, acquire);
	t->ours = fib_desc_is_ours(d);
	if ((fib_load(&d->known, acquire) & parts) != parts || d->nonblock ||
	    (d->impatient & ev))
		return false;
	t->limit_ns = socket ? d->limit_ns[ev != FIB_IO_READ] : FIB_NEVER;
	return true;
}

uint64_t fib_fd_deadline(struct fib_known *k, uint8_t ev)
{
	uint64_t ns = fib_fd_limit(k, ev);

	return fib_likely(ns == FIB_NEVER) ? FIB_NEVER : fib_deadline_in(ns);
}

bool fib_fd_impatient(struct fib_known *k, uint8_t ev)
{
	return fib_fd_desc(k)->impatient & ev;
}

bool fib_fd_is_odd_itself(struct fib_known *k, uint8_t ev)
{
	return fib_load(&fib_fd_desc(k)->odd, relaxed) & ev;
}

void fib_fd_be_odd(struct fib_known *k, uint8_t ev)
{
	fib_desc_be_odd(fib_fd_desc(k), ev);
}

/* No other process has @fd, or its other end. */
static bool is_home(int fd)
{
	const struct fib_known *k = fib_fd_record_known(fd);
	const struct fib_desc *d = k ? fib_load(&k->desc, acquire) : NULL;

	return d && fib_fd_is_current(k) && d->home && fib_desc_is_ours(d);
}

/*
 * Sockets of networks come into question once there was a fork: that an unrelated
 * process sends both is not looked after. Of pipes and socket pairs that no other process
 * has it is known who writes.
 */
bool fib_fd_tells(int fd)
{
	switch (fib_fd_kind(fd)) {
	case FIB_FD_UNKNOWN:
	case FIB_FD_MEMORY:
	case FIB_FD_ALWAYS:
		return false;
	case FIB_FD_TCP:
	case FIB_FD_OTHER:
	case FIB_FD_DGRAM:
		return fib_desc_may_be_shared();
	default:
		return !is_home(fd);
	}
}

_Atomic uint8_t *fib_fd_undone(struct fib_known *k)
{
	return &fib_fd_desc(k)->undone;
}

void fib_fd_ends(struct fib_known *k, enum fib_desc_ended how)
{
	fib_desc_set_ended(fib_fd_desc(k), how);
}

enum fib_desc_ended fib_fd_hears(struct fib_known *k)
{
	_Atomic uint8_t *ended = &fib_fd_desc(k)->ended;
	uint8_t how = FIB_DESC_ONE_IS_TO_HEAR;

	fib_cas(ended, &how, FIB_DESC_ONE_HAS_HEARD, seq_cst);
	return how;
}

void fib_fd_set_listens(struct fib_known *k, bool listens)
{
	fib_desc_set_listens(fib_fd_desc(k), listens);
}

bool fib_fd_had_connect(struct fib_known *k)
{
	struct fib_desc *d = fib_fd_desc(k);

	return fib_xchg(&d->connected, 1, relaxed) || !fib_desc_is_ours(d);
}

_Atomic uint32_t *fib_fd_begun(struct fib_known *k)
{
	return &fib_fd_desc(k)->begun;
}

uint32_t fib_fd_found(struct fib_known *k)
{
	return fib_load(&fib_fd_desc(k)->found, acquire);
}

bool fib_fd_is_ours_alone(struct fib_known *k)
{
	return fib_desc_is_ours(fib_fd_desc(k));
}

#define DOUBTS 8 /* of which some may be late events */

/*
 * A reader waits since a short read has emptied the file. In a packet pipe, or
 * beside passed descriptors, it has not. But what there is to read mostly came since, and
 * epoll is about to tell; so that is waited for.
 */
static unsigned ask_whether_empty(struct fib_known *k, struct fib_fd *s)
{
	uint32_t reads = fib_load(&s->reads, relaxed);

	if (!fib_iom_seems_empty(s) || k->kind == FIB_FD_TCP ||
	    !fib_io_ready(s->fd, POLLIN))
		return 0;
	if (s->unread != reads) {
		s->unread = reads;
		s->unread_at = fib_iom_looks();
		return FIB_LATE_AGAIN;
	}
	if (!fib_iom_has_told(s->unread_at))
		return FIB_LATE_AGAIN;
	if (++k->doubts >= DOUBTS)
		fib_store(&s->untrusted, true, relaxed);
	fib_and(&s->reads, ~1u, relaxed);
	return FIB_LATE_NEWS;
}

/* Of what others may have changed. */
static unsigned ask_late(struct fib_known *k, struct fib_fd *s, uint8_t events,
			 bool tells)
{
	uint8_t parts = FIB_DESC_FLAGS | (uint8_t)(events << 1);
	uint32_t files = fib_load(&s->files, acquire);
	struct fib_desc_answer a;
	unsigned r = 0;
	struct fib_desc *d = fib_load(&k->desc, acquire);

	if (!d || fib_desc_is_ours(d))
		return 0;
	if (!fib_fd_is_socket(k))
		parts = FIB_DESC_FLAGS;
	fib_desc_ask(d, k->fd, parts, &a);
	FIB_CHAOS_POINT(late_asked);
	fib_lock(&k->lock);
	if (fib_load(&s->files, acquire) == files &&
	    fib_load(&k->desc, relaxed) == d) {
		uint32_t found;

		fib_desc_find(d, &a);
		found = fib_load(&d->found, relaxed);
		r = FIB_LATE_AGAIN | FIB_LATE_SOON |
		    (found != k->told ? FIB_LATE_NEWS : 0);
		if (tells)
			k->told = found;
	}
	fib_unlock(&k->lock);
	return r;
}

/* Nobody but this process has either end. */
static bool both_at_home(const struct fib_known *k, const struct fib_fd *s)
{
	struct fib_peer p = fib_fd_peer(k);

	return p.slot && fib_load(&p.slot->files, acquire) == p.files &&
	       is_home(p.slot->fd) && is_home(s->fd);
}

bool fib_fd_short_is_last(int fd)
{
	const struct fib_known *k = fib_fd_record_known(fd);

	return k && (k->kind == FIB_FD_TCP || both_at_home(k, k->slot));
}

_Atomic int fib_fd_for_receivers;

struct fib_sndbuf fib_fd_sndbuf(int fd)
{
	struct fib_sndbuf b = { 0 };
	int len = sizeof(b.size);

	fib_raw(SYS_ioctl, fd, TIOCOUTQ, &b.used);
	fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_SNDBUF, &b.size, &len);
	return b;
}

/*
 * A datagram socket is shut by its own file alone, unix_shutdown(): here by nobody else.
 * But poll says nothing of its receiver while much of its own buffer is used, and that may
 * come later than the wait.
 */
static bool shuts_itself(const struct fib_known *k)
{
	const struct fib_desc *d = fib_load(&k->desc, acquire);
	int type = 0, len = sizeof(type);

	return k->kind == FIB_FD_LOCAL &&
	       !fib_load(&fib_fd_for_receivers, acquire) && d &&
	       fib_desc_is_ours(d) &&
	       !fib_raw(SYS_getsockopt, k->fd, SOL_SOCKET, SO_TYPE, &type,
			&len) &&
	       type == SOCK_DGRAM;
}

/*
 * Another process may shut a unix socket for sending: unix_poll() says nothing of it, and
 * who waits is woken natively (unix_shutdown()). What has no bytes is nothing to a
 * stream, but for that; of packets the next one itself is to try. But who waits for its
 * receiver alone is not woken (unix_wait_for_peer()), and poll tells of that one.
 */
static unsigned ask_whether_shut(uint8_t kind, const struct fib_fd *s)
{
	if (kind != FIB_FD_STREAM && kind != FIB_FD_LOCAL)
		return 0;
	if (kind == FIB_FD_STREAM &&
	    fib_raw(SYS_sendto, s->fd, NULL, 0, MSG_DONTWAIT | MSG_NOSIGNAL, 0,
		    0) != -EPIPE)
		return FIB_LATE_AGAIN;
	if (kind == FIB_FD_LOCAL &&
	    fib_fd_tells_of_receiver(fib_fd_sndbuf(s->fd)))
		return FIB_LATE_AGAIN;
	return FIB_LATE_AGAIN | FIB_LATE_NEWS;
}

void fib_fd_ask_late(struct fib_known *k, uint8_t events)
{
	ask_late(k, k->slot, events, false);
}

/* The number may be closed under this as well: then it has asked for nothing. */
unsigned fib_fd_late(struct fib_fd *s, uint8_t events)
{
	struct fib_known *k = fib_fd_record_known(s->fd);
	bool known = k && fib_fd_is_current(k);
	unsigned r = 0;

	/* No flag or limit of its own is anything to epoll_wait(). */
	if (known && k->kind == FIB_FD_EPOLL)
		return 0;
	/* They stay with a file whose number is closed, by one that has no record. */
	if (fib_load(&s->guests, relaxed) && !known)
		return events & FIB_IO_WRITE ?
			       ask_whether_shut(fib_fd_find_kind(s->fd), s) :
			       0;
	if (known) {
		if (events & FIB_IO_READ)
			r = ask_whether_empty(k, s);
		r |= ask_late(k, s, events, true);
		/* One that shuts itself may be another's as well by then. */
		if ((events & FIB_IO_WRITE) && !both_at_home(k, s))
			r |= shuts_itself(k) ? FIB_LATE_AGAIN :
					       ask_whether_shut(k->kind, s);
	}
	return r;
}

/* --- changes by this process --------------------------------------------------- */

struct fib_change fib_fd_change(int fd, uint8_t parts)
{
	struct fib_change c = { .k = parts ? fib_fd_record(fd) : NULL,
				.parts = parts };

	if (!c.k || fib_self()->call.own_files)
		return (struct fib_change){ 0 };
	c.desc = fib_fd_desc(c.k);
	c.was = fib_desc_change(c.desc, parts);
	return c;
}

#define COMPARES 256 /* at most; the rest is asked */

/* Are numbers @a and @b surely not of one description? */
static bool are_apart(int a, int b, unsigned *compared)
{
	long pid = fib_signal_pid;

	if (!fib_fd_asks() || ++*compared > COMPARES)
		return false;
	return fib_raw(SYS_kcmp, pid, pid, KCMP_FILE, a, b) > 0;
}

/* @other may have been changed by @c as well: is it in doubt? */
static bool reach(struct fib_known *other, const struct fib_change *c,
		  unsigned *compared)
{
	struct fib_desc *e = fib_load(&other->desc, acquire);
	struct fib_desc_answer a;

	if (!e || e == c->desc || !fib_fd_is_current(other) ||
	    fib_desc_is_ours(e) || are_apart(c->k->fd, other->fd, compared))
		return false;
	fib_desc_change(e, c->parts);
	fib_desc_changed(e, c->parts);
	ask(other, c->parts, &a);
	return true;
}

/*
 * A description that strangers may be as well has been changed. While no number has
 * become a stranger's since it was found to be none of theirs (apart), nobody has to be
 * looked at.
 */
static void reach_strangers(const struct fib_change *c)
{
	uint32_t now = fib_load(&fib_fd_strangers, acquire);
	unsigned compared = 0;
	bool doubt = false;

	if (fib_load(&c->desc->apart, relaxed) == now)
		return;
	for (struct fib_known *k = fib_fd_record_from(0); k;
	     k = fib_fd_record_from(k->fd + 1))
		if (reach(k, c, &compared))
			doubt = true;
	if (!doubt)
		fib_store(&c->desc->apart, now, relaxed);
}

/* (F); then it is known again: by @set, or it is asked. */
static void end_change(const struct fib_change *c, struct fib_desc_answer *set)
{
	struct fib_desc_answer a;

	if (!c->k)
		return;
	fib_desc_changed(c->desc, c->parts);
	FIB_CHAOS_POINT(desc_changed);
	if (set)
		fib_desc_set(c->desc, set, c->was);
	if (~fib_load(&c->desc->known, acquire) & c->parts)
		ask(c->k, c->parts, &a);
	if (!fib_desc_is_ours(c->desc))
		reach_strangers(c);
}

void fib_fd_changed(const struct fib_change *c)
{
	end_change(c, NULL);
}

void fib_fd_set_nonblock(const struct fib_change *c, bool nonblock)
{
	struct fib_desc_answer a = { .parts = FIB_DESC_FLAGS,
				     .nonblock = nonblock };

	end_change(c, &a);
}

void fib_fd_set_limit(const struct fib_change *c, uint64_t ns)
{
	struct fib_desc_answer a = { .parts = c->parts,
				     .limit_ns = { ns, ns } };

	end_change(c, &a);
}

/* getsockopt() shows such a limit as none. */
void fib_fd_limited(int fd, uint8_t ev, bool negative)
{
	struct fib_known *k = fib_fd_know(fd);
	struct fib_desc *d;

	if (!k || (!negative && !fib_fd_impatient(k, ev)))
		return;
	d = fib_fd_desc(k);
	fib_lock(&d->lock);
	if (negative)
		d->impatient |= ev;
	else
		d->impatient &= (uint8_t)~ev;
	fib_unlock(&d->lock);
}

/* Terms of its own, which it has from the listener. */
void fib_fd_accepted(int fd, struct fib_known *listener, int flags)
{
	struct fib_known *k;

	fib_fd_born(fd, listener ? listener->kind : FIB_FD_UNKNOWN,
		    O_RDWR | (flags & SOCK_NONBLOCK), false);
	k = fib_fd_record_known(fd);
	if (!k)
		return;
	fib_desc_inherit(fib_fd_desc(k),
			 listener ? fib_fd_desc(listener) : NULL);
}
