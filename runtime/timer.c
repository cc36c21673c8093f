/* Timers, see timer.h. */
#include <sys/mman.h>
#include "runtime/chaos.h"
#include "runtime/runq.h"
#include "runtime/timer.h"

#define FIRST_SIZE 512u

static void place(struct fib_timer_heap *h, uint32_t i, struct fib_timer *t)
{
	h->node[i] = t;
	fib_store(&t->pos, i + 1, relaxed);
}

static void sift_up(struct fib_timer_heap *h, uint32_t i, struct fib_timer *t)
{
	while (i > 0) {
		uint32_t up = (i - 1) / 4;

		if (h->node[up]->deadline_ns <= t->deadline_ns)
			break;
		place(h, i, h->node[up]);
		i = up;
	}
	place(h, i, t);
}

static void sift_down(struct fib_timer_heap *h, uint32_t i, struct fib_timer *t)
{
	for (;;) {
		uint32_t first = i * 4 + 1, least = first;

		if (first >= h->count)
			break;
		for (uint32_t c = first + 1; c < first + 4 && c < h->count; c++)
			if (h->node[c]->deadline_ns <
			    h->node[least]->deadline_ns)
				least = c;
		if (h->node[least]->deadline_ns >= t->deadline_ns)
			break;
		place(h, i, h->node[least]);
		i = least;
	}
	place(h, i, t);
}

#define TOP 5 /* the root, and one of these is next */

static void publish_next(struct fib_timer_heap *h)
{
	uint64_t after = FIB_NEVER;

	for (uint32_t i = 1; i < TOP && i < h->count; i++)
		if (h->node[i]->deadline_ns < after)
			after = h->node[i]->deadline_ns;
	fib_store(&h->next_ns, h->count ? h->node[0]->deadline_ns : FIB_NEVER,
		  release);
	fib_store(&h->after_ns, after, relaxed);
}

void fib_timer_remove_locked(struct fib_timer_heap *h, struct fib_timer *t)
{
	uint32_t i = fib_load(&t->pos, relaxed) - 1;
	struct fib_timer *last = h->node[--h->count];

	fib_store(&t->pos, 0, relaxed);
	if (last != t) {
		if (i > 0 &&
		    last->deadline_ns < h->node[(i - 1) / 4]->deadline_ns)
			sift_up(h, i, last);
		else
			sift_down(h, i, last);
	}
	/*
	 * Others' timers lie on their stacks: no look for nothing. @last may have risen
	 * among the first as well, but one of these came before it then.
	 */
	if (i < TOP)
		publish_next(h);
}

static void free_nodes(struct fib_timer_heap *h)
{
	if (h->node != h->few)
		fib_pages_free(h->node, h->size * sizeof(*h->node));
}

static int grow_locked(struct fib_timer_heap *h)
{
	uint32_t size = h->node != h->few ? h->size * 2 : FIRST_SIZE;
	struct fib_timer **node = fib_pages_alloc(size * sizeof(*node));

	if (!node)
		return -ENOMEM;
	memcpy(node, h->node, h->count * sizeof(*node));
	free_nodes(h);
	h->node = node;
	h->size = size;
	return 0;
}

int fib_timer_insert_locked(struct fib_timer_heap *h, struct fib_timer *t,
			    uint64_t deadline_ns)
{
	if (h->count == h->size && grow_locked(h))
		return -ENOMEM;
	t->deadline_ns = deadline_ns;
	t->heap = h;
	fib_store(&t->fired, false, relaxed);
	sift_up(h, h->count++, t);
	if (fib_load(&t->pos, relaxed) <= TOP)
		publish_next(h);
	return 0;
}

/* *@first: no other one in @h comes before it. */
static int insert(struct fib_timer_heap *h, struct fib_timer *t,
		  uint64_t deadline_ns, bool *first)
{
	int r;

	fib_lock(&h->lock);
	r = fib_timer_insert_locked(h, t, deadline_ns);
	*first = r == 0 && h->node[0] == t;
	fib_unlock(&h->lock);
	if (r)
		t->heap = NULL;
	return r;
}

int fib_timer_arm_in(struct fib_sched *s, struct fib_timer_heap *h,
		     struct fib_timer *t, uint64_t deadline_ns)
{
	bool first;
	int r = insert(h, t, deadline_ns, &first);

	if (first)
		fib_sched_deadline(s, deadline_ns);
	return r;
}

int fib_timer_arm(struct fib_timer *t, struct fib *fib, uint64_t deadline_ns)
{
	struct fib_worker *w = fib_worker_self();
	bool first;
	int r;

	t->fib = fib;
	if (fib_unlikely(w->bound)) {
		t->deadline_ns = deadline_ns;
		w->alarm = t;
		return 0;
	}
	r = insert(fib_host_heap(w), t, deadline_ns, &first);
	if (first && fib_host_runs_others(w))
		w->took_wake = true; /* idle.c */
	else if (first)
		fib_sched_deadline(fib_sched_of(w), deadline_ns);
	return r;
}

int fib_park_timed(struct fib *f, bool (*done)(const void *arg),
		   const void *arg)
{
	struct fib_timer timer;
	int r;

	fib_timer_init(&timer);
	r = fib_timer_arm(&timer, f, f->wait_deadline);
	while (r == 0 && !done(arg)) {
		if (fib_load(&timer.fired, acquire) && !fib_host_stopped(f))
			r = -ETIMEDOUT;
		else if (fib_host_attention(f))
			r = -EINTR;
		else
			fib_park();
	}
	fib_timer_disarm(&timer);
	return r;
}

void fib_timer_alarm(struct fib_worker *w)
{
	struct fib_timer *t = w->alarm;

	w->alarm = NULL;
	fib_store(&t->fired, true, release);
	fib_host_fire(t);
	fib_count(timer_fires);
}

void fib_timer_filter_locked(struct fib_timer_heap *h,
			     bool (*keep)(struct fib_timer *t))
{
	uint32_t n = h->count;

	h->count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (keep(h->node[i]))
			place(h, h->count++, h->node[i]);
	for (uint32_t i = h->count / 4 + 1; i-- > 0;)
		if (i < h->count)
			sift_down(h, i, h->node[i]);
	publish_next(h);
}

void fib_timer_heap_init(struct fib_timer_heap *h)
{
	fib_lock_init(&h->lock, TIMERS);
	if (!h->node) {
		h->node = h->few;
		h->size = FIB_TIMERS_FEW;
	}
	fib_store(&h->next_ns, FIB_NEVER, relaxed);
	fib_store(&h->after_ns, FIB_NEVER, relaxed);
}

void fib_timer_heap_fini(struct fib_timer_heap *h)
{
	free_nodes(h);
	h->node = NULL;
}

void fib_timer_disarm(struct fib_timer *t)
{
	struct fib_timer_heap *h = t->heap;

	if (!h) {
		if (fib_worker_self()->alarm == t)
			fib_worker_self()->alarm = NULL;
		return;
	}
	fib_lock(&h->lock);
	if (fib_load(&t->pos, relaxed))
		fib_timer_remove_locked(h, t);
	fib_unlock(&h->lock);
	t->heap = NULL;
}

unsigned fib_timers_run(struct fib_timer_heap *h, uint64_t now_ns)
{
	unsigned n = 0;

	if (fib_load(&h->next_ns, acquire) > now_ns)
		return 0;
	fib_lock(&h->lock);
	while (h->count && h->node[0]->deadline_ns <= now_ns) {
		struct fib_timer *t = h->node[0];

		fib_timer_remove_locked(h, t);
		fib_store(&t->fired, true, release);
		fib_host_fire(t);
		fib_count(timer_fires);
		n++;
	}
	fib_unlock(&h->lock);
	return n;
}
