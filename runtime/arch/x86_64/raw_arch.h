/*
 * Direct kernel entry for x86-64.
 *
 * Every system call that the runtime and the hooks make goes through here:
 * no libc wrapper, no errno, no cancellation, no stack but the caller's.
 * Results are those of the kernel: >= 0, or -errno.
 *
 * Callable from any stack, in any thread, in signal handlers.
 */
#ifndef FIB_RAW_ARCH_H
#define FIB_RAW_ARCH_H

#include <stdint.h>
#include "runtime/compat.h"

static inline long fib_raw6(long nr, long a, long b, long c, long d, long e,
			    long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define FIB_RAW_(nr, a, b, c, d, e, f, ...)                                    \
	fib_raw6((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e),  \
		 (long)(f))

/** fib_raw(SYS_x, args...): up to six arguments; missing ones are zero. */
#define fib_raw(...) FIB_RAW_(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0)

#endif
