/* Can this CPU, and its kernel, run fibers? */
#include <sys/auxv.h>
#include "preload/preload.h"
#include "runtime/base.h"
#include "cpuid_arch.h"

#define HWCAP2_FSGSBASE 2
#define CPUID_FSGSBASE	1
#define CPUID_XSAVEC	2

/* The kernel's word is not enough: valgrind has a CPU of its own. */
bool fib_cpu_has_host_reg(void)
{
	struct fib_cpuid is;

	return (getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE) &&
	       fib_cpuid(7, 0, &is) && (is.b & CPUID_FSGSBASE);
}

const char *fib_cpu_obstacle(void)
{
	struct fib_cpuid is;

	if (!fib_cpu_has_host_reg())
		return "the CPU or the kernel lacks FSGSBASE";
	if (!fib_cpuid(0xd, 1, &is) || !(is.a & CPUID_XSAVEC))
		return "the CPU lacks XSAVEC";
	if (fib_host_reg())
		return "%gs is in use by the program";
	return NULL;
}
