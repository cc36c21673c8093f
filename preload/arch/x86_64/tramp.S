/*
 * The way from a rewritten system call site into C and back: the slots that
 * the sites jump to, the common part behind them, the entry of new contexts,
 * and a vfork of our own. README.md beside this file tells the why.
 *
 * A slot is 64 bytes, aligned to 64 (offsets also in rewrite_int.h):
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
#define SLOTS	  2048
#define SLOT_SIZE 64

	.hidden	fib_dispatch
	.hidden	fib_clone_child
	.hidden	fib_vfork_prepare
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
	.rept	SLOTS
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

	.macro	LOAD reg
	pop	%\reg
	.cfi_adjust_cfa_offset -8
	.cfi_restore \reg
	.endm

	.macro	LOAD_ALL
	LOAD	r15
	LOAD	r14
	LOAD	r13
	LOAD	r12
	LOAD	r11
	LOAD	r10
	LOAD	r9
	LOAD	r8
	LOAD	rdi
	LOAD	rsi
	LOAD	rbp
	LOAD	rbx
	LOAD	rdx
	LOAD	rcx
	LOAD	rax
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
	LOAD_ALL
	ret
	.cfi_endproc
	.size	fib_tramp_common, . - fib_tramp_common

/* rsp points at a struct fib_regs. */
	.p2align 4
	.globl	fib_tramp_resume
	.hidden	fib_tramp_resume
	.type	fib_tramp_resume, @function
fib_tramp_resume:
	.cfi_startproc
	.cfi_def_cfa rsp, 128
	.cfi_rel_offset r15, 0
	.cfi_rel_offset r14, 8
	.cfi_rel_offset r13, 16
	.cfi_rel_offset r12, 24
	.cfi_rel_offset r11, 32
	.cfi_rel_offset r10, 40
	.cfi_rel_offset r9, 48
	.cfi_rel_offset r8, 56
	.cfi_rel_offset rdi, 64
	.cfi_rel_offset rsi, 72
	.cfi_rel_offset rbp, 80
	.cfi_rel_offset rbx, 88
	.cfi_rel_offset rdx, 96
	.cfi_rel_offset rcx, 104
	.cfi_rel_offset rax, 112
	LOAD_ALL
	ret
	.cfi_endproc
	.size	fib_tramp_resume, . - fib_tramp_resume

/*
 * long fib_tramp_clone(long nr, long a0, long a1, long a2, long a3, long a4)
 *
 * The child has a stack with a struct fib_regs on top, and nothing of the
 * parent's: the outermost frame until the registers are loaded.
 */
	.p2align 4
	.globl	fib_tramp_clone
	.hidden	fib_tramp_clone
	.type	fib_tramp_clone, @function
fib_tramp_clone:
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
	mov	%rbx, %rsp
	jmp	fib_tramp_resume
	.cfi_endproc
	.size	fib_tramp_clone, . - fib_tramp_clone

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

	/* The child: no worker (gs base 0), and then the mask. */
	mov	$158, %eax			/* arch_prctl */
	mov	$0x1001, %edi			/* ARCH_SET_GS */
	xor	%esi, %esi
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
