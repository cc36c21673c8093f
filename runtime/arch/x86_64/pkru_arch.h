/*
 * Protection keys (pkeys(7)): the access rights of a thread, in PKRU.
 *
 * They are a fiber's, once the program has allocated a key: then the scheduler
 * saves and loads them with each switch, and itself runs with all rights. Until
 * then every thread has the initial rights, and nothing is done. A fiber keeps
 * its rights XOR the initial ones, so that zero is right for a new one.
 */
#ifndef FIB_PKRU_ARCH_H
#define FIB_PKRU_ARCH_H

#include "runtime/base.h"

/* arch/x86/mm/pkeys.c: access to key 0 alone. A handler begins with these. */
#define FIB_PKRU_INIT 0x55555554u

extern _Atomic bool fib_pkru_used;

static inline uint32_t fib_rdpkru(void)
{
	uint32_t v, edx;

	__asm__ volatile("rdpkru" : "=a"(v), "=d"(edx) : "c"(0));
	return v;
}

static inline void fib_wrpkru(uint32_t v)
{
	__asm__ volatile("wrpkru" : : "a"(v), "c"(0), "d"(0) : "memory");
}

static inline bool fib_pkru_is_used(void)
{
	return fib_unlikely(fib_load(&fib_pkru_used, relaxed));
}

/**
 * Has the calling process allocated a key? Asks the kernel, to start with; under a
 * filter (@filtered) it may have.
 */
void fib_pkru_init(bool filtered);

#endif
