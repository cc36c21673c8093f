/* The futex table, see futex.h. */
#include <linux/futex.h>
#include "runtime/chaos.h"
#include "runtime/fault.h"
#include "runtime/futex.h"
#include "runtime/futex_table.h"
#include "runtime/timer.h"

static void lock_bucket(struct bucket *b)
{
	fib_lock(&b->lock);
	if (fib_unlikely(!b->waiters.next))
		fib_list_init(&b->waiters);
}

/* The bucket of @uaddr, locked. */
static struct bucket *lock_word(const uint32_t *uaddr)
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

	lock_bucket(first);
	if (second != first) {
		fib_lock_second(&second->lock);
		if (fib_unlikely(!second->waiters.next))
			fib_list_init(&second->waiters);
	}
	return fib_likely(!a->moved && !b->moved);
}

static void unlock_two(struct bucket *a, struct bucket *b)
{
	fib_unlock(&a->lock);
	if (b != a)
		fib_unlock(&b->lock);
}

static void lock_two(const uint32_t *x, const uint32_t *y, struct bucket **a,
		     struct bucket **b)
{
	for (;;) {
		fib_futex_two(x, y, a, b);
		if (try_two(*a, *b))
			return;
		unlock_two(*a, *b);
		fib_futex_grown();
	}
}

/* By priority, and in the order of their coming: __futex_queue(). */
void fib_futex_add_locked(struct bucket *b, struct waiter *w)
{
	struct fib_list *at = &b->waiters;

	while (fib_unlikely(w->priority) && at->prev != &b->waiters &&
	       fib_container_of(at->prev, struct waiter, node)->priority <
		       w->priority)
		at = at->prev;
	fib_list_add_tail(at, &w->node);
	fib_store(&w->bucket, b, release); /* it may be new */
}

/* One that is not dedicated is as its worker, which has none. */
static int own_priority(void)
{
	int priority = 0;

	if (fib_self()->bound && !fib_filtered())
		fib_raw(SYS_sched_getparam, 0, &priority);
	return priority;
}

static void give_up(struct waiter *w)
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

/*
 * Park until @w[0..n) has a woken one, the time is up, or a signal came. @uaddr
 * is for the dump; the waiter's own may be changed by a requeue at any time.
 */
static int sleep_on(const struct waiter *w, unsigned n, const uint32_t *uaddr,
		    uint64_t deadline_ns)
{
	fib_count(futex_waits);
	return fib_park_until(any_woken, &(struct sleep){ w, n }, deadline_ns,
			      FIB_WAIT_FUTEX, (uintptr_t)uaddr);
}

/* 0, -EAGAIN if *@uaddr is not @val, -EFAULT. */
static int compare(const uint32_t *uaddr, uint32_t val)
{
	uint32_t now;
	int r = fib_peek32(uaddr, &now);

	return r == 0 && now != val ? -EAGAIN : r;
}

/* Queue @w unless the word has changed. */
static int queue(struct waiter *w, uint32_t val)
{
	struct bucket *b;
	int r = compare(w->uaddr, val); /* a fault goes before the lock */

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
	r = compare(w->uaddr, val);
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
	struct waiter w = { .fib = fib_self(),
			    .uaddr = uaddr,
			    .bitset = bitset,
			    .priority = own_priority() };
	int r = queue(&w, val);

	if (r)
		return r;
	FIB_CHAOS_POINT(futex_queued);
	r = sleep_on(&w, 1, uaddr, deadline_ns);
	if (r)
		give_up(&w);
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
		w[queued].priority = own_priority();
		r = queue(&w[queued], word[queued].val);
		if (r)
			break;
	}
	if (r == 0)
		r = sleep_on(w, n, word->uaddr, deadline_ns);
	for (unsigned i = 0; i < queued; i++) {
		give_up(&w[i]);
		if (fib_load(&w[i].woken, acquire))
			woken = (int)i;
	}
	if (w != few)
		fib_pages_free(w, n * sizeof(*w));
	return woken >= 0 ? woken : r;
}

static void wake_locked(struct bucket *b, struct waiter *w)
{
	struct fib *f = w->fib;

	fib_list_del(&w->node);
	fib_sub(&b->count, 1, relaxed);
	fib_store(&w->woken, true, release);
	fib_wake(f);
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
		wake_locked(b, w);
		/* as the kernel does, a count of 0 wakes one */
		if (++woken >= n)
			break;
	}
	return woken;
}

int fib_futex_wake(uint32_t *uaddr, int n, uint32_t bitset)
{
	struct bucket *b;
	int woken;

	/* pairs with the waiter's add before it reads the word */
	fib_fence(seq_cst);
	if (!fib_load(&fib_futex_bucket(uaddr)->count, relaxed))
		return 0;
	b = lock_word(uaddr);
	woken = wake_some_locked(b, uaddr, n, bitset);
	fib_unlock(&b->lock);
	return woken;
}

static void move_locked(struct bucket *a, struct bucket *b, struct waiter *w,
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
	int woken = 0, moved = 0, r = cmp ? compare(from, *cmp) : 0;

	if (r)
		return r;
	lock_two(from, to, &a, &b);
	if (cmp)
		r = compare(from, *cmp);
	if (r) {
		unlock_two(a, b);
		return r;
	}
	fib_list_for_each (it, &a->waiters) {
		struct waiter *w = fib_container_of(it, struct waiter, node);

		if (w->uaddr != from)
			continue;
		if (w->pi_tid || w->requeue_to) {
			r = -EINVAL;
			break;
		}
		if (woken < nwake) {
			wake_locked(a, w);
			woken++;
		} else if (moved < nmove) {
			moved++;
			if (from != to)
				move_locked(a, b, w, to);
		} else {
			break;
		}
	}
	unlock_two(a, b);
	return r ? r : woken + moved;
}

static int apply_op(uint32_t *addr, uint32_t op, int *old)
{
	int arg = (int)(op << 8) >> 20;
	uint32_t was, is;
	int r = fib_peek32(addr, &was);

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
		r = fib_cas32(addr, &was, is);
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
	r = fib_touch32(b);
	if (r)
		return r;
	lock_two(a, b, &ba, &bb);
	r = apply_op(b, op, &old);
	if (r == 0)
		r = compare_op(op, old);
	if (r < 0) {
		unlock_two(ba, bb);
		return r;
	}
	woken = wake_some_locked(ba, a, nwake, FIB_FUTEX_ANY);
	if (r && woken >= 0) {
		r = wake_some_locked(bb, b, nwake2, FIB_FUTEX_ANY);
		woken = r < 0 ? r : woken + r;
	}
	unlock_two(ba, bb);
	return woken;
}

/* --- priority inheritance ------------------------------------------------- */

/* 1: *@uaddr was @was and is @is; 0: it was not; -EFAULT. */
static int swap(uint32_t *uaddr, uint32_t was, uint32_t is)
{
	return fib_cas32(uaddr, &was, is);
}

static bool has_waiter(const struct bucket *b, const uint32_t *uaddr)
{
	fib_list_for_each (it, &b->waiters)
		if (fib_container_of(it, struct waiter, node)->uaddr == uaddr)
			return true;
	return false;
}

/*
 * 0: it is ours; 1: we are queued; -errno. As futex_lock_pi_atomic() of
 * kernel/futex/pi.c: the bit is set before the owner is looked for.
 */
static int take_pi_locked(struct bucket *b, struct waiter *w, bool try_only,
			  bool (*alive)(uint32_t tid))
{
	for (;;) {
		uint32_t was, is, owner;
		int r = fib_peek32(w->uaddr, &was);

		if (r)
			return r;
		owner = was & FUTEX_TID_MASK;
		if (owner == w->pi_tid)
			return -EDEADLK;
		is = was | FUTEX_WAITERS;
		if (!owner) {
			is = (was & FUTEX_OWNER_DIED) | w->pi_tid;
			if (has_waiter(b, w->uaddr))
				is |= FUTEX_WAITERS;
		}
		r = swap(w->uaddr, was, is);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (!owner)
			return 0;
		if (!alive(owner))
			return -ESRCH;
		if (try_only)
			return -EAGAIN;
		fib_add(&b->count, 1, relaxed);
		fib_futex_add_locked(b, w);
		return 1;
	}
}

int fib_futex_lock_pi(uint32_t *uaddr, uint32_t tid, uint64_t deadline_ns,
		      bool try_only, bool (*alive)(uint32_t tid))
{
	struct bucket *b;
	struct waiter w = { .fib = fib_self(),
			    .uaddr = uaddr,
			    .priority = own_priority(),
			    .pi_tid = tid };
	uint32_t now;
	int r = fib_peek32(uaddr, &now);

	if (r == 0)
		r = (now & FUTEX_TID_MASK) == tid ? -EDEADLK :
						    fib_touch32(uaddr);
	if (r)
		return r;
	fib_futex_grow();
	b = lock_word(uaddr);
	r = take_pi_locked(b, &w, try_only, alive);
	fib_unlock(&b->lock);
	if (r <= 0)
		return r;
	r = sleep_on(&w, 1, uaddr, deadline_ns);
	if (r)
		give_up(&w);
	return fib_load(&w.woken, acquire) ? 0 : r;
}

int fib_futex_unlock_pi(uint32_t *uaddr, uint32_t tid, bool died)
{
	struct bucket *b;
	uint32_t bit = died ? FUTEX_OWNER_DIED : 0, was;
	int r = fib_peek32(uaddr, &was);

	if (r == 0)
		r = (was & FUTEX_TID_MASK) == tid ? fib_touch32(uaddr) : -EPERM;
	if (r)
		return r;
	b = lock_word(uaddr);
	for (;;) {
		struct waiter *next = NULL;
		uint32_t is = bit;

		r = fib_peek32(uaddr, &was);
		if (r == 0 && (was & FUTEX_TID_MASK) != tid)
			r = -EPERM;
		if (r)
			break;
		fib_list_for_each (it, &b->waiters) {
			struct waiter *w =
				fib_container_of(it, struct waiter, node);

			if (w->uaddr != uaddr || !w->pi_tid)
				continue;
			if (next) {
				is |= FUTEX_WAITERS;
				break;
			}
			next = w;
			is |= w->pi_tid;
		}
		r = swap(uaddr, was, is);
		if (r == 0)
			continue;
		if (r > 0 && next)
			wake_locked(b, next);
		break;
	}
	fib_unlock(&b->lock);
	return r < 0 ? r : 0;
}

/*
 * Waiting for a condition whose mutex is a PI one. The waiter says where it may
 * be moved to, and from then on is one of those who wait for that mutex. The
 * mover tries to take the mutex for the first of them. kernel/futex/requeue.c
 */
int fib_futex_wait_requeue_pi(uint32_t *from, uint32_t val, uint32_t *to,
			      uint32_t tid, uint64_t deadline_ns)
{
	struct waiter w = { .fib = fib_self(),
			    .uaddr = from,
			    .priority = own_priority(),
			    .requeue_to = to,
			    .requeue_tid = tid };
	int r;

	if (from == to)
		return -EINVAL;
	r = queue(&w, val);
	if (r)
		return r;
	r = sleep_on(&w, 1, from, deadline_ns);
	if (r)
		give_up(&w);
	if (fib_load(&w.woken, acquire))
		return 0;
	/* Waiting for the mutex already: not to be repeated. */
	return r == -EINTR && w.pi_tid ? -EAGAIN : r;
}

/* The mutex for @w, if it is free: 1; else 0 or -errno. */
static int take_for_locked(uint32_t *to, struct waiter *w, bool more,
			   bool (*alive)(uint32_t tid))
{
	for (;;) {
		uint32_t was, is, owner;
		int r = fib_peek32(to, &was);

		if (r)
			return r;
		owner = was & FUTEX_TID_MASK;
		if (owner == w->requeue_tid)
			return -EDEADLK;
		is = was | FUTEX_WAITERS;
		if (!owner)
			is = was | w->requeue_tid | (more ? FUTEX_WAITERS : 0);
		r = swap(to, was, is);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		if (!owner)
			return 1;
		return alive(owner) ? 0 : -ESRCH;
	}
}

int fib_futex_cmp_requeue_pi(uint32_t *from, uint32_t *to, int nmove,
			     uint32_t cmp, bool (*alive)(uint32_t tid))
{
	struct bucket *a, *b;
	int done = 0, r = compare(from, cmp);
	uint32_t now;

	if (r == 0)
		r = fib_peek32(to, &now);
	if (r)
		return r;
	fib_touch32(
		to); /* only if one waits does it matter whether it is there */
	lock_two(from, to, &a, &b);
	r = compare(from, cmp);
	fib_list_for_each (it, &a->waiters) {
		struct waiter *w = fib_container_of(it, struct waiter, node);

		if (r < 0 || done - 1 >= nmove)
			break;
		if (w->uaddr != from)
			continue;
		if (w->requeue_to != to || w->pi_tid) {
			r = -EINVAL;
			break;
		}
		if (!done)
			r = take_for_locked(to, w, nmove > 0, alive);
		if (r < 0)
			break;
		if (!done++ && r) {
			wake_locked(a, w);
			continue;
		}
		w->pi_tid = w->requeue_tid;
		w->requeue_to = NULL;
		move_locked(a, b, w, to);
	}
	unlock_two(a, b);
	return r < 0 ? r : done;
}
