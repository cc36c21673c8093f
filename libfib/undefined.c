/*
 * Undefined behaviour in the library itself, in the archive for programs with
 * AddressSanitizer. Its objects are built with UBSan as well; a program that is
 * not has no functions for it. So the Makefile binds all of them to this one, and
 * makes them the archive's own: a program that is built with UBSan keeps its.
 */
#include <stdlib.h>
#include "libfib/lib.h"

#ifdef FIB_ASAN
void fib_san_undefined(void);

void fib_san_undefined(void)
{
	struct fib_text t = { .fd = 2 };

	fib_text_put(&t, "libfib: undefined behaviour at ");
	fib_text_number(&t, (uintptr_t)__builtin_return_address(0), 16);
	fib_text_put(&t, ", which is a fault of the library\n");
	fib_text_end(&t);
	abort();
}
#endif
