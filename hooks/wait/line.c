/* Standing in line, see line.h. */
#include "hooks/core/hook.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"
#include "runtime/timer.h"

#define LINES	 64
#define CLAIMS	 4
#define CLAIM_NS 5000000 /* for a handler, on a busy machine */

/* Who was interrupted, and may come back until then. */
struct claim {
	struct fib *fib; /* NULL: none */
	uint64_t key[FIB_LINE_KEY], ticket, until_ns;
};

static struct line {
	struct fib_lock lock;
	struct fib_list places; /* of several keys, by their tickets in each */
	uint64_t tickets;
	struct claim claims[CLAIMS];
} lines[LINES] FIB_LARGE;

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
		for (int k = 0; k < CLAIMS; k++)
			lines[i].claims[k].fib = NULL;
	}
}

static bool same_key(const uint64_t a[FIB_LINE_KEY],
		     const uint64_t b[FIB_LINE_KEY])
{
	return !memcmp(a, b, FIB_LINE_KEY * sizeof(*a));
}

/* The first of the key whose ticket is one of @from or later. */
static struct fib_place *
next_locked(struct line *l, const uint64_t key[FIB_LINE_KEY], uint64_t from)
{
	fib_list_for_each (it, &l->places) {
		struct fib_place *p =
			fib_container_of(it, struct fib_place, node);

		if (p->ticket >= from && same_key(p->key, key))
			return p;
	}
	return NULL;
}

static struct fib_place *first_locked(struct line *l,
				      const uint64_t key[FIB_LINE_KEY])
{
	return next_locked(l, key, 0);
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

/* --- claims: who keeps its place --------------------------------------------- */

/* Until when @p stands back for who may come back before it; 0: for nobody. (E) */
static uint64_t claimed_before_locked(struct line *l, const struct fib_place *p)
{
	uint64_t now_ns = 0, until_ns = 0;

	for (struct claim *c = l->claims; c < l->claims + CLAIMS; c++) {
		if (!c->fib || c->ticket >= p->ticket ||
		    !same_key(c->key, p->key))
			continue;
		if (!now_ns)
			now_ns = fib_now_ns();
		if (c->until_ns <= now_ns)
			c->fib = NULL;
		else if (until_ns < c->until_ns)
			until_ns = c->until_ns;
	}
	return until_ns;
}

static bool claim_locked(struct line *l, const struct fib_place *p)
{
	uint64_t now_ns = fib_now_ns();

	for (struct claim *c = l->claims; c < l->claims + CLAIMS; c++) {
		/* One that is over may be of a handler that has jumped out of its call. */
		if (c->fib && c->until_ns > now_ns)
			continue;
		c->fib = p->fib;
		c->ticket = p->ticket;
		c->until_ns = now_ns + CLAIM_NS;
		memcpy(c->key, p->key, sizeof(c->key));
		p->fib->io.claims = true;
		return true;
	}
	return false;
}

static void look_locked(struct fib_place *q)
{
	fib_store(&q->look, true, release);
	fib_wake(q->fib);
}

/*
 * @p has left. Who was interrupted claims its place, if there is anybody to stand
 * before, and none of its own group by whom it will stand anyway. Who is behind it
 * has to look, also for what @p has not looked at.
 */
static void left_locked(struct line *l, struct fib_place *p, bool comes_back)
{
	struct fib_place *q = next_locked(l, p->key, p->ticket);
	bool look = fib_load(&p->look, relaxed);

	if (q && comes_back && q->ticket != p->ticket)
		look |= claim_locked(l, p);
	if (q && look)
		look_locked(q); /* (D) */
}

/* Was @p here before? Its ticket then. */
static bool claimed_locked(struct line *l, struct fib_place *p)
{
	for (struct claim *c = l->claims; c < l->claims + CLAIMS; c++) {
		if (c->fib != p->fib || !same_key(c->key, p->key))
			continue;
		p->ticket = c->ticket;
		c->fib = NULL;
		return true;
	}
	return false;
}

/* Its call has ended. (G) */
void fib_line_give_up(struct fib *f)
{
	f->io.claims = false;
	for (struct line *l = lines; l < lines + LINES; l++) {
		fib_lock(&l->lock);
		for (struct claim *c = l->claims; c < l->claims + CLAIMS; c++) {
			struct fib_place *q;

			if (c->fib != f)
				continue;
			c->fib = NULL;
			q = next_locked(l, c->key, c->ticket);
			if (q)
				look_locked(q);
		}
		fib_unlock(&l->lock);
	}
}

/* Those who ask by the same description stand together. */
static bool joins_locked(struct line *l, struct fib_place *p)
{
	fib_list_for_each (it, &l->places) {
		struct fib_place *q =
			fib_container_of(it, struct fib_place, node);

		if (q->owner == p->owner && same_key(q->key, p->key)) {
			p->ticket = q->ticket;
			return true;
		}
	}
	return false;
}

/* --- the line ------------------------------------------------------------------- */

static void link_locked(struct line *l, struct fib_place *p)
{
	struct fib_place *next = NULL, *first = first_locked(l, p->key);

	if (p->keeps && (joins_locked(l, p) || claimed_locked(l, p)))
		next = next_locked(l, p->key, p->ticket + 1);
	else
		p->ticket = ++l->tickets;
	fib_list_add_tail(next ? &next->node : &l->places, &p->node);
	fib_store(&p->turn, !first || first == next, relaxed); /* (A) */
	if (first && first == next)
		fib_store(&first->turn, false, relaxed); /* (F) */
}

static bool is_called(const void *arg)
{
	const struct fib_place *p = arg;

	return fib_load(&p->look, acquire) ||
	       (fib_load(&p->turn, acquire) && !fib_load(&p->back_ns, acquire));
}

/* @p was woken, or has come, or has stood back, and asks now: is it its turn? */
static bool looks(struct line *l, struct fib_place *p)
{
	uint64_t back_ns;
	bool turn;

	fib_lock(&l->lock);
	fib_store(&p->look, false, relaxed);
	back_ns = claimed_before_locked(l, p);
	fib_store(&p->back_ns, back_ns, relaxed);
	turn = fib_load(&p->turn, relaxed) && !back_ns;
	fib_unlock(&l->lock);
	return turn;
}

/* Until @p is called. As fib_park_until(). */
static int park(struct fib_place *p, uint64_t deadline_ns)
{
	uint64_t back_ns = fib_load(&p->back_ns, relaxed);
	bool back = back_ns && back_ns < deadline_ns;
	int r = fib_park_until(is_called, p, back ? back_ns : deadline_ns,
			       FIB_WAIT_LINE, 0);

	return back && r == -ETIMEDOUT ? 0 : r;
}

static void leave(struct fib_place *p, bool comes_back);

/* As by a kick. */
static void end_call(struct fib_timer *t)
{
	fib_attention_set(fib_container_of(t, struct fib_place, limit)->fib);
}

/* Without memory for it the call has its own limit, which began late. */
static void arm_limit(struct fib_place *p, uint64_t deadline_ns)
{
	struct fib_worker *w = fib_worker_self();

	fib_timer_init(&p->limit);
	p->limit.fib = NULL;
	p->limit.fire = end_call;
	fib_timer_arm_in(fib_sched_of(w), fib_host_heap(w), &p->limit,
			 deadline_ns);
}

int fib_line_stand(struct fib_place *p, uint64_t deadline_ns)
{
	struct line *l = line_of(p->key);
	struct fib *f = fib_self();
	int r;

	fib_cancel_begin();
	p->fib = f;
	fib_store(&p->look, false, relaxed);
	fib_store(&p->back_ns, 0, relaxed);
	fib_lock(&l->lock);
	p->in_line = !p->first || !first_locked(l, p->key);
	if (p->in_line)
		link_locked(l, p);
	fib_unlock(&l->lock);
	if (!p->in_line)
		return -FIB_LINE_TAKEN;
	f->io.place = p;
	fib_stop_may_repeat();
	FIB_CHAOS_POINT(line_stood);
	do
		r = park(p, deadline_ns);
	while ((r == 0 && p->keeps && !looks(l, p)) ||
	       (r == -EINTR && fib_wait_goes_on(f)));
	if (r == 0 && p->ends && deadline_ns != FIB_NEVER)
		arm_limit(p, deadline_ns);
	if (r) {
		leave(p, r == -EINTR);
		if (r == -EINTR)
			fib_cancel_end();
	}
	return r;
}

/* Its turn has come. Without the lock it may be gone. */
static void call_up_locked(struct fib_place *p)
{
	bool back = fib_load(&p->back_ns, relaxed);

	if (fib_load(&p->turn, relaxed) && !back)
		return;
	fib_store(&p->back_ns, 0, relaxed); /* it looks for whom else it does */
	fib_store(&p->turn, true, release);
	fib_wake(p->fib);
}

static void leave(struct fib_place *p, bool comes_back)
{
	struct line *l = line_of(p->key);
	struct fib_place *next;

	if (!p->in_line)
		return;
	p->in_line = false;
	fib_self()->io.place = NULL;
	if (p->ends)
		fib_timer_disarm(&p->limit);
	fib_lock(&l->lock);
	fib_list_del(&p->node);
	if (p->keeps)
		left_locked(l, p, comes_back);
	next = fib_load(&p->turn, relaxed) ? first_locked(l, p->key) : NULL;
	if (next)
		call_up_locked(next); /* (B) */
	fib_unlock(&l->lock);
}

void fib_line_leave(struct fib_place *p)
{
	leave(p, false);
}

/* @p is served: so are others by the same description. (C) */
static void share(const struct fib_place *p)
{
	struct line *l = line_of(p->key);

	fib_lock(&l->lock);
	fib_list_for_each (it, &l->places) {
		struct fib_place *q =
			fib_container_of(it, struct fib_place, node);

		if (q->owner == p->owner && same_key(q->key, p->key))
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

static bool is_interrupted(long r)
{
	return r == -EINTR || r == -FIB_ERESTARTNOINTR;
}

/*
 * Was @fd closed before the kernel had looked at it? The file has another number then. After
 * a stop the kernel looks anew.
 */
static bool has_moved(const struct fib_place *p, long fd, uint32_t stops,
		      long r)
{
	return r == -EBADF && number(p, fd) != fd &&
	       fib_signal_continues() == stops;
}

long fib_line_call(struct fib_place *p, uint64_t deadline_ns, long nr,
		   const long a[6])
{
	struct fib *f = fib_self();
	long v[6] = { 0, a[1], a[2], a[3], a[4], a[5] };
	long r = fib_line_stand(p, deadline_ns);
	uint32_t stops;

	if (r)
		return r;
	do {
		stops = fib_signal_continued();
		v[0] = number(p, a[0]);
		FIB_CHAOS_POINT(line_number);
		r = v[0] < 0 ? v[0] : fib_blocking(nr, v);
	} while (v[0] >= 0 && p->in_line &&
		 (has_moved(p, v[0], stops, r) ||
		  (is_interrupted(r) && fib_wait_goes_on(f))));
	if (r == 0 && p->owner && p->in_line)
		share(p);
	leave(p, is_interrupted(r));
	return r;
}
