/*
 * Context switch: the callee-saved registers of the System V ABI and the
 * floating point control words live on the stack that is left; a context is
 * the stack pointer that leads back to them.
 */
#ifndef FIB_ARCH_CTX_H
#define FIB_ARCH_CTX_H

#include <stddef.h>
#include <stdint.h>

/* From sp upward, as fib_ctx_switch() leaves it; fibhook dump reads it too. */
struct fib_ctx_frame {
	uint32_t mxcsr;
	uint32_t x87cw;
	uint64_t r15, r14, r13, r12, rbx, rbp;
	uint64_t rip;
};

/**
 * Save the caller's context in *@save and go on at @load. Returns when some
 * other switch loads what was saved. Not for signal handlers.
 */
void fib_ctx_switch(void **save, void *load);

#ifndef FIB_PRELOAD
/**
 * fib_ctx_switch() without a call, with the same frame. Its return would be
 * one that the CPU predicts wrongly, since another call has been the last: it
 * is most of what a switch costs. An ldmxcsr before the next stmxcsr may cost
 * even more, so MXCSR is loaded only where its control bits differ: the flags of
 * past exceptions need not survive a call.
 */
static inline __attribute__((always_inline)) void
fib_ctx_switch_inline(void **save, void *load)
{
	__asm__ volatile("leaq	-128(%%rsp), %%rsp\n\t" /* the red zone */
			 "leaq	1f(%%rip), %%rax\n\t"
			 "pushq	%%rax\n\t"
			 "pushq	%%rbp\n\t"
			 "pushq	%%rbx\n\t"
			 "pushq	%%r12\n\t"
			 "pushq	%%r13\n\t"
			 "pushq	%%r14\n\t"
			 "pushq	%%r15\n\t"
			 "subq	$8, %%rsp\n\t"
			 "stmxcsr (%%rsp)\n\t"
			 "fnstcw	4(%%rsp)\n\t"
			 "movl	(%%rsp), %%eax\n\t"
			 "movq	%%rsp, (%0)\n\t"
			 "movq	%1, %%rsp\n\t"
			 "xorl	(%%rsp), %%eax\n\t"
			 "testl	$0xffc0, %%eax\n\t" /* but the flags */
			 "jnz	3f\n"
			 "2:	fldcw	4(%%rsp)\n\t"
			 "addq	$8, %%rsp\n\t"
			 "popq	%%r15\n\t"
			 "popq	%%r14\n\t"
			 "popq	%%r13\n\t"
			 "popq	%%r12\n\t"
			 "popq	%%rbx\n\t"
			 "popq	%%rbp\n\t"
			 "popq	%%rax\n\t"
			 "jmp	*%%rax\n"
			 "3:	ldmxcsr (%%rsp)\n\t"
			 "jmp	2b\n"
			 "1:	leaq	128(%%rsp), %%rsp"
			 : "+D"(save), "+S"(load)
			 :
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11",
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
			   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}
#endif

/** First context on a stack: calls @fn(@arg), which must not return. */
void *fib_ctx_make(void *stack_top, void (*fn)(void *), void *arg);

/**
 * First context that is a jump to @rip with the stack pointer at @sp: for a
 * frame that was laid by hand. 64 bytes below @sp are used.
 */
void *fib_ctx_make_at(void *sp, const void *rip);

/* Vector state, for a switch in the midst of code that keeps it live. */
extern size_t fib_xsave_size;
extern size_t fib_xsave_native_size; /* in a signal frame of the kernel's */
void fib_xsave_init(void);
void fib_xsave(void *area); /* 64-aligned, fib_xsave_size bytes */
void fib_xrstor(void *area);

#endif
