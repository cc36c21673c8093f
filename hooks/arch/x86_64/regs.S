/* Loading all registers. See regs_arch.h. */
#include "regs_arch.h"

	.text

/* void fib_regs_resume(struct fib_regs *regs) */
	.p2align 4
	.globl	fib_regs_resume
	.hidden	fib_regs_resume
	.type	fib_regs_resume, @function
fib_regs_resume:
	.cfi_startproc
	.cfi_def_cfa rdi, 128
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
	mov	%rdi, %rsp
	.cfi_def_cfa_register rsp
	FIB_REGS_LOAD
	ret
	.cfi_endproc
	.size	fib_regs_resume, . - fib_regs_resume

	.section .note.GNU-stack,"",@progbits
