/*
 * Seccomp filters that are in force before the start: hooks/filter.c tries
 * them. That may itself be against the program's own filter, so what it installs
 * is noted here, where it passes by; a filter from before exec has let ld.so open
 * and read files, and so /proc/self/status tells of it.
 */
#include <linux/prctl.h>
#include "hooks/hooks.h"
#include "preload/preload.h"

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

static long (*real_syscall)(long, long, long, long, long, long,
			    long) FIB_SEALED;
static int (*real_prctl)(int, long, long, long, long) FIB_SEALED;

long fib_door_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	long r;

	if (fib_unlikely(!real_syscall))
		fib_real_init();
	if (fib_likely(nr != SYS_seccomp && nr != SYS_prctl))
		return real_syscall(nr, a, b, c, d, e, f);
	r = real_syscall(nr, a, b, c, d, e, f);
	look(nr, a, r);
	return r;
}

int fib_door_prctl(int op, long a, long b, long c, long d)
{
	int r;

	if (!real_prctl)
		fib_real_init();
	r = real_prctl(op, a, b, c, d);
	look(SYS_prctl, op, r);
	return r;
}

#pragma GCC visibility pop

void fib_filter_init(void)
{
	real_syscall = fib_lookup("syscall", NULL);
	real_prctl = fib_lookup("prctl", NULL);
}

bool fib_filter_is_own(void)
{
	return own_filter;
}
