/* The switch of contexts, see ctx_arch.h. */

/*
 * void fib_ctx_switch(void **save, void *load)
 *   rdi  where the old stack pointer goes
 *   rsi  the new stack pointer
 * The frame is struct fib_ctx_frame of ctx_arch.h.
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
	fnstsw	6(%rsp)
	movl	(%rsp), %eax
	movl	4(%rsp), %ecx
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	/* Mostly both are the same, and to load them is slow. */
	cmpl	(%rsp), %eax
	jne	2f
1:	xorl	4(%rsp), %ecx
	testl	$0x003fffff, %ecx
	jnz	4f
3:	.cfi_remember_state
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
	.cfi_restore_state
2:	ldmxcsr	(%rsp)
	jmp	1b
	/* The control word, and the flags of the status word. */
4:	subq	$32, %rsp
	.cfi_adjust_cfa_offset 32
	fnstenv	(%rsp)
	movl	32+4(%rsp), %ecx
	movw	%cx, (%rsp)
	shrl	$16, %ecx
	andl	$0x3f, %ecx
	andl	$~0xff, 4(%rsp)
	orl	%ecx, 4(%rsp)
	fldenv	(%rsp)
	addq	$32, %rsp
	.cfi_adjust_cfa_offset -32
	jmp	3b
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

	.section .note.GNU-stack, "", @progbits
