/*
 * Thread stacks that cost one mapping together instead of two each.
 *
 * NPTL maps a stack PROT_NONE and opens all of it but the guard, which makes
 * two VMAs a thread; vm.max_map_count then ends the party at 32k threads. We
 * map it readable and writable at once and make the guard with
 * MADV_GUARD_INSTALL (Linux 6.13), which splits nothing, so that neighbouring
 * stacks merge into one VMA; older kernels get a PROT_NONE page. (From glibc 2.42
 * on NPTL does so itself, if it can.) Where there are
 * many already, more than one is mapped at a time. A stack that
 * NPTL unmaps is kept for the next thread of the same size, without what its
 * thread has left there, until nobody wants it or address space runs out. What
 * lies below a thread's last frame is given back when the thread has left it, but
 * for the pages that the next one is likely to need (fib_stack_end()), so that the
 * wipe need not ask for it again; the record of that holds until another thread
 * begins there. That call costs as much as all the rest of a short thread's life; it
 * is not made for who is known to have left nothing there, as nobody had before it.
 * Which pages the next thread is likely to need is known from looks at what threads
 * have left there: one that most leave as it was is not kept, or not wiped.
 *
 * Only calls that NPTL makes from within pthread_create are served, since only
 * NPTL is known to need nothing of a fresh stack but a zeroed struct pthread
 * at its top (allocate_stack and _dl_allocate_tls_init of glibc 2.36 set
 * everything else). The program's own MAP_STACK mappings are its own.
 *
 * One lock; any stack; no park. In a fork child all stays valid.
 */
#ifndef FIB_STACK_H
#define FIB_STACK_H

#include <sys/mman.h>
#include "runtime/sched.h"

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#define MADV_GUARD_REMOVE  103
#endif

/**
 * A block of @size bytes as mmap would give it, or -errno. With PROT_NONE it is
 * readable and writable nevertheless, until fib_stack_protect() has said more.
 */
long fib_stack_map(size_t size, int prot);
/**
 * mprotect on a block: 0 if it was done here, -errno if it cannot be; 1 if the
 * kernel has to do it.
 */
int fib_stack_protect(uintptr_t addr, size_t size, int prot);
/**
 * The same of madvise with MADV_GUARD_INSTALL, or MADV_GUARD_REMOVE: where the
 * kernel has no such guards, it is a page of the other kind.
 */
int fib_stack_guard(uintptr_t addr, size_t size, bool install);
/**
 * munmap of a whole block: false if it is not one of ours. @clean: who gets it
 * next finds nothing in it, and the program may have changed its mapping.
 */
bool fib_stack_unmap(uintptr_t addr, size_t size, bool clean);
/**
 * A thread begins on the block at @base: false, if it is not one of ours; and has
 * left it, at @sp, for good: what is below is nobody's. The second before
 * anybody can know of the end. No page has @faulted since it began: it has found there
 * what it has touched, and left nothing where nothing was.
 */
bool fib_stack_begin(uintptr_t base);
void fib_stack_end(uintptr_t base, uintptr_t sp, bool faulted);
/**
 * Gives back @all free blocks, or those that have not been wanted since the
 * last call: whether there were any.
 */
bool fib_stack_trim(bool all);

void fib_stack_lock(void);
void fib_stack_unlock(void);
/** In a fork child whose parent did not lock: what there was is the program's. */
void fib_stack_forget(void);

#endif
