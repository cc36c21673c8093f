/* The scheduler, see sched.h. */
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include "ctx_inline_arch.h"
#include "pkru_arch.h"
#include "runtime/chaos.h"
#include "runtime/cputime.h"
#include "runtime/doubt.h"
#include "runtime/iom.h"
#include "runtime/probe.h"
#include "runtime/runq.h"
#include "runtime/timer.h"
#include "runtime/trace.h"

/* --- sleeping and waking workers ----------------------------------------- */

void fib_notify_one(struct fib_sched *s)
{
	if (fib_load(&s->wake_pending, relaxed) ||
	    fib_xchg(&s->wake_pending, 1, seq_cst))
		return;
	FIB_CHAOS_POINT(notify);
	fib_count(notifies);
	if (fib_host_notifies(s))
		return;
	fib_iom_ring(s);
}

/* It has told one that idles. */
static void told(struct fib_worker *w)
{
	if (w && !w->bound)
		fib_keep_told(w);
}

/* Worker @w, or NULL, has queued a fiber of @s, where somebody idles. */
static void tell_idle(struct fib_worker *w, struct fib_sched *s)
{
	if (!w || !w->holds_bell || (w->owes_bell && w->owes_bell != s)) {
		fib_notify_one(s);
		told(w);
	} else {
		w->owes_bell = s;
	}
}

static void wake_bound(struct fib_worker *bound)
{
	if (fib_unlikely(fib_load(&bound->polls, seq_cst))) /* iom.h (V) */
		fib_host_end_poll(bound);
	else
		fib_raw(SYS_futex, &bound->bound_ready, FUTEX_WAKE_PRIVATE, 1);
}

/* Worker @w, or NULL, has made the fiber of @bound ready. */
static void tell_bound(struct fib_worker *w, struct fib_worker *bound)
{
	fib_store(&bound->bound_ready, 1, seq_cst); /* iom.h (U) */
	if (bound == w)
		return;
	if (!w || !w->holds_bell || w->owes_bound)
		wake_bound(bound);
	else
		w->owes_bound = bound;
}

struct fib_worker *fib_bell_hold(void)
{
	struct fib_worker *w = fib_worker_self();

	if (w)
		w->holds_bell = true;
	return w;
}

void fib_bell_release(struct fib_worker *w)
{
	if (!w)
		return;
	w->holds_bell = false;
	if (fib_unlikely(w->owes_bound != NULL)) {
		wake_bound(w->owes_bound);
		w->owes_bound = NULL;
	}
	if (!w->owes_bell)
		return;
	fib_notify_one(w->owes_bell);
	w->owes_bell = NULL;
	told(w);
}

static void queue_fiber(struct fib *f)
{
	struct fib_sched *s = fib_sched_of(f);
	struct fib_worker *self = fib_worker_self(), *w = self;

	fib_store(&f->state, FIB_IS_READY, relaxed);
	if (fib_host_queue(s, w, f))
		return;
	if (fib_unlikely(f->bound != NULL)) {
		tell_bound(self, f->bound);
		return;
	}
	if (w && !w->bound && !FIB_CHAOS_ODDS(inject, 8)) {
		fib_runq_stamp(w, f);
		if (w->harvests && fib_likely(!f->computes)) {
			fib_list_add_tail(&w->harvest, &f->run);
			w->harvested++;
			return;
		}
		fib_runq_push(w, f);
		/* Between two fibers: takes it itself, or tells of it then. */
		if (!w->cur || fib_runq_alone(s))
			return;
	} else {
		fib_runq_inject(s, f);
		w = NULL;
	}
	fib_fence_after_unlock(); /* keep.h (A) */
	if (!fib_load(&s->nidle, relaxed) || (w && fib_keep(s, w)))
		return;
	if (w && w->hints) {
		if (!fib_keep_some(w))
			fib_keep_told(w);
		if (!w->left)
			fib_store(fib_shared(&w->left),
				  fib_load(&w->woke, relaxed) | 1, relaxed);
		return;
	}
	tell_idle(self, s);
}

/*
 * Too many workers run, since one that was given up has come back: this one
 * lies down until the monitor needs it again.
 */
static void retire(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	struct fib *f;

	/* Whom it wakes goes with the others. */
	fib_doubt_end(w);
	while ((f = fib_runq_pop_own(w)))
		fib_runq_inject(s, f);
	fib_worker_tells(w);
	w->stopped = 0;
	fib_store(&w->spare, 1, seq_cst);
	fib_idle_pass(w);
	while (fib_load(&w->spare, acquire) == 1 &&
	       !fib_load(&w->summoned, seq_cst))
		fib_raw(SYS_futex, &w->spare, FUTEX_WAIT_PRIVATE, 1, 0);
	/* Has it been started? Otherwise it has no place to give away. */
	if (fib_xchg(&w->spare, 0, seq_cst))
		fib_store(&w->taken, 1, seq_cst);
}

static void check_place(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	int32_t running;

	if (fib_likely(!fib_load(&w->taken, relaxed)))
		return;
	if (fib_host.came_back)
		fib_host.came_back(w);
	if (fib_load(&s->lenient, relaxed) || !fib_xchg(&w->taken, 0, seq_cst))
		return;
	running = fib_add(&s->running, 1, seq_cst) + 1;
	while (running > (int32_t)s->target) {
		if (fib_cas(&s->running, &running, running - 1, seq_cst)) {
			retire(w);
			return;
		}
	}
}

/* --- the loop ------------------------------------------------------------ */

/*
 * All that has come, to the end of the worker's own queue: for the only worker,
 * so that the order is that of arrival, and for a fiber that yields, so that
 * others run first.
 */
static __attribute__((noinline)) void move_injected(struct fib_worker *w,
						    struct fib_sched *s)
{
	struct fib_list taken;
	uint32_t n;

	fib_list_init(&taken);
	fib_lock(&s->inject_lock);
	n = fib_load(&s->injected, relaxed);
	fib_list_move(&taken, &s->inject);
	fib_store(&s->injected, 0, relaxed);
	fib_unlock(&s->inject_lock);
	fib_runq_lock(w);
	fib_list_move(w->computing, &taken);
	fib_runq_change(&w->queued, n);
	fib_runq_unlock(w);
}

/* Apart: who yields mostly finds nothing there, and then saves no registers. */
static void take_injected(struct fib_worker *w, struct fib_sched *s)
{
	if (fib_load(&s->injected, relaxed))
		move_injected(w, s);
}

static struct fib *pop_own(struct fib_worker *w)
{
	struct fib *f;

	if (fib_runq_alone(fib_sched_of(w)))
		take_injected(w, fib_sched_of(w));
	f = fib_host_pop(w, true);
	if (!f)
		f = fib_runq_pop_own(w);
	return f ? f : fib_host_pop(w, false);
}

/*
 * Where no clock is read for each turn (runq.h), as many turns lie between two looks as
 * FIB_LOOK_CYCLES are enough for, by those since the last one: fewer at once, twice as many
 * at most, and few when it has slept. Two are the fewest, since what is pinned has the odd
 * ones.
 */
#define FIRST_TURNS 8
#define LEAST_TURNS 2

static void set_turns(struct fib_worker *w, uint64_t now, uint64_t turns)
{
	if (turns > FIB_POLL_EVERY)
		turns = FIB_POLL_EVERY;
	else if (turns < LEAST_TURNS)
		turns = LEAST_TURNS;
	w->skipped = FIB_POLL_EVERY - (uint32_t)turns;
	w->tick = w->skipped;
	w->looked = now;
}

static void set_pace(struct fib_worker *w, uint64_t looked)
{
	uint64_t now = fib_cycles(), took = now - looked;
	uint32_t turns = FIB_POLL_EVERY - w->skipped;

	set_turns(w, now,
		  took > FIB_LOOK_CYCLES ? turns * FIB_LOOK_CYCLES / took :
					   2 * turns);
}

/* Nothing to run: sleep. False: there will never be anything again. */
static bool wait_for_work(struct fib_worker *w)
{
	if (fib_host_at_end(fib_sched_of(w)))
		return false;
	fib_host_idles(w);
	fib_idle(w);
	if (!FIB_HOST_CPU_TIME)
		set_turns(w, fib_cycles(), FIRST_TURNS);
	return true;
}

/* Until its fiber is woken, or its timer is due. */
static void sleep_bound(struct fib_worker *w)
{
	struct timespec ts, *left = NULL;

	if (w->alarm) {
		uint64_t now = fib_now_ns(), at = w->alarm->deadline_ns;

		if (at <= now) {
			fib_timer_alarm(w);
			return;
		}
		ts = fib_timespec(at - now);
		left = &ts;
	}
	if (!w->polled || !fib_iom_sleep_bound(w, left))
		fib_raw(SYS_futex, &w->bound_ready, FUTEX_WAIT_PRIVATE, 0,
			left);
}

static struct fib *next_bound(struct fib_worker *w)
{
	fib_doubt_end(w);
	fib_worker_tells(w);
	w->stopped = 0;
	if (fib_xchg(&w->bound_ready, 0, acquire))
		return w->bound;
	/*
	 * What its fiber waits for is to be looked after, though the monitor may have
	 * seen it run before, and sleep by now: it is not one of those that are busy.
	 * (A time comes by itself.)
	 */
	if (fib_load(fib_shared(&w->bound->wait), relaxed) != FIB_WAIT_TIME) {
		fib_add(&w->runs, 1, seq_cst);
		fib_host_woke(fib_sched_of(w));
	}
	while (!fib_xchg(&w->bound_ready, 0, acquire))
		sleep_bound(w);
	return w->bound;
}

/*
 * Once in FIB_POLL_EVERY turns, or behind a long one: what others have, before what is our
 * own. Events are served in their order by whoever comes first, as long as they are in
 * epoll. So a worker that has many queued leaves them there until it has run half of these:
 * else the slower of two, which runs beside another process, say, would have the
 * same share as the faster one, and all of its share would wait twice as long.
 */
static struct fib *look_around(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	uint64_t looked = w->looked;
	struct fib *f = NULL;

	w->turns += w->tick - w->skipped;
	w->tick = 0;
	w->looked = 0;
	if (w->turns >= w->turns_due || FIB_CHAOS_ODDS(poll_now, 4))
		fib_iom_poll(0);
	fib_sched_timers(s);
	if (!FIB_HOST_CPU_TIME)
		set_pace(w, looked);
	/* The only worker takes them in order: pop_own() */
	if (!fib_runq_alone(s))
		f = fib_runq_pop(&s->inject_lock, &s->inject, &s->injected);
	return f ? f : fib_runq_balance(w);
}

/*
 * What fib_idle() has found: it has looked around as well; or who is next after one that
 * yielded. NULL: nobody, or the worker is to give its place and its queue away first.
 */
static struct fib *take_found(struct fib_worker *w)
{
	struct fib *f = w->found;

	if (!f)
		return NULL;
	w->found = NULL;
	if (fib_unlikely(fib_load(&w->taken, relaxed) ||
			 fib_host_summoned(w))) {
		fib_runq_push_back(w, f);
		return NULL;
	}
	if (w->tick >= FIB_POLL_EVERY - 1)
		w->tick = w->skipped;
	return f;
}

/* What comes first: what others have, what is its own. NULL: there is nothing. */
static struct fib *find(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	struct fib *f = NULL;

	if (++w->tick >= FIB_POLL_EVERY || FIB_CHAOS_ODDS(poll_now, 16))
		f = look_around(w);
	if (!f && FIB_CHAOS_ODDS(steal_first, 8))
		f = fib_runq_steal(w);
	if (!f)
		f = pop_own(w);
	if (!f)
		f = fib_runq_pop(&s->inject_lock, &s->inject, &s->injected);
	return f ? f : fib_runq_steal(w);
}

static struct fib *next(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);

	for (;;) {
		struct fib *f = take_found(w);

		if (!f) {
			check_place(w);
			if (fib_unlikely(fib_host_summoned(w))) {
				fib_host_answer(w);
				if (w->bound)
					return next_bound(w);
			}
			f = find(w);
		}
		if (!f) {
			if (!wait_for_work(w))
				return NULL;
			continue;
		}
		if (w->put_off)
			fib_put_off_ends(w);
		if (w->left)
			fib_store(fib_shared(&w->left), 0, relaxed);
		if (!fib_runq_alone(s) && (fib_load(&w->queued, relaxed) ||
					   fib_load(&s->injected, relaxed))) {
			/* as in queue_fiber(), which left it to us */
			fib_fence_after_unlock();
			if (fib_load(&s->nidle, relaxed))
				fib_notify_one(s);
		}
		if (w->took_wake)
			fib_idle_pass(w);
		return f;
	}
}

static void do_park(struct fib_worker *w, struct fib *f)
{
	int none = FIB_PERMIT_NONE;

	fib_trace(w, f, FIB_TRACE_PARK, f->wait_arg);
	fib_worker_count(w, FIB_STAT_parks, 1);
	fib_store(&f->state, FIB_IS_PARKED, relaxed);
	fib_store(&f->on, NULL, release);
	FIB_CHAOS_POINT(park_commit);
	/* (A) */
	if (fib_cas(&f->permit, &none, FIB_PERMIT_PARKED, seq_cst))
		return;
	/* (C) */
	fib_xchg(&f->permit, FIB_PERMIT_NONE, seq_cst);
	fib_trace(w, f, FIB_TRACE_WAKE, 0);
	queue_fiber(f);
}

/*
 * To queue @f and take the next one are one change of the queue, where next() would
 * look at nothing else and others come first.
 */
static bool take_turns(struct fib_worker *w, struct fib *f)
{
	if (!fib_host_own_turn(w, f) || !fib_load(&w->queued, relaxed) ||
	    w->tick + 2 >= FIB_POLL_EVERY || fib_load(&w->taken, relaxed) ||
	    fib_host_summoned(w) || FIB_CHAOS_ODDS(turn_apart, 2))
		return false;
	fib_store(&f->state, FIB_IS_READY, relaxed);
	fib_runq_stamp(w, f);
	w->found = fib_runq_turn(w, f);
	w->tick++;
	return true;
}

void fib_do_yield(struct fib_worker *w, struct fib *f)
{
	fib_trace(w, f, FIB_TRACE_YIELD, 0);
	fib_store(&f->on, NULL, release);
	if (!w->bound && fib_host_runs_others(w))
		take_injected(w, fib_sched_of(w));
	if (!take_turns(w, f))
		queue_fiber(f);
}

static void do_exit(struct fib_worker *w, struct fib *f)
{
	fib_trace(w, f, FIB_TRACE_EXIT, 0);
	fib_store(&f->on, NULL, release);
	fib_count_unless_alone(fib_sched_of(w), fibers_exited);
	fib_host_exited(w, f);
}

/* Let @f run until it leaves its stack. */
static void run(struct fib_worker *w, struct fib *f)
{
	fib_store(&f->on, w, relaxed);
	fib_host_resumes(w, f);
	/* Who sees it sees that: comes() in hooks/fd/fd.c */
	fib_store(&f->state, FIB_IS_RUNNING, release);
	/* on is seen before f looks at attention: hooks/signal/kick.c */
	if (fib_runq_alone(fib_sched_of(w)))
		fib_store(&w->runs, fib_load(&w->runs, relaxed) + 1, relaxed);
	else
		fib_add(&w->runs, 1, seq_cst);
	if (f->fsbase && f->fsbase != w->fsbase) {
		w->fsbase = f->fsbase;
		fib_tls_base_set(f->fsbase);
	}
	if (fib_pkru_is_used())
		fib_wrpkru(f->pkru ^ FIB_PKRU_INIT);
	fib_store(fib_shared(&w->cur), f, relaxed);
	fib_barrier();
	fib_runq_count_delay(w, f);
	if (!fib_runq_alone(fib_sched_of(w)))
		fib_cpu_go(w, f);
	FIB_PROBE(switch, f->index, w->id);
	fib_trace(w, f, FIB_TRACE_RUN, 0);
	fib_san_leave(&w->san, &fib_top_of(f)->san, false);
	fib_ctx_resume(&w->sched_sp, f->sp, &w->floats);
}

void fib_worker_loop(struct fib_worker *w)
{
	w->floats = fib_ctx_floats();
	if (!FIB_HOST_CPU_TIME)
		set_turns(w, fib_cycles(), FIRST_TURNS);
	for (;;) {
		struct fib *f = w->cur;

		if (f) {
			fib_san_enter(&w->san, &fib_top_of(f)->san);
			if (!fib_runq_alone(fib_sched_of(w)) &&
			    fib_host_has_tsc(w))
				fib_runq_judge(w, f, fib_cpu_stop(w, f));
			if (fib_load(&w->woke, relaxed))
				fib_keep_judge(w, f);
			if (fib_pkru_is_used()) {
				f->pkru = fib_rdpkru() ^ FIB_PKRU_INIT;
				fib_wrpkru(0);
			}
		}
		fib_store(fib_shared(&w->cur), NULL, relaxed);
		fib_barrier();
		if (f)
			w->action(w, f);
		f = w->bound ? next_bound(w) : next(w);
		if (!f)
			return;
		if (!fib_host_prepare(w, f))
			continue;
		run(w, f);
	}
}

void __attribute__((noinline))
fib_leave(void (*action)(struct fib_worker *, struct fib *))
{
	struct fib_worker *w = fib_worker_self();
	struct fib *f = w->cur;
	int err = fib_errno_save();

	fib_no_lock("a park");
	w->action = action;
	FIB_CHAOS_POINT(park_leave);
	fib_san_leave(&fib_top_of(f)->san, &w->san, action == do_exit);
	fib_ctx_leave(&f->sp, w->sched_sp, &w->floats);
	fib_host_landed(f);
	fib_errno_restore(err);
}

static void __attribute__((noinline))
leave_with_vectors(void (*action)(struct fib_worker *, struct fib *),
		   enum fib_vectors which)
{
	char area[fib_xsave_room(which) + 64];
	void *at = (void *)FIB_ALIGN_UP((uintptr_t)area, 64);

	which = fib_xsave(at, which);
	fib_leave(action);
	fib_xrstor(at, which);
}

/* What the caller's code has live is on its stack meanwhile. */
static inline void
leave_whole(struct fib *f, void (*action)(struct fib_worker *, struct fib *))
{
	enum fib_vectors which = fib_host_vectors(f);

	if (which)
		leave_with_vectors(action, which);
	else
		fib_leave(action);
}

void fib_park(void)
{
	struct fib_worker *w;
	struct fib *f = fib_host_caller(&w);
	int notified = FIB_PERMIT_NOTIFIED;

	fib_no_lock("a park");
	if (FIB_CHAOS_ODDS(park_spurious, 8)) {
		fib_sched_yield();
		return;
	}
	if (fib_host_park(w, f))
		return;
	if (fib_load(&f->permit, relaxed) == FIB_PERMIT_NOTIFIED &&
	    fib_cas(&f->permit, &notified, FIB_PERMIT_NONE, seq_cst))
		return;
	FIB_PROBE(park, f->index, f->wait);
	leave_whole(f, do_park);
}

void fib_wake(struct fib *f)
{
	int old = fib_load(&f->permit, relaxed);

	/* (B) */
	while (!fib_cas(&f->permit, &old,
			old == FIB_PERMIT_PARKED ? FIB_PERMIT_NONE :
						   FIB_PERMIT_NOTIFIED,
			seq_cst))
		;
	if (old != FIB_PERMIT_PARKED)
		return;
	FIB_PROBE(wake, f->index, f->wait);
	fib_trace(fib_worker_self(), f, FIB_TRACE_WAKE, 0);
	FIB_CHAOS_POINT(wake_won);
	if (!fib_host_queue_alone(f))
		queue_fiber(f);
}

void fib_launch(struct fib *f)
{
	if (fib_host_queue_alone(f))
		return;
	fib_count_unless_alone(fib_sched_of(f), fibers_created);
	fib_trace(fib_worker_self(), f, FIB_TRACE_LAUNCH, 0);
	queue_fiber(f);
}

void fib_sched_yield(void)
{
	struct fib_worker *w;
	struct fib *f = fib_host_caller(&w);

	fib_no_lock("a yield");
	if (!fib_host_yield(w, f))
		leave_whole(f, fib_do_yield);
}

void fib_sched_move(void)
{
	leave_whole(fib_self(), fib_do_yield);
}

void fib_sched_preempted(void)
{
	struct fib_worker *w = fib_worker_self();

	/* A handler has had it leave the runtime: hooks/dispatch.c */
	if (fib_unlikely(!w))
		return;
	w->tick = FIB_POLL_EVERY - 1;
	w->turns_due = 0;
	fib_sched_yield();
}

void fib_exit(void)
{
	fib_host_exit();
	fib_leave(do_exit);
	__builtin_unreachable();
}
