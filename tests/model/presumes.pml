/*
 * A call that is presumed not to wait, by a fiber that has a kernel thread to itself
 * (fib_io_as_it_is() of hooks/io/block.c), and the monitor, which ends it at a tick if it
 * waits, and sleeps where nothing runs (runtime/monitor.c). The call always waits here.
 *
 * Proved for every interleaving: it ends, though the monitor goes to sleep: either that
 * sees that it is presumed, or the caller that it sleeps, and asks.
 *
 * Refuted: LOOK_FIRST  the caller looks whether it sleeps before it says so
 *          NO_LOOK     the monitor does not look again when it has said that it sleeps
 */
#define CALLS 2

bool presumes, asleep;
bool waits, ended; /* in the kernel, and by a kick */

active proctype caller()
{
	byte calls;
	bool looked;

	do
	:: calls == CALLS -> break
	:: else ->
#ifdef LOOK_FIRST
	   looked = !asleep;
	   presumes = true;
#else
	   presumes = true;
	   looked = !asleep;
#endif
	   if
	   :: looked ->
	      waits = true;
	      ended;
	      atomic { ended = false; waits = false }
	   :: else /* it asks */
	   fi;
	   presumes = false;
	   calls++
	od
}

active proctype monitor()
{
	do
	:: /* a tick; a kick between two calls is for none */
	   if
	   :: presumes -> atomic { if :: waits -> ended = true :: else fi }
	   :: else
	   fi
	:: /* nothing has run for a while */
	   asleep = true;
#ifndef NO_LOOK
	   if
	   :: presumes -> asleep = false
	   :: else
#else
	   if
	   :: true
#endif
end_sleeps:
	      false
	   fi
	od
}
