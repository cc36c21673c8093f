#include "runtime/arch/x86_64/fixup.h"

/*
 * void fib_ctx_switch(void **save, void *load)
 *   rdi  where the old stack pointer goes
 *   rsi  the new stack pointer
 * The frame is struct fib_ctx_frame of ctx.h.
 */
	.text
	.globl	fib_ctx_switch
	.hidden	fib_ctx_switch
	.type	fib_ctx_switch, @function
	.p2align 4
fib_ctx_switch:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	fib_ctx_switch, .-fib_ctx_switch

/* The bottom of every stack that fib_ctx_make() made: rbx = fn, r12 = arg. */
	.globl	fib_ctx_entry
	.hidden	fib_ctx_entry
	.type	fib_ctx_entry, @function
fib_ctx_entry:
	.cfi_startproc
	.cfi_undefined rip
	movq	%r12, %rdi
	xorl	%ebp, %ebp
	call	*%rbx
	ud2
	.cfi_endproc
	.size	fib_ctx_entry, .-fib_ctx_entry

/*
 * long fib_thread_clone(unsigned long flags, void *stack_top, int *tid,
 *			 void (*fn)(void *), void *arg)
 * A kernel thread that runs fn(arg) on the given stack and ends with exit.
 * It has no TLS: %fs is what the creator's was until fn changes it.
 */
	.globl	fib_thread_clone
	.hidden	fib_thread_clone
	.type	fib_thread_clone, @function
fib_thread_clone:
	.cfi_startproc
	movq	%rcx, %r9		/* fn: r9 and r8 outlive the syscall */
	movl	$56, %eax		/* clone(flags, stack, ptid, ctid, tls) */
	movq	%rdx, %r10		/* CLONE_CHILD_CLEARTID: the same word */
.Lmake_thread:
	syscall
	testq	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined rip
	xorl	%ebp, %ebp
	movq	%r8, %rdi
	call	*%r9
	xorl	%edi, %edi
	movl	$60, %eax		/* exit */
	syscall
	ud2
	.cfi_endproc
	.size	fib_thread_clone, .-fib_thread_clone

/*
 * long fib_thread_clone3(struct clone_args *args, size_t size,
 *			  void (*fn)(void *), void *arg): the same by clone3
 */
	.globl	fib_thread_clone3
	.hidden	fib_thread_clone3
	.type	fib_thread_clone3, @function
fib_thread_clone3:
	.cfi_startproc
	movq	%rdx, %r9
	movq	%rcx, %r8
	movl	$435, %eax
	jmp	.Lmake_thread
	.cfi_endproc
	.size	fib_thread_clone3, .-fib_thread_clone3

/*
 * Touching memory that may not be there, see fault.h. Arguments as in C:
 *
 *   int fib_peek_raw(const uint32_t *addr, uint32_t *val)
 *   int fib_poke32(uint32_t *addr, uint32_t val)
 *   int fib_cas_raw(uint32_t *addr, uint32_t *was, uint32_t is)
 *   int fib_touch_raw(uint32_t *addr)
 *   int fib_copy(void *to, const void *from, size_t n)
 */
	.globl	fib_peek_raw
	.hidden	fib_peek_raw
	.type	fib_peek_raw, @function
fib_peek_raw:
	.cfi_startproc
	FIB_MAY_FAULT(fib_fault)
	movl	(%rdi), %eax
	movl	%eax, (%rsi)
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	fib_peek_raw, .-fib_peek_raw

	.globl	fib_poke32
	.hidden	fib_poke32
	.type	fib_poke32, @function
fib_poke32:
	.cfi_startproc
	FIB_MAY_FAULT(fib_fault)
	movl	%esi, (%rdi)
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	fib_poke32, .-fib_poke32

	.globl	fib_cas_raw
	.hidden	fib_cas_raw
	.type	fib_cas_raw, @function
fib_cas_raw:
	.cfi_startproc
	movl	(%rsi), %eax
	FIB_MAY_FAULT(fib_fault)
	lock cmpxchgl %edx, (%rdi)
	movl	%eax, (%rsi)
	movl	$0, %eax
	sete	%al
	ret
	.cfi_endproc
	.size	fib_cas_raw, .-fib_cas_raw

	.globl	fib_touch_raw
	.hidden	fib_touch_raw
	.type	fib_touch_raw, @function
fib_touch_raw:
	.cfi_startproc
	xorl	%eax, %eax
	FIB_MAY_FAULT(fib_fault)
	lock orl %eax, (%rdi)
	ret
	.cfi_endproc
	.size	fib_touch_raw, .-fib_touch_raw

	.globl	fib_copy
	.hidden	fib_copy
	.type	fib_copy, @function
fib_copy:
	.cfi_startproc
	movq	%rdx, %rcx
	xorl	%eax, %eax
	FIB_MAY_FAULT(fib_fault)
	rep movsb
	ret
	.cfi_endproc
	.size	fib_copy, .-fib_copy

	.type	fib_fault, @function
fib_fault:
	.cfi_startproc
	movl	$-14, %eax		/* -EFAULT */
	ret
	.cfi_endproc
	.size	fib_fault, .-fib_fault

/*
 * long fib_raw_intr(const _Atomic uint32_t *stop, long nr, const long a[6])
 * A system call that a kick ends even when it comes between the look at *stop
 * and the syscall instruction: the kick's handler moves a thread that is in
 * [begin, syscall] to stop.
 */
	.globl	fib_raw_intr, fib_raw_intr_begin
	.globl	fib_raw_intr_syscall, fib_raw_intr_stop
	.hidden	fib_raw_intr, fib_raw_intr_begin
	.hidden	fib_raw_intr_syscall, fib_raw_intr_stop
	.type	fib_raw_intr, @function
fib_raw_intr:
	.cfi_startproc
	movq	%rdi, %r11
	movq	%rsi, %rax
	movq	%rdx, %rcx
	movq	0(%rcx), %rdi
	movq	8(%rcx), %rsi
	movq	16(%rcx), %rdx
	movq	24(%rcx), %r10
	movq	32(%rcx), %r8
	movq	40(%rcx), %r9
fib_raw_intr_begin:
	cmpl	$0, (%r11)
	jne	fib_raw_intr_stop
fib_raw_intr_syscall:
	syscall
	ret
fib_raw_intr_stop:
	movq	$-513, %rax		/* -FIB_ERESTARTNOINTR */
	ret
	.cfi_endproc
	.size	fib_raw_intr, .-fib_raw_intr

	.section .note.GNU-stack, "", @progbits
