/* Buckets of the futex table, see futex_table.h. */
#include "runtime/chaos.h"
#include "runtime/futex.h"
#include "runtime/futex_table.h"

#define FEW_BITS  8u /* 16 kB */
#define MORE_BITS 3u
#define MAX_BITS  19u

struct table {
	struct bucket *bucket;
	unsigned bits;
};

static struct bucket few[1u << FEW_BITS] = {
	[0 ...(1u << FEW_BITS) - 1] = { .lock = FIB_LOCK(FUTEX) },
};
static struct table tables[3 + (MAX_BITS - FEW_BITS) / MORE_BITS] = {
	{ few, FEW_BITS },
};
static struct table *_Atomic table = &tables[0];
static struct fib_lock grow_lock = FIB_LOCK(FUTEX_GROW);
/* Two fibers to a bucket; UINT32_MAX: it has no more to grow. */
static _Atomic uint32_t enough = 2u << FEW_BITS;

static struct bucket *find(const struct table *t, const uint32_t *uaddr)
{
	uint64_t h = (uintptr_t)uaddr * 0x9e3779b97f4a7c15ull;

	return &t->bucket[h >> (64 - t->bits)];
}

struct bucket *fib_futex_bucket(const uint32_t *uaddr)
{
	return find(fib_load(&table, acquire), uaddr);
}

void fib_futex_two(const uint32_t *x, const uint32_t *y, struct bucket **a,
		   struct bucket **b)
{
	const struct table *t = fib_load(&table, acquire);

	*a = find(t, x);
	*b = find(t, y);
}

/* (B) */
static void move(struct bucket *b, const struct table *to)
{
	fib_lock(&b->lock);
	b->moved = true;
	if (b->waiters.next) {
		fib_list_for_each (it, &b->waiters) {
			struct waiter *w =
				fib_container_of(it, struct waiter, node);
			struct bucket *n = find(to, w->uaddr);

			fib_list_del(&w->node);
			fib_lock_second(&n->lock);
			if (!n->waiters.next)
				fib_list_init(&n->waiters);
			fib_add(&n->count, 1, relaxed);
			fib_futex_add_locked(n, w);
			fib_unlock(&n->lock);
		}
	}
	fib_unlock(&b->lock);
}

/* (A): the memory is zero, and is not touched before it is needed. */
static bool make(struct table *t, unsigned bits)
{
	t->bits = bits;
	t->bucket = fib_pages_alloc(sizeof(struct bucket) << bits);
	for (size_t i = 0; t->bucket && i < 1ul << bits; i++)
		fib_lock_init_rank_(&t->bucket[i].lock, FIB_RANK_FUTEX);
	return t->bucket;
}

static void __attribute__((noinline, cold)) grow(bool anyway)
{
	struct table *t, *to;
	unsigned bits;

	fib_lock(&grow_lock);
	t = fib_load(&table, relaxed);
	to = t + 1;
	bits = t->bits + MORE_BITS < MAX_BITS ? t->bits + MORE_BITS : MAX_BITS;
	if (t->bits == MAX_BITS ||
	    (!anyway && fib_high_water() <= fib_load(&enough, relaxed))) {
		fib_unlock(&grow_lock);
		return;
	}
	if (make(to, bits)) {
		for (size_t i = 0; i < 1ul << t->bits; i++)
			move(&t->bucket[i], to);
		FIB_CHAOS_POINT(futex_grow);
		fib_store(&table, to, seq_cst); /* (C) */
	}
	fib_store(&enough,
		  to->bucket && bits < MAX_BITS ? 2u << bits : UINT32_MAX,
		  relaxed);
	fib_unlock(&grow_lock);
}

void fib_futex_grow(void)
{
	if (fib_unlikely(fib_high_water() > fib_load(&enough, relaxed)))
		grow(false);
	if (FIB_CHAOS_ODDS(futex_more, 256))
		grow(true);
}

void fib_futex_grown(void)
{
	fib_lock(&grow_lock);
	fib_unlock(&grow_lock);
}

/* A fork child, which alone looks at it, need not write it. */
static bool is_idle(const struct bucket *b)
{
	return !fib_load(&b->lock.word, relaxed) && !b->moved &&
	       !fib_load(&b->count, relaxed) &&
	       (!b->waiters.next || fib_list_empty(&b->waiters));
}

void fib_futex_reset(void)
{
	struct table *t = fib_load(&table, relaxed);

	for (; t != tables; t--)
		fib_pages_free(t->bucket, sizeof(struct bucket) << t->bits);
	for (size_t i = 0; i < FIB_ARRAY_SIZE(few); i++)
		if (!is_idle(&few[i])) {
			memset(&few[i], 0, sizeof(few[i]));
			fib_lock_init(&few[i].lock, FUTEX);
		}
	fib_lock_init(&grow_lock, FUTEX_GROW);
	fib_store(&table, tables, relaxed);
	fib_store(&enough, 2u << FEW_BITS, relaxed);
	fib_futex_pi_reset();
}
