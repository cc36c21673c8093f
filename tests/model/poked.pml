/*
 * Who pokes the monitor, and does not where it is poked already: fib_monitor_poke() and
 * the loop of runtime/monitor.c. What they have to tell is for the receiver, which runs where
 * it is summoned; others only wake the monitor.
 *
 * Proved for every interleaving of two that poke, each twice, and one that wakes: what each
 * has to tell is seen, though the monitor sleeps until there is a ring.
 *
 * Refuted: CLEAR_FIRST  poked is 0 again before the ring is taken
 *          LOOK_FIRST   the monitor looks before poked is 0 again
 *          TELL_LATE    what is to be told is there after poked was looked at
 *          SUMMON_LATE  so is the summons
 *          TAKE_FIRST   the monitor takes the summons before poked is 0 again
 */
#define POKERS 2
#define POKES  2

bool poked, ring, summons;
bool told[POKERS];

proctype poker(byte me)
{
	byte n;
	bool was;

	do
	:: n == POKES -> break
	:: else ->
#ifndef TELL_LATE
	   told[me] = true;
#ifndef SUMMON_LATE
	   summons = true;
#endif
#endif
	   atomic { was = poked; poked = true }
#ifdef TELL_LATE
	   told[me] = true;
	   summons = true;
#endif
#ifdef SUMMON_LATE
	   summons = true;
#endif
	   if
	   :: was
	   :: else -> ring = true
	   fi;
	   !told[me];
	   n++
	od
}

/* fib_monitor_wake() */
proctype waker()
{
	bool was;

	atomic { was = poked; poked = true }
	if
	:: was
	:: else -> ring = true
	fi
}

inline take()
{
	atomic { summoned = summons; summons = false }
}

inline look()
{
	i = 0;
	do
	:: i == POKERS || !summoned -> break
	:: else -> told[i] = false; i++
	od
}

active proctype monitor()
{
	byte i;
	bool summoned;

end_sleeps:
	do
	:: ring ->
#ifdef CLEAR_FIRST
	   poked = false;
#endif
	   ring = false;
#ifdef TAKE_FIRST
	   take();
#endif
#ifdef LOOK_FIRST
	   take();
	   look();
#endif
#ifndef CLEAR_FIRST
	   poked = false;
#endif
#ifndef LOOK_FIRST
#ifndef TAKE_FIRST
	   take();
#endif
	   look()
#endif
	od
}

init
{
	run poker(0);
	run poker(1);
	run waker()
}
