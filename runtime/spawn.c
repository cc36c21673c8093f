/* Library fibers, see spawn.h. */
#ifndef FIB_PRELOAD
#include <sys/mman.h>
#include "runtime/arch/x86_64/ctx.h"
#include "runtime/spawn.h"

static void entry(void *arg)
{
	struct fib *f = arg;

	fib_san_enter(&f->san, &fib_worker_self()->san);
	f->fn(f->arg);
	fib_exit();
}

struct fib *fib_spawn(void (*fn)(void *), void *arg, size_t stack_size)
{
	size_t size = FIB_ALIGN_UP(stack_size, FIB_PAGE);
	struct fib *f = fib_alloc();
	char *p;

	if (!f)
		return NULL;
	p = fib_pages_alloc(size + FIB_PAGE);
	if (!p) {
		fib_free(f);
		return NULL;
	}
	if (fib_raw(SYS_mprotect, p, FIB_PAGE, PROT_NONE) < 0) {
		fib_pages_free(p, size + FIB_PAGE);
		fib_free(f);
		return NULL;
	}
	f->sched = fib_sched_here();
	f->fn = fn;
	f->arg = arg;
	f->stack = p;
	f->stack_size = size + FIB_PAGE;
	f->sp = fib_ctx_make(p + f->stack_size, entry, f);
	fib_san_create(&f->san, p + FIB_PAGE, size);
	fib_launch(f);
	return f;
}

void fib_spawn_exit(struct fib *f)
{
	if (!f->stack)
		return;
	fib_san_destroy(&f->san);
	fib_pages_free(f->stack, f->stack_size);
	f->stack = NULL;
}
#endif
