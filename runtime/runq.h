/*
 * Run queues: one of each worker's, and one for what comes from outside. For
 * sched.c, worker.c and iom_poll.c; all is inline, being on the path of every switch.
 */
#ifndef FIB_RUNQ_H
#define FIB_RUNQ_H

#include "ctx_arch.h"
#include "runtime/chaos.h"
#include "runtime/keep.h"
#include "runtime/sched.h"
#include "runtime/trace.h"

/* A counter that would cost more than what it counts, where nobody reads it. */
#define fib_count_unless_alone(s, name)                                        \
	do {                                                                   \
		if (!fib_runq_alone(s))                                        \
			fib_count(name);                                       \
	} while (0)

static inline void fib_runq_lock(struct fib_worker *w)
{
	if (!fib_runq_alone(fib_sched_of(w)))
		fib_lock(&w->lock);
}

static inline void fib_runq_unlock(struct fib_worker *w)
{
	if (!fib_runq_alone(fib_sched_of(w)))
		fib_unlock(&w->lock);
}

/* Of a queue whose lock is held. */
static inline void fib_runq_change(_Atomic uint32_t *n, uint32_t by)
{
	fib_store(n, fib_load(n, relaxed) + by, relaxed);
}

/*
 * How long fibers are queued, for fibhook top: of one turn of a worker in
 * FIB_DELAY_EVERY, those that it queues are stamped. Whoever runs one counts it,
 * in a table that he alone writes.
 */
#define FIB_DELAY_EVERY 16

static inline void fib_runq_stamp(const struct fib_worker *w, struct fib *f)
{
	if (FIB_HOST_CPU_TIME && fib_unlikely(!(w->tick % FIB_DELAY_EVERY)))
		f->queued_at = fib_cycles();
}

static inline void fib_runq_count_delay(struct fib_worker *w, struct fib *f)
{
	uint64_t cycles;
	unsigned at;

	if (!FIB_HOST_CPU_TIME || fib_likely(!f->queued_at))
		return;
	cycles = (fib_cycles() - f->queued_at) | 4;
	f->queued_at = 0;
	at = 63u - (unsigned)__builtin_clzll(cycles);
	at = at * 4 + (unsigned)(cycles >> (at - 2) & 3);
	if (at >= FIB_DELAYS)
		at = FIB_DELAYS - 1;
	fib_store(fib_shared(&w->delays[at]), w->delays[at] + 1, relaxed);
}

/*
 * Who computes
 * ------------
 * A fiber whose turns are long has those that wait for it wait for long: what comes for
 * others meanwhile, times above all, and each that is queued behind several of its kind. The
 * kernel would have one that has slept run at once. So behind long turns the worker looks
 * around (fib_runq_judge()), and those fibers are queued behind all others. These run before
 * them for as long as the last long turn was: so neither leaves the others less than half.
 *
 *	queue: the others, first come first served | w->computing: they, the same
 *
 * w->computing is the queue itself where there are none. Whoever goes to the head of the
 * queue, or has come from outside, is among the others.
 */
#define FIB_LONG_CYCLES 600000u /* 200 us or so: a turn in which it computes */
#define FIB_SPELL_MOST	30000000u /* 10 ms or so */
#define FIB_COMPUTES	4 /* short turns behind that, until it does no more */

/* A turn was long, or some that come behind such a one: what of it has @f computed? */
static inline uint64_t fib_runq_judge_long(struct fib_worker *w, struct fib *f,
					   uint64_t turn)
{
	uint64_t since = w->stopped - w->unblocked;

	if (since < turn)
		turn = since;
	if (turn > FIB_LONG_CYCLES || FIB_CHAOS_ODDS(long_turn, 2)) {
		f->computes = FIB_COMPUTES;
		w->spell = turn < FIB_SPELL_MOST ? turn : FIB_SPELL_MOST;
		w->ahead = 0;
		w->turns_due = 0;
		w->looked = w->stopped - FIB_LOOK_CYCLES - 1;
	} else if (f->computes) {
		f->computes--;
	}
	return turn;
}

/* The turn of @f, which has ended, took so many cycles. */
static inline void fib_runq_judge(struct fib_worker *w, struct fib *f,
				  uint64_t turn)
{
	if (!FIB_HOST_CPU_TIME)
		return;
	if (fib_unlikely(turn > FIB_LONG_CYCLES || f->computes) ||
	    FIB_CHAOS_ODDS(long_turn, 8))
		turn = fib_runq_judge_long(w, f, turn);
	else
		w->ahead += turn;
	if (!w->looked)
		w->looked = w->stopped - turn;
	/* They count as many turns as they are. */
	if (fib_unlikely(w->stopped - w->looked > FIB_LOOK_CYCLES) &&
	    w->tick < FIB_POLL_EVERY - 1) {
		w->turns -= FIB_POLL_EVERY - 1 - w->tick;
		w->tick = FIB_POLL_EVERY - 1;
	}
}

static inline void fib_runq_push_computing(struct fib_worker *w, struct fib *f)
{
	fib_list_add_tail(&w->queue, &f->run);
	if (w->computing == &w->queue)
		w->computing = &f->run;
}

static inline void fib_runq_push_own(struct fib_worker *w, struct fib *f)
{
	bool next =
		f->wait == FIB_WAIT_FUTEX && f->passed_over >= FIB_PASSED_OVER;

	w->let_pass |= next;
	if (next || FIB_CHAOS_ODDS(queue_front, 8))
		fib_list_add_tail(w->queue.next, &f->run);
	else if (fib_unlikely(f->computes))
		fib_runq_push_computing(w, f);
	else
		fib_list_add_tail(w->computing, &f->run);
	fib_runq_change(&w->queued, 1);
}

static inline void fib_runq_push(struct fib_worker *w, struct fib *f)
{
	fib_runq_lock(w);
	fib_runq_push_own(w, f);
	fib_runq_unlock(w);
}

/* One that was taken from there, and is still the next one. */
static inline void fib_runq_push_back(struct fib_worker *w, struct fib *f)
{
	fib_runq_lock(w);
	fib_list_add_tail(w->queue.next, &f->run);
	fib_runq_change(&w->queued, 1);
	fib_runq_unlock(w);
}

/*
 * Between two fibers, as the loop is when it looks at epoll: who is told of what has
 * come is told when it takes the next one. Of who has slept, and found one alone, that
 * is the next one, and does not go through the queue.
 */
static inline void fib_runq_harvest_begin(struct fib_worker *w)
{
	w->harvests = !w->cur && !FIB_CHAOS_ODDS(harvest, 2);
}

static inline void fib_runq_harvest_end(struct fib_worker *w, bool slept)
{
	w->harvests = false;
	w->came = w->harvested;
	if (!w->harvested)
		return;
	if (slept && w->harvested == 1 && !fib_load(&w->queued, relaxed)) {
		w->found = fib_container_of(w->harvest.next, struct fib, run);
		fib_list_init(&w->harvest);
		w->harvested = 0;
		return;
	}
	fib_runq_lock(w);
	fib_list_move(w->computing, &w->harvest);
	fib_runq_change(&w->queued, w->harvested);
	fib_runq_unlock(w);
	w->harvested = 0;
}

static inline void fib_runq_inject(struct fib_sched *s, struct fib *f)
{
	fib_lock(&s->inject_lock);
	fib_list_add_tail(&s->inject, &f->run);
	fib_runq_change(&s->injected, 1);
	fib_unlock(&s->inject_lock);
}

/* The next to run: its stack has been cold since it parked. */
static inline void fib_runq_prefetch(const struct fib *f)
{
	const char *sp = f->sp;

	/* A loop would be four times as many instructions. */
#define AHEAD(i)                                                               \
	fib_prefetch(sp + (i)*64), fib_prefetch(sp + (i)*64 + 64),             \
		fib_prefetch(sp + (i)*64 + 128),                               \
		fib_prefetch(sp + (i)*64 + 192)
	AHEAD(0), AHEAD(4), AHEAD(8), AHEAD(12), AHEAD(16);
#undef AHEAD
	fib_host_prefetch(f);
}

/* Of a queue that is not empty. */
static inline struct fib *fib_runq_pop_first(struct fib_list *q,
					     _Atomic uint32_t *n)
{
	struct fib_list *first = q->next;

	q->next = first->next;
	first->next->prev = q;
	fib_runq_change(n, -1u);
	if (!fib_list_empty(q))
		fib_runq_prefetch(fib_container_of(q->next, struct fib, run));
	return fib_container_of(first, struct fib, run);
}

static inline struct fib *fib_runq_pop_locked(struct fib_list *q,
					      _Atomic uint32_t *n)
{
	return fib_list_empty(q) ? NULL : fib_runq_pop_first(q, n);
}

static inline struct fib *fib_runq_pop(struct fib_lock *lock,
				       struct fib_list *q, _Atomic uint32_t *n)
{
	struct fib *f;

	if (!fib_load(n, relaxed))
		return NULL;
	fib_lock(lock);
	f = fib_runq_pop_locked(q, n);
	fib_unlock(lock);
	return f;
}

/* Is it the turn of one that computes? Then that is the first one. */
static inline void fib_runq_choose(struct fib_worker *w)
{
	struct fib_list *it = w->computing;

	if (it != w->queue.next && w->ahead < w->spell)
		return;
	w->computing = it->next;
	fib_list_del(it);
	fib_list_add_tail(w->queue.next, it);
}

/* Of a queue that is not empty, whose lock is held. */
static inline struct fib *fib_runq_take(struct fib_worker *w)
{
	if (fib_unlikely(w->computing != &w->queue))
		fib_runq_choose(w);
	return fib_runq_pop_first(&w->queue, &w->queued);
}

static inline struct fib *fib_runq_pop_own(struct fib_worker *w)
{
	struct fib *f = NULL;

	if (fib_runq_alone(fib_sched_of(w)))
		return fib_runq_pop_locked(&w->queue, &w->queued);
	if (!fib_load(&w->queued, relaxed))
		return NULL;
	fib_lock(&w->lock);
	if (!fib_list_empty(&w->queue))
		f = fib_runq_take(w);
	fib_unlock(&w->lock);
	return f;
}

/* Queue @f, and take the first: which may be @f, if others have been here. */
static inline struct fib *fib_runq_turn(struct fib_worker *w, struct fib *f)
{
	struct fib *first;

	fib_runq_lock(w);
	fib_runq_push_own(w, f);
	first = fib_runq_take(w);
	fib_runq_unlock(w);
	return first;
}

/* Take half of what @v has queued, but at most @most: one of them is returned. */
static inline struct fib *
fib_runq_steal_from(struct fib_worker *w, struct fib_worker *v, uint64_t most)
{
	struct fib_list taken = { &taken, &taken };
	struct fib *first;
	uint32_t want, got = 0;

	if (!fib_load(&v->queued, relaxed) || fib_keep_young(v))
		return NULL;
	fib_lock(&v->lock);
	want = (fib_load(&v->queued, relaxed) + 1) / 2;
	if (want > most)
		want = (uint32_t)most;
	while (got < want) {
		struct fib_list *it = v->queue.next;

		if (it == v->computing)
			v->computing = it->next;
		fib_list_del(it);
		fib_list_add_tail(&taken, it);
		got++;
	}
	fib_runq_change(&v->queued, -got);
	fib_unlock(&v->lock);
	if (!got)
		return NULL;
	FIB_CHAOS_POINT(steal_taken);
	fib_add(&fib_symtab.stats[FIB_STAT_steals], got, relaxed);
	first = fib_container_of(taken.next, struct fib, run);
	fib_list_del(&first->run);
	fib_trace(w, first, FIB_TRACE_STEAL, (uint64_t)v->id << 32 | got);
	fib_list_for_each (it, &taken) {
		fib_list_del(it);
		fib_runq_push(w, fib_container_of(it, struct fib, run));
	}
	return first;
}

/* What some other worker has queued. */
static inline struct fib *fib_runq_steal(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 1; i < n; i++) {
		struct fib *f = fib_runq_steal_from(
			w, s->worker[(w->id + i) % n], UINT32_MAX);

		if (f)
			return f;
	}
	return NULL;
}

#define FIB_BALANCE_CYCLES 300000u /* 100 us or so */

/* Another worker that has fibers queued is looked at from now on, or none. */
static inline void fib_runq_look_at_next(struct fib_worker *w, uint64_t now)
{
	struct fib_sched *s = fib_sched_of(w);
	uint32_t n = fib_load(&s->workers, acquire), last = w->beside.id;

	w->beside.since = now;
	w->beside.own_runs = fib_load(&w->runs, relaxed);
	w->beside.id = w->id;
	for (uint32_t i = 1; i <= n; i++) {
		struct fib_worker *v = s->worker[(last + i) % n];

		if (v == w || !fib_load(&v->queued, relaxed))
			continue;
		w->beside.id = v->id;
		w->beside.runs = fib_load(&v->runs, relaxed);
		return;
	}
}

/*
 * Worker @w has fibers of its own. From another one some are taken where they wait
 * twice as long as here, by the turns that both have made for a while, so that they
 * wait as long: it is stuck, has lost its processor, or has more of them. To take some
 * in any case sends all of them to and fro.
 */
static inline struct fib *fib_runq_balance(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	uint64_t now = fib_cycles(), here, there;
	struct fib_worker *v;
	struct fib *f = NULL;
	uint32_t its, own;

	if (now - w->beside.since < FIB_BALANCE_CYCLES)
		return NULL;
	if (w->beside.id != w->id &&
	    w->beside.id < fib_load(&s->workers, acquire)) {
		v = s->worker[w->beside.id];
		its = fib_load(&v->runs, relaxed) - w->beside.runs;
		own = fib_load(&w->runs, relaxed) - w->beside.own_runs;
		here = (uint64_t)its * (fib_load(&w->queued, relaxed) + 1);
		there = (uint64_t)own * fib_load(&v->queued, relaxed);
		if (there > 2 * here)
			f = fib_runq_steal_from(
				w, v, (there - here) / (own + its) + 1);
	}
	fib_runq_look_at_next(w, now);
	return f;
}

#include "fib_host_loop.h"

enum fib_work {
	FIB_WORK_NONE = 0,
	FIB_WORK_KEPT = 1, /* young ones, which nobody steals: keep.h */
	FIB_WORK_SOME = 2,
};

static inline enum fib_work fib_runq_work(struct fib_sched *s)
{
	uint32_t n = fib_load(&s->workers, acquire);
	enum fib_work work = FIB_WORK_NONE;

	if (fib_load(&s->injected, relaxed))
		return FIB_WORK_SOME;
	for (uint32_t i = 0; i < n; i++) {
		const struct fib_worker *v = s->worker[i];

		if (fib_host_sleeper_has_work(v))
			return FIB_WORK_SOME;
		if (!fib_load(&v->queued, relaxed))
			continue;
		if (!fib_keep_young(v))
			return FIB_WORK_SOME;
		work = FIB_WORK_KEPT;
	}
	return work;
}

#endif
