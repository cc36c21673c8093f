/* Protection keys, see pkru_arch.h. */
#include "cpuid_arch.h"
#include "pkru_arch.h"
#include "runtime/compat.h"

#define OSPKE	       (1u << 4)
#define DISABLE_ACCESS 1

_Atomic bool fib_pkru_used;

void fib_pkru_init(bool filtered)
{
	struct fib_cpuid is;
	uint32_t rights;
	long key = 0;

	if (!fib_cpuid(7, 0, &is) || !(is.c & OSPKE))
		return;
	rights = fib_rdpkru();
	/*
	 * The first key is 1: if that is to be had, none is in use. A filter may take
	 * offence at the question.
	 */
	if (!filtered)
		key = fib_raw(SYS_pkey_alloc, 0, DISABLE_ACCESS);
	if (key > 0)
		fib_raw(SYS_pkey_free, key);
	fib_wrpkru(rights);
	if (key != 1 || rights != FIB_PKRU_INIT)
		fib_store(&fib_pkru_used, true, relaxed);
}
