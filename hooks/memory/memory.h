/*
 * Memory: the mmap family (memory.c), and which ranges are shared with other
 * processes (shared.c). ranges_lock guards the table of these; nothing is locked
 * under it. Any thread may ask.
 */
#ifndef FIB_MEMORY_H
#define FIB_MEMORY_H

#include "runtime/base.h"

/** Scan the mappings once, then keep track. Is there a ring of io_uring among them? */
bool fib_shared_init(void);
void fib_shared_map(uintptr_t addr, size_t len, bool shared);
/** The kernel wakes who waits for @word. */
void fib_shared_word(const uint32_t *word);
/** What shmat() mapped at @addr is gone. */
void fib_shared_detach(uintptr_t addr);
/** Too much is not known: from now on any word may be shared. */
void fib_shared_lose(void);
bool fib_shared_at(uintptr_t addr);

#endif
