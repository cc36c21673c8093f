/*
 * An object with system calls of its own: what a library that comes by
 * dlopen() may bring. raw_futex and raw_clone, with its exit, must be rewritten,
 * raw_getpid has a number that needs no rewriting.
 */
	.text

	.globl	raw_futex		/* addr, op, val, timeout */
	.type	raw_futex, @function
raw_futex:
	.cfi_startproc
	mov	%rcx, %r10
	mov	$202, %eax
	syscall
	cmp	$-4096, %rax
	ja	1f
	ret
1:	ret
	.cfi_endproc
	.size	raw_futex, . - raw_futex

	.globl	raw_getpid
	.type	raw_getpid, @function
raw_getpid:
	.cfi_startproc
	mov	$39, %eax
	syscall
	nop
	nop
	nop
	ret
	.cfi_endproc
	.size	raw_getpid, . - raw_getpid

	/* long raw_clone(flags, sp, fn): a thread that calls fn and exits */
	.globl	raw_clone
	.type	raw_clone, @function
raw_clone:
	.cfi_startproc
	mov	%rdx, %r9
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	mov	$56, %eax
	syscall
	test	%rax, %rax
	jz	1f
	ret
1:	.cfi_undefined rip
	call	*%r9
	xor	%edi, %edi
	mov	$60, %eax
	syscall
	hlt
	.cfi_endproc
	.size	raw_clone, . - raw_clone

/*
 * long raw_preserves(void *word): a FUTEX_WAKE with a pattern in every
 * register and in the red zone; returns how many of them came back changed.
 */
	.macro	IFDIFF a, b
	cmp	\a, \b
	je	9f
	inc	%r11
9:
	.endm

	.globl	raw_preserves
	.type	raw_preserves, @function
raw_preserves:
	.cfi_startproc
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	$0x5a5a5a5a5a5a5a01, %rbx
	movq	%rbx, %xmm0
	movq	%rbx, %xmm7
	movq	%rbx, %xmm15
	mov	%rbx, -8(%rsp)
	mov	%rbx, -120(%rsp)
	mov	%rdi, -16(%rsp)
	mov	%rsp, -24(%rsp)
	mov	$1, %esi		/* FUTEX_WAKE */
	mov	$1, %edx
	mov	%rbx, %r10
	mov	%rbx, %r8
	mov	%rbx, %r9
	mov	%rbx, %rbp
	mov	%rbx, %r12
	mov	%rbx, %r13
	mov	%rbx, %r14
	mov	%rbx, %r15
	mov	$202, %eax
	syscall
	mov	%rax, %r11
	IFDIFF	%rbx, %r10
	IFDIFF	%rbx, %r8
	IFDIFF	%rbx, %r9
	IFDIFF	%rbx, %rbp
	IFDIFF	%rbx, %r12
	IFDIFF	%rbx, %r13
	IFDIFF	%rbx, %r14
	IFDIFF	%rbx, %r15
	IFDIFF	%rbx, -8(%rsp)
	IFDIFF	%rbx, -120(%rsp)
	IFDIFF	%rdi, -16(%rsp)
	IFDIFF	%rsp, -24(%rsp)
	movq	%xmm0, %rax
	IFDIFF	%rbx, %rax
	movq	%xmm7, %rax
	IFDIFF	%rbx, %rax
	movq	%xmm15, %rax
	IFDIFF	%rbx, %rax
	mov	$0x5a5a5a5a5a5a5a01, %rax
	IFDIFF	%rax, %rbx
	cmp	$1, %esi
	je	1f
	inc	%r11
1:	cmp	$1, %rdx
	je	1f
	inc	%r11
1:	mov	%r11, %rax
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.cfi_endproc
	.size	raw_preserves, . - raw_preserves

/*
 * Three functions where the instruction after the syscall is a jump target:
 * from another function, of an exception, through a jump table. Windows have
 * to end before it.
 */
	.macro	SITE name
	mov	$202, %eax
	syscall
	.globl	\name\()_target
\name\()_target:
.L\name\()_target:
	cmp	$-4096, %rax
	ja	1f
	ret
1:	ret
	.endm

	.globl	raw_cross
	.type	raw_cross, @function
raw_cross:
	.cfi_startproc
	SITE	raw_cross
	.cfi_endproc
	.size	raw_cross, . - raw_cross
	.fill	64, 1, 0x90
	.type	raw_cross_cold, @function
raw_cross_cold:
	.cfi_startproc
	.byte	0xe9
	.long	.Lraw_cross_target - . - 4
	.cfi_endproc
	.size	raw_cross_cold, . - raw_cross_cold

	.globl	raw_pad
	.type	raw_pad, @function
raw_pad:
.Lraw_pad:
	.cfi_startproc
	.cfi_lsda 0x1b, .Lpads
	SITE	raw_pad
	.cfi_endproc
	.size	raw_pad, . - raw_pad

	.globl	raw_table
	.type	raw_table, @function
raw_table:
	.cfi_startproc
	test	%edx, %edx
	jns	2f
	lea	.Ltable(%rip), %r8
	movslq	4(%r8), %rax
	add	%r8, %rax
	jmp	*%rax
2:	SITE	raw_table
3:	mov	$-1, %rax
	ret
	.cfi_endproc
	.size	raw_table, . - raw_table

	.section .rodata
	.p2align 2
.Ltable:
	.long	3b - .Ltable
	.long	.Lraw_table_target - .Ltable
	.long	0x7fffffff
.Lpads:
	.byte	0xff, 0xff, 0x01
	.uleb128 4f - 3f
3:	.uleb128 0
	.uleb128 5
	.uleb128 .Lraw_pad_target - .Lraw_pad
	.uleb128 0
4:

	.section .note.GNU-stack,"",@progbits
