/* A process that is made from a rewritten site. See regs_arch.h. */
	.hidden	fib_clone_child
	.hidden	fib_regs_resume

	.text

/*
 * long fib_regs_clone(long nr, long a0, long a1, long a2, long a3, long a4)
 *
 * The child has a stack with a struct fib_regs on top, and nothing of the
 * parent's: the outermost frame until the registers are loaded.
 */
	.p2align 4
	.globl	fib_regs_clone
	.hidden	fib_regs_clone
	.type	fib_regs_clone, @function
fib_regs_clone:
	.cfi_startproc
	mov	%rdi, %rax
	mov	%rsi, %rdi
	mov	%rdx, %rsi
	mov	%rcx, %rdx
	mov	%r8, %r10
	mov	%r9, %r8
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined rip
	xor	%ebp, %ebp
	mov	%rsp, %rbx
	mov	%rsp, %rdi
	and	$-16, %rsp
	call	fib_clone_child
	mov	%rbx, %rdi
	jmp	fib_regs_resume
	.cfi_endproc
	.size	fib_regs_clone, . - fib_regs_clone

	.section .note.GNU-stack,"",@progbits
