/* What is read from outside: runtime/seen.h. */
#include "libfib/lib.h"
#include "runtime/seen.h"

_Static_assert(FIB_SEEN_HAND == FIB_LIFE_HAND &&
		       FIB_SEEN_MAIN == FIB_LIFE_MAIN &&
		       FIB_SEEN_TERM == FIB_TERM,
	       "as fibhook reads it");

extern const struct fib_seen fib_seen_object;

__attribute__((used, visibility("hidden")))
const struct fib_seen fib_seen_object = {
	.magic = FIB_SEEN_MAGIC,
	.version = FIB_VERSION,
	.table = &fib_symtab,
	.scheds = &fib_scheds,
	.row = {
#define ROW(record, field)                                                     \
	{ offsetof(struct record, field), sizeof(((struct record *)0)->field) },
#define FIB_SEEN(record, field)		  ROW(record, field)
#define FIB_SEEN_LIB(record, name, field) ROW(record, field)
#include "runtime/seen.def"
	},
};
