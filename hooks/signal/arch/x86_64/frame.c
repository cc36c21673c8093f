/* Signal frames of x86-64: where they lie, and what handlers see in them. */
#include "frame_arch.h"
#include "regs_arch.h"
#include "offsets_arch.h"
#include "runtime/fiber.h"

_Static_assert(offsetof(struct fib, attention) == FIB_OFFSET_ATTENTION, "");
_Static_assert(offsetof(struct fib, hook.in_hook) == FIB_OFFSET_IN_HOOK, "");
_Static_assert(offsetof(struct fib_sigframe, info) == 312,
	       "struct rt_sigframe");

#define SYSCALL_BYTES 2

uintptr_t fib_sigframe_place(uintptr_t sp, size_t fp_size, uintptr_t *frame)
{
	uintptr_t fp_at = (sp - fp_size) & ~63ul;

	*frame = ((fp_at - sizeof(struct fib_sigframe)) & ~15ul) - 8;
	return fp_at;
}

void fib_uc_fill(ucontext_t *uc, void *fp, const struct fib_regs *r, bool again)
{
	greg_t *g = uc->uc_mcontext.gregs;

	memset(uc, 0, sizeof(*uc));
	__asm__ volatile("fxsave64 (%0)" : : "r"(fp) : "memory");
	uc->uc_mcontext.fpregs = fp;
	g[REG_RSP] = (greg_t)(uintptr_t)__builtin_frame_address(0);
	g[REG_RIP] = (greg_t)(uintptr_t)__builtin_return_address(0);
	if (!r)
		return;
	g[REG_RIP] = (greg_t)(again ? r->rip - SYSCALL_BYTES : r->rip);
	g[REG_RSP] = (greg_t)((uintptr_t)(r + 1) + FIB_RED_ZONE);
	g[REG_RBP] = (greg_t)r->rbp;
	g[REG_RBX] = (greg_t)r->rbx;
	g[REG_RDI] = (greg_t)r->rdi;
	g[REG_RSI] = (greg_t)r->rsi;
	g[REG_RDX] = (greg_t)r->rdx;
	g[REG_RAX] = (greg_t)r->rax;
	g[REG_R8] = (greg_t)r->r8;
	g[REG_R9] = (greg_t)r->r9;
	g[REG_R10] = (greg_t)r->r10;
	g[REG_R12] = (greg_t)r->r12;
	g[REG_R13] = (greg_t)r->r13;
	g[REG_R14] = (greg_t)r->r14;
	g[REG_R15] = (greg_t)r->r15;
}
