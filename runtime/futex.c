/* The futex table, see futex.h. */
#include "runtime/futex_int.h"

static void lock_bucket(struct bucket *b)
{
	fib_lock(&b->lock);
	if (fib_unlikely(!b->waiters.next))
		fib_list_init(&b->waiters);
}

struct bucket *fib_futex_lock_word(const uint32_t *uaddr)
{
	for (;;) {
		struct bucket *b = fib_futex_bucket(uaddr);

		lock_bucket(b);
		if (fib_likely(!b->moved))
			return b;
		fib_unlock(&b->lock);
		fib_futex_grown();
	}
}

static bool try_two(struct bucket *a, struct bucket *b)
{
	struct bucket *first = a < b ? a : b, *second = a < b ? b : a;

	fib_bell_hold();
	lock_bucket(first);
	if (second != first) {
		fib_lock_second(&second->lock);
		if (fib_unlikely(!second->waiters.next))
			fib_list_init(&second->waiters);
	}
	return fib_likely(!a->moved && !b->moved);
}

void fib_futex_unlock_two(struct bucket *a, struct bucket *b)
{
	fib_unlock(&a->lock);
	if (b != a)
		fib_unlock(&b->lock);
	fib_bell_release(fib_worker_self());
}

void fib_futex_lock_two(const uint32_t *x, const uint32_t *y, struct bucket **a,
			struct bucket **b)
{
	for (;;) {
		fib_futex_two(x, y, a, b);
		if (try_two(*a, *b))
			return;
		fib_futex_unlock_two(*a, *b);
		fib_futex_grown();
	}
}

static bool is_before(const struct waiter *w, const struct waiter *x)
{
	if (w->priority != x->priority)
		return w->priority > x->priority;
	return w->ticket - 1 < x->ticket - 1; /* 0 is the last */
}

/*
 * By priority, and in the order of their coming: __futex_queue(). But who has a ticket has
 * been passed over often: sched.h.
 */
void fib_futex_add_locked(struct bucket *b, struct waiter *w)
{
	struct fib_list *at = &b->waiters;

	while (fib_unlikely(w->priority || w->ticket) &&
	       at->prev != &b->waiters &&
	       is_before(w, fib_container_of(at->prev, struct waiter, node)))
		at = at->prev;
	fib_list_add_tail(at, &w->node);
	fib_store(&w->bucket, b, release); /* it may be new */
}

static _Atomic uint32_t priority_changes;

void fib_futex_priority_changed(void)
{
	fib_add(&priority_changes, 1, seq_cst);
}

/* 10 ms or so: other processes may change it. */
#define PRIORITY_CYCLES 20000000u

/* One that is not dedicated is as its worker, which has none. */
int fib_futex_priority(void)
{
	struct fib_worker *w = fib_self()->bound;
	uint32_t changes;
	uint64_t now;

	if (fib_likely(!w) || fib_filtered())
		return 0;
	changes = fib_load(&priority_changes, acquire);
	now = fib_host_has_tsc(w) ? fib_cycles() : 0;
	if (!now || !w->priority.since ||
	    now - w->priority.since > PRIORITY_CYCLES ||
	    w->priority.changes != changes) {
		w->priority.is = 0;
		fib_raw(SYS_sched_getparam, 0, &w->priority.is);
		w->priority.since = now;
		w->priority.changes = changes;
	}
	return w->priority.is;
}

void fib_futex_give_up(struct waiter *w)
{
	for (;;) {
		struct bucket *b = fib_load(&w->bucket, acquire);

		FIB_CHAOS_POINT(futex_give_up);
		fib_lock(&b->lock);
		if (b == fib_load(&w->bucket, relaxed)) {
			if (!fib_load(&w->woken, relaxed)) {
				fib_list_del(&w->node);
				fib_sub(&b->count, 1, relaxed);
			}
			fib_unlock(&b->lock);
			return;
		}
		fib_unlock(&b->lock);
	}
}

struct sleep {
	const struct waiter *w;
	unsigned n;
};

static bool any_woken(const void *arg)
{
	const struct sleep *s = arg;

	for (unsigned i = 0; i < s->n; i++)
		if (fib_load(&s->w[i].woken, acquire))
			return true;
	return false;
}

int fib_futex_sleep(const struct waiter *w, unsigned n, const uint32_t *uaddr,
		    uint64_t deadline_ns)
{
	fib_worker_count(fib_worker_self(), FIB_STAT_futex_waits, 1);
	return fib_park_until(any_woken, &(struct sleep){ w, n }, deadline_ns,
			      FIB_WAIT_FUTEX, (uintptr_t)fib_futex_word(uaddr));
}

int fib_futex_compare(const uint32_t *uaddr, uint32_t val)
{
	uint32_t now;
	int r = fib_peek32(fib_futex_word(uaddr), &now);

	return r == 0 && now != val ? -EAGAIN : r;
}

int fib_futex_queue(struct waiter *w, uint32_t val)
{
	struct bucket *b;
	int r = fib_futex_compare(w->uaddr,
				  val); /* a fault goes before the lock */

	if (r)
		return r;
	fib_futex_grow();
	for (;;) {
		b = fib_futex_bucket(w->uaddr);
		fib_add(&b->count, 1, seq_cst);
		lock_bucket(b);
		if (fib_likely(!b->moved))
			break;
		fib_sub(&b->count, 1, relaxed);
		fib_unlock(&b->lock);
		fib_futex_grown();
	}
	r = fib_futex_compare(w->uaddr, val);
	if (r)
		fib_sub(&b->count, 1, relaxed);
	else
		fib_futex_add_locked(b, w);
	fib_unlock(&b->lock);
	return r;
}

int fib_futex_wait(uint32_t *uaddr, uint32_t val, uint32_t bitset,
		   uint64_t deadline_ns)
{
	struct waiter w;
	int r;

	/* One by one: to zero it all takes as long as to queue it. */
	w.fib = fib_self();
	w.uaddr = uaddr;
	w.bitset = bitset;
	w.priority = fib_futex_priority();
	w.ticket = fib_unlikely(w.fib->passed_over == FIB_PASSED_OFTEN) ?
			   w.fib->ticket :
			   0;
	w.pi_tid = w.requeue_tid = 0;
	w.requeue_to = NULL;
	fib_store(&w.woken, false, relaxed);
	r = fib_futex_queue(&w, val);
	if (r)
		return r;
	FIB_CHAOS_POINT(futex_queued);
	r = fib_futex_sleep(&w, 1, uaddr, deadline_ns);
	if (r)
		fib_futex_give_up(&w);
	return fib_load(&w.woken, acquire) ? 0 : r;
}

int fib_futex_waitv(const struct fib_futex_word *word, unsigned n,
		    uint64_t deadline_ns)
{
	struct waiter few[FIB_FUTEX_FEW], *w = few;
	unsigned queued = 0;
	int r = 0, woken = -1;

	if (n > FIB_FUTEX_FEW)
		w = fib_pages_alloc(n * sizeof(*w));
	if (!w)
		return -ENOMEM;
	memset(w, 0, n * sizeof(*w));
	for (; r == 0 && queued < n; queued++) {
		w[queued].fib = fib_self();
		w[queued].uaddr = word[queued].uaddr;
		w[queued].bitset = FIB_FUTEX_ANY;
		w[queued].priority = fib_futex_priority();
		r = fib_futex_queue(&w[queued], word[queued].val);
		if (r)
			break;
	}
	if (r == 0)
		r = fib_futex_sleep(w, n, word->uaddr, deadline_ns);
	for (unsigned i = 0; i < queued; i++) {
		fib_futex_give_up(&w[i]);
		if (fib_load(&w[i].woken, acquire))
			woken = (int)i;
	}
	if (w != few)
		fib_pages_free(w, n * sizeof(*w));
	return woken >= 0 ? woken : r;
}

void fib_futex_wake_locked(struct bucket *b, struct waiter *w)
{
	struct fib_worker *self = fib_worker_self();
	struct fib *f = w->fib;

	fib_list_del(&w->node);
	fib_sub(&b->count, 1, relaxed);
	fib_store(&w->woken, true, release);
	fib_wake(f);
	if (self)
		fib_worker_count(self, FIB_STAT_futex_wakes, 1);
	else
		fib_count(futex_wakes);
}

static int wake_some_locked(struct bucket *b, uint32_t *uaddr, int n,
			    uint32_t bitset)
{
	int woken = 0;

	fib_list_for_each (it, &b->waiters) {
		struct waiter *w = fib_container_of(it, struct waiter, node);

		if (w->uaddr != uaddr)
			continue;
		if (w->pi_tid || w->requeue_to)
			return -EINVAL;
		if (!(w->bitset & bitset))
			continue;
		fib_futex_wake_locked(b, w);
		/* as the kernel does, a count of 0 wakes one */
		if (++woken >= n)
			break;
	}
	return woken;
}

int fib_futex_wake(uint32_t *uaddr, int n, uint32_t bitset)
{
	struct fib_worker *self;
	struct bucket *b;
	int woken;

	/* pairs with the waiter's add before it reads the word */
	fib_fence(seq_cst);
	if (!fib_load(&fib_futex_bucket(uaddr)->count, relaxed))
		return 0;
	self = fib_bell_hold();
	b = fib_futex_lock_word(uaddr);
	woken = wake_some_locked(b, uaddr, n, bitset);
	fib_unlock(&b->lock);
	fib_bell_release(self);
	return woken;
}

void fib_futex_move_locked(struct bucket *a, struct bucket *b, struct waiter *w,
			   uint32_t *to)
{
	fib_list_del(&w->node);
	fib_sub(&a->count, 1, relaxed);
	w->uaddr = to;
	fib_add(&b->count, 1, relaxed);
	fib_futex_add_locked(b, w);
}

int fib_futex_requeue(uint32_t *from, uint32_t *to, int nwake, int nmove,
		      const uint32_t *cmp)
{
	struct bucket *a, *b;
	int woken = 0, moved = 0, r = cmp ? fib_futex_compare(from, *cmp) : 0;

	if (r)
		return r;
	fib_futex_lock_two(from, to, &a, &b);
	if (cmp)
		r = fib_futex_compare(from, *cmp);
	if (r) {
		fib_futex_unlock_two(a, b);
		return r;
	}
	fib_list_for_each (it, &a->waiters) {
		struct waiter *w = fib_container_of(it, struct waiter, node);

		if (woken >= nwake && moved >= nmove)
			break;
		if (w->uaddr != from)
			continue;
		if (w->pi_tid || w->requeue_to) {
			r = -EINVAL;
			break;
		}
		if (woken < nwake) {
			fib_futex_wake_locked(a, w);
			woken++;
		} else {
			moved++;
			if (from != to)
				fib_futex_move_locked(a, b, w, to);
		}
	}
	fib_futex_unlock_two(a, b);
	return r ? r : woken + moved;
}

static int apply_op(uint32_t *addr, uint32_t op, int *old)
{
	int arg = (int)(op << 8) >> 20;
	uint32_t was, is;
	int r = fib_peek32(fib_futex_word(addr), &was);

	if (op & ((uint32_t)FUTEX_OP_OPARG_SHIFT << 28))
		arg = (int)(1u << (arg & 31));
	while (r == 0) {
		switch (op >> 28 & 7) {
		case FUTEX_OP_SET:
			is = (uint32_t)arg;
			break;
		case FUTEX_OP_ADD:
			is = was + (uint32_t)arg;
			break;
		case FUTEX_OP_OR:
			is = was | (uint32_t)arg;
			break;
		case FUTEX_OP_ANDN:
			is = was & ~(uint32_t)arg;
			break;
		default:
			is = was ^ (uint32_t)arg;
			break;
		}
		r = fib_cas32(fib_futex_word(addr), &was, is);
	}
	*old = (int)was;
	return r < 0 ? r : 0;
}

static int compare_op(uint32_t op, int old)
{
	int arg = (int)(op << 20) >> 20;

	switch (op >> 24 & 15) {
	case FUTEX_OP_CMP_EQ:
		return old == arg;
	case FUTEX_OP_CMP_NE:
		return old != arg;
	case FUTEX_OP_CMP_LT:
		return old < arg;
	case FUTEX_OP_CMP_GE:
		return old >= arg;
	case FUTEX_OP_CMP_LE:
		return old <= arg;
	case FUTEX_OP_CMP_GT:
		return old > arg;
	default:
		return -ENOSYS;
	}
}

int fib_futex_wake_op(uint32_t *a, uint32_t *b, int nwake, int nwake2,
		      uint32_t op)
{
	struct bucket *ba, *bb;
	int old = 0, woken, r;

	if ((op >> 28 & 7) > FUTEX_OP_XOR)
		return -ENOSYS;
	r = fib_touch32(fib_futex_word(b));
	if (r)
		return r;
	fib_futex_lock_two(a, b, &ba, &bb);
	r = apply_op(b, op, &old);
	if (r == 0)
		r = compare_op(op, old);
	if (r < 0) {
		fib_futex_unlock_two(ba, bb);
		return r;
	}
	woken = wake_some_locked(ba, a, nwake, FIB_FUTEX_ANY);
	if (r && woken >= 0) {
		r = wake_some_locked(bb, b, nwake2, FIB_FUTEX_ANY);
		woken = r < 0 ? r : woken + r;
	}
	fib_futex_unlock_two(ba, bb);
	return woken;
}
