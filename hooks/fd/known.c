/* What is known of each descriptor, see fd.h. */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/socket.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/trywait.h"

_Atomic bool fib_fd_lowat_used, fib_fd_peek_off_used, fib_fd_tells_once;
_Atomic bool fib_fd_compares;
/* Changes when a number has become a stranger's: see reach_strangers(). */
static _Atomic uint32_t strangers = 1;

void fib_fd_unshared(void)
{
	fib_self()->call.own_files = true;
	fib_self()->call.plain |= FIB_FILES;
	fib_fd_shared();
}

void fib_fd_shared(void)
{
	fib_desc_shared();
	fib_add(&strangers, 1, seq_cst);
}

/* By number, in chunks as the slots are. */
static struct fib_known *_Atomic table[FIB_FD_MAX / FIB_FD_CHUNK];
static struct fib_lock table_lock = FIB_LOCK(RECORDS);

static struct fib_known *peek(int fd)
{
	struct fib_known *c;

	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	c = fib_load(&table[(unsigned)fd >> FIB_FD_CHUNK_BITS], acquire);
	return c ? &c[(unsigned)fd & (FIB_FD_CHUNK - 1)] : NULL;
}

static struct fib_known *chunk_create(int first)
{
	struct fib_known *c =
		fib_fd_get(first) ? fib_pages_alloc(FIB_FD_CHUNK * sizeof(*c)) :
				    NULL;

	for (int n = 0; c && n < (int)FIB_FD_CHUNK; n++) {
		c[n].fd = first + n;
		fib_lock_init(&c[n].lock, RECORD);
		c[n].slot = fib_fd_get(first + n);
		/* none yet */
		fib_store(&c[n].files, fib_load(&c[n].slot->files, relaxed) - 1,
			  relaxed);
	}
	return c;
}

/* NULL: there is no memory, or no such number. */
static struct fib_known *get(int fd)
{
	struct fib_known *k = peek(fd);
	unsigned i = (unsigned)fd >> FIB_FD_CHUNK_BITS;

	if (fib_likely(k))
		return k;
	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	fib_lock(&table_lock);
	if (!fib_load(&table[i], relaxed))
		fib_store(&table[i], chunk_create((int)(i * FIB_FD_CHUNK)),
			  release);
	fib_unlock(&table_lock);
	return peek(fd);
}

/* The number of @k leads to @d from now on, which has been counted. */
static void lead_locked(struct fib_known *k, struct fib_desc *d)
{
	struct fib_desc *old = fib_load(&k->desc, relaxed);

	k->told = fib_load(&d->found, relaxed);
	fib_store(&k->desc, d, release);
	fib_desc_put(old);
}

/* @k begins to be file number @files: of @d, or of a stranger. */
static void begin_locked(struct fib_known *k, uint32_t files,
			 struct fib_desc *d)
{
	uint32_t left = fib_load(&k->files, relaxed) ^ files;
	const struct fib_desc *old = fib_load(&k->desc, relaxed);

	if (left || !old) {
		k->kind = FIB_FD_UNKNOWN;
		k->listening = k->tells_room = k->tells_end = false;
		k->polled = k->doubts = 0;
		k->tty = FIB_TTY_UNKNOWN;
		fib_store(&k->peer, NULL, relaxed);
		if (!d) {
			d = fib_desc_create();
			fib_add(&strangers, 1, release);
		}
	}
	if (!d)
		return;
	/* It cannot be asked, and may have been set since the number was left. */
	if (left < FIB_FILE_LEFT && old)
		d->impatient |= old->impatient;
	lead_locked(k, d);
	/* pairs with kind_of() */
	fib_store(&k->files, files, release);
}

static bool is_current(const struct fib_known *k)
{
	return fib_load(&k->files, acquire) ==
	       fib_load(&k->slot->files, relaxed);
}

static uint8_t kind_of(const struct fib_known *k)
{
	return fib_likely(is_current(k)) ? k->kind : FIB_FD_UNKNOWN;
}

/* Meanwhile the number may be closed and become another file's. */
static bool learn_kind(struct fib_known *k)
{
	for (;;) {
		uint32_t files = fib_load(&k->slot->files, acquire);
		uint8_t kind = fib_fd_find_kind(k->fd);
		struct fib_peer peer = fib_fd_find_peer(k->slot, kind, files);
		bool same;

		FIB_CHAOS_POINT(kind_found);
		fib_lock(&k->lock);
		same = fib_load(&k->slot->files, acquire) == files;
		if (same) {
			begin_locked(k, files, NULL);
			k->kind = kind;
			if (peer.slot)
				fib_fd_set_peer_locked(k, peer);
		}
		fib_unlock(&k->lock);
		if (same)
			return kind != FIB_FD_UNKNOWN;
	}
}

static struct fib_known *__attribute__((noinline)) know_anew(int fd)
{
	struct fib_known *k = get(fd);

	if (!k || fib_self()->call.own_files)
		return NULL;
	if (kind_of(k) == FIB_FD_UNKNOWN &&
	    (fib_fd_is_ours(fd) || !learn_kind(k)))
		return NULL;
	return k;
}

struct fib_known *fib_fd_know(int fd)
{
	struct fib_known *k = peek(fd);

	if (fib_likely(k && kind_of(k) != FIB_FD_UNKNOWN &&
		       !fib_self()->call.own_files))
		return k;
	return know_anew(fd);
}

struct fib_known *fib_fd_relearn(struct fib_known *k)
{
	fib_lock(&k->lock);
	k->kind = FIB_FD_UNKNOWN;
	fib_unlock(&k->lock);
	return fib_fd_know(k->fd);
}

struct fib_known *fib_fd_of(const struct fib_fd *s)
{
	return peek(s->fd);
}

uint8_t fib_fd_kind(int fd)
{
	const struct fib_known *k = peek(fd);

	return k ? kind_of(k) : FIB_FD_UNKNOWN;
}

/* --- descriptions ------------------------------------------------------------ */

static struct fib_desc *__attribute__((noinline)) desc_anew(struct fib_known *k)
{
	struct fib_desc *d;

	do {
		fib_lock(&k->lock);
		begin_locked(k, fib_load(&k->slot->files, acquire), NULL);
		d = fib_load(&k->desc, relaxed);
		fib_unlock(&k->lock);
	} while (!is_current(k) || !d);
	return d;
}

/* Of what the number is now; it may be another one's in a moment. */
static inline struct fib_desc *desc_of(struct fib_known *k)
{
	struct fib_desc *d = fib_load(&k->desc, acquire);

	return fib_likely(is_current(k) && d) ? d : desc_anew(k);
}

/* The number may be closed and become another file's while this asks. */
static void ask(struct fib_known *k, uint8_t parts, struct fib_desc_answer *a)
{
	bool same;

	do {
		uint32_t files = fib_load(&k->slot->files, acquire);
		struct fib_desc *d = desc_of(k);

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
	struct fib_desc *d = desc_of(k);
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
	struct fib_desc *d = desc_of(k);
	struct fib_desc_answer a;

	if (is_known(d, FIB_DESC_ACCESS))
		return d->access;
	ask(k, FIB_DESC_FLAGS, &a);
	return a.access;
}

size_t fib_fd_lowat(struct fib_known *k)
{
	struct fib_desc *d = desc_of(k);
	struct fib_desc_answer a;

	if (is_known(d, FIB_DESC_LOWAT) && fib_desc_is_ours(d))
		return (size_t)d->lowat;
	ask(k, FIB_DESC_LOWAT, &a);
	return (size_t)a.lowat;
}

/* Until a kind is known again, it may be a socket's. */
static bool may_be_socket(const struct fib_known *k)
{
	return fib_fd_is_socket(k) || kind_of(k) == FIB_FD_UNKNOWN;
}

uint64_t fib_fd_limit(struct fib_known *k, uint8_t ev)
{
	struct fib_desc *d = desc_of(k);
	uint8_t part = (uint8_t)(ev << 1);
	struct fib_desc_answer a;

	if (!may_be_socket(k))
		return FIB_NEVER;
	if (is_known(d, part))
		return d->limit_ns[ev != FIB_IO_READ];
	ask(k, part, &a);
	return a.limit_ns[ev != FIB_IO_READ];
}

bool fib_fd_terms(struct fib_known *k, uint8_t ev, struct fib_fd_terms *t)
{
	const struct fib_desc *d = desc_of(k);
	bool socket = may_be_socket(k);
	unsigned parts = FIB_DESC_FLAGS | (socket ? ev << 1 : 0);

	t->found = fib_load(&d->found, acquire);
	t->undone = fib_load(&d->undone, acquire);
	if (!fib_desc_is_ours(d) ||
	    (fib_load(&d->known, acquire) & parts) != parts || d->nonblock ||
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
	return desc_of(k)->impatient & ev;
}

bool fib_fd_is_home(int fd)
{
	const struct fib_known *k = peek(fd);
	const struct fib_desc *d = k ? fib_load(&k->desc, acquire) : NULL;

	return d && is_current(k) && d->home && fib_desc_is_ours(d);
}

_Atomic uint8_t *fib_fd_undone(struct fib_known *k)
{
	return &desc_of(k)->undone;
}

_Atomic uint32_t *fib_fd_begun(struct fib_known *k)
{
	return &desc_of(k)->begun;
}

uint32_t fib_fd_found(struct fib_known *k)
{
	return fib_load(&desc_of(k)->found, acquire);
}

bool fib_fd_is_ours_alone(struct fib_known *k)
{
	return fib_desc_is_ours(desc_of(k));
}

#define DOUBTS 8 /* of which some may be late events */

/*
 * A reader waits since a short read has emptied the file. In a packet pipe, or
 * beside passed descriptors, it has not: who reads tries again.
 */
static bool was_not_empty(struct fib_known *k, struct fib_fd *s, uint8_t events)
{
	if (!(events & FIB_IO_READ) || !(fib_load(&s->reads, relaxed) & 1) ||
	    k->kind == FIB_FD_TCP || !fib_io_ready(s->fd, POLLIN))
		return false;
	if (++k->doubts >= DOUBTS)
		fib_store(&s->untrusted, true, relaxed);
	fib_and(&s->reads, ~1u, relaxed);
	return true;
}

/* Of what others may have changed. */
static unsigned ask_late(struct fib_known *k, struct fib_fd *s, uint8_t events)
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
		r = FIB_LATE_AGAIN | (found != k->told ? FIB_LATE_NEWS : 0);
		k->told = found;
	}
	fib_unlock(&k->lock);
	return r;
}

/* The number may be closed under this as well: then it has asked for nothing. */
unsigned fib_fd_late(struct fib_fd *s, uint8_t events)
{
	struct fib_known *k = peek(s->fd);
	unsigned r = 0;

	if (k && is_current(k)) {
		if (was_not_empty(k, s, events))
			r = FIB_LATE_NEWS;
		r |= ask_late(k, s, events);
	}
	return r;
}

/* --- changes by this process --------------------------------------------------- */

struct fib_change fib_fd_change(int fd, uint8_t parts)
{
	struct fib_change c = { .k = parts ? get(fd) : NULL, .parts = parts };

	if (!c.k || fib_self()->call.own_files)
		return (struct fib_change){ 0 };
	c.desc = desc_of(c.k);
	c.was = fib_desc_change(c.desc, parts);
	return c;
}

#define COMPARES 256 /* at most; the rest is asked */

/* Are numbers @a and @b surely not of one description? */
static bool are_apart(int a, int b, unsigned *compared)
{
	long pid;

	if (!fib_load(&fib_fd_compares, relaxed) || fib_filtered() ||
	    ++*compared > COMPARES)
		return false;
	pid = fib_raw(SYS_getpid);
	return fib_raw(SYS_kcmp, pid, pid, KCMP_FILE, a, b) > 0;
}

/* @other may have been changed by @c as well: is it in doubt? */
static bool reach(struct fib_known *other, const struct fib_change *c,
		  unsigned *compared)
{
	struct fib_desc *e = fib_load(&other->desc, acquire);
	struct fib_desc_answer a;

	if (!e || e == c->desc || !is_current(other) || fib_desc_is_ours(e) ||
	    are_apart(c->k->fd, other->fd, compared))
		return false;
	fib_desc_change(e, c->parts);
	fib_desc_changed(e, c->parts);
	ask(other, c->parts, &a);
	return true;
}

/*
 * A description that strangers may be as well has been changed. While no number has become a stranger's since it was found to be none of
 * theirs (apart), nobody has to be looked at.
 */
static void reach_strangers(const struct fib_change *c)
{
	uint32_t now = fib_load(&strangers, acquire);
	unsigned compared = 0;
	bool doubt = false;

	if (fib_load(&c->desc->apart, relaxed) == now)
		return;
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(table); i++) {
		struct fib_known *k = fib_load(&table[i], acquire);

		for (unsigned n = 0; k && n < FIB_FD_CHUNK; n++)
			if (reach(&k[n], c, &compared))
				doubt = true;
	}
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
	d = desc_of(k);
	fib_lock(&d->lock);
	if (negative)
		d->impatient |= ev;
	else
		d->impatient &= (uint8_t)~ev;
	fib_unlock(&d->lock);
}

/* --- birth, duplicates, end ----------------------------------------------------- */

static struct fib_known *begin_new(int fd)
{
	struct fib_known *k = get(fd);

	if (!k || fib_self()->call.own_files)
		return NULL;
	/* It was closed where nobody saw it: io_uring, an instruction. */
	fib_iom_opened(k->slot);
	return k;
}

void fib_fd_born(int fd, uint8_t kind, int flags, bool home)
{
	struct fib_known *k = begin_new(fd);
	struct fib_desc *d;

	if (!k)
		return;
	d = fib_desc_create();
	fib_desc_born(d, flags, home);
	fib_lock(&k->lock);
	begin_locked(k, fib_load(&k->slot->files, acquire), d);
	k->kind = kind;
	fib_unlock(&k->lock);
}

void fib_fd_accepted(int fd, struct fib_known *listener, int flags)
{
	struct fib_known *k;

	fib_fd_born(fd, listener ? listener->kind : FIB_FD_UNKNOWN,
		    O_RDWR | (flags & SOCK_NONBLOCK), false);
	k = peek(fd);
	if (!k)
		return;
	fib_desc_inherit(desc_of(k), listener ? desc_of(listener) : NULL);
}

uint32_t fib_fd_files(int fd)
{
	const struct fib_known *k = get(fd);

	return k ? fib_load(&k->slot->files, acquire) : 0;
}

bool fib_fd_duplicated(int from, uint32_t files, int to)
{
	struct fib_known *old = get(from), *new = begin_new(to);
	struct fib_peer peer = { 0 };
	struct fib_desc *d = NULL;
	uint8_t kind = FIB_FD_UNKNOWN;

	if (!old || !new)
		return false;
	fib_lock(&old->lock);
	if (fib_load(&old->slot->files, acquire) == files) {
		begin_locked(old, files, NULL);
		kind = old->kind;
		peer = fib_fd_peer(old);
		d = fib_load(&old->desc, relaxed);
		fib_desc_get(d);
	}
	fib_unlock(&old->lock);
	if (!d)
		return true;
	fib_lock(&new->lock);
	begin_locked(new, fib_load(&new->slot->files, acquire), d);
	new->kind = kind;
	fib_fd_set_peer_locked(new, peer);
	fib_unlock(&new->lock);
	return true;
}

bool fib_fd_has_others(int fd)
{
	const struct fib_known *k = peek(fd);
	const struct fib_desc *d = k ? fib_load(&k->desc, acquire) : NULL;

	return !d || !is_current(k) || !fib_desc_is_ours(d) ||
	       fib_load(&d->refs, relaxed) > 1;
}

void fib_fd_let_go(int fd)
{
	struct fib_known *k = peek(fd);
	struct fib_desc *d;

	if (!k)
		return;
	fib_lock(&k->lock);
	d = fib_load(&k->desc, relaxed);
	if (d && !is_current(k)) {
		fib_store(&k->desc, NULL, relaxed);
		fib_desc_put(d);
	}
	fib_unlock(&k->lock);
}

void fib_fd_known_reset(void)
{
	fib_lock_init(&table_lock, RECORDS);
	fib_desc_reset();
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(table); i++) {
		struct fib_known *c = fib_load(&table[i], relaxed);

		for (unsigned n = 0; c && n < FIB_FD_CHUNK; n++) {
			fib_lock_init(&c[n].lock, RECORD);
			fib_store(&c[n].desc, NULL, relaxed);
			/* Who accepts are the parent's. */
			fib_store(&c[n].acceptors, 0, relaxed);
			fib_store(&c[n].turn, 0, relaxed);
			fib_store(&c[n].crowd, 0, relaxed);
		}
	}
}
