/*
 * Signal handlers on a fiber's stack. See frame_arch.h.
 *
 * The kernel's handler (hooks/signal/entry.c) has copied its frame to the fiber's
 * stack and sent the fiber here. rsp is frame + 8, where rt_sigreturn wants
 * it; esi is the signal, or 0. A kick that comes between last and the syscall
 * finds the worker there and sends the fiber to again, so that no signal
 * waits for the next system call, and uc_stack is always this worker's.
 *
 * CFI: every register of the interrupted code lies in the frame, as in glibc's
 * __restore_rt. The expressions are DW_OP_breg7 (rsp) + offset, the offset of
 * the register in struct fib_sigframe less 8. rsp has one besides the CFA:
 * libunwind looks there for the caller of a function that is not there.
 */
#include "fixup_arch.h"
#include "offsets_arch.h"

	.macro	UCREG dwarf, offset
	/* DW_CFA_expression reg, 4 bytes: breg7 sleb128(offset), two bytes */
	.cfi_escape 0x10, \dwarf, 3, 0x77, (\offset & 0x7f) | 0x80, (\offset >> 7)
	.endm

	.text
	.globl	fib_sigframe_begin, fib_sigframe_again, fib_sigframe_last
	.hidden	fib_sigframe_begin, fib_sigframe_again, fib_sigframe_last
	.type	fib_sigframe_begin, @function
	.p2align 4
	nop
fib_sigframe_begin:
	.cfi_startproc
	.cfi_signal_frame
	/* DW_CFA_def_cfa_expression: *(rsp + offset of rsp) */
	.cfi_escape 0x0f, 4, 0x77, (160 & 0x7f) | 0x80, 1, 0x06
	UCREG	8, 40
	UCREG	9, 48
	UCREG	10, 56
	UCREG	11, 64
	UCREG	12, 72
	UCREG	13, 80
	UCREG	14, 88
	UCREG	15, 96
	UCREG	5, 104
	UCREG	4, 112
	UCREG	6, 120
	UCREG	3, 128
	UCREG	1, 136
	UCREG	0, 144
	UCREG	2, 152
	UCREG	7, 160
	UCREG	16, 168
	jmp	1f
fib_sigframe_again:
	xorl	%esi, %esi
1:	leaq	-8(%rsp), %rdi
	call	fib_sigframe_deliver
fib_sigframe_last:
	movb	$0, FIB_OFFSET_IN_HOOK(%rax)
	cmpl	$0, FIB_OFFSET_ATTENTION(%rax)
	jne	fib_sigframe_again
	movl	$15, %eax
	syscall
	ud2
	.cfi_endproc
	.size	fib_sigframe_begin, .-fib_sigframe_begin

/*
 * int fib_call_on_stack(handler, int sig, siginfo_t *info, void *uc, sp)
 *   rdi handler, esi sig, rdx info, rcx uc, r8 sp
 * -EFAULT if there is no memory for the return address.
 */
	.globl	fib_call_on_stack
	.hidden	fib_call_on_stack
	.type	fib_call_on_stack, @function
	.p2align 4
fib_call_on_stack:
	.cfi_startproc
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	andq	$-16, %r8
	movq	%rdi, %rax
	movl	%esi, %edi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	leaq	1f(%rip), %rcx
	FIB_MAY_FAULT(call_bad)
	movq	%rcx, -8(%r8)
	leaq	-8(%r8), %rsp
	jmp	*%rax
1:	movq	%rbp, %rsp
	xorl	%eax, %eax
2:	popq	%rbp
	.cfi_remember_state
	.cfi_def_cfa rsp, 8
	ret
	.cfi_restore_state
call_bad:
	movl	$-14, %eax		/* -EFAULT */
	jmp	2b
	.cfi_endproc
	.size	fib_call_on_stack, .-fib_call_on_stack

/* The kernel's handler returns through this. */
	.globl	fib_sigreturn
	.hidden	fib_sigreturn
	.type	fib_sigreturn, @function
	.p2align 4
	nop
fib_sigreturn:
	movq	$15, %rax
	syscall
	.size	fib_sigreturn, .-fib_sigreturn

	.section .note.GNU-stack, "", @progbits
