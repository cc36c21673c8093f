/* Standing in line, see line.h. */
#include <sys/stat.h>
#include "hooks/core/hook.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/timer.h"

#define LINES 64

static struct line {
	struct fib_lock lock;
	struct fib_list places; /* of several keys, in the order they came */
} lines[LINES];

static struct line *line_of(const uint64_t key[FIB_LINE_KEY])
{
	uint64_t h = 0;

	for (int i = 0; i < FIB_LINE_KEY; i++)
		h = (h ^ key[i]) * 0x9e3779b97f4a7c15ull;
	return &lines[h >> 58];
}

void fib_line_reset(void)
{
	for (int i = 0; i < LINES; i++) {
		fib_lock_init(&lines[i].lock, LINE);
		fib_list_init(&lines[i].places);
	}
}

static struct fib_place *first_locked(struct line *l,
				      const uint64_t key[FIB_LINE_KEY])
{
	fib_list_for_each (it, &l->places) {
		struct fib_place *p =
			fib_container_of(it, struct fib_place, node);

		if (!memcmp(p->key, key, sizeof(p->key)))
			return p;
	}
	return NULL;
}

bool fib_line_exists(const uint64_t key[FIB_LINE_KEY])
{
	struct line *l = line_of(key);
	bool exists;

	fib_lock(&l->lock);
	exists = first_locked(l, key);
	fib_unlock(&l->lock);
	return exists;
}

static bool has_turn(const void *arg)
{
	const struct fib_place *p = arg;

	return fib_load(&p->turn, acquire);
}

int fib_line_stand(struct fib_place *p, uint64_t deadline_ns)
{
	struct line *l = line_of(p->key);
	struct fib *f = fib_self();
	int r;

	fib_cancel_begin();
	p->fib = f;
	p->in_line = true;
	fib_lock(&l->lock);
	fib_store(&p->turn, !first_locked(l, p->key), relaxed); /* (A) */
	fib_list_add_tail(&l->places, &p->node);
	fib_unlock(&l->lock);
	f->io.place = p;
	FIB_CHAOS_POINT(line_stood);
	do
		r = fib_park_until(has_turn, p, deadline_ns, FIB_WAIT_LINE, 0);
	while (r == -EINTR && fib_wait_goes_on(f));
	if (r) {
		fib_line_leave(p);
		if (r == -EINTR)
			fib_cancel_end();
	}
	return r;
}

/* Its turn has come. Without the lock it may be gone. */
static void call_up_locked(struct fib_place *p)
{
	if (fib_load(&p->turn, relaxed))
		return;
	fib_store(&p->turn, true, release);
	fib_wake(p->fib);
}

void fib_line_leave(struct fib_place *p)
{
	struct line *l = line_of(p->key);
	struct fib_place *next;

	if (!p->in_line)
		return;
	p->in_line = false;
	fib_self()->io.place = NULL;
	fib_lock(&l->lock);
	fib_list_del(&p->node);
	next = fib_load(&p->turn, relaxed) ? first_locked(l, p->key) : NULL;
	if (next)
		call_up_locked(next); /* (B) */
	fib_unlock(&l->lock);
}

/* @p is served: so are others by the same description. (C) */
static void share(const struct fib_place *p)
{
	struct line *l = line_of(p->key);

	fib_lock(&l->lock);
	fib_list_for_each (it, &l->places) {
		struct fib_place *q =
			fib_container_of(it, struct fib_place, node);

		if (q->owner == p->owner &&
		    !memcmp(q->key, p->key, sizeof(p->key)))
			call_up_locked(q);
	}
	fib_unlock(&l->lock);
}

/* The one to call by now, which was @fd. */
static long number(const struct fib_place *p, long fd)
{
	struct fib_hold *h = fib_self()->io.hold;

	if (h) {
		fd = fib_iom_number(h);
		return fd < 0 ? -EBADF : fd;
	}
	if (!p->slot || fib_load(&p->slot->closes, relaxed) == p->closes)
		return fd;
	/* It began between (G) and (H) of runtime/iom.h: it begins anew. */
	return p->closes & FIB_CLOSING ? -FIB_ERESTARTNOINTR : -EBADF;
}

long fib_line_call(struct fib_place *p, uint64_t deadline_ns, long nr,
		   const long a[6])
{
	struct fib *f = fib_self();
	long v[6] = { 0, a[1], a[2], a[3], a[4], a[5] };
	long r = fib_line_stand(p, deadline_ns);

	if (r)
		return r;
	do {
		v[0] = number(p, a[0]);
		r = v[0] < 0 ? v[0] : fib_blocking(nr, v);
	} while ((r == -EINTR || r == -FIB_ERESTARTNOINTR) && v[0] >= 0 &&
		 p->in_line && fib_wait_goes_on(f));
	if (r == 0 && p->owner && p->in_line)
		share(p);
	fib_line_leave(p);
	return r;
}

long fib_line_file(struct fib_place *p, int fd)
{
	struct stat st;
	long r = fib_raw(SYS_fstat, fd, &st);

	if (r == 0) {
		p->key[0] = st.st_dev;
		p->key[1] = st.st_ino;
	}
	return r;
}
