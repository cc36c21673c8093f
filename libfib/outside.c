/* Queueing for one thread alone, and from threads of no scheduler. See lib.h. */
#include <linux/futex.h>
#include "libfib/lib.h"
#include "runtime/runq.h"

void fib_push_pinned(struct fib_sched *s, struct fib *f)
{
	struct fib_worker *w = f->lib.pin;

	fib_lock(&w->lock);
	fib_list_add_tail(&w->lib.pinned, &f->run);
	fib_add(&w->lib.npinned, 1, relaxed);
	fib_unlock(&w->lock);
	fib_fence(seq_cst);
	if (fib_load(&w->idle, relaxed))
		fib_notify_one(s);
}

/*
 * Who sleeps in epoll_wait cannot be woken by name. A worker that has nothing
 * to do, and sees that one that sleeps has, sends the wake-up on and stays out
 * of the way until that one is up: so it gets there, whomever the kernel picks.
 */
void fib_make_way(struct fib_worker *w)
{
	struct fib_sched *s = fib_sched_of(w);
	uint32_t n = fib_load(&s->workers, acquire);

	for (uint32_t i = 0; i < n; i++) {
		struct fib_worker *v = s->worker[i];

		if (v == w || !fib_host_sleeper_has_work(v))
			continue;
		fib_notify_one(s);
		fib_add(&s->lib.way_waiters, 1, seq_cst);
		for (;;) {
			uint32_t seq = fib_load(&s->lib.way, acquire);

			fib_fence(seq_cst);
			if (!fib_host_sleeper_has_work(v))
				break;
			fib_raw(SYS_futex, &s->lib.way, FUTEX_WAIT_PRIVATE, seq,
				0);
		}
		fib_sub(&s->lib.way_waiters, 1, relaxed);
	}
}

/* By a thread that is none of @s's, which may come to its end meanwhile. */
void fib_queue_from_outside(struct fib_sched *s, struct fib *f)
{
	fib_add(&s->lib.visitors, 1, seq_cst);
	if (f->lib.pin) {
		fib_push_pinned(s, f);
	} else {
		fib_runq_inject(s, f);
		fib_fence(seq_cst);
		if (fib_load(&s->nidle, relaxed))
			fib_notify_one(s);
	}
	fib_sub(&s->lib.visitors, 1, release);
}
