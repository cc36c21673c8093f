/*
 * The threads of the program. threads.h tells of ids and of dedicated fibers.
 *
 * An id lies between 2^22 (no kernel thread's is higher) and 2^28 (thread CPU
 * clocks shift them by three), and names the slab entry and its generation, so
 * that it is not soon given again. Main's is the process id.
 */
#include <sched.h>
#include "hooks/core/threads.h"
#include "hooks/core/hook.h"

#define TID_FIRST (1 << 22)
#define TID_LIMIT (1 << 28)

#define DEADLINE   6  /* SCHED_DEADLINE, linux/sched.h */
#define ATTR_WORDS 14 /* SCHED_ATTR_SIZE_VER1 / 4, linux/sched/types.h */

struct fib *fib_main_fiber;
static uint32_t tid_base; /* added to all, so that processes differ */
static _Atomic uint32_t real_tids;
static _Atomic int32_t live;	/* fibers that have not ended, main included */
static _Atomic int32_t unended; /* the same, but for those about to be joined */
static _Atomic int32_t aparts;	/* of these, those that are dedicated */
static _Atomic int32_t loops;	/* and those that are bound as event loops */
static _Atomic bool restricted; /* one has changed what it may do */

void fib_tids_init(void)
{
	uint32_t r = 0;

	fib_raw(SYS_getrandom, &r, sizeof(r), 0);
	tid_base = r % (TID_LIMIT - TID_FIRST);
	fib_store(&live, 1, relaxed);
	fib_store(&unended, 1, relaxed);
	fib_store(&aparts, 0, relaxed);
	fib_store(&loops, 0, relaxed);
	fib_store(&restricted, false, relaxed);
}

static int tid_of(const struct fib *f)
{
	uint32_t n = (f->generation << FIB_INDEX_BITS | f->index) + tid_base;

	return (int)(TID_FIRST + n % (TID_LIMIT - TID_FIRST));
}

bool fib_tids_are_real(void)
{
	return fib_load(&real_tids, relaxed);
}

int fib_new_tid(const struct fib *f)
{
	return fib_tids_are_real() ? fib_load(&f->bound->tid, relaxed) :
				     tid_of(f);
}

void fib_thread_began(const struct fib *f)
{
	fib_add(&live, 1, seq_cst);
	fib_add(&unended, 1, relaxed);
	if (f->thread.apart)
		fib_add(&aparts, 1, seq_cst);
}

bool fib_thread_is_last(void)
{
	return fib_sub(&unended, 1, acq_rel) == 1;
}

void fib_thread_ended(const struct fib *f)
{
	if (f->thread.apart)
		fib_sub(&aparts, 1, seq_cst);
	if (f->thread.loops)
		fib_sub(&loops, 1, relaxed);
	fib_sub(&live, 1, seq_cst);
}

int fib_threads_live(void)
{
	return fib_load(&live, acquire);
}

/* Who would have @tid, which is none of the kernel's. */
static struct fib *place_of(int tid)
{
	uint32_t span = TID_LIMIT - TID_FIRST;
	uint32_t n =
		((uint32_t)(tid - TID_FIRST) + span - tid_base % span) % span;

	return fib_at(n & (FIB_MAX - 1));
}

bool fib_ends_now(int tid)
{
	struct fib *f =
		tid < TID_FIRST || tid >= TID_LIMIT ? NULL : place_of(tid);

	return f && fib_load(&f->thread.ends, acquire) == tid;
}

struct fib *fib_by_tid(int tid)
{
	struct fib *f = fib_main_fiber;

	if (f && fib_load(&f->tid, relaxed) == tid)
		return f;
	if (tid > 0 && tid < TID_FIRST && fib_load(&real_tids, relaxed))
		return fib_bound_to(tid);
	if (tid < TID_FIRST || tid >= TID_LIMIT)
		return NULL;
	f = place_of(tid);
	return f && fib_load(&f->tid, acquire) == tid ? f : NULL;
}

/* Main is on the first kernel thread until it parks for the first time. */
static void be_real(void)
{
	struct fib *f = fib_self();

	if (f == fib_main_fiber && fib_load(&fib_worker_self()->tid, relaxed) ==
					   fib_load(&f->tid, relaxed))
		fib_bind_self();
}

void fib_tids_real(bool active)
{
	fib_store(&real_tids, 1, relaxed);
	if (active)
		be_real();
}

/* --- those with a kernel thread unlike the others' -------------------------- */

void fib_set_apart(struct fib *f)
{
	if (!fib_xchg(fib_shared(&f->thread.apart), true, seq_cst))
		fib_add(&aparts, 1, seq_cst);
}

int fib_dedicate(void)
{
	struct fib *f = fib_self();
	int r = fib_bind_self();

	if (r == 0 && !f->thread.apart)
		fib_set_apart(f);
	return r;
}

int fib_common_tid(void)
{
	for (uint32_t i = 0; i < fib_load(&fib_sched.workers, acquire); i++) {
		struct fib_worker *w = fib_sched.worker[i];

		if (!w->bound && !fib_load(&w->gone, relaxed))
			return fib_load(&w->tid, relaxed);
	}
	return 0;
}

/* As the kernel counts it: the lower, the more. Not known: as all are by default. */
static int kernel_prio(int tid)
{
	uint32_t a[ATTR_WORDS]; /* size, policy, flags, flags, nice, priority */

	if (fib_raw(SYS_sched_getattr, tid, a, sizeof(a), 0) < 0)
		return 120;
	if (a[1] == DEADLINE)
		return -1;
	if (a[1] == SCHED_FIFO || a[1] == SCHED_RR)
		return 99 - (int)a[5];
	return 120 + (int)a[4];
}

bool fib_is_above(void)
{
	struct fib *f = fib_self();
	int common;

	if (fib_likely(!f->bound) || !f->thread.apart || fib_filtered())
		return false;
	common = fib_common_tid();
	return common && kernel_prio(0) < kernel_prio(common);
}

#define LOOPS_MOST 64

void fib_bind_loop(void)
{
	struct fib *f = fib_self();

	f->thread.loops = fib_add(&loops, 1, relaxed) < LOOPS_MOST &&
			  fib_bind_self() == 0;
	if (!f->thread.loops)
		fib_sub(&loops, 1, relaxed);
}

int fib_loops_left(void)
{
	return LOOPS_MOST - fib_load(&loops, relaxed);
}

/*
 * Where all threads are dedicated, the process may do no more than they: natively
 * there is nobody else. So kernel threads of ours that run none of them are
 * replaced by such as one of them has made, the model, which lives: they may do
 * what it may. That is so from when
 *
 * - a thread changes what it may do, and all are dedicated: it becomes the model;
 * - the last one ends that was not dedicated, or the model ends: another one is
 *   asked to be it, and hands that on if it ends before (ask_renewer()).
 *
 * A filter may forbid to make threads, and may kill those that there are. So it is
 * tried before it is installed (hooks/process/filter.c), and who is confined by one
 * that would is no model; if all are, our threads stay as they are.
 *
 * Counted so that there may seem to be one that is not dedicated too many, and
 * never one too few.
 */
static bool all_apart(void)
{
	return fib_load(&aparts, seq_cst) &&
	       fib_load(&live, seq_cst) <= fib_load(&aparts, seq_cst);
}

void fib_filter_used(bool strict, bool confines)
{
	struct fib *f = fib_self();

	f->call.plain |= FIB_FILES | FIB_PLAIN;
	f->thread.confined |= confines;
	fib_worker_self()->process.filtered = true;
	fib_worker_self()->process.strict = strict;
}

bool fib_threads_renew(void)
{
	return fib_load(&restricted, seq_cst) && all_apart();
}

void fib_rights_changed(void)
{
	fib_store(&restricted, true, seq_cst);
	if (fib_threads_renew() && !fib_self()->thread.confined)
		fib_sched_renew(&fib_sched);
}
