/*
 * What the rewritten sites jump to, for a program that only scans, or must refuse to
 * write: nobody comes here.
 */
#include "preload/preload.h"
#include "regs_arch.h"

extern void *const fib_nobody[2] __attribute__((visibility("hidden")));
void *const fib_nobody[2];

void fib_dispatch(struct fib_regs *regs)
{
	__builtin_trap();
}

void fib_clone_child(struct fib_regs *regs)
{
	__builtin_trap();
}

uint64_t fib_vfork_prepare(void)
{
	__builtin_trap();
}

void fib_vfork_child(void)
{
	__builtin_trap();
}

long fib_vfork_error(long err)
{
	__builtin_trap();
}
