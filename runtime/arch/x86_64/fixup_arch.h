/*
 * Before an instruction that touches memory of the program's: after a fault
 * there, go on at @label. One entry of the table that fib_fault_fixup() searches,
 * as two distances from where they stand. For assembly.
 */
#ifndef FIB_FIXUP_ARCH_H
#define FIB_FIXUP_ARCH_H

/* clang-format off */
#define FIB_MAY_FAULT(label)						\
	771:								\
	.pushsection fib_fixups, "a", @progbits;			\
	.balign 4;							\
	.long 771b - .;							\
	.long label - .;						\
	.popsection
/* clang-format on */

#endif
