/*
 * What a thread knows of itself.
 *
 * No address of a thread variable may live across a park (sched.h). The compiler
 * does not know that; but it knows nothing of what happens in a function that it
 * may not inline, and asks it again each time.
 *
 * The cache keeps a few stacks and fiber entries for each thread: what a task
 * needs to begin is then what the last one has just left, still warm.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>
#include "libfib/lib.h"
#include "runtime/stack.h"

#define ENTRIES 64
#define STACKS	32

struct cache {
	unsigned entries, stacks;
	struct fib *entry[ENTRIES];
	void *stack[STACKS];
};

__thread struct fib_worker *fib_this_worker;

static __thread struct {
	struct fib *top;  /* innermost fiber, where no worker runs one */
	struct fib *main; /* the thread's own */
	struct cache *cache;
} self __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

__attribute__((noinline)) void fib_worker_set(struct fib_worker *w)
{
	__asm__ volatile("");
	fib_this_worker = w;
	if (w)
		w->lib.errno_at = &errno;
}

__attribute__((noinline)) int fib_errno_save(void)
{
	__asm__ volatile("");
	return errno;
}

__attribute__((noinline)) void fib_errno_restore(int saved)
{
	__asm__ volatile("");
	errno = saved;
}

__attribute__((noinline)) long fib_call6(long nr, long a, long b, long c,
					 long d, long e, long f)
{
	int saved = errno;
	long r = syscall(nr, a, b, c, d, e, f);

	if (r == -1)
		r = -errno;
	errno = saved;
	return r;
}

__attribute__((noinline)) struct fib *fib_top(void)
{
	struct fib *f = fib_self();

	__asm__ volatile("");
	return f ? f->lib.top : self.top;
}

__attribute__((noinline)) void fib_top_set(struct fib *f)
{
	struct fib *bottom = fib_self();

	__asm__ volatile("");
	if (bottom)
		bottom->lib.top = f;
	else
		self.top = f->lib.life & FIB_LIFE_MAIN ? NULL : f;
}

/* Before main(): the clock is looked for in the vdso. */
__attribute__((constructor)) static void init(void)
{
	fib_clock_init(getauxval(AT_SYSINFO_EHDR));
}

/* --- stacks ------------------------------------------------------------------ */

static void *stack_map(size_t size)
{
	long p = fib_stack_map(size, PROT_READ | PROT_WRITE);
	unsigned long low = (unsigned long)p + FIB_PAGE, id;

	if (p < 0 && p > -4096)
		return NULL;
	if (fib_stack_protect((uintptr_t)p, FIB_PAGE, PROT_NONE)) {
		fib_stack_unmap((uintptr_t)p, size, false);
		return NULL;
	}
	/* Under Valgrind alone, the word at the far end is touched. */
	id = fib_valgrind(FIB_VG_STACK, low, (unsigned long)p + size);
	if (id)
		*(unsigned long *)low = id;
	return (void *)p;
}

static void stack_unmap(void *stack, size_t size)
{
	unsigned long low = (unsigned long)stack + FIB_PAGE;

	if (fib_valgrind(FIB_VG_RUNNING, 0, 0)) {
		fib_valgrind(FIB_VG_STACK_GONE, *(unsigned long *)low, 0);
		fib_valgrind(FIB_VG_UNDEFINED, low, size - FIB_PAGE);
	}
	fib_stack_unmap((uintptr_t)stack, size, false);
}

/* --- the thread's end ------------------------------------------------------ */

static void forget(void *arg)
{
	struct cache *c = arg;

	if (self.main && self.main->lib.local)
		fib_local_end(self.main);
	while (c->entries)
		fib_free(c->entry[--c->entries]);
	while (c->stacks)
		stack_unmap(c->stack[--c->stacks],
			    FIB_STACK_DEFAULT + FIB_PAGE);
	if (self.main)
		fib_free(self.main);
	self.main = NULL;
	self.cache = NULL;
	fib_pages_free(c, FIB_PAGE);
}

static void key_create(void)
{
	_Static_assert(sizeof(struct cache) <= FIB_PAGE, "one page");
	fib_assert(pthread_key_create(&key, forget) == 0);
}

/* NULL: there is none, for nobody would empty it. */
static struct cache *cache(void)
{
	struct cache *c = self.cache;

	if (fib_likely(c))
		return c;
	pthread_once(&key_once, key_create);
	c = fib_pages_alloc(FIB_PAGE);
	if (c && pthread_setspecific(key, c)) {
		fib_pages_free(c, FIB_PAGE);
		c = NULL;
	}
	self.cache = c;
	return c;
}

__attribute__((noinline)) struct fib *fib_current(void)
{
	struct fib *f = fib_top();

	__asm__ volatile("");
	if (f)
		return f;
	if (!self.main && cache()) {
		f = fib_alloc();
		if (!f)
			return NULL;
		fib_store(&f->lib.life, FIB_LIFE_MAIN, relaxed);
		fib_store(&f->state, FIB_RUNNING, relaxed);
		fib_san_adopt(&f->san);
		self.main = f;
	}
	return self.main;
}

/* Its function returns to entry(), in fibers.c. */
void fib_thread_forked(void)
{
	struct fib *f = fib_self(), *top = fib_top();

	fib_worker_set(NULL);
	if (!f)
		return;
	self.top = top == f ? NULL : top;
	self.main = f;
	f->lib.home = NULL;
	f->lib.sched = NULL;
	fib_store(&f->lib.life, FIB_LIFE_MAIN, relaxed);
}

/* --- the cache -------------------------------------------------------------- */

__attribute__((noinline)) struct fib *fib_entry_get(void)
{
	struct cache *c = self.cache;
	struct fib *f;

	__asm__ volatile("");
	if (!c || !c->entries)
		return fib_alloc();
	f = c->entry[--c->entries];
	fib_renew(f);
	return f;
}

__attribute__((noinline)) void fib_entry_put(struct fib *f)
{
	struct cache *c = cache();

	__asm__ volatile("");
	if (!c || c->entries == ENTRIES) {
		fib_free(f);
		return;
	}
	fib_retire(f);
	c->entry[c->entries++] = f;
}

__attribute__((noinline)) void *fib_stack_get(size_t size)
{
	struct cache *c = self.cache;

	__asm__ volatile("");
	if (size == FIB_STACK_DEFAULT + FIB_PAGE && c && c->stacks)
		return c->stack[--c->stacks];
	return stack_map(size);
}

__attribute__((noinline)) void fib_stack_put(void *stack, size_t size)
{
	struct cache *c = cache();

	__asm__ volatile("");
	if (size == FIB_STACK_DEFAULT + FIB_PAGE && c && c->stacks < STACKS)
		c->stack[c->stacks++] = stack;
	else
		stack_unmap(stack, size);
}
