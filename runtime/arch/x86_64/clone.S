/* Kernel threads of our own, see sched.h. */
	.text

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

	.section .note.GNU-stack, "", @progbits
