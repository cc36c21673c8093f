/*
 * Seccomp filters that are in force before the start: hooks/process/filter.c tries
 * them. That may itself be against the program's own filter, so what it installs
 * is noted here, where it passes by; a filter from before exec has let ld.so open
 * and read files, and so /proc/self/status tells of it.
 */
#include <linux/prctl.h>
#include "hooks/core/hook.h"
#include "preload/preload.h"
#include "preload/symbols.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

static bool own_filter;

static void look(long nr, long op, long r)
{
	if (r >= 0 && ((nr == SYS_prctl && op == PR_SET_SECCOMP) ||
		       (nr == SYS_seccomp && op <= 1)))
		own_filter = true;
}

/* libc's are declared with ..., but take what is in the registers. */
long fib_door_syscall(long nr, long a, long b, long c, long d, long e,
		      long f) __asm__("syscall");
int fib_door_prctl(int op, long a, long b, long c, long d) __asm__("prctl");

long fib_door_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long r = FIB_LIBC_CALL(syscall, nr, a, b, c, d, e, f);

	if (fib_unlikely(nr == SYS_seccomp || nr == SYS_prctl))
		look(nr, a, r);
	return r;
}

int fib_door_prctl(int op, long a, long b, long c, long d)
{
	int r = FIB_LIBC_CALL(prctl, op, a, b, c, d);

	look(SYS_prctl, op, r);
	return r;
}

#pragma GCC visibility pop

bool fib_filter_is_own(void)
{
	return own_filter;
}
