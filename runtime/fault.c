/* Touching memory that may not be there, see fault.h. */
#include "runtime/fault.h"
#include "runtime/san.h"

int fib_peek_raw(const uint32_t *addr, uint32_t *val);
int fib_cas_raw(uint32_t *addr, uint32_t *was, uint32_t is);
int fib_touch_raw(uint32_t *addr);

/* fixup_arch.h; the linker knows where the section begins and ends. */
struct fixup {
	int32_t at, to; /* from where they stand themselves */
};
extern const struct fixup __start_fib_fixups[], __stop_fib_fixups[]
	__attribute__((visibility("hidden")));

static bool aligned(const uint32_t *addr)
{
	return !((uintptr_t)addr & 3);
}

int fib_peek32(const uint32_t *addr, uint32_t *val)
{
	fib_only_lock(FUTEX, "program memory");
	return aligned(addr) ? fib_peek_raw(addr, val) : -EINVAL;
}

int fib_cas32(uint32_t *addr, uint32_t *was, uint32_t is)
{
	fib_only_lock(FUTEX, "program memory");
	if (!aligned(addr))
		return -EINVAL;
#ifdef FIB_TSAN
	/* It would not see what the assembly orders; nothing faults there. */
	return fib_cas(fib_shared(addr), was, is, seq_cst);
#else
	return fib_cas_raw(addr, was, is);
#endif
}

int fib_touch32(uint32_t *addr)
{
	fib_no_lock("program memory");
	return aligned(addr) ? fib_touch_raw(addr) : -EINVAL;
}

uintptr_t fib_fault_fixup(uintptr_t rip)
{
	for (const struct fixup *f = __start_fib_fixups; f < __stop_fib_fixups;
	     f++)
		if (rip == (uintptr_t)&f->at + (uintptr_t)(intptr_t)f->at)
			return (uintptr_t)&f->to + (uintptr_t)(intptr_t)f->to;
	return 0;
}
