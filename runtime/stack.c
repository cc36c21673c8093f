/* Thread stacks, see stack.h. */
#include "runtime/fault.h"
#include "runtime/stack.h"

#define KEEP_MAX  16384u /* free blocks kept of a size */
#define KEEP_FEW  1024u	 /* of these, with what is warm: */
#define WARM	  6u /* pages where all have been who have a buffer of 16 KB, */
#define WARM_MOST 3u /* and nearly all threads: kept until more is known */
#define LOOK_EACH 32u	/* ends of threads: where have they been? */
#define LOOK_RARE 2048u /* the same, after many looks in vain */
#define LOOKS	  4u	/* in vain, before it is believed */
#define SIZES	  8u	/* of which free blocks are kept */
#define FIRST	  1024u
#define AT_ONCE	  64u /* blocks of one mapping */
#define RECENT	  16u /* threads that are being created at one time */

/* A block is in the table from its mapping until it really is unmapped. */
struct block {
	uintptr_t base; /* 0: empty, 1: deleted */
	size_t size;
	size_t guard;
	size_t bare;  /* bytes at the low end where nothing is; 0: ask */
	size_t found; /* so many were bare when its thread began */
	int prot;
	bool begun; /* since NPTL got it; else NPTL itself has written there */
	bool in_use;
	bool fresh;	    /* has never been used */
	uint32_t next_free; /* index + 1 */
};

/* Free blocks of one size. */
struct pool {
	size_t size;
	uint32_t head, count; /* head: index + 1 */
	uint32_t least;	      /* count since the last fib_stack_trim() */
	uint32_t until, each; /* ends of threads, to the next look */
	uint8_t keep[WARM];   /* looks for which each is kept yet */
};

static struct fib_lock lock = FIB_LOCK(STACK);
static struct block *table;
static uint32_t slots, used; /* used counts deleted entries too */
static _Atomic uint32_t
	live; /* entries that are not deleted; read without lock */
/* Handed out last: of these NPTL says at once where the guard ends. */
static uintptr_t recent[RECENT];
static uint32_t nrecent;
static struct pool pools[SIZES];
static bool no_guard_madvise;

static uint32_t hash(uintptr_t base)
{
	return (uint32_t)((base >> 12) * 0x9e3779b97f4a7c15ull >> 40);
}

static void count_live_locked(int n)
{
	fib_store(&live, fib_load(&live, relaxed) + (uint32_t)n, relaxed);
}

static struct block *find_locked(uintptr_t base)
{
	if (!slots)
		return NULL;
	for (uint32_t i = hash(base);; i++) {
		struct block *b = &table[i & (slots - 1)];

		if (b->base == base)
			return b;
		if (!b->base)
			return NULL;
	}
}

/* --- free ones --------------------------------------------------------------- */

/* Those of @size; NULL: none are kept, there are too many other sizes. */
static struct pool *pool_locked(size_t size)
{
	struct pool *empty = NULL;

	for (unsigned i = 0; i < SIZES; i++) {
		if (pools[i].size == size)
			return &pools[i];
		if (!pools[i].count)
			empty = &pools[i];
	}
	if (empty) {
		*empty = (struct pool){ .size = size };
		memset(empty->keep, LOOKS, WARM_MOST);
	}
	return empty;
}

static void handed_out_locked(uintptr_t base)
{
	recent[nrecent++ % RECENT] = base;
}

static void put_locked(struct pool *p, struct block *b)
{
	b->in_use = false;
	b->next_free = p->head;
	p->head = (uint32_t)(b - table) + 1;
	p->count++;
}

static struct block *take_locked(struct pool *p)
{
	struct block *b;

	if (!p || !p->head)
		return NULL;
	b = &table[p->head - 1];
	p->head = b->next_free;
	if (--p->count < p->least)
		p->least = p->count;
	handed_out_locked(b->base);
	b->in_use = true;
	b->begun = false;
	return b;
}

/* Which pages are kept, since the next thread needs them too: bit 0 is at the top. */
static unsigned kept(const struct pool *p)
{
	unsigned mask = 1;

	for (unsigned i = 1; i < WARM; i++)
		if (p ? p->keep[i] != 0 : i < WARM_MOST)
			mask |= 1u << i;
	return mask;
}

/* Where the lowest one of @pages begins; 0: the top. */
static uintptr_t warm_of(const struct block *b, unsigned pages)
{
	size_t keep =
		pages ? (32u - (unsigned)__builtin_clz(pages)) * FIB_PAGE : 0;

	return b->size - b->guard > keep ? b->base + b->size - keep :
					   b->base + b->guard;
}

/* --- the table ---------------------------------------------------------------- */

static struct block *insert_locked(uintptr_t base);

static bool grow_locked(void)
{
	uint32_t old_slots = slots, n = slots ? slots : FIRST;
	struct block *old = table, *fresh;

	/* Where most are deleted, sweeping them out is enough. */
	if (live * 2 >= n)
		n *= 2;
	fresh = fib_pages_alloc(n * sizeof(*fresh));
	if (!fresh)
		return false;
	slots = n;
	table = fresh;
	used = 0;
	fib_store(&live, 0, relaxed);
	for (unsigned i = 0; i < SIZES; i++)
		pools[i].head = pools[i].count = 0;
	for (uint32_t i = 0; i < old_slots; i++) {
		struct block *b;

		if (old[i].base <= 1)
			continue;
		b = insert_locked(old[i].base);
		*b = old[i];
		if (!b->in_use)
			put_locked(pool_locked(b->size), b);
	}
	if (old)
		fib_pages_free(old, old_slots * sizeof(*old));
	return true;
}

static struct block *insert_locked(uintptr_t base)
{
	if ((used + 1) * 4 > slots * 3 && !grow_locked())
		return NULL;
	for (uint32_t i = hash(base);; i++) {
		struct block *b = &table[i & (slots - 1)];

		if (!b->base) {
			used++;
			count_live_locked(1);
			b->base = base;
			return b;
		}
	}
}

static void set_guard(struct block *b, size_t guard)
{
	long r = -EINVAL;

	if (guard == b->guard)
		return;
	if (b->guard > guard) {
		uintptr_t from = b->base + guard;
		size_t len = b->guard - guard;

		fib_raw(SYS_madvise, from, len, MADV_GUARD_REMOVE);
		fib_raw(SYS_mprotect, from, len, b->prot);
	} else {
		if (!no_guard_madvise)
			r = fib_raw(SYS_madvise, b->base, guard,
				    MADV_GUARD_INSTALL);
		if (r == -EINVAL) {
			no_guard_madvise = true;
			r = fib_raw(SYS_mprotect, b->base, guard, PROT_NONE);
		}
		if (r < 0)
			fib_count(unguarded_stacks);
	}
	b->guard = guard;
}

/* All but a guard at the low end is open: 0 or -errno. */
static long open_block(struct block *b, int prot, size_t guard)
{
	long r;

	if (prot != b->prot) {
		/* Opened with the rest, a guard page would be none. */
		set_guard(b, 0);
		r = fib_raw(SYS_mprotect, b->base, b->size, prot);
		if (r < 0)
			return r;
		b->prot = prot;
	}
	set_guard(b, guard);
	return 0;
}

static void delete_locked(struct block *b)
{
	b->base = 1;
	count_live_locked(-1);
}

/* A free one, as a fresh mapping would be; 0: there is none. */
static long reuse(size_t size, int prot, bool *fresh)
{
	struct block *b;
	long base = 0;

	fib_lock(&lock);
	while (!base && (b = take_locked(pool_locked(size)))) {
		base = (long)b->base;
		*fresh = b->fresh;
		b->fresh = false;
		if (prot == PROT_NONE || open_block(b, prot, 0) == 0)
			break;
		delete_locked(b);
		fib_raw(SYS_munmap, base, size);
		base = 0;
	}
	fib_unlock(&lock);
	return base;
}

/* How many to map together: an eighth of what there is. */
static uint32_t how_many(void)
{
	uint32_t n = fib_load(&live, relaxed) / 8;

	return n < 1 ? 1 : n > AT_ONCE ? AT_ONCE : n;
}

static long map_some(size_t size, int prot, uint32_t *n)
{
	long base = -ENOMEM;
	size_t whole;

	for (;; *n = 1) {
		if (!__builtin_mul_overflow(size, *n, &whole))
			base = fib_raw(SYS_mmap, 0, whole, prot,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK |
					       MAP_NORESERVE,
				       -1, 0);
		if (base >= 0 || base < -4095 || *n == 1)
			return base;
	}
}

/* New blocks, the first for the caller, the others free: how many it knows. */
static uint32_t add_locked(uintptr_t base, size_t size, int prot, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct pool *p = i ? pool_locked(size) : NULL;
		struct block *b =
			i && !p ? NULL : insert_locked(base + i * size);

		if (!b)
			return i;
		b->size = size;
		b->prot = prot;
		b->found = b->guard = 0;
		b->bare = warm_of(b, kept(NULL)) - b->base;
		b->begun = false;
		b->in_use = true;
		b->fresh = i > 0;
		if (p)
			put_locked(p, b);
	}
	return n;
}

long fib_stack_map(size_t size, int prot)
{
	bool fresh;
	long base = reuse(size, prot, &fresh);
	uint32_t n, known;

	if (base) {
		if (fresh)
			fib_count(stacks_mapped);
		else
			fib_count(stacks_reused);
		return base;
	}
	/* It will be opened, and then it is one mapping with its neighbour. */
	if (prot == PROT_NONE)
		prot = PROT_READ | PROT_WRITE;
	n = how_many();
	base = map_some(size, prot, &n);
	if (base < 0 && base > -4096)
		return base;
	fib_raw(SYS_madvise, base, size * n, MADV_NOHUGEPAGE);
	fib_lock(&lock);
	known = add_locked((uintptr_t)base, size, prot, n);
	if (known)
		handed_out_locked((uintptr_t)base);
	fib_unlock(&lock);
	if (known < n)
		fib_raw(SYS_munmap, base + known * size, (n - known) * size);
	if (!known)
		return -ENOMEM;
	fib_count(stacks_mapped);
	return base;
}

static bool holds(const struct block *b, uintptr_t addr, size_t size)
{
	return b->base > 1 && addr >= b->base &&
	       addr + size <= b->base + b->size;
}

/*
 * Blocks are not ordered: only a base can be looked up. NPTL asks for what is
 * above the guard of a new one, so try that before all blocks are gone through.
 */
static struct block *holds_locked(uintptr_t addr, size_t size)
{
	struct block *b = find_locked(addr);

	if (b)
		return size <= b->size ? b : NULL;
	for (uint32_t i = 1; i <= RECENT; i++) {
		uintptr_t base = recent[(nrecent - i) % RECENT];

		b = base && base < addr ? find_locked(base) : NULL;
		if (b && holds(b, addr, size))
			return b;
	}
	for (uint32_t i = 0; i < slots; i++)
		if (holds(&table[i], addr, size))
			return &table[i];
	return NULL;
}

int fib_stack_protect(uintptr_t addr, size_t size, int prot)
{
	struct block *b;
	uintptr_t end = addr + size;
	int r = 1;

	fib_lock(&lock);
	b = holds_locked(addr, size);
	if (b && prot == PROT_NONE && addr == b->base) {
		set_guard(b, size);
		r = 0;
	} else if (b && prot != PROT_NONE && end == b->base + b->size) {
		r = (int)open_block(b, prot, addr - b->base);
	} else if (b && prot == b->prot && addr < b->base + b->guard &&
		   end == b->base + b->guard) {
		/* the guard shrinks from above */
		set_guard(b, addr - b->base);
		r = 0;
	}
	fib_unlock(&lock);
	return r;
}

int fib_stack_guard(uintptr_t addr, size_t size, bool install)
{
	uintptr_t end = addr + size;
	struct block *b;
	int r = 1;

	fib_lock(&lock);
	b = holds_locked(addr, size);
	if (b && install && addr == b->base) {
		set_guard(b, size);
		r = 0;
	} else if (b && !install && addr < b->base + b->guard &&
		   end == b->base + b->guard) {
		set_guard(b, addr - b->base);
		r = 0;
	}
	fib_unlock(&lock);
	return r;
}

/* --- the end of a thread, and of its stack ------------------------------------- */

bool fib_stack_begin(uintptr_t base)
{
	struct block *b;

	fib_lock(&lock);
	b = find_locked(base);
	if (b) {
		b->found = b->bare;
		b->bare = 0;
		b->begun = true;
	}
	fib_unlock(&lock);
	return b;
}

/* Has a thread left something in @page, which the program may have unmapped? */
static bool is_used(uintptr_t page)
{
	uint64_t some[64], all = 0;

	for (size_t at = 0; at < FIB_PAGE; at += sizeof(some)) {
		if (fib_copy(some, (const void *)(page + at), sizeof(some)))
			return true;
		for (unsigned i = 0; i < FIB_ARRAY_SIZE(some); i++)
			all |= some[i];
		if (all)
			return true;
	}
	return false;
}

/*
 * Which of the pages nearest to @top, of a stack that begins at @low, has a thread left
 * something in? What is given back of them has to be had again, by a page fault, for a
 * thread like it; what is kept is wiped for each, and is memory of each stack that is free.
 */
static unsigned pages_used(uintptr_t low, uintptr_t top)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < WARM && top - low >= FIB_PAGE; i++) {
		top -= FIB_PAGE;
		mask |= (unsigned)is_used(top) << i;
	}
	return mask;
}

/* Is it time to look? */
static bool look_locked(struct pool *p)
{
	if (!p)
		return false;
	if (p->until) {
		p->until--;
		return false;
	}
	p->until = p->each;
	return true;
}

/*
 * @mask is what a thread has used. What is as it was is looked for more and more seldom,
 * where all keep just that.
 */
static void looked(size_t size, unsigned mask)
{
	bool settled = true;
	struct pool *p;

	fib_lock(&lock);
	p = pool_locked(size);
	for (unsigned i = 0; p && i < WARM; i++) {
		uint8_t was = p->keep[i], now = was ? was - 1u : 0;

		if (mask >> i & 1)
			now = LOOKS;
		p->keep[i] = now;
		settled &= i < WARM_MOST ? now == was : !now;
	}
	if (p && !settled)
		p->each = LOOK_EACH;
	else if (p && p->each < LOOK_RARE)
		p->each = p->each ? p->each * 2 : LOOK_EACH;
	fib_unlock(&lock);
}

void fib_stack_end(uintptr_t base, uintptr_t sp, bool faulted)
{
	uintptr_t low = 0, to = 0, warm;
	size_t size = 0;
	struct block *b;
	struct pool *p;

	fib_lock(&lock);
	b = find_locked(base);
	if (b && b->in_use && sp > base && sp - base < b->size) {
		p = pool_locked(b->size);
		if (faulted && look_locked(p))
			size = b->size;
		warm = warm_of(b, kept(p));
		low = base + b->guard;
		to = sp & ~(FIB_PAGE - 1);
		if (to > warm)
			to = warm;
		/* Nobody looks at it before the thread is known to have ended. */
		b->bare = to > low ? to - base : 0;
		if (!faulted && b->found >= b->bare)
			to = low;
	}
	fib_unlock(&lock);
	if (size)
		looked(size, pages_used(low, base + size));
	if (to > low && fib_raw(SYS_madvise, low, to - low, MADV_DONTNEED) < 0)
		fib_stack_begin(base);
}

/*
 * As a fresh mapping. Of the first few, the pages at the top, which the next thread
 * will need again, are zeroed in place: a page fault costs more than all the
 * rest of a short thread's life. The program may have done anything to the
 * mapping: what does not work (holes, locked pages) says that it is to go.
 */
static bool wipe(const struct block *b, unsigned pages)
{
	uintptr_t low = b->base + b->guard, top = b->base + b->size;
	uintptr_t from = warm_of(b, pages);

	if (fib_raw(SYS_mprotect, low, top - low, b->prot) < 0)
		return false;
	if (b->base + b->bare > low)
		low = b->base + b->bare;
	if (from > low &&
	    fib_raw(SYS_madvise, low, from - low, MADV_DONTNEED) < 0)
		return false;
	low = b->base + b->guard;
	for (; pages && top > low; pages >>= 1) {
		top -= FIB_PAGE;
		if (pages & 1)
			memset((void *)top, 0, FIB_PAGE);
	}
	return true;
}

bool fib_stack_unmap(uintptr_t addr, size_t size, bool clean)
{
	struct block *b, copy;
	struct pool *p;
	bool keep;

	fib_lock(&lock);
	b = find_locked(addr);
	if (!b || b->size != size || !b->in_use) {
		fib_unlock(&lock);
		return false;
	}
	p = pool_locked(size);
	keep = p && p->count < KEEP_MAX;
	if (keep && clean) {
		bool few = p->count < KEEP_FEW;
		unsigned pages = kept(p);

		if (!b->begun)
			b->bare = 0;
		copy = *b;
		fib_unlock(&lock);
		keep = wipe(&copy, few ? pages : 0);
		copy.bare = warm_of(&copy, pages) - addr;
		fib_lock(&lock);
		b = find_locked(addr);
		p = pool_locked(size);
	}
	keep = keep && p;
	if (keep) {
		if (clean)
			b->bare = copy.bare;
		put_locked(p, b);
	} else {
		delete_locked(b);
	}
	fib_unlock(&lock);
	if (!keep)
		fib_raw(SYS_munmap, addr, size);
	return true;
}

/* One of the free blocks of @p that are more than @least. */
static bool trim_one(struct pool *p, uint32_t least)
{
	uintptr_t base = 0;
	size_t size = 0;

	fib_lock(&lock);
	if (p->count > least) {
		struct block *b = &table[p->head - 1];

		base = b->base;
		size = b->size;
		p->head = b->next_free;
		p->count--;
		delete_locked(b);
	}
	fib_unlock(&lock);
	if (base)
		fib_raw(SYS_munmap, base, size);
	return base;
}

bool fib_stack_trim(bool all)
{
	bool any = false;

	for (unsigned i = 0; i < SIZES; i++) {
		struct pool *p = &pools[i];
		uint32_t least;

		fib_lock(&lock);
		least = all ? 0 : p->count - p->least;
		p->least = least;
		fib_unlock(&lock);
		while (trim_one(p, least))
			any = true;
	}
	return any;
}

void fib_stack_lock(void)
{
	fib_lock(&lock);
}

void fib_stack_unlock(void)
{
	fib_unlock(&lock);
}

void fib_stack_forget(void)
{
	fib_lock_init(&lock, STACK);
	table = NULL;
	slots = used = nrecent = 0;
	fib_store(&live, 0, relaxed);
	memset(pools, 0, sizeof(pools));
}
