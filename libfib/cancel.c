/*
 * Cancelling a fiber. See lib.h.
 *
 * One word, attention, says all: FIB_CANCELED, for good, and so many times
 * FIB_SHIELD as there are shields up. A wait is left where it is FIB_CANCELED
 * alone. The fiber is the only one that changes the shields, and others set the
 * bit, each in one step, so there is no moment at which a shield is up and a
 * wait is left all the same:
 *
 *	who waits				who cancels
 *	---------				-----------
 *	publish the waiter			attention |= CANCELED	(A)
 *	is attention CANCELED alone?	(C)	fib_wake()		(B)
 *	  yes: retract the waiter; woken
 *	  meanwhile: the call succeeds
 *	  else -ECANCELED
 *	fib_park()
 *
 * (B) comes after (A), so either (C) sees (A), or the park returns by the permit
 * (sched.h) and looks again. Who was woken by what it waited for, and cancelled,
 * has what it waited for: nothing is lost. A wait that another ends who does not
 * know the fiber any more is not touched: the fiber itself takes its waiter back.
 *
 * It is for the fiber that a scheduler knows, with all that runs on top of it by
 * hand: they park together, too.
 */
#include "libfib/lib.h"

void fib_cancel_fiber(struct fib *f)
{
	fib_or(&f->attention, FIB_CANCELED, seq_cst); /* (A) */
	fib_wake(f);				      /* (B) */
}

int fib_cancel(struct fib *f)
{
	if (fib_state(f) == FIB_FREE ||
	    !(fib_load(&f->lib.life, acquire) & FIB_LIFE_SCHED))
		return -EINVAL;
	fib_cancel_fiber(f);
	return 0;
}

bool fib_canceled(void)
{
	return fib_canceled_here();
}

int fib_shield_enter(void)
{
	fib_shield();
	return 0;
}

int fib_shield_leave(void)
{
	struct fib *f = fib_self();

	if (f && fib_load(&f->attention, relaxed) < FIB_SHIELD)
		return -EINVAL;
	fib_unshield(f);
	return 0;
}
