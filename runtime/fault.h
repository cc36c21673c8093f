/*
 * Touching memory that the program named, and that may not be there, or not be
 * for writing.
 *
 * Each of these has one instruction that may fault (switch.S), and an entry in
 * the table of such instructions. The handler of SIGSEGV and SIGBUS
 * (hooks/signal/entry.c) asks fib_fault_fixup() whether the faulting address of code
 * is in the table, and goes on where -EFAULT is reported. So they may be used
 * with a lock held; but a fault may also take long (swap, userfaultfd, whose
 * handler may need that very lock), so what is done under a lock is touched
 * before it is taken, as kernel/futex does.
 *
 * All are for programs that have the library's handler: those that run hooked,
 * from activation to fork. The words are the program's too, which changes them
 * at any time by atomic instructions; changes here are full barriers but for
 * fib_poke32().
 */
#ifndef FIB_FAULT_H
#define FIB_FAULT_H

#include "runtime/base.h"

/** *@val = *@addr: 0, -EFAULT, or -EINVAL where @addr is not aligned. */
int fib_peek32(const uint32_t *addr, uint32_t *val);
/** *@addr = @val: 0 or -EFAULT. */
int fib_poke32(uint32_t *addr, uint32_t val);
/**
 * *@addr = @is if it is *@was: 1; else 0, and *@was is what was found. -EFAULT,
 * -EINVAL.
 */
int fib_cas32(uint32_t *addr, uint32_t *was, uint32_t is);
/** Can *@addr be written? Changes nothing. 0, -EFAULT, -EINVAL. */
int fib_touch32(uint32_t *addr);
/** Copy to or from memory of the program's: 0 or -EFAULT. */
int fib_copy(void *to, const void *from, size_t n);
#ifdef FIB_LOCK_RANKS
#define fib_poke32(addr, val)                                                  \
	(fib_no_lock("program memory"), (fib_poke32)(addr, val))
#define fib_copy(to, from, n)                                                  \
	(fib_no_lock("program memory"), (fib_copy)(to, from, n))
#endif
/** Where to go on after a fault at @rip, or 0 if it is not one of ours. */
uintptr_t fib_fault_fixup(uintptr_t rip);

#endif
