/* Reading memory that may not be there, see fault.h. */
#include "runtime/fault.h"

int fib_peek_raw(const uint32_t *addr, uint32_t *val);
extern const char fib_peek_load[], fib_peek_bad[], fib_copy_move[];
#ifdef FIB_PRELOAD
extern const char fib_call_store[], fib_call_bad[];
#endif

int fib_peek32(const uint32_t *addr, uint32_t *val)
{
	if ((uintptr_t)addr & 3)
		return -EINVAL;
	return fib_peek_raw(addr, val);
}

uintptr_t fib_fault_fixup(uintptr_t rip)
{
#ifdef FIB_PRELOAD
	if (rip == (uintptr_t)fib_call_store)
		return (uintptr_t)fib_call_bad;
#endif
	return rip == (uintptr_t)fib_peek_load ||
			       rip == (uintptr_t)fib_copy_move ?
		       (uintptr_t)fib_peek_bad :
		       0;
}
