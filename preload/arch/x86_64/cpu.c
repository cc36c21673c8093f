/* Can this CPU, and its kernel, run fibers? */
#include <sys/auxv.h>
#include "preload/preload.h"
#include "runtime/san.h"
#include "runtime/sched.h"
#include "cpuid_arch.h"

#define HWCAP2_FSGSBASE 2
#define CPUID_XSAVEC	2

/* The CPU's word is not enough: only a kernel that knows keeps what was set. */
void fib_cpu_init(void)
{
	fib_cpu_sets_bases = getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE;
}

const char *fib_cpu_obstacle(void)
{
	struct fib_cpuid is;

	if (fib_valgrind(FIB_VG_RUNNING, 0, 0))
		return "valgrind does not see text that changes";
	if (!fib_cpuid(0xd, 1, &is) || !(is.a & CPUID_XSAVEC))
		return "the CPU lacks XSAVEC";
	return NULL;
}

/* A fork child that starts anew has it from its parent. */
bool fib_cpu_host_reg_is_free(void)
{
	uintptr_t v = 0;

	if (fib_cpu_sets_bases)
		__asm__ volatile("rdgsbase %0" : "=r"(v));
	else
		fib_raw(SYS_arch_prctl, ARCH_GET_GS, &v);
	return !v || v == (uintptr_t)fib_nobody;
}

void fib_cpu_host_reg_take(void)
{
	fib_worker_set(NULL);
}

void fib_cpu_host_reg_give_back(void)
{
	fib_host_reg_set(0);
}
