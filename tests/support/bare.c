/* See bare.h. */
#include <sys/auxv.h>
#include "ctx_arch.h"
#include "runtime/iom.h"
#include "tests/support/bare.h"

#define HWCAP2_FSGSBASE 2

/* On the worker's stack. */
static void fiber_exit(struct fib *f)
{
	fib_pages_free(f->stack, f->stack_size);
}

struct fib_baseline fib_baseline; /* nobody comes through a site */
const struct fib_host fib_host = { .fiber_exit = fiber_exit };

void bare_begin(void)
{
	fib_cpu_sets_bases = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
	fib_worker_set(NULL);
}

void bare_start(unsigned workers)
{
	struct fib *f;

	bare_begin();
	f = fib_alloc();
	fib_assert(f);
	f->fsbase = fib_tls_base();
	fib_clock_init(getauxval(AT_SYSINFO_EHDR));
	fib_assert(fib_iom_init(&fib_sched, true) == 0);
	fib_iom_limit_changed(&fib_sched);
	fib_assert(fib_monitor_init(&fib_sched, -1) == 0);
	fib_assert(fib_sched_prepare(&fib_sched, workers) == 0);
	fib_sched_run(&fib_sched, f);
	fib_assert(fib_self() == f);
}

static void begin(void *arg)
{
	struct fib *f = arg;

	f->fn(f->arg);
	fib_exit();
}

struct fib *bare_spawn(void (*fn)(void *), void *arg, size_t stack_size)
{
	struct fib *f = fib_alloc();

	if (!f)
		return NULL;
	f->stack_size = FIB_ALIGN_UP(stack_size, FIB_PAGE) + FIB_PAGE;
	f->stack = fib_pages_alloc(f->stack_size);
	if (!f->stack) {
		fib_free(f);
		return NULL;
	}
	fib_assert(!fib_raw(SYS_mprotect, f->stack, FIB_PAGE, 0));
	f->fn = fn;
	f->arg = arg;
	f->sp = fib_ctx_make((char *)f->stack + f->stack_size, begin, f);
	fib_launch(f);
	return f;
}
