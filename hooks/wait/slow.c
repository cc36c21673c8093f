/* Calls that have held workers up, see slow.h. */
#include "hooks/wait/slow.h"

#define QUICK_CYCLES 600000 /* 0.2 ms or so */

_Atomic uint8_t fib_slow[FIB_SLOW_CALLS];

/* These are made to wait by: the first one is announced, too. */
static const uint16_t waits[] = { SYS_msgrcv, SYS_semop, SYS_semtimedop };

void fib_slow_reset(void)
{
	for (unsigned i = 0; i < FIB_SLOW_CALLS; i++)
		fib_store(&fib_slow[i], 0, relaxed);
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(waits); i++)
		fib_store(&fib_slow[waits[i]], FIB_SLOW_MOST, relaxed);
}

void fib_slow_held_up(struct fib_worker *w)
{
	const struct fib *f = fib_load(fib_shared(&w->cur), relaxed);

	if (f && fib_load(&f->hook.in_hook, relaxed) &&
	    f->hook.call < FIB_SLOW_CALLS &&
	    (!fib_load(&w->blocking, relaxed) || f->hook.call == SYS_connect))
		fib_store(&fib_slow[f->hook.call], FIB_SLOW_MOST, relaxed);
}

uint64_t fib_slow_enter(void)
{
	if (fib_self()->bound)
		return 0;
	fib_self()->io.blocking_sp = (uintptr_t)__builtin_frame_address(0);
	fib_block_enter(false);
	return fib_cycles() | 1;
}

/* The monitor may sleep, since it waited there. */
void fib_slow_found(void)
{
	if (fib_load(&fib_monitor_asleep, relaxed))
		fib_monitor_wake();
}

void fib_slow_less(void)
{
	unsigned nr = fib_self()->hook.call;
	uint8_t n;

	if (nr < FIB_SLOW_CALLS && (n = fib_load(&fib_slow[nr], relaxed)))
		fib_cas(&fib_slow[nr], &n, n - 1, relaxed);
}

void fib_slow_leave(uint64_t began)
{
	fib_block_leave();
	fib_self()->io.blocking_sp = 0;
	if (fib_cycles() - began >= QUICK_CYCLES)
		fib_slow_again();
	else
		fib_slow_less();
}
