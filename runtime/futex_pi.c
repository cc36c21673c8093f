/*
 * Mutexes with priority inheritance, but for the inheritance, and conditions whose
 * mutex is one: futex.h. kernel/futex/pi.c, kernel/futex/requeue.c.
 *
 * Who waits for whom. A fiber's pi_wait is its waiter from before it is queued
 * until it has left the queue, and changes under pi_lock alone. So who holds
 * that lock may follow the chain from a word to its owner, to the word which
 * that one waits for, and so on. Where it comes back to the caller, the cycle is
 * whole: each in it was waiting already when the lock was taken, goes on
 * waiting as long as it is held, and meanwhile gets no word and gives none back.
 * What is seen of a chain that ends elsewhere may have changed, and is not used.
 *
 * An owner that ends hands on what is waited for, and is no fiber any more by then:
 *
 *	who waits			owner
 *	---------			-----
 *	lock pi_lock			tid = 0, fence		(B)
 *	pi_waiting++		(A)	pi_waiting? no: done
 *	fiber(owner)? no: -ESRCH	lock pi_lock
 *	queued, pi_wait = w		each pi_wait on a word of the owner:
 *	unlock				  unlock; to the first who waits there
 */
#include "runtime/futex_int.h"

static struct fib_lock pi_lock = FIB_LOCK(FUTEX_PI);
static _Atomic uint32_t pi_waiting;
static struct fib_list all = { &all, &all };

struct pi_waiter {
	struct waiter w;
	struct fib_list node; /* of all */
};

static void chain_enter_locked(struct pi_waiter *p)
{
	fib_add(&pi_waiting, 1, seq_cst); /* (A) */
	fib_list_add_tail(&all, &p->node);
	p->w.fib->pi_wait = &p->w;
}

static void chain_leave_locked(struct pi_waiter *p)
{
	p->w.fib->pi_wait = NULL;
	fib_list_del(&p->node);
	fib_sub(&pi_waiting, 1, relaxed);
}

static void chain_leave(struct pi_waiter *p, bool give_up)
{
	fib_lock(&pi_lock);
	if (give_up)
		fib_futex_give_up(&p->w);
	chain_leave_locked(p);
	fib_unlock(&pi_lock);
}

/* Whose is the word for which @w waits? 0: nobody's, or it does not wait. */
static uint32_t waits_for_locked(const struct waiter *w)
{
	uint32_t now;

	if (!w || !w->pi_tid || fib_load(&w->woken, acquire) ||
	    fib_peek32(fib_futex_word(w->uaddr), &now))
		return 0;
	return now & FUTEX_TID_MASK;
}

/* Does @w wait for itself in the end? A cycle of others is not followed twice. */
static bool deadlock_locked(const struct waiter *w,
			    struct fib *(*fiber)(uint32_t tid))
{
	uint32_t most = fib_load(&pi_waiting, relaxed);
	const struct waiter *at = w;

	while (most--) {
		uint32_t owner = waits_for_locked(at);
		const struct fib *f = owner ? fiber(owner) : NULL;

		if (owner == w->pi_tid)
			return true;
		if (!f)
			return false;
		at = f->pi_wait;
	}
	return false;
}

/* A word of @tid's for which one waits; NULL: none. */
static uint32_t *waited_for(uint32_t tid)
{
	uint32_t *uaddr = NULL;

	fib_lock(&pi_lock);
	fib_list_for_each (it, &all) {
		const struct waiter *w =
			&fib_container_of(it, struct pi_waiter, node)->w;

		if (waits_for_locked(w) == tid) {
			uaddr = w->uaddr;
			break;
		}
	}
	fib_unlock(&pi_lock);
	return uaddr;
}

void fib_futex_pi_gone(uint32_t tid)
{
	uint32_t *uaddr;

	fib_fence(seq_cst); /* (B) */
	if (fib_likely(!fib_load(&pi_waiting, relaxed)))
		return;
	while ((uaddr = waited_for(tid)))
		if (fib_futex_unlock_pi(uaddr, tid, true))
			break;
}

/* Those who waited lie on stacks that may be gone. */
void fib_futex_pi_reset(void)
{
	uint32_t n = fib_load(&pi_waiting, relaxed) ? fib_high_water() : 0;

	for (uint32_t i = 0; i < n; i++)
		fib_at(i)->pi_wait = NULL;
	fib_lock_init(&pi_lock, FUTEX_PI);
	fib_store(&pi_waiting, 0, relaxed);
	fib_list_init(&all);
}

/* 1: *@uaddr was @was and is @is; 0: it was not; -EFAULT. */
static int swap(uint32_t *uaddr, uint32_t was, uint32_t is)
{
	return fib_cas32(fib_futex_word(uaddr), &was, is);
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
			  struct fib *(*fiber)(uint32_t tid))
{
	for (;;) {
		uint32_t was, is, owner;
		int r = fib_peek32(fib_futex_word(w->uaddr), &was);

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
		if (!fiber(owner))
			return -ESRCH;
		if (try_only)
			return -EAGAIN;
		fib_add(&b->count, 1, relaxed);
		fib_futex_add_locked(b, w);
		return 1;
	}
}

int fib_futex_lock_pi(uint32_t *uaddr, uint32_t tid, uint64_t deadline_ns,
		      bool try_only, struct fib *(*fiber)(uint32_t tid))
{
	struct bucket *b;
	struct pi_waiter p = { .w = { .fib = fib_self(),
				      .uaddr = uaddr,
				      .priority = fib_futex_priority(),
				      .pi_tid = tid } };
	struct waiter *w = &p.w;
	uint32_t now;
	int r = fib_peek32(fib_futex_word(uaddr), &now);

	if (r == 0)
		r = (now & FUTEX_TID_MASK) == tid ?
			    -EDEADLK :
			    fib_touch32(fib_futex_word(uaddr));
	if (r)
		return r;
	fib_futex_grow();
	fib_lock(&pi_lock);
	chain_enter_locked(&p);
	b = fib_futex_lock_word(uaddr);
	r = take_pi_locked(b, w, try_only, fiber);
	fib_unlock(&b->lock);
	if (r > 0 && deadlock_locked(w, fiber)) {
		fib_futex_give_up(w);
		r = fib_load(&w->woken, acquire) ? 0 : -EDEADLK;
	}
	if (r <= 0)
		chain_leave_locked(&p);
	fib_unlock(&pi_lock);
	if (r <= 0)
		return r;
	r = fib_futex_sleep(w, 1, uaddr, deadline_ns);
	chain_leave(&p, r != 0);
	return fib_load(&w->woken, acquire) ? 0 : r;
}

int fib_futex_unlock_pi(uint32_t *uaddr, uint32_t tid, bool died)
{
	struct fib_worker *self;
	struct bucket *b;
	uint32_t bit = died ? FUTEX_OWNER_DIED : 0, was;
	int r = fib_peek32(fib_futex_word(uaddr), &was);

	if (r == 0)
		r = (was & FUTEX_TID_MASK) == tid ?
			    fib_touch32(fib_futex_word(uaddr)) :
			    -EPERM;
	if (r)
		return r;
	self = fib_bell_hold();
	b = fib_futex_lock_word(uaddr);
	for (;;) {
		struct waiter *next = NULL;
		uint32_t is = bit;

		r = fib_peek32(fib_futex_word(uaddr), &was);
		if (r == 0 && (was & FUTEX_TID_MASK) != tid)
			r = -EPERM;
		if (r)
			break;
		fib_list_for_each (it, &b->waiters) {
			struct waiter *w =
				fib_container_of(it, struct waiter, node);

			if (w->uaddr != uaddr || !w->pi_tid)
				continue;
			next = w;
			/* wake_futex_pi(): be there more of them or not */
			is |= w->pi_tid | FUTEX_WAITERS;
			break;
		}
		if (!next && !tid)
			break;
		r = swap(uaddr, was, is);
		if (r == 0)
			continue;
		if (r > 0 && next)
			fib_futex_wake_locked(b, next);
		break;
	}
	fib_unlock(&b->lock);
	fib_bell_release(self);
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
	struct pi_waiter p = { .w = { .fib = fib_self(),
				      .uaddr = from,
				      .priority = fib_futex_priority(),
				      .requeue_to = to,
				      .requeue_tid = tid } };
	struct waiter *w = &p.w;
	int r;

	if (from == to)
		return -EINVAL;
	fib_lock(&pi_lock);
	chain_enter_locked(&p);
	fib_unlock(&pi_lock);
	r = fib_futex_queue(w, val);
	if (r) {
		chain_leave(&p, false);
		return r;
	}
	r = fib_futex_sleep(w, 1, from, deadline_ns);
	chain_leave(&p, r != 0);
	if (fib_load(&w->woken, acquire))
		return 0;
	/* Waiting for the mutex already: not to be repeated. */
	return r == -EINTR && w->pi_tid ? -EAGAIN : r;
}

/* The mutex for @w, if it is free: 1; else 0 or -errno. */
static int take_for_locked(uint32_t *to, struct waiter *w, bool more,
			   struct fib *(*fiber)(uint32_t tid))
{
	for (;;) {
		uint32_t was, is, owner;
		int r = fib_peek32(fib_futex_word(to), &was);

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
		return fiber(owner) ? 0 : -ESRCH;
	}
}

int fib_futex_cmp_requeue_pi(uint32_t *from, uint32_t *to, int nmove,
			     uint32_t cmp, struct fib *(*fiber)(uint32_t tid))
{
	struct bucket *a, *b;
	int done = 0, r = fib_futex_compare(from, cmp);
	uint32_t now;

	if (r == 0)
		r = fib_peek32(fib_futex_word(to), &now);
	if (r)
		return r;
	fib_touch32(fib_futex_word(
		to)); /* only if one waits does it matter whether it is there */
	fib_lock(&pi_lock);
	fib_futex_lock_two(from, to, &a, &b);
	r = fib_futex_compare(from, cmp);
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
			r = take_for_locked(to, w, nmove > 0, fiber);
		if (r < 0)
			break;
		if (!done++ && r) {
			fib_futex_wake_locked(a, w);
			continue;
		}
		w->pi_tid = w->requeue_tid;
		w->requeue_to = NULL;
		fib_futex_move_locked(a, b, w, to);
	}
	fib_futex_unlock_two(a, b);
	fib_unlock(&pi_lock);
	return r < 0 ? r : done;
}
