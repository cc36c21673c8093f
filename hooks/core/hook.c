/* What all hooks have in common. */
#include "hooks/core/hook.h"

struct fib_libc fib_libc FIB_SEALED;
struct fib_baseline fib_baseline FIB_SEALED;

/* One behind the other, without pointers, which ld.so would have to relocate at each start. */
static const struct texts {
#define FIB_HOOK(nm, params, args, fl) char nm[sizeof(#nm)];
#include "hooks/hooks.def"
} texts = {
#define FIB_HOOK(nm, params, args, fl) .nm = #nm,
#include "hooks/hooks.def"
};

static const uint16_t names[] = {
#define FIB_HOOK(nm, params, args, fl)                                         \
	[SYS_##nm] = 1 + offsetof(struct texts, nm),
#include "hooks/hooks.def"
};

const char *fib_call_name(unsigned nr)
{
	return nr < FIB_ARRAY_SIZE(names) && names[nr] ?
		       (const char *)&texts + names[nr] - 1 :
		       NULL;
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
