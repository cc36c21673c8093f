/*
 * What the CPU says of itself. On a virtual machine each question is an exit to the
 * hypervisor, of microseconds, and a start has several that are the same: so what
 * has been answered is kept.
 */
#ifndef FIB_CPUID_ARCH_H
#define FIB_CPUID_ARCH_H

#include <stdbool.h>

struct fib_cpuid {
	unsigned a, b, c, d;
};

/** CPUID of @leaf, @sub; false: the CPU does not know that leaf. */
bool fib_cpuid(unsigned leaf, unsigned sub, struct fib_cpuid *out);

#endif
