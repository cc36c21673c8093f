/*
 * Values of a fiber's own. See fib.h.
 *
 * A key is an entry of one table, whose use is counted: odd while it is somebody's.
 * A fiber's value holds the count that it was set with, so what is left of a key
 * that was deleted is nobody's, and nobody has to look for it in all fibers.
 */
#include <stdlib.h>
#include "libfib/lib.h"

#ifdef FIB_ASAN
void __lsan_ignore_object(const void *p);
#endif

#define ROUNDS 4 /* as PTHREAD_DESTRUCTOR_ITERATIONS */
#define STEP   8u

struct fib_local {
	uint32_t use;
	void *value;
};

static struct {
	_Atomic uint32_t use;
	void (*_Atomic destroy)(void *);
} key_table[FIB_LOCAL_MAX];

int fib_local_create(unsigned *key, void (*destroy)(void *value))
{
	if (!key)
		return -EINVAL;
	for (unsigned i = 0; i < FIB_LOCAL_MAX; i++) {
		uint32_t use = fib_load(&key_table[i].use, relaxed);

		if ((use & 1) ||
		    !fib_cas(&key_table[i].use, &use, use + 1, acq_rel))
			continue;
		fib_store(&key_table[i].destroy, destroy, release);
		*key = i;
		return 0;
	}
	return -EAGAIN;
}

int fib_local_delete(unsigned key)
{
	uint32_t use;

	if (key >= FIB_LOCAL_MAX)
		return -EINVAL;
	use = fib_load(&key_table[key].use, relaxed);
	return (use & 1) && fib_cas(&key_table[key].use, &use, use + 1,
				    acq_rel) ?
		       0 :
		       -EINVAL;
}

void *fib_local_get(unsigned key)
{
	struct fib *f = fib_current();
	struct fib_local *l;

	if (!f || key >= f->lib.locals)
		return NULL;
	l = &f->lib.local[key];
	return l->use == fib_load(&key_table[key].use, relaxed) ? l->value :
								  NULL;
}

int fib_local_set(unsigned key, void *value)
{
	struct fib *f = fib_current();
	uint32_t use, n;
	struct fib_local *l;

	if (key >= FIB_LOCAL_MAX)
		return -EINVAL;
	use = fib_load(&key_table[key].use, relaxed);
	if (!(use & 1))
		return -EINVAL;
	if (!f)
		return -ENOMEM;
	if (key >= f->lib.locals) {
		n = FIB_ALIGN_UP(key + 1, STEP);
		l = realloc(f->lib.local, n * sizeof(*l));
		if (!l)
			return -ENOMEM;
		memset(l + f->lib.locals, 0, (n - f->lib.locals) * sizeof(*l));
#ifdef FIB_ASAN
		/* Fibers' entries are nothing that it looks into. */
		__lsan_ignore_object(l);
#endif
		f->lib.local = l;
		f->lib.locals = n;
	}
	f->lib.local[key] = (struct fib_local){ use, value };
	return 0;
}

/* Its destructor may set others. True: there was one. */
static bool destroy_one(struct fib *f, uint32_t key)
{
	struct fib_local l = f->lib.local[key];
	void (*destroy)(void *) = fib_load(&key_table[key].destroy, acquire);

	f->lib.local[key].value = NULL;
	if (!l.value || !destroy ||
	    l.use != fib_load(&key_table[key].use, acquire))
		return false;
	destroy(l.value);
	return true;
}

void fib_local_end(struct fib *f)
{
	bool again = true;

	for (int round = 0; again && round < ROUNDS; round++) {
		again = false;
		for (uint32_t i = 0; i < f->lib.locals; i++)
			again |= destroy_one(f, i);
	}
	free(f->lib.local);
	f->lib.local = NULL;
	f->lib.locals = 0;
}
