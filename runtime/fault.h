/*
 * Reading memory that the program named and that may not be there.
 *
 * The load is one instruction between two labels. The handler of SIGSEGV and
 * SIGBUS (hooks/sigentry.c) asks fib_fault_fixup() whether the faulting address
 * of code is one of these, and goes on at the label that reports -EFAULT.
 */
#ifndef FIB_FAULT_H
#define FIB_FAULT_H

#include "runtime/base.h"

/** *@val = *@addr: 0, -EFAULT, or -EINVAL where @addr is not aligned. */
int fib_peek32(const uint32_t *addr, uint32_t *val);
/** Copy to or from memory of the program's: 0 or -EFAULT. */
int fib_copy(void *to, const void *from, size_t n);
/** Where to go on after a fault at @rip, or 0 if it is not one of ours. */
uintptr_t fib_fault_fixup(uintptr_t rip);

#endif
