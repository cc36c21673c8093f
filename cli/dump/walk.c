/*
 * One fiber and its backtrace as they are at one moment, see walk.h. Only a fiber
 * that is running needs its thread to hold still: its registers are nowhere
 * else. Any other one is copied before and after its stack is walked; where
 * the two differ the walk is made again, a few times.
 */
#include <stdio.h>
#include <string.h>
#include "cli/dump/walk.h"
#include "runtime/sched.h"
#include "runtime/seen.h"

#define TRIES 4

static void saved_registers(uint64_t sp, uint64_t regs[DUMP_REGS], bool *ok)
{
	struct fib_ctx_frame c;

	*ok = dump_read(sp, &c, sizeof(c));
	if (*ok)
		dump_regs_of_context(regs, &c, sp);
}

static void walk(const uint64_t regs[DUMP_REGS], struct dump_walk *w)
{
	w->n = dump_unwind(regs, w->frame, DUMP_FRAMES);
	if (dump_words_gone())
		w->note = "given up: its unwind tables lead nowhere";
}

/* False: it is not on a worker any more. */
static bool walk_running(uint64_t at, struct dump_walk *w)
{
	uint64_t regs[DUMP_REGS], cur = 0;
	struct fib_worker worker;
	const char *why;

	if (!dump_worker_at((uintptr_t)w->f.on, &worker) ||
	    (uintptr_t)worker.cur != at)
		return false;
	w->worker = worker.id;
	w->thread = worker.tid;
	why = dump_thread_stop(worker.tid, regs);
	if (why) {
		w->note = why;
		return true;
	}
	dump_cache_flush();
	if (dump_worker_runs((uintptr_t)w->f.on, &cur) && cur == at)
		walk(regs, w);
	dump_thread_go();
	return cur == at;
}

static bool same(const struct fib *a, const struct fib *b)
{
	return a->sp == b->sp && a->state == b->state && a->on == b->on &&
	       a->generation == b->generation && a->wait == b->wait &&
	       a->hook.call == b->hook.call;
}

static bool has_not_begun(struct dump_walk *w)
{
	w->note = "has not begun";
	w->frame[0] = (struct dump_frame){ (uintptr_t)w->f.fn, true };
	w->n = 1;
	return true;
}

/* Its one frame is what calls the fiber's function. */
static bool is_new(const struct dump_walk *w)
{
	return dump_is_lib && w->f.state == FIB_IS_READY && w->n == 1;
}

/*
 * Fibers of libfib that are on no worker and have nothing saved: such as have
 * not begun or have ended, and one that another has resumed by hand, on top of
 * which it lies: both are where that is.
 */
static bool is_elsewhere(struct dump_walk *w)
{
	static char note[96];

	if (!dump_is_lib)
		return false;
	if (w->f.state == FIB_SEEN_TERM)
		return true;
	if (w->f.state == FIB_IS_READY && !w->f.sp)
		return has_not_begun(w);
	if (w->f.state != FIB_IS_RUNNING || !(w->lib.life & FIB_SEEN_HAND))
		return false;
	snprintf(note, sizeof(note),
		 "resumed by fiber %ld, which has its frames",
		 dump_fib_index(w->lib.below));
	w->note = dump_fib_is_main(w->lib.below) ?
			  "resumed by a thread of the program" :
			  note;
	return true;
}

bool dump_walk(uint64_t at, struct dump_walk *w)
{
	struct fib after;

	for (int i = 0; i < TRIES; i++) {
		uint64_t regs[DUMP_REGS];
		bool ok;

		w->n = 0;
		w->note = NULL;
		w->thread = 0;
		if (!dump_fib(at, &w->f, &w->lib) || w->f.state == FIB_IS_FREE)
			return false;
		if (is_elsewhere(w))
			return true;
		if (w->f.state == FIB_IS_RUNNING) {
			if (w->f.on && walk_running(at, w))
				return true;
			continue;
		}
		dump_cache_flush();
		saved_registers((uintptr_t)w->f.sp, regs, &ok);
		if (ok)
			walk(regs, w);
		if (dump_fib(at, &after, NULL) && ok && same(&w->f, &after))
			return is_new(w) ? has_not_begun(w) : true;
	}
	w->n = 0;
	w->note = "changed while being read";
	return true;
}
