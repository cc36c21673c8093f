/*
 * Timers with callbacks, and guards. See lib.h.
 *
 * A scheduler has one heap for them, and a table that makes of a number a
 * timer: the number holds the entry's generation, so that one of a timer that
 * is gone finds nothing. The heap's lock is the lock of both. A timer fires
 * under it and queues a fiber, in the order of the deadlines.
 *
 * Nearly all timers are cancelled. To take one out of the heap costs a walk
 * through cold memory, so it is only marked; those that are marked are swept out
 * together, when they are half of the heap, or when one of them is the first and
 * a worker is about to sleep until it.
 */
#include <stdlib.h>
#include "libfib/lib.h"

#define CHUNK	   1024u
#define CHUNKS	   16384u
#define INDEX_BITS 24
#define SWEEP	   64u
#define RETRY_NS   1000000ull /* no fiber to be had for the callback */

struct event_timer {
	struct fib_timer timer;
	struct fib_sched *sched;
	void (*fn)(void *);
	void *arg;
	struct fib_guard *guard;
	uint64_t ns, since_ns;
	uint64_t index : INDEX_BITS, generation : 63 - INDEX_BITS;
	uint32_t next_free; /* index + 1 */
	bool recurring, used;
	bool dead; /* cancelled, and still in the heap */
};

struct fib_timers {
	uint32_t dead;
	uint32_t made, free_head;
	struct event_timer *chunk[CHUNKS];
};

/* --- guards ----------------------------------------------------------------- */

/*
 * word: callbacks that run, times two; the lowest bit says that the guard was
 * destroyed, and none begins any more.
 */
struct fib_guard {
	uint32_t word;
	_Atomic uint32_t refs;
};

int fib_guard_create(struct fib_guard **out)
{
	struct fib_guard *g;

	if (!out)
		return -EINVAL;
	g = malloc(sizeof(*g));
	if (!g)
		return -ENOMEM;
	g->word = 0;
	fib_store(&g->refs, 1, relaxed);
	*out = g;
	return 0;
}

static struct fib_guard *guard_get(struct fib_guard *g)
{
	if (g)
		fib_add(&g->refs, 1, relaxed);
	return g;
}

static void guard_put(struct fib_guard *g)
{
	if (g && fib_sub(&g->refs, 1, acq_rel) == 1)
		free(g);
}

static bool guard_enter(struct fib_guard *g)
{
	uint32_t v = fib_load(fib_shared(&g->word), relaxed);

	do {
		if (v & 1)
			return false;
	} while (!fib_cas(fib_shared(&g->word), &v, v + 2, acquire));
	return true;
}

static void guard_leave(struct fib_guard *g)
{
	if (fib_sub(fib_shared(&g->word), 2, release) & 1)
		fib_word_wake(&g->word, INT_MAX);
}

int fib_guard_destroy(struct fib_guard *g)
{
	struct fib *f = fib_self();
	uint32_t v, mine = f && f->lib.guard == g;

	if (!g)
		return -EINVAL;
	fib_or(fib_shared(&g->word), 1, acquire);
	while ((v = fib_load(fib_shared(&g->word), acquire)) / 2 > mine)
		fib_word_wait(&g->word, v, FIB_NEVER);
	guard_put(g);
	return 0;
}

/* A fiber's function: the callback of a timer that has a guard. */
static void guarded(void *arg)
{
	struct event_timer *t = arg;
	struct fib *f = fib_self();
	struct fib_guard *g = t->guard;
	void (*fn)(void *) = t->fn;
	void *fn_arg = t->arg;

	free(t);
	if (guard_enter(g)) {
		f->lib.guard = g;
		fn(fn_arg);
		f->lib.guard = NULL;
		guard_leave(g);
	}
	guard_put(g);
}

/* --- the table --------------------------------------------------------------- */

static int64_t id_of(const struct event_timer *t)
{
	return (int64_t)((uint64_t)t->generation << INDEX_BITS | t->index) + 1;
}

static struct event_timer *find_locked(struct fib_sched *s, int64_t id)
{
	struct fib_timers *table = s->lib.timed;
	uint32_t i = (uint32_t)(id - 1) & ((1u << INDEX_BITS) - 1);
	struct event_timer *t;

	if (!table || id <= 0 || i >= table->made)
		return NULL;
	t = &table->chunk[i / CHUNK][i % CHUNK];
	return t->used && id_of(t) == id ? t : NULL;
}

static struct event_timer *alloc_locked(struct fib_sched *s)
{
	struct fib_timers *table = s->lib.timed;
	struct event_timer *t, **chunk;
	uint32_t i;

	if (!table)
		table = s->lib.timed = fib_pages_alloc(sizeof(*table));
	if (!table)
		return NULL;
	i = table->free_head ? table->free_head - 1 : table->made;
	if (i / CHUNK >= CHUNKS)
		return NULL;
	chunk = &table->chunk[i / CHUNK];
	if (!*chunk)
		*chunk = fib_pages_alloc(CHUNK * sizeof(**chunk));
	if (!*chunk)
		return NULL;
	t = &(*chunk)[i % CHUNK];
	if (i == table->made)
		table->made++;
	else
		table->free_head = t->next_free;
	t->index = i;
	t->used = true;
	return t;
}

static void release_locked(struct event_timer *t)
{
	struct fib_timers *table = t->sched->lib.timed;

	t->next_free = table->free_head;
	table->free_head = t->index + 1;
}

/* --- firing ------------------------------------------------------------------- */

/* The callback's fiber, with a copy of what it needs; NULL: not now. */
static struct fib *callback(struct event_timer *t)
{
	struct event_timer *copy;
	struct fib *f;

	if (!t->guard)
		return fib_make(t->sched, t->fn, t->arg, FIB_ANY_THREAD);
	copy = malloc(sizeof(*copy));
	if (!copy)
		return NULL;
	*copy = *t;
	f = fib_make(t->sched, guarded, copy, FIB_ANY_THREAD);
	if (f)
		guard_get(t->guard);
	else
		free(copy);
	return f;
}

/* The last beat that is not due yet, of those every ns since the deadline. */
static uint64_t next_beat(const struct event_timer *t)
{
	uint64_t next = t->timer.deadline_ns + t->ns, now = fib_now_ns();

	if (next <= now)
		next += (now - next) / t->ns * t->ns + t->ns;
	return next;
}

static bool sweep(struct fib_timer *timer)
{
	struct event_timer *t =
		fib_container_of(timer, struct event_timer, timer);

	if (!t->dead)
		return true;
	t->dead = false;
	release_locked(t);
	return false;
}

static void sweep_locked(struct fib_sched *s)
{
	fib_timer_filter_locked(&s->lib.timers, sweep);
	s->lib.timed->dead = 0;
}

void fib_timers_settle(struct fib_sched *s)
{
	struct fib_timer_heap *h = &s->lib.timers;

	if (fib_load(&h->next_ns, relaxed) == FIB_NEVER)
		return;
	fib_lock(&h->lock);
	if (s->lib.timed && s->lib.timed->dead && h->count &&
	    fib_container_of(h->node[0], struct event_timer, timer)->dead)
		sweep_locked(s);
	fib_unlock(&h->lock);
}

/* A timer that is in the heap ends: its number is nobody's. */
static void kill_locked(struct event_timer *t)
{
	guard_put(t->guard);
	t->guard = NULL;
	fib_sub(&t->sched->lib.ntimers, 1, relaxed);
	t->generation++;
	t->used = false;
	t->dead = true;
	t->sched->lib.timed->dead++;
}

static void end_locked(struct event_timer *t)
{
	guard_put(t->guard);
	fib_sub(&t->sched->lib.ntimers, 1, relaxed);
	t->generation++;
	t->used = false;
	release_locked(t);
}

static void fire(struct fib_timer *timer)
{
	struct event_timer *t =
		fib_container_of(timer, struct event_timer, timer);
	struct fib_sched *s = t->sched;
	struct fib *f;

	if (t->dead) {
		t->dead = false;
		s->lib.timed->dead--;
		release_locked(t);
		return;
	}
	if (t->guard && (fib_load(fib_shared(&t->guard->word), acquire) & 1)) {
		end_locked(t);
		fib_work_end(s);
		return;
	}
	f = callback(t);
	if (!f) {
		/* There was room for it a moment ago. */
		fib_timer_insert_locked(&s->lib.timers, timer,
					fib_now_ns() + RETRY_NS);
		return;
	}
	if (t->recurring) {
		fib_work_begin(s);
		t->since_ns = timer->deadline_ns;
		fib_timer_insert_locked(&s->lib.timers, timer, next_beat(t));
	} else {
		end_locked(t);
	}
	fib_add(&s->lib.nfibers, 1, relaxed);
	fib_launch(f);
}

/* --- what the program calls ---------------------------------------------------- */

/* Arm @t for @deadline, and say it to those who sleep. */
static int arm_unlock(struct event_timer *t, uint64_t deadline)
{
	struct fib_timer_heap *h = &t->sched->lib.timers;
	struct fib_sched *s = t->sched;
	int r = fib_timer_insert_locked(h, &t->timer, deadline);
	bool first = r == 0 && h->node[0] == &t->timer;

	fib_unlock(&h->lock);
	if (first)
		fib_sched_deadline(s, deadline);
	return r;
}

int64_t fib_timer_add(struct fib_sched *s, uint64_t ns, unsigned flags,
		      void (*fn)(void *), void *arg, struct fib_guard *guard)
{
	bool recurring = flags & FIB_TIMER_RECURRING;
	struct event_timer *t;
	uint64_t now = fib_now_ns();
	int64_t id;

	if (!fib_sched_exists(s) || !fn ||
	    (flags & ~(unsigned)FIB_TIMER_RECURRING) || (recurring && !ns))
		return -EINVAL;
	fib_work_begin(s);
	fib_lock(&s->lib.timers.lock);
	t = alloc_locked(s);
	if (!t) {
		fib_unlock(&s->lib.timers.lock);
		fib_work_end(s);
		return -ENOMEM;
	}
	t->timer.fib = NULL;
	t->timer.lib.fire = fire;
	t->sched = s;
	t->fn = fn;
	t->arg = arg;
	t->guard = guard_get(guard);
	t->ns = ns;
	t->since_ns = now;
	t->recurring = recurring;
	id = id_of(t);
	fib_add(&s->lib.ntimers, 1, relaxed);
	if (arm_unlock(t, fib_ns_add(now, ns)) == 0)
		return id;
	fib_lock(&s->lib.timers.lock);
	end_locked(t);
	fib_unlock(&s->lib.timers.lock);
	fib_work_end(s);
	return -ENOMEM;
}

int fib_timer_cancel(struct fib_sched *s, int64_t id)
{
	struct event_timer *t;

	if (!fib_sched_exists(s))
		return -EINVAL;
	fib_lock(&s->lib.timers.lock);
	t = find_locked(s, id);
	if (t) {
		kill_locked(t);
		if (s->lib.timed->dead > SWEEP &&
		    s->lib.timed->dead > s->lib.timers.count / 2)
			sweep_locked(s);
	}
	fib_unlock(&s->lib.timers.lock);
	if (t)
		fib_work_end(s);
	return t ? 0 : -ENOENT;
}

static int rearm(struct fib_sched *s, int64_t id, const uint64_t *ns,
		 bool from_now)
{
	struct event_timer *t;

	if (!fib_sched_exists(s))
		return -EINVAL;
	fib_lock(&s->lib.timers.lock);
	t = find_locked(s, id);
	if (!t || (ns && !*ns && t->recurring)) {
		fib_unlock(&s->lib.timers.lock);
		return t ? -EINVAL : -ENOENT;
	}
	fib_timer_remove_locked(&s->lib.timers, &t->timer);
	if (ns)
		t->ns = *ns;
	if (from_now)
		t->since_ns = fib_now_ns();
	return arm_unlock(t, fib_ns_add(t->since_ns, t->ns));
}

int fib_timer_refresh(struct fib_sched *s, int64_t id)
{
	return rearm(s, id, NULL, true);
}

int fib_timer_reset(struct fib_sched *s, int64_t id, uint64_t ns, bool from_now)
{
	return rearm(s, id, &ns, from_now);
}

long fib_timers_cancel(struct fib_sched *s)
{
	struct fib_timers *table;
	long n = 0;

	fib_lock(&s->lib.timers.lock);
	table = s->lib.timed;
	for (uint32_t i = 0; table && i < table->made; i++) {
		struct event_timer *t = &table->chunk[i / CHUNK][i % CHUNK];

		if (!t->used)
			continue;
		kill_locked(t);
		n++;
	}
	if (n)
		sweep_locked(s);
	fib_unlock(&s->lib.timers.lock);
	for (long i = 0; i < n; i++)
		fib_work_end(s);
	return n;
}

void fib_timers_fini(struct fib_sched *s)
{
	struct fib_timers *table = s->lib.timed;

	if (!table)
		return;
	for (uint32_t i = 0; i < CHUNKS && table->chunk[i]; i++)
		fib_pages_free(table->chunk[i],
			       CHUNK * sizeof(*table->chunk[i]));
	fib_pages_free(table, sizeof(*table));
}
