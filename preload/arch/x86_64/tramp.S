/*
 * The way from a rewritten system call site into C and back: the slots that
 * the sites jump to, the common part behind them, and a vfork of our own.
 * README.md beside this file tells the why.
 *
 * A slot is 64 bytes, aligned to 64 (slot_arch.h):
 *
 *   0	X: the address after the original syscall instruction
 *   8	room for instructions that stood before it, ended at 20
 *  20	lea, push, call, lea: the same in every slot
 *  44	room for instructions that stood after it, and a jmp back
 *
 * Registers at a site, and what becomes of them:
 *
 *   rax		number in, result out
 *   rdi rsi rdx r10 r8 r9	arguments, preserved
 *   rcx r11		scratch, as with a real syscall (preserved here)
 *   rbx rbp r12-r15	preserved
 *   rflags		not preserved: compilers take every asm to change them
 *   xmm ... x87	never touched
 */
#include "regs_arch.h"
#include "slot_arch.h"

	.hidden	fib_nobody
	.hidden	fib_dispatch
	.hidden	fib_vfork_prepare
	.hidden	fib_vfork_child
	.hidden	fib_vfork_error

	.section .text.fib_slots,"ax",@progbits
	.p2align 12
	.globl	fib_slots
	.hidden	fib_slots
	.type	fib_slots, @function
fib_slots:
	.cfi_startproc
	/*
	 * CFA = rsp + ((o >= 25) - (o >= 44)) * 128 + ((o >= 31) - (o >= 44)) * 8,
	 * where o = rip & 63: the rsp that the function had at its syscall. With
	 * operators that old readers know (valgrind's): no dup, swap, drop.
	 */
#define O_GE(n) 0x80, 0x00, 0x08, 63, 0x1a, 0x08, n, 0x2a
	.cfi_escape 0x0f, 42, 0x77, 0x00,			\
		O_GE(25), O_GE(44), 0x1c, 0x37, 0x24, 0x22,	\
		O_GE(31), O_GE(44), 0x1c, 0x33, 0x24, 0x22
	/* The return address is saved at rip & -64: in X. */
	.cfi_escape 0x10, 16, 5, 0x80, 0x00, 0x09, 0xc0, 0x1a
	.rept	FIB_SLOTS
	.quad	0
	.fill	12, 1, 0xcc
	lea	-128(%rsp), %rsp
	push	(. - 25)(%rip)
	call	fib_tramp_common
	.byte	0x48, 0x8d, 0xa4, 0x24	/* lea 136(%rsp), %rsp */
	.long	136
	.fill	20, 1, 0xcc
	.endr
	.cfi_endproc
	.size	fib_slots, . - fib_slots
	.globl	fib_slots_end
	.hidden	fib_slots_end
fib_slots_end:

	.text

	.macro	SAVE reg
	push	%\reg
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset \reg, 0
	.endm

/*
 * Called by a slot. On the stack: the slot, X, the red zone. Every register
 * is described as saved, so that a debugger shows those of the site.
 */
	.p2align 6
	.globl	fib_tramp_common
	.hidden	fib_tramp_common
	.type	fib_tramp_common, @function
fib_tramp_common:
	.cfi_startproc
	SAVE	rax
	SAVE	rcx
	SAVE	rdx
	SAVE	rbx
	SAVE	rbp
	SAVE	rsi
	SAVE	rdi
	SAVE	r8
	SAVE	r9
	SAVE	r10
	SAVE	r11
	SAVE	r12
	SAVE	r13
	SAVE	r14
	SAVE	r15
	mov	%rsp, %rdi
	mov	%rsp, %rbp
	.cfi_def_cfa_register rbp
	and	$-16, %rsp
	call	fib_dispatch
	mov	%rbp, %rsp
	.cfi_def_cfa_register rsp
	FIB_REGS_LOAD
	ret
	.cfi_endproc
	.size	fib_tramp_common, . - fib_tramp_common

/*
 * vfork(), in place of libc's. The child runs on the parent's stack, below
 * which it may write what it likes while the parent waits: all that the
 * parent needs later is in registers, which the kernel preserves.
 *
 *   r8		return address
 *   r9		signal mask that the child must have
 */
	.p2align 4
	.globl	fib_vfork_stub
	.hidden	fib_vfork_stub
	.type	fib_vfork_stub, @function
fib_vfork_stub:
	.cfi_startproc
	sub	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	fib_vfork_prepare
	add	$8, %rsp
	.cfi_adjust_cfa_offset -8
	mov	%rax, %r9
	pop	%r8
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, r8
	mov	$58, %eax			/* vfork */
	syscall
	test	%rax, %rax
	jnz	1f

	/* The child: the program's actions, no worker, and then the mask. */
	push	%r8
	.cfi_adjust_cfa_offset 8
	push	%r9
	.cfi_adjust_cfa_offset 8
	call	fib_vfork_child
	pop	%r9
	.cfi_adjust_cfa_offset -8
	pop	%r8
	.cfi_adjust_cfa_offset -8
	mov	$158, %eax			/* arch_prctl */
	mov	$0x1001, %edi			/* ARCH_SET_GS */
	lea	fib_nobody(%rip), %rsi
	syscall
	push	%r9
	.cfi_adjust_cfa_offset 8
	mov	$14, %eax			/* rt_sigprocmask */
	mov	$2, %edi			/* SIG_SETMASK */
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	syscall
	pop	%r9
	.cfi_adjust_cfa_offset -8
	xor	%eax, %eax

1:	push	%r8
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rip, 0
	test	%rax, %rax
	js	2f
	ret
2:	mov	%rax, %rdi
	jmp	fib_vfork_error
	.cfi_endproc
	.size	fib_vfork_stub, . - fib_vfork_stub

	.section .note.GNU-stack,"",@progbits
