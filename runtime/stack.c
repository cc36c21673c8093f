/* Thread stacks, see stack.h. */
#include <sys/mman.h>
#include "runtime/stack.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE  103
#endif

#define KEEP_MAX  1024u /* free blocks kept */
#define KEEP_WARM 12288ul /* of each, where nearly all threads have been */
#define FIRST	  1024u

/* A block is in the table from its mapping until it really is unmapped. */
struct block {
	uintptr_t base; /* 0: empty, 1: deleted */
	size_t size;
	size_t guard;
	int prot;
	bool in_use;
	uint32_t next_free; /* index + 1 */
};

static struct fib_lock lock = FIB_LOCK(STACK);
static struct block *table;
static uint32_t slots, used; /* used counts deleted entries too */
static uint32_t live;	     /* entries that are not deleted */
static size_t last_guard;    /* what NPTL asked for last */
static uint32_t free_head, free_count;
static uint32_t free_least; /* since the last fib_stack_trim() */
static bool no_guard_madvise;

static uint32_t hash(uintptr_t base)
{
	return (uint32_t)((base >> 12) * 0x9e3779b97f4a7c15ull >> 40);
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

static struct block *insert_locked(uintptr_t base);

static bool grow_locked(void)
{
	uint32_t old_slots = slots, n = slots ? slots : FIRST;
	struct block *old = table, *fresh;

	/* Where most are deleted, sweeping them out is enough. */
	if (live * 4 >= n)
		n *= 2;
	fresh = fib_pages_alloc(n * sizeof(*fresh));
	if (!fresh)
		return false;
	slots = n;
	table = fresh;
	used = live = 0;
	free_head = free_count = 0;
	for (uint32_t i = 0; i < old_slots; i++) {
		struct block *b;

		if (old[i].base <= 1)
			continue;
		b = insert_locked(old[i].base);
		b->size = old[i].size;
		b->guard = old[i].guard;
		b->prot = old[i].prot;
		b->in_use = old[i].in_use;
		if (!b->in_use) {
			b->next_free = free_head;
			free_head = (uint32_t)(b - table) + 1;
			free_count++;
		}
	}
	if (old)
		fib_pages_free(old, old_slots * sizeof(*old));
	return true;
}

static struct block *insert_locked(uintptr_t base)
{
	if ((used + 1) * 2 > slots && !grow_locked())
		return NULL;
	for (uint32_t i = hash(base);; i++) {
		struct block *b = &table[i & (slots - 1)];

		if (!b->base) {
			used++;
			live++;
			b->base = base;
			return b;
		}
	}
}

static struct block *take_free_locked(size_t size)
{
	uint32_t *link = &free_head;

	while (*link) {
		struct block *b = &table[*link - 1];

		if (b->size == size) {
			*link = b->next_free;
			if (--free_count < free_least)
				free_least = free_count;
			b->in_use = true;
			return b;
		}
		link = &b->next_free;
	}
	return NULL;
}

static void set_guard(struct block *b, size_t guard)
{
	long r = -EINVAL;

	last_guard = guard;
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
	live--;
}

/* A free one, as a fresh mapping would be; 0: there is none. */
static long reuse(size_t size, int prot)
{
	struct block *b;
	long base = 0;

	fib_lock(&lock);
	while (!base && (b = take_free_locked(size))) {
		base = (long)b->base;
		if (prot == PROT_NONE || open_block(b, prot, 0) == 0)
			break;
		delete_locked(b);
		fib_raw(SYS_munmap, base, size);
		base = 0;
	}
	fib_unlock(&lock);
	return base;
}

long fib_stack_map(size_t size, int prot)
{
	long base = reuse(size, prot);
	struct block *b;

	if (base) {
		fib_count(stacks_reused);
		return base;
	}
	/* It will be opened, and then it is one mapping with its neighbour. */
	if (prot == PROT_NONE)
		prot = PROT_READ | PROT_WRITE;
	base = fib_raw(SYS_mmap, 0, size, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE,
		       -1, 0);
	if (base < 0 && base > -4096)
		return base;
	fib_raw(SYS_madvise, base, size, MADV_NOHUGEPAGE);
	fib_lock(&lock);
	b = insert_locked((uintptr_t)base);
	if (!b) {
		fib_unlock(&lock);
		fib_raw(SYS_munmap, base, size);
		return -ENOMEM;
	}
	b->size = size;
	b->guard = 0;
	b->prot = prot;
	b->in_use = true;
	fib_unlock(&lock);
	fib_count(stacks_mapped);
	return base;
}

/*
 * Blocks are not ordered: only a base can be looked up. NPTL asks for what is
 * above the guard, so try that before all blocks are gone through.
 */
static struct block *holds_locked(uintptr_t addr, size_t size)
{
	struct block *b = find_locked(addr);

	if (b)
		return size <= b->size ? b : NULL;
	b = addr > last_guard ? find_locked(addr - last_guard) : NULL;
	if (b && last_guard + size <= b->size)
		return b;
	for (uint32_t i = 0; i < slots; i++) {
		b = &table[i];
		if (b->base > 1 && addr >= b->base &&
		    addr + size <= b->base + b->size)
			return b;
	}
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

/*
 * As a fresh mapping, but that the pages at the top, which the next thread
 * will need again, are zeroed in place: a page fault costs more than all the
 * rest of a short thread's life. The program may have done anything to the
 * mapping: what does not work (holes, locked pages) says that it is to go.
 */
static bool wipe(const struct block *b)
{
	uintptr_t low = b->base + b->guard, top = b->base + b->size;
	uintptr_t warm = top - low > KEEP_WARM ? top - KEEP_WARM : low;

	if (fib_raw(SYS_mprotect, low, top - low, b->prot) < 0)
		return false;
	if (warm > low &&
	    fib_raw(SYS_madvise, low, warm - low, MADV_DONTNEED) < 0)
		return false;
	memset((void *)warm, 0, top - warm);
	return true;
}

bool fib_stack_unmap(uintptr_t addr, size_t size, bool clean)
{
	struct block *b, copy;
	bool keep;

	fib_lock(&lock);
	b = find_locked(addr);
	if (!b || b->size != size || !b->in_use) {
		fib_unlock(&lock);
		return false;
	}
	keep = free_count < KEEP_MAX;
	if (keep && clean) {
		copy = *b;
		fib_unlock(&lock);
		keep = wipe(&copy);
		fib_lock(&lock);
		b = find_locked(addr);
	}
	if (keep) {
		b->in_use = false;
		b->next_free = free_head;
		free_head = (uint32_t)(b - table) + 1;
		free_count++;
	} else {
		delete_locked(b);
	}
	fib_unlock(&lock);
	if (!keep)
		fib_raw(SYS_munmap, addr, size);
	return true;
}

/* One of the free blocks that are more than @least. */
static bool trim_one(uint32_t least)
{
	uintptr_t base;
	size_t size;

	fib_lock(&lock);
	if (free_count <= least) {
		fib_unlock(&lock);
		return false;
	}
	base = table[free_head - 1].base;
	size = table[free_head - 1].size;
	free_count--;
	delete_locked(&table[free_head - 1]);
	free_head = table[free_head - 1].next_free;
	fib_unlock(&lock);
	fib_raw(SYS_munmap, base, size);
	return true;
}

bool fib_stack_trim(bool all)
{
	uint32_t least;
	bool any = false;

	fib_lock(&lock);
	least = all ? 0 : free_count - free_least;
	free_least = least;
	fib_unlock(&lock);
	while (trim_one(least))
		any = true;
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
