/* The context switch of ctx_arch.h in the place where it is wanted. */
#ifndef FIB_CTX_INLINE_ARCH_H
#define FIB_CTX_INLINE_ARCH_H

#include <stdint.h>

#define FIB_CTX_PUSH                                                           \
	"leaq	-128(%%rsp), %%rsp\n\t" /* the red zone */                     \
	"leaq	1f(%%rip), %%rax\n\t"                                            \
	"pushq	%%rax\n\t"                                                      \
	"pushq	%%rbp\n\t"                                                      \
	"pushq	%%rbx\n\t"                                                      \
	"pushq	%%r12\n\t"                                                      \
	"pushq	%%r13\n\t"                                                      \
	"pushq	%%r14\n\t"                                                      \
	"pushq	%%r15\n\t"                                                      \
	"subq	$8, %%rsp\n\t"
#define FIB_CTX_POP                                                            \
	"addq	$8, %%rsp\n\t"                                                   \
	"popq	%%r15\n\t"                                                       \
	"popq	%%r14\n\t"                                                       \
	"popq	%%r13\n\t"                                                       \
	"popq	%%r12\n\t"                                                       \
	"popq	%%rbx\n\t"                                                       \
	"popq	%%rbp\n\t"                                                       \
	"popq	%%rax\n\t"                                                       \
	"jmp	*%%rax\n"
#define FIB_CTX_END "1:	leaq	128(%%rsp), %%rsp"

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
	__asm__ volatile(FIB_CTX_PUSH
			 "stmxcsr (%%rsp)\n\t"
			 "fnstcw	4(%%rsp)\n\t"
			 "fnstsw	6(%%rsp)\n\t"
			 "movl	(%%rsp), %%eax\n\t"
			 "movq	%%rsp, (%0)\n\t"
			 "movq	%1, %%rsp\n\t"
			 "xorl	(%%rsp), %%eax\n\t"
			 "testl	$0xffc0, %%eax\n\t" /* but the flags */
			 "jnz	3f\n"
			 "2:	fldcw	4(%%rsp)\n\t" FIB_CTX_POP
			 "3:	ldmxcsr (%%rsp)\n\t"
			 "jmp	2b\n" FIB_CTX_END
			 : "+D"(save), "+S"(load)
			 :
			 : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11",
			   "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
			   "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
			   "xmm12", "xmm13", "xmm14", "xmm15", "cc", "memory");
}

/*
 * There and back between a fiber and a context that never computes with floating
 * point, its worker's: the worker has the modes and flags of the fiber that left
 * last, which are in @floats as in a frame. So they are saved and compared once a
 * turn, and not twice: they take longer than all the other registers. Exact, as
 * fib_ctx_switch(); where no vector register is live.
 */

/** What the CPU has, for the first fib_ctx_resume(). */
static inline uint64_t fib_ctx_floats(void)
{
	struct {
		uint32_t mxcsr;
		uint16_t x87cw, x87sw;
	} now;

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1\n\tfnstsw %2"
			 : "=m"(now.mxcsr), "=m"(now.x87cw), "=m"(now.x87sw));
	return now.mxcsr | (uint64_t)now.x87cw << 32 |
	       (uint64_t)now.x87sw << 48;
}

/** The caller, which has @now, has @floats instead: who is no worker all its life. */
static inline void fib_ctx_floats_set(uint64_t floats, uint64_t now)
{
	uint32_t env[7], mxcsr = (uint32_t)floats;

	if (!((floats ^ now) << 10)) /* no flags of the x87 but these six */
		return;
	__asm__ volatile("ldmxcsr %1\n\tfnstenv %0" : "=m"(env) : "m"(mxcsr));
	env[0] = (env[0] & ~0xffffu) | (uint16_t)(floats >> 32);
	env[1] = (env[1] & ~0xffu) | (floats >> 48 & 0x3f);
	__asm__ volatile("fldenv %0" : : "m"(env));
}

/** The fiber's half: save the caller in *@save and *@floats, go on at @load. */
static inline __attribute__((always_inline)) void
fib_ctx_leave(void **save, void *load, uint64_t *floats)
{
	__asm__ volatile(
		FIB_CTX_PUSH "stmxcsr (%%rsp)\n\t"
			     "fnstcw	4(%%rsp)\n\t"
			     "fnstsw	6(%%rsp)\n\t"
			     "movq	(%%rsp), %%rax\n\t"
			     "movq	%%rax, (%2)\n\t"
			     "movq	%%rsp, (%0)\n\t"
			     "movq	%1, %%rsp\n\t" FIB_CTX_POP FIB_CTX_END
		: "+D"(save), "+S"(load), "+d"(floats)
		:
		: "rax", "rcx", "r8", "r9", "r10", "r11", "cc", "memory");
}

/** The worker's: save the caller in *@save, go on at fiber @load, by *@floats. */
static inline __attribute__((always_inline)) void
fib_ctx_resume(void **save, void *load, uint64_t *floats)
{
	__asm__ volatile(
		FIB_CTX_PUSH
		"movq	%%rsp, (%0)\n\t"
		"movq	%1, %%rsp\n\t"
		"movq	(%%rsp), %%rax\n\t"
		"xorq	(%2), %%rax\n\t"
		"shlq	$10, %%rax\n\t" /* no flags of the x87 */
		"jnz	3f\n"
		"2:	" FIB_CTX_POP "3:	ldmxcsr (%%rsp)\n\t"
		"movl	4(%%rsp), %%ecx\n\t"
		"movl	%%ecx, %%eax\n\t"
		"xorl	4(%2), %%eax\n\t"
		"testl	$0x003fffff, %%eax\n\t"
		"jz	2b\n\t"
		/* The control word, and the flags of the status word. */
		"subq	$32, %%rsp\n\t"
		"fnstenv (%%rsp)\n\t"
		"movw	%%cx, (%%rsp)\n\t"
		"shrl	$16, %%ecx\n\t"
		"andl	$0x3f, %%ecx\n\t"
		"andl	$~0xff, 4(%%rsp)\n\t"
		"orl	%%ecx, 4(%%rsp)\n\t"
		"fldenv	(%%rsp)\n\t"
		"addq	$32, %%rsp\n\t"
		"jmp	2b\n" FIB_CTX_END
		: "+D"(save), "+S"(load), "+d"(floats)
		:
		: "rax", "rcx", "r8", "r9", "r10", "r11", "cc", "memory");
}

#endif
