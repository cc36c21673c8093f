/* Fibers: life, and switching by hand. See lib.h. */
#include <stdio.h>
#include <stdlib.h>
#include "ctx_arch.h"
#include "libfib/direct.h"
#include "libfib/lib.h"
#include "runtime/stack.h"

_Static_assert(FIB_FREE == (int)FIB_IS_FREE && FIB_READY == (int)FIB_IS_READY &&
		       FIB_RUNNING == (int)FIB_IS_RUNNING &&
		       FIB_PARKED == (int)FIB_IS_PARKED,
	       "a state is what the engine says");

_Static_assert(offsetof(struct fib, lib) == 64, "one cache line");

static bool exists(const struct fib *f)
{
	return f && fib_load(&f->state, acquire) != FIB_FREE;
}

/* --- stacks ----------------------------------------------------------------- */

/* First thing on a stack that has been switched to. */
static void arrive(struct fib *f)
{
	if (fib_load(&f->lib.life, relaxed) & FIB_LIFE_SCHED)
		fib_land(fib_worker_self(), f);
	else
		fib_san_enter(&f->san, &f->lib.below->san);
}

/* To whoever has resumed @f by hand. Returns when it is resumed again. */
static void go_below(struct fib *f, enum fib_state state)
{
	int err = fib_errno_save();

	fib_store(&f->state, state, relaxed);
	fib_san_leave(&f->san, &f->lib.below->san, state == FIB_TERM);
	fib_ctx_switch(&f->sp, f->lib.below_sp);
	arrive(f);
	fib_errno_restore(err);
}

static void entry(void *arg)
{
	struct fib *f = arg;

	arrive(f);
	f->fn(f->arg);
	/* It has forked, and this is the child. */
	if (fib_load(&f->lib.life, relaxed) & FIB_LIFE_MAIN)
		exit(0);
	if (fib_unlikely(f->lib.local != NULL))
		fib_local_end(f);
	if (fib_load(&f->lib.life, relaxed) & FIB_LIFE_SCHED)
		fib_exit();
	go_below(f, FIB_TERM);
}

int fib_prepare(struct fib *f)
{
	if (fib_likely(f->sp))
		return 0;
	if (!f->stack) {
		if (!f->stack_size)
			f->stack_size = f->lib.sched->lib.stack_size;
		f->stack = fib_stack_get(f->stack_size);
		if (!f->stack)
			return -ENOMEM;
		fib_san_create(&f->san, (char *)f->stack + FIB_PAGE,
			       f->stack_size - FIB_PAGE);
	}
	f->sp = fib_ctx_make((char *)f->stack + f->stack_size, entry, f);
	return 0;
}

static void drop_stack(struct fib *f)
{
	if (!f->stack)
		return;
	fib_san_destroy(&f->san);
	fib_stack_put(f->stack, f->stack_size);
	f->stack = NULL;
	f->sp = NULL;
}

static void drop(struct fib *f)
{
	drop_stack(f);
	fib_entry_put(f);
}

/* --- life ------------------------------------------------------------------- */

/* Take @f, which must have none of @unfit: 0 or why it cannot be had. */
static int take(struct fib *f, uint32_t unfit)
{
	uint32_t life;

	if (!exists(f))
		return -EINVAL;
	life = fib_load(&f->lib.life, relaxed);
	do {
		if (life & FIB_LIFE_MAIN)
			return -EINVAL;
		if (life & (FIB_LIFE_HAND | FIB_LIFE_SCHED))
			return -EBUSY;
		if (life & unfit)
			return life & FIB_LIFE_TERM ? -EINVAL : -EBUSY;
	} while (!fib_cas(&f->lib.life, &life, life | FIB_LIFE_HAND, seq_cst));
	return 0;
}

/* To be reset or destroyed it must have no frames any more. */
static int take_empty(struct fib *f)
{
	int r = take(f, 0);
	uint32_t life;

	if (r)
		return r;
	life = fib_load(&f->lib.life, relaxed);
	if (!(life & FIB_LIFE_BEGUN) || (life & FIB_LIFE_TERM))
		return 0;
	fib_and(&f->lib.life, ~(uint32_t)FIB_LIFE_HAND, release);
	return -EBUSY;
}

int fib_create(struct fib **out, void (*fn)(void *), void *arg,
	       size_t stack_size)
{
	size_t size = stack_size ? stack_size : FIB_STACK_DEFAULT;
	struct fib *f;

	if (!out || !fn || size < FIB_STACK_MIN || size > SIZE_MAX / 2)
		return -EINVAL;
	f = fib_entry_get();
	if (!f)
		return -EAGAIN;
	f->fn = fn;
	f->arg = arg;
	f->stack_size = FIB_ALIGN_UP(size, FIB_PAGE) + FIB_PAGE;
	if (fib_prepare(f)) {
		fib_entry_put(f);
		return -ENOMEM;
	}
	fib_store(&f->state, FIB_READY, release);
	*out = f;
	return 0;
}

int fib_destroy(struct fib *f)
{
	int r = take_empty(f);

	if (r == 0)
		drop(f);
	return r;
}

int fib_detach(struct fib *f)
{
	uint32_t life;

	if (!exists(f))
		return -EINVAL;
	life = fib_load(&f->lib.life, relaxed);
	do {
		if (life & (FIB_LIFE_MAIN | FIB_LIFE_DETACHED))
			return -EINVAL;
		if ((life & FIB_LIFE_TERM) && !(life & FIB_LIFE_HAND))
			return fib_destroy(f);
	} while (!fib_cas(&f->lib.life, &life, life | FIB_LIFE_DETACHED,
			  seq_cst));
	return 0;
}

int fib_reset(struct fib *f, void (*fn)(void *), void *arg)
{
	int r;

	if (!fn)
		return -EINVAL;
	r = take_empty(f);
	if (r)
		return r;
	f->fn = fn;
	f->arg = arg;
	f->sp = NULL;
	f->lib.top = f;
	fib_san_destroy(&f->san);
	fib_san_create(&f->san, (char *)f->stack + FIB_PAGE,
		       f->stack_size - FIB_PAGE);
	fib_prepare(f);
	fib_store(&f->lib.ready, 0, relaxed);
	fib_store(&f->attention, 0, relaxed);
	fib_store(&f->state, FIB_READY, relaxed);
	fib_and(&f->lib.life, FIB_LIFE_DETACHED, release);
	return 0;
}

/* The owner is done with @f, which has ended: gone, or there to be reset. */
static void end(struct fib *f)
{
	uint32_t life = fib_load(&f->lib.life, relaxed);

	fib_store(fib_shared(&f->lib.sched), NULL, relaxed);
	f->lib.pin = NULL;
	fib_store(&f->state, FIB_TERM, relaxed);
	do {
		if (life & FIB_LIFE_DETACHED) {
			drop(f);
			return;
		}
	} while (!fib_cas(&f->lib.life, &life, FIB_LIFE_TERM | FIB_LIFE_BEGUN,
			  seq_cst));
}

void fib_ended(struct fib *f)
{
	struct fib_sched *s = f->lib.sched;

	end(f);
	if (!s)
		return;
	fib_feed(s);
	fib_sub(&s->lib.nfibers, 1, relaxed);
	fib_work_end(s);
}

/* --- by hand ---------------------------------------------------------------- */

int fib_resume(struct fib *f)
{
	struct fib *me = fib_current();
	int r = take(f, FIB_LIFE_TERM), err;

	if (r)
		return r;
	if (!me || fib_prepare(f)) {
		fib_and(&f->lib.life, ~(uint32_t)FIB_LIFE_HAND, release);
		return -ENOMEM;
	}
	fib_altstack_ensure();
	fib_or(&f->lib.life, FIB_LIFE_BEGUN, relaxed);
	err = fib_errno_save();
	fib_store(&f->state, FIB_RUNNING, relaxed);
	f->lib.below = me;
	fib_top_set(f);
	fib_san_leave(&me->san, &f->san, false);
	fib_ctx_switch(&f->lib.below_sp, f->sp);
	fib_san_enter(&me->san, &f->san);
	fib_top_set(me);
	fib_errno_restore(err);
	if (fib_load(&f->state, relaxed) == FIB_TERM)
		end(f);
	else
		fib_and(&f->lib.life, ~(uint32_t)FIB_LIFE_HAND, release);
	return 0;
}

int fib_yield(void)
{
	struct fib *f = fib_top();

	if (!f)
		return -EPERM;
	if (fib_load(&f->lib.life, relaxed) & FIB_LIFE_HAND) {
		go_below(f, FIB_PARKED);
		return 0;
	}
	f->wait = FIB_WAIT_NONE;
	f = fib_self();
	if (fib_host_attention(f))
		return -ECANCELED;
	while (!fib_xchg(&f->lib.ready, 0, acquire)) {
		fib_park();
		if (fib_host_attention(f) && !fib_load(&f->lib.ready, relaxed))
			return -ECANCELED;
	}
	return 0;
}

int fib_yield_ready(void)
{
	struct fib_worker *w = fib_worker_self();
	struct fib *f = fib_self();

	if (fib_likely(f && f->lib.top == f && w->lib.direct))
		return fib_direct_yield(w, f);
	f = fib_top();

	if (!f)
		return -EPERM;
	if (fib_load(&f->lib.life, relaxed) & FIB_LIFE_HAND)
		go_below(f, FIB_READY);
	else
		fib_sched_yield();
	return 0;
}

int fib_ready(struct fib *f)
{
	if (!exists(f) || !(fib_load(&f->lib.life, acquire) & FIB_LIFE_SCHED))
		return -EINVAL;
	fib_store(&f->lib.ready, 1, release);
	fib_wake(f);
	return 0;
}

/* --- what is said of them ---------------------------------------------------- */

/* It has ended when it can be reset or destroyed, and not an instant before. */
enum fib_state fib_state(const struct fib *f)
{
	int state = f ? fib_load(&f->state, acquire) : FIB_FREE;

	if (state == FIB_TERM &&
	    !(fib_load(&f->lib.life, acquire) & FIB_LIFE_TERM))
		return FIB_RUNNING;
	return (enum fib_state)state;
}

/* Given to those that are asked: others need not share the counter. */
uint64_t fib_id(const struct fib *f)
{
	static _Atomic uint64_t last;
	_Atomic uint64_t *id;
	uint64_t was, mine;

	if (!exists(f))
		return 0;
	id = &((struct fib *)f)->lib.id;
	was = fib_load(id, relaxed);
	if (was)
		return was;
	mine = fib_add(&last, 1, relaxed) + 1;
	return fib_cas(id, &was, mine, relaxed) ? mine : was;
}

const char *fib_name(const struct fib *f)
{
	return f ? f->name : "";
}

int fib_set_name(struct fib *f, const char *name)
{
	if (!exists(f) || !name)
		return -EINVAL;
	snprintf(f->name, sizeof(f->name), "%s", name);
	return 0;
}

const char *fib_version(void)
{
	return FIB_VERSION;
}

size_t fib_total(void)
{
	uint32_t n = fib_high_water();
	size_t total = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct fib *f = fib_at(i);

		if (exists(f) &&
		    !(fib_load(&f->lib.life, relaxed) & FIB_LIFE_MAIN))
			total++;
	}
	return total;
}

/* --- for schedulers ----------------------------------------------------------- */

struct fib *fib_make(struct fib_sched *s, void (*fn)(void *), void *arg,
		     int thread)
{
	struct fib *f = fib_entry_get();

	if (!f)
		return NULL;
	f->fn = fn;
	f->arg = arg;
	f->lib.sched = s;
	if (thread >= 0 && s->lib.threads > 1)
		f->lib.pin = s->worker[thread];
	fib_store(&f->lib.life, FIB_LIFE_SCHED | FIB_LIFE_DETACHED, relaxed);
	fib_store(&f->state, FIB_READY, release);
	return f;
}

struct fib *fib_spawn(void (*fn)(void *), void *arg, size_t stack_size)
{
	struct fib *f = fib_make(fib_sched_here(), fn, arg, FIB_ANY_THREAD);

	if (!f)
		return NULL;
	f->stack_size = FIB_ALIGN_UP(stack_size, FIB_PAGE) + FIB_PAGE;
	if (fib_prepare(f)) {
		drop(f);
		return NULL;
	}
	fib_work_begin(f->lib.sched);
	fib_add(&f->lib.sched->lib.nfibers, 1, relaxed);
	fib_launch(f);
	return f;
}
