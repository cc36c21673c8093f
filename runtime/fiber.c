/* Fiber slabs, see fiber.h. */
#include "runtime/sched.h"
#include "runtime/symtab.h"

#define SLAB_FIBERS 256u

static struct fib_lock slab_lock = FIB_LOCK(SLAB);
static struct fib_list free_list = { &free_list, &free_list };
/*
 * From this one on entries are free and on no list: pages of a slab are not touched
 * before they are needed.
 */
static uint32_t begun;

void fib_renew(struct fib *f)
{
	uint32_t index = f->index, generation = f->generation;

	/*
	 * The permit is left alone: a late wake-up of the previous life may
	 * write it at any time, and a stray permit is a spurious wake-up.
	 */
	memset((char *)f + offsetof(struct fib, run), 0,
	       offsetof(struct fib, san) + sizeof(f->san) -
		       offsetof(struct fib, run));
	f->sp = NULL;
	f->fsbase = 0;
	fib_store(&f->on, NULL, relaxed);
	f->bound = NULL;
	fib_store(&f->attention, 0, relaxed);
	f->wait = FIB_WAIT_NONE;
	f->index = index;
	f->generation = generation;
	fib_list_init(&f->run);
	fib_host_renew(f);
}

void fib_retire(struct fib *f)
{
	fib_store(&f->tid, 0, relaxed);
	fib_store(&f->state, FIB_IS_FREE, release);
	f->generation++;
}

static bool add_slab_locked(void)
{
	uint32_t n = fib_load(&fib_symtab.fibers, relaxed);
	struct fib *slab = NULL;

	if (n < FIB_MAX)
		slab = fib_pages_alloc(SLAB_FIBERS * sizeof(*slab));
	if (!slab)
		return false;
	fib_symtab.slabs[n / SLAB_FIBERS] = slab;
	fib_store(&fib_symtab.fibers, n + SLAB_FIBERS, release);
	return true;
}

/* The entry that was free longest. */
static struct fib *take_locked(void)
{
	struct fib *f;

	if (begun == fib_high_water() && !fib_list_empty(&free_list)) {
		f = fib_container_of(free_list.next, struct fib, run);
		fib_list_del(&f->run);
		return f;
	}
	if (begun == fib_high_water() && !add_slab_locked())
		return NULL;
	f = fib_at(begun);
	f->index = begun++;
	return f;
}

struct fib *fib_alloc(void)
{
	struct fib *f;

	fib_lock(&slab_lock);
	f = take_locked();
	fib_unlock(&slab_lock);
	if (f)
		fib_renew(f);
	return f;
}

void fib_free(struct fib *f)
{
	fib_retire(f);
	fib_lock(&slab_lock);
	fib_list_add_tail(&free_list, &f->run);
	fib_unlock(&slab_lock);
}

struct fib *fib_at(uint32_t index)
{
	if (index >= fib_load(&fib_symtab.fibers, acquire))
		return NULL;
	return &fib_symtab.slabs[index / SLAB_FIBERS][index % SLAB_FIBERS];
}

uint32_t fib_high_water(void)
{
	return fib_load(&fib_symtab.fibers, acquire);
}

void fib_slab_lock(void)
{
	fib_lock(&slab_lock);
}

void fib_slab_unlock(void)
{
	fib_unlock(&slab_lock);
}

void fib_reset_all(void)
{
	fib_lock_init(&slab_lock, SLAB);
	fib_list_init(&free_list);
	for (; begun; begun--) {
		struct fib *f = fib_at(begun - 1);

		fib_store(&f->tid, 0, relaxed);
		fib_store(&f->state, FIB_IS_FREE, relaxed);
		fib_store(&f->permit, 0, relaxed);
		f->generation++;
	}
}
