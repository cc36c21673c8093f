/* A system call that a signal may keep from being made. */
	.text

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
