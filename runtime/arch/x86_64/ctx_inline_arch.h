/* The context switch of ctx_arch.h in the place where it is wanted. */
#ifndef FIB_CTX_INLINE_ARCH_H
#define FIB_CTX_INLINE_ARCH_H

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
			 "fnstsw	6(%%rsp)\n\t"
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
