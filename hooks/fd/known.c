/* What is known of each descriptor, see fd.h. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "hooks/core/hook.h"
#include "hooks/fd/known_int.h"
#include "runtime/chaos.h"
#include "runtime/hidden.h"

_Atomic bool fib_fd_tells_once;
_Atomic uint32_t fib_fd_strangers = 1;

void fib_fd_unshared(void)
{
	fib_self()->call.own_files = true;
	fib_self()->call.plain |= FIB_FILES;
	fib_fd_shared();
}

void fib_fd_shared(void)
{
	fib_desc_shared();
	fib_add(&fib_fd_strangers, 1, seq_cst);
	fib_iom_ask_anew();
}

void fib_fd_unseen(void)
{
	if (fib_desc_unseen())
		fib_add(&fib_fd_strangers, 1, seq_cst);
}

/* By number, in chunks as the slots are. */
static struct fib_known *_Atomic table[FIB_FD_MAX / FIB_FD_CHUNK] FIB_LARGE;
static _Atomic uint32_t chunks; /* there are none from here on; table_lock */
static struct fib_lock table_lock = FIB_LOCK(RECORDS);

struct fib_known *fib_fd_record_known(int fd)
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

struct fib_known *fib_fd_record_from(int fd)
{
	unsigned at = (unsigned)fd;

	for (; at / FIB_FD_CHUNK < fib_load(&chunks, acquire);
	     at = (at | (FIB_FD_CHUNK - 1)) + 1) {
		struct fib_known *k = fib_fd_record_known((int)at);

		if (k)
			return k;
	}
	return NULL;
}

struct fib_known *fib_fd_record(int fd)
{
	struct fib_known *k = fib_fd_record_known(fd);
	unsigned i = (unsigned)fd >> FIB_FD_CHUNK_BITS;

	if (fib_likely(k))
		return k;
	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	fib_lock(&table_lock);
	if (!fib_load(&table[i], relaxed))
		fib_store(&table[i], chunk_create((int)(i * FIB_FD_CHUNK)),
			  release);
	if (fib_load(&chunks, relaxed) <= i)
		fib_store(&chunks, i + 1, release);
	fib_unlock(&table_lock);
	return fib_fd_record_known(fd);
}

void fib_fd_lead_locked(struct fib_known *k, struct fib_desc *d)
{
	struct fib_desc *old = fib_load(&k->desc, relaxed);

	k->told = fib_load(&d->found, relaxed);
	fib_store(&k->desc, d, release);
	fib_desc_put(old);
}

void fib_fd_begin_locked(struct fib_known *k, uint32_t files,
			 struct fib_desc *d)
{
	uint32_t left = fib_load(&k->files, relaxed) ^ files;
	const struct fib_desc *old = fib_load(&k->desc, relaxed);

	if (left || !old) {
		k->kind = FIB_FD_UNKNOWN;
		k->tells_end = 0;
		fib_store(&k->twin, d ? FIB_TWIN_LOOKED : 0, relaxed);
		k->polled = k->doubts = k->misled = 0;
		k->tty = FIB_TTY_UNKNOWN;
		fib_fd_set_peer_locked(k, (struct fib_peer){ 0 });
		if (!d) {
			d = fib_desc_create();
			fib_add(&fib_fd_strangers, 1, release);
		}
	}
	if (!d)
		return;
	/* It cannot be asked, and may have been set since the number was left. */
	if (left < FIB_FILE_LEFT && old) {
		d->impatient |= old->impatient;
		fib_desc_be_odd(d, fib_load(&old->odd, relaxed));
	}
	fib_fd_lead_locked(k, d);
	/* pairs with fib_fd_kind_of() */
	fib_store(&k->files, files, release);
}

/* What was found of @k is @kind; its description is known. */
static void be_kind_locked(struct fib_known *k, uint8_t kind)
{
	k->kind = kind & (uint8_t)~FIB_FD_ODD(FIB_IO_READ | FIB_IO_WRITE);
	if (fib_unlikely(FIB_FD_ODDS(kind)))
		fib_desc_be_odd(fib_load(&k->desc, relaxed), FIB_FD_ODDS(kind));
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
			fib_fd_begin_locked(k, files, NULL);
			be_kind_locked(k, kind);
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
	struct fib_known *k = fib_fd_record(fd);

	if (!k || fib_self()->call.own_files)
		return NULL;
	if (fib_fd_kind_of(k) == FIB_FD_UNKNOWN &&
	    (fib_fd_is_ours(fd) || !learn_kind(k)))
		return NULL;
	return k;
}

struct fib_known *fib_fd_know(int fd)
{
	struct fib_known *k = fib_fd_record_known(fd);

	if (fib_likely(k && fib_fd_kind_of(k) != FIB_FD_UNKNOWN &&
		       !fib_self()->call.own_files))
		return k;
	return know_anew(fd);
}

bool fib_fd_is_unknown(int fd, uint32_t *files)
{
	const struct fib_known *k = fib_fd_record_known(fd);

	if (!k || fib_fd_kind_of(k) != FIB_FD_UNKNOWN || fib_fd_is_ours(fd))
		return false;
	*files = fib_load(&k->slot->files, acquire);
	return true;
}

void fib_fd_shown(int fd, uint32_t files, const struct stat *st)
{
	struct fib_known *k = fib_fd_record_known(fd);
	bool folder = S_ISDIR(st->st_mode);

	if (!k || !(S_ISREG(st->st_mode) || folder || S_ISBLK(st->st_mode)))
		return;
	fib_lock(&k->lock);
	if (fib_load(&k->slot->files, acquire) == files &&
	    fib_fd_kind_of(k) == FIB_FD_UNKNOWN) {
		fib_fd_begin_locked(k, files, NULL);
		be_kind_locked(k, FIB_FD_ALWAYS);
		/* 0 is what lies on no disk, as /proc. */
		if (folder && major(st->st_dev))
			k->tty = FIB_TTY_FOLDER;
	}
	fib_unlock(&k->lock);
}

bool fib_fd_is_folder(int fd, uint32_t *files)
{
	const struct fib_known *k = fib_fd_record_known(fd);

	if (!k || fib_self()->call.own_files) {
		*files = 0;
		return false;
	}
	*files = fib_load(&k->slot->files, acquire);
	return fib_fd_kind_of(k) == FIB_FD_ALWAYS && k->tty == FIB_TTY_FOLDER;
}

void fib_fd_be_folder(int fd, uint32_t files)
{
	struct fib_known *k = fib_fd_record_known(fd);

	if (!k || fib_self()->call.own_files)
		return;
	fib_lock(&k->lock);
	if (fib_load(&k->slot->files, acquire) == files &&
	    fib_fd_kind_of(k) == FIB_FD_ALWAYS)
		k->tty = FIB_TTY_FOLDER;
	fib_unlock(&k->lock);
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
	return fib_fd_record_known(s->fd);
}

/* Without locks: any address will do. */
void fib_fd_prefetch(const struct fib *f)
{
	const struct fib_fd *s =
		fib_load(fib_shared(&f->io.waiter.slot), relaxed);
	const struct fib_known *k = s ? fib_fd_of(s) : NULL;
	const struct fib_desc *d;

	fib_prefetch(&f->io.hold);
	if (!k)
		return;
	d = fib_load(fib_shared(&k->desc), relaxed);
	fib_prefetch(&s->turns);
	fib_prefetch(d);
	fib_prefetch(&d->queue);
}

uint8_t fib_fd_kind(int fd)
{
	const struct fib_known *k = fib_fd_record_known(fd);

	return k ? fib_fd_kind_of(k) : FIB_FD_UNKNOWN;
}

/* --- birth, duplicates, end ----------------------------------------------------- */

static struct fib_known *begin_new(int fd)
{
	struct fib_known *k = fib_fd_record(fd);

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
	fib_fd_begin_locked(k, fib_load(&k->slot->files, acquire), d);
	be_kind_locked(k, kind);
	fib_unlock(&k->lock);
}

uint32_t fib_fd_files(int fd)
{
	const struct fib_known *k = fib_fd_record(fd);

	return k ? fib_load(&k->slot->files, acquire) : 0;
}

void fib_fd_be_twins(struct fib_known *old, uint32_t files,
		     struct fib_known *new, uint32_t new_files)
{
	struct fib_desc *d = NULL;

	fib_lock(&old->lock);
	if (fib_load(&old->slot->files, acquire) == files &&
	    fib_load(&old->files, relaxed) == files) {
		d = fib_load(&old->desc, relaxed);
		if (d && fib_desc_has_twins(d, old->slot, files)) {
			fib_desc_get(d);
			fib_fd_note_twin_locked(old, FIB_TWIN_HAS);
		} else {
			d = NULL;
		}
	}
	fib_unlock(&old->lock);
	if (!d)
		return;
	/* Who is about to wait there looks again. */
	fib_iom_edge(old->slot);
	fib_lock(&new->lock);
	if (fib_load(&new->slot->files, acquire) == new_files &&
	    fib_load(&new->files, relaxed) == new_files) {
		struct fib_desc *was = fib_load(&new->desc, relaxed);

		if (was != d) {
			if (was)
				fib_desc_be_odd(d,
						fib_load(&was->odd, relaxed));
			fib_fd_lead_locked(new, d);
		} else
			fib_desc_put(d);
		fib_fd_note_twin_locked(new, FIB_TWIN_HAS);
	} else {
		fib_desc_put(d);
	}
	fib_unlock(&new->lock);
}

bool fib_fd_duplicated(int from, uint32_t files, int to)
{
	struct fib_known *old = fib_fd_record(from), *new = begin_new(to);
	struct fib_peer peer = { 0 };
	uint8_t kind = FIB_FD_UNKNOWN;
	struct fib_desc *d = NULL;

	if (!old || !new)
		return false;
	fib_lock(&old->lock);
	if (fib_load(&old->slot->files, acquire) == files) {
		fib_fd_begin_locked(old, files, NULL);
		kind = old->kind;
		peer = fib_fd_peer(old);
		d = fib_load(&old->desc, relaxed);
		fib_desc_get(d);
	}
	fib_unlock(&old->lock);
	if (!d)
		return true;
	fib_lock(&new->lock);
	fib_fd_begin_locked(new, fib_load(&new->slot->files, acquire), d);
	new->kind = kind;
	fib_fd_set_peer_locked(new, peer);
	fib_unlock(&new->lock);
	/* What ends its reads short, as packets do, ends the duplicate's as well. */
	if (fib_load(&old->slot->untrusted, relaxed))
		fib_store(&new->slot->untrusted, true, relaxed);
	if (!fib_fd_is_ours(to))
		fib_fd_be_twins(old, files, new,
				fib_load(&new->files, acquire));
	return true;
}

bool fib_fd_has_others(int fd)
{
	const struct fib_known *k = fib_fd_record_known(fd);
	const struct fib_desc *d = k ? fib_load(&k->desc, acquire) : NULL;

	return !d || !fib_fd_is_current(k) || !fib_desc_is_ours(d) ||
	       fib_load(&d->refs, relaxed) > 1;
}

void fib_fd_let_go(int fd)
{
	struct fib_known *k = fib_fd_record_known(fd);
	struct fib_desc *d;

	if (!k)
		return;
	fib_lock(&k->lock);
	d = fib_load(&k->desc, relaxed);
	if (d && !fib_fd_is_current(k)) {
		fib_store(&k->desc, NULL, relaxed);
		fib_desc_put(d);
	}
	fib_unlock(&k->lock);
}

void fib_fd_known_reset(void)
{
	fib_lock_init(&table_lock, RECORDS);
	fib_desc_reset();
	for (struct fib_known *k = fib_fd_record_from(0); k;
	     k = fib_fd_record_from(k->fd + 1)) {
		fib_lock_init(&k->lock, RECORD);
		fib_store(&k->desc, NULL, relaxed);
		/* Who accepts are the parent's. */
		fib_store(&k->acceptors, 0, relaxed);
		fib_store(&k->turn, 0, relaxed);
		fib_store(&k->crowd, 0, relaxed);
	}
}
