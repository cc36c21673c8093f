/*
 * A worker whose fiber is in a call that is mostly quick, and of which nobody was told, while
 * the monitor goes to sleep: runtime/spares.c, fib_slow_begins() and fib_slow_ends() of
 * hooks/wait/slow.h.
 *
 * Proved for every interleaving of a worker that makes some such calls, with or without code of
 * the program's in between, and the monitor: that does not sleep on while the worker is out of them.
 *
 * Refuted: TWO_STEPS   the end looks at unsaid, and then sets it to 0
 *          SILENT      the end wakes nobody
 *          UNFOUND     the monitor counts a call as away that it has not marked
 *          LOOK_FIRST  the monitor looks, and then says that it sleeps
 */
#define CALLS 3
#define QUIET 2

byte unsaid; /* 1: begun, 2: found */
bool asleep, sleeps, wake, out = true;

active proctype worker()
{
	byte n, was;

	do
	:: n == CALLS -> break /* it computes for good */
	:: n < CALLS ->
	   unsaid = 1;
	   out = false;
	   out = true;
#ifdef TWO_STEPS
	   was = unsaid;
	   unsaid = 0;
#else
	   atomic { was = unsaid; unsaid = 0 }
#endif
#ifndef SILENT
	   if
	   :: was == 2 && asleep -> asleep = false; wake = true
	   :: else
	   fi;
#endif
	   n++
	od
}

inline look()
{
	if
#ifdef UNFOUND
	:: unsaid -> away = true
#else
	:: unsaid == 2 -> away = true
#endif
	:: else -> away = false
	fi
}

active proctype monitor()
{
	byte quiet;
	bool away;

end_awake:
	do
	:: sleeps -> /* until it is woken */
end_sleeps:
	   wake;
	   wake = false;
	   sleeps = false;
	   quiet = 0
	:: !sleeps && quiet < QUIET -> /* a tick */
	   look();
	   if
	   :: away -> quiet++
	   :: else ->
	      quiet = 0;
	      if
	      :: atomic { unsaid == 1 -> unsaid = 2 }
	      :: true
	      fi
	   fi
	:: !sleeps && quiet == QUIET ->
#ifdef LOOK_FIRST
	   look();
	   asleep = true;
#else
	   asleep = true;
	   look();
#endif
	   if
	   :: away -> sleeps = true
	   :: else -> asleep = false; wake = false; quiet = 0
	   fi
	od
}

active proctype nothing_moves()
{
end_ok:
	timeout -> assert(!sleeps || wake || !out)
}
