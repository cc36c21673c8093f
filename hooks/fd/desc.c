/* Records of open file descriptions, see desc.h. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/fd/desc.h"

#define POOL 512 /* records that are made at once */

_Atomic bool fib_desc_async_used, fib_desc_odd_used;
static _Atomic uint32_t share_epoch = 1;
static _Atomic bool unseen; /* no description is ours alone any more */
static struct fib_lock pool_lock = FIB_LOCK(DESCRIPTIONS);
static struct fib_desc *spare;
static struct fib_desc *made, *left; /* rooms; those of before */
/* Where there is no memory: a stranger of whom nothing is ever known. */
static struct fib_desc nobody = { .lock = FIB_LOCK(DESCRIPTION) };

void fib_desc_shared(void)
{
	fib_add(&share_epoch, 1, seq_cst);
}

bool fib_desc_unseen(void)
{
	if (fib_likely(fib_load(&unseen, relaxed)))
		return false;
	fib_store(&unseen, true, relaxed);
	fib_desc_shared();
	return true;
}

/* Since which sharing a description that is made now is ours alone, if it is. */
static uint32_t born_now(void)
{
	uint32_t now = fib_load(&share_epoch, acquire);

	return fib_unlikely(fib_load(&unseen, relaxed)) ? now - 1 : now;
}

bool fib_desc_may_be_shared(void)
{
	return fib_load(&share_epoch, relaxed) != 1;
}

bool fib_desc_is_ours(const struct fib_desc *d)
{
	return fib_load(&d->born, relaxed) == fib_load(&share_epoch, relaxed);
}

/* Room for more of them. The first one is the room's own, in one of these lists. */
static void more_locked(void)
{
	struct fib_desc *d = left;

	if (d) {
		left = d->next;
		memset(d, 0, POOL * sizeof(*d));
	} else {
		d = fib_pages_alloc(POOL * sizeof(*d));
	}
	if (!d)
		return;
	d->next = made;
	made = d;
	for (unsigned i = 1; i < POOL; i++) {
		fib_lock_init(&d[i].lock, DESCRIPTION);
		d[i].next = spare;
		spare = &d[i];
	}
}

struct fib_desc *fib_desc_create(void)
{
	struct fib_desc *d;

	fib_lock(&pool_lock);
	if (!spare)
		more_locked();
	d = spare;
	if (d)
		spare = d->next;
	fib_unlock(&pool_lock);
	if (!d)
		return &nobody;
	fib_lock(&d->lock);
	fib_store(&d->known, 0, relaxed);
	fib_store(&d->born, 0, relaxed);
	fib_store(&d->locked, false, relaxed);
	fib_store(&d->apart, 0, relaxed);
	d->impatient = d->changed = 0;
	fib_store(&d->odd, 0, relaxed);
	fib_store(&d->connected, 0, relaxed);
	fib_store(&d->listens, false, relaxed);
	fib_store(&d->ended, FIB_DESC_ALL_HEAR, relaxed);
	d->home = false;
	/* Who counts in them yet has lost the file before, and leaves. */
	for (int i = 0; i < 2; i++)
		d->queue[i].slot = NULL;
	fib_store(&d->refs, 1, relaxed);
	fib_unlock(&d->lock);
	return d;
}

void fib_desc_get(struct fib_desc *d)
{
	fib_add(&d->refs, 1, relaxed);
}

bool fib_desc_has_twins(struct fib_desc *d, struct fib_fd *own, uint32_t files)
{
	if (d == &nobody)
		return false;
	fib_lock(&d->lock);
	for (int i = 0; i < 2; i++) {
		if (d->queue[i].slot)
			continue;
		d->queue[i].slot = own;
		d->queue[i].files = files;
	}
	fib_unlock(&d->lock);
	return true;
}

/*
 * Another slot than the caller's own, closed @closes times, is the queue still: somebody
 * is there, and stays.
 */
static bool stands_locked(const struct fib_queue *q, uint8_t ev,
			  uint32_t closes)
{
	return !(closes & FIB_CLOSING) &&
	       fib_load(&q->slot->files, acquire) == q->files &&
	       (fib_load(&q->standing, relaxed) ||
		(fib_load(&q->slot->waiting, relaxed) & ev));
}

struct fib_fd *fib_desc_queue(struct fib_desc *d, uint8_t ev,
			      struct fib_fd *own, uint32_t files,
			      uint32_t *closes)
{
	struct fib_queue *q = &d->queue[ev == FIB_IO_WRITE];
	struct fib *f = fib_self();
	struct fib_fd *slot;

	if (d == &nobody)
		return NULL;
	fib_lock(&d->lock);
	/* A close counts first there, and then in files. */
	if (q->slot)
		*closes = fib_load(&q->slot->closes, seq_cst);
	if (!q->slot || q->slot == own || !stands_locked(q, ev, *closes)) {
		q->slot = own;
		q->files = files;
		*closes = fib_load(&own->closes, seq_cst);
	}
	slot = q->slot;
	if (!f->io.counted) {
		f->io.counted = &q->standing;
		fib_add(&q->standing, 1, relaxed);
	}
	fib_unlock(&d->lock);
	return slot;
}

void fib_desc_queue_leave(struct fib *f)
{
	if (fib_likely(!f->io.counted))
		return;
	fib_sub(f->io.counted, 1, relaxed);
	f->io.counted = NULL;
}

void fib_desc_put(struct fib_desc *d)
{
	if (!d || fib_sub(&d->refs, 1, acq_rel) != 1 || d == &nobody)
		return;
	fib_lock(&pool_lock);
	d->next = spare;
	spare = d;
	fib_unlock(&pool_lock);
}

void fib_desc_be_odd(struct fib_desc *d, uint8_t events)
{
	if (events && d != &nobody) {
		fib_store(&fib_desc_odd_used, true, relaxed);
		fib_or(&d->odd, events, relaxed);
	}
}

void fib_desc_set_listens(struct fib_desc *d, bool listens)
{
	if (d == &nobody)
		return;
	fib_store(&d->listens, listens, relaxed);
	if (listens)
		fib_store(&d->ended, FIB_DESC_ALL_HEAR, relaxed);
}

void fib_desc_set_ended(struct fib_desc *d, uint8_t how)
{
	if (d != &nobody && fib_load(&d->ended, relaxed) != how)
		fib_store(&d->ended, how, seq_cst);
}

void fib_desc_born(struct fib_desc *d, int flags, bool home)
{
	if (d == &nobody)
		return;
	fib_lock(&d->lock);
	d->nonblock = flags & O_NONBLOCK;
	d->access = (uint8_t)(flags & O_ACCMODE);
	d->home = home;
	d->lowat = 1;
	d->limit_ns[0] = d->limit_ns[1] = FIB_NEVER;
	fib_store(&d->born, born_now(), relaxed);
	fib_store(&d->known,
		  FIB_DESC_FLAGS | FIB_DESC_ACCESS | FIB_DESC_LIMITS |
			  FIB_DESC_LOWAT,
		  release);
	fib_unlock(&d->lock);
}

void fib_desc_inherit(struct fib_desc *d, struct fib_desc *l)
{
	uint8_t lost = FIB_DESC_LIMITS | FIB_DESC_LOWAT, odd = 0, had = 0;
	uint64_t limit[2] = { FIB_NEVER, FIB_NEVER };
	bool ours = false;

	if (l) {
		fib_lock(&l->lock);
		ours = fib_desc_is_ours(l);
		if (ours)
			had = fib_load(&l->known, relaxed) &
			      (uint8_t)~l->changed & lost;
		limit[0] = l->limit_ns[0];
		limit[1] = l->limit_ns[1];
		odd = l->impatient | fib_load(&l->odd, relaxed);
		fib_unlock(&l->lock);
	}
	fib_lock(&d->lock);
	fib_and(&d->known, (uint8_t) ~(lost & ~had), relaxed);
	if (had & FIB_DESC_READ)
		d->limit_ns[0] = limit[0];
	if (had & FIB_DESC_WRITE)
		d->limit_ns[1] = limit[1];
	fib_unlock(&d->lock);
	fib_desc_be_odd(d, odd);
}

/* --- asking ---------------------------------------------------------------- */

static uint64_t ask_limit(int fd, int name)
{
	struct timeval tv = { 0, 0 };
	int len = sizeof(tv);

	fib_raw(SYS_getsockopt, fd, SOL_SOCKET, name, &tv, &len);
	if (tv.tv_sec == 0 && tv.tv_usec == 0)
		return FIB_NEVER;
	return fib_timeval_ns(&tv);
}

static bool ask_file(int fd, uint64_t file[2])
{
	struct stat st;

	if (fib_raw(SYS_fstat, fd, &st))
		return false;
	file[0] = st.st_dev;
	file[1] = st.st_ino;
	return true;
}

void fib_desc_ask(const struct fib_desc *d, int fd, uint8_t parts,
		  struct fib_desc_answer *a)
{
	int len = sizeof(a->lowat);

	a->changes = fib_load(&d->changes, acquire);
	a->parts = parts;
	if (parts & FIB_DESC_FLAGS) {
		long fl = fib_raw(SYS_fcntl, fd, F_GETFL);

		a->nonblock = fl >= 0 && (fl & O_NONBLOCK);
		if (fl >= 0 && (fl & O_ASYNC))
			fib_store(&fib_desc_async_used, true, relaxed);
		a->access = fl >= 0 ? fl & O_ACCMODE : O_RDWR;
		a->parts |= FIB_DESC_ACCESS;
		if (fl < 0) /* nobody's number: another file's, soon */
			a->parts &=
				(uint8_t) ~(FIB_DESC_FLAGS | FIB_DESC_ACCESS);
	}
	if (parts & FIB_DESC_READ)
		a->limit_ns[0] = ask_limit(fd, SO_RCVTIMEO);
	if (parts & FIB_DESC_WRITE)
		a->limit_ns[1] = ask_limit(fd, SO_SNDTIMEO);
	a->lowat = 0;
	if (parts & FIB_DESC_LOWAT)
		fib_raw(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVLOWAT, &a->lowat,
			&len);
	if ((parts & FIB_DESC_FILE) && !ask_file(fd, a->file))
		a->parts &= (uint8_t)~FIB_DESC_FILE;
}

static bool differs(const struct fib_desc *d, const struct fib_desc_answer *a)
{
	uint8_t parts = a->parts;

	return ((parts & FIB_DESC_FLAGS) && d->nonblock != a->nonblock) ||
	       ((parts & FIB_DESC_READ) && d->limit_ns[0] != a->limit_ns[0]) ||
	       ((parts & FIB_DESC_WRITE) && d->limit_ns[1] != a->limit_ns[1]);
}

static void write_locked(struct fib_desc *d, const struct fib_desc_answer *a)
{
	if (a->parts & FIB_DESC_FLAGS)
		d->nonblock = a->nonblock;
	if (a->parts & FIB_DESC_ACCESS)
		d->access = a->access;
	if (a->parts & FIB_DESC_READ)
		d->limit_ns[0] = a->limit_ns[0];
	if (a->parts & FIB_DESC_WRITE)
		d->limit_ns[1] = a->limit_ns[1];
	if (a->parts & FIB_DESC_LOWAT)
		d->lowat = a->lowat;
	if (a->parts & FIB_DESC_FILE) {
		d->file[0] = a->file[0];
		d->file[1] = a->file[1];
	}
	fib_or(&d->known, a->parts, release);
}

static bool is_fresh_locked(const struct fib_desc *d,
			    const struct fib_desc_answer *a)
{
	return d != &nobody && !(a->changes & FIB_CHANGING) &&
	       fib_load(&d->changes, acquire) == a->changes;
}

void fib_desc_learn(struct fib_desc *d, const struct fib_desc_answer *a)
{
	fib_lock(&d->lock);
	if (is_fresh_locked(d, a))
		write_locked(d, a);
	fib_unlock(&d->lock);
}

void fib_desc_find(struct fib_desc *d, struct fib_desc_answer *a)
{
	fib_lock(&d->lock);
	a->parts &= fib_load(&d->known, relaxed);
	if (is_fresh_locked(d, a) && differs(d, a)) {
		write_locked(d, a);
		fib_add(&d->found, 1, release); /* (C) */
	}
	fib_unlock(&d->lock);
}

/* --- changes --------------------------------------------------------------- */

static uint32_t change(struct fib_desc *d, uint8_t parts, uint32_t by)
{
	uint32_t was;

	fib_lock(&d->lock);
	was = fib_add(&d->changes, by, release);
	fib_and(&d->known, (uint8_t)~parts, release);
	d->changed |= parts;
	fib_unlock(&d->lock);
	return was;
}

uint32_t fib_desc_change(struct fib_desc *d, uint8_t parts)
{
	return change(d, parts, 1);
}

void fib_desc_changed(struct fib_desc *d, uint8_t parts)
{
	change(d, parts, FIB_CHANGED - 1);
}

void fib_desc_set(struct fib_desc *d, struct fib_desc_answer *a, uint32_t was)
{
	a->changes = was + FIB_CHANGED;
	fib_desc_learn(d, a);
}

/* All records belong to numbers that are forgotten; of those, some were locked. */
void fib_desc_reset(void)
{
	fib_lock_init(&pool_lock, DESCRIPTIONS);
	fib_lock_init(&nobody.lock, DESCRIPTION);
	fib_store(&nobody.begun, 0, relaxed);
	spare = NULL;
	/* Most children make none, and so write to none. */
	if (!left) {
		left = made;
		made = NULL;
	}
	while (made) {
		struct fib_desc *d = made;

		made = d->next;
		d->next = left;
		left = d;
	}
}
