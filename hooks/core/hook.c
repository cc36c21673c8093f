/* What all hooks have in common. */
#include "hooks/core/hook.h"

struct fib_libc fib_libc FIB_SEALED;
struct fib_baseline fib_baseline FIB_SEALED;

static const char *const names[] = {
#define FIB_HOOK(nm, params, args, fl) [SYS_##nm] = #nm,
#include "hooks/hooks.def"
};

const char *fib_call_name(unsigned nr)
{
	return nr < FIB_ARRAY_SIZE(names) ? names[nr] : NULL;
}

extern const char fib_raw_intr_begin[], fib_raw_intr_syscall[],
	fib_raw_intr_stop[];

uintptr_t fib_raw_intr_fixup(uintptr_t rip)
{
	if (rip >= (uintptr_t)fib_raw_intr_begin &&
	    rip <= (uintptr_t)fib_raw_intr_syscall)
		return (uintptr_t)fib_raw_intr_stop;
	return rip;
}
