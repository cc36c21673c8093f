/* Alternate stacks: each fiber has one of its own, as sigaltstack(2) tells. */
#include "hooks/signal/state.h"

stack_t fib_altstack_get(const struct fib *f)
{
	return (stack_t){ .ss_sp = (void *)f->sig.altstack_sp,
			  .ss_size = f->sig.altstack_size,
			  .ss_flags = f->sig.altstack_flags };
}

int fib_altstack_set(struct fib *f, const stack_t *ss, uintptr_t sp,
		     size_t least)
{
	int mode = ss->ss_flags & ~(int)FIB_SS_AUTODISARM;

	if (fib_altstack_in_use(f, sp))
		return -EPERM;
	if (mode != SS_DISABLE && mode != SS_ONSTACK && mode != 0)
		return -EINVAL;
	if (mode != SS_DISABLE && ss->ss_size < least)
		return -ENOMEM;
	f->sig.altstack_flags = ss->ss_flags;
	f->sig.altstack_sp = mode == SS_DISABLE ? 0 : (uintptr_t)ss->ss_sp;
	f->sig.altstack_size = mode == SS_DISABLE ? 0 : ss->ss_size;
	return 0;
}

bool fib_altstack_wanted(const struct fib *f, unsigned long flags, uintptr_t sp)
{
	return (flags & SA_ONSTACK) && f->sig.altstack_size &&
	       !fib_altstack_in_use(f, sp);
}

void fib_sig_to_kernel(struct fib *f)
{
	stack_t ss = fib_altstack_get(f);

	fib_raw(SYS_sigaltstack, &ss, 0);
	fib_sig_kernel_mask(fib_load(&f->sig.mask, relaxed));
}
