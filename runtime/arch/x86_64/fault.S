/* What touches memory of the program's, see fault.h. */
#include "fixup_arch.h"

	.text

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

	.section .note.GNU-stack, "", @progbits
