/* Can this CPU, and its kernel, run fibers? */
#include <cpuid.h>
#include <sys/auxv.h>
#include "preload/preload.h"
#include "runtime/base.h"

#define HWCAP2_FSGSBASE 2
#define CPUID_FSGSBASE	1
#define CPUID_XSAVEC	2

/* The kernel's word is not enough: valgrind has a CPU of its own. */
bool fib_cpu_has_host_reg(void)
{
	unsigned a, b, c, d;

	return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) &&
	       __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & CPUID_FSGSBASE);
}

const char *fib_cpu_obstacle(void)
{
	unsigned a, b, c, d;

	if (!fib_cpu_has_host_reg())
		return "the CPU or the kernel lacks FSGSBASE";
	if (!__get_cpuid_count(0xd, 1, &a, &b, &c, &d) || !(a & CPUID_XSAVEC))
		return "the CPU lacks XSAVEC";
	if (fib_host_reg())
		return "%gs is in use by the program";
	return NULL;
}
