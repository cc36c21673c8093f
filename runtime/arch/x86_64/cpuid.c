/* What the CPU says of itself, see cpuid_arch.h. */
#include <cpuid.h>
#include "cpuid_arch.h"
#include "runtime/base.h"

bool fib_cpu_sets_bases FIB_SEALED;

#define KEPT 8u

/* For whoever starts: one thread at a time. */
static struct {
	unsigned leaf, sub;
	struct fib_cpuid is;
} kept[KEPT] FIB_START;
static unsigned nkept FIB_START;

bool fib_cpuid(unsigned leaf, unsigned sub, struct fib_cpuid *out)
{
	static unsigned highest FIB_START;

	for (unsigned i = 0; i < nkept; i++) {
		if (kept[i].leaf != leaf || kept[i].sub != sub)
			continue;
		*out = kept[i].is;
		return true;
	}
	if (!highest)
		highest = __get_cpuid_max(0, NULL);
	if (leaf > highest)
		return false;
	__cpuid_count(leaf, sub, out->a, out->b, out->c, out->d);
	if (nkept < KEPT) {
		kept[nkept].leaf = leaf;
		kept[nkept].sub = sub;
		kept[nkept++].is = *out;
	}
	return true;
}
