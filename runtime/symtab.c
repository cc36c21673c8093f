/* The object that is read from outside, see symtab.h. */
#include "runtime/sched.h"
#include "runtime/symtab.h"

struct fib_symtab fib_symtab FIB_START_LAST = {
	.magic = FIB_SYMTAB_MAGIC,
	.size_self = sizeof(struct fib_symtab),
	.size_fib = sizeof(struct fib),
	.size_worker = sizeof(struct fib_worker),
	.size_sched = sizeof(struct fib_sched),
	.version = FIB_VERSION,
	.sched = FIB_HOST_SCHEDULER,
};

#define LONGEST 24
#define FIB_STAT(name, text)                                                   \
	_Static_assert(sizeof(#name) <= LONGEST, "a long name");
#include "runtime/stats.def"
#undef FIB_STAT

/* No pointers, which ld.so would have to relocate at each start. */
static const char stat_names[][LONGEST] = {
#define FIB_STAT(name, text) #name,
#include "runtime/stats.def"
#undef FIB_STAT
};

const char *fib_stat_name(unsigned i)
{
	return i < FIB_STATS ? stat_names[i] : NULL;
}
