/*
 * Who pokes the monitor, and does not where it is poked already: fib_monitor_poke() and
 * the loop of runtime/monitor.c.
 *
 * Proved for every interleaving of two that poke, each twice: what each has to tell is seen,
 * though the monitor sleeps until there is a ring.
 *
 * Refuted: CLEAR_FIRST  poked is 0 again before the ring is taken
 *          LOOK_FIRST   the monitor looks before poked is 0 again
 *          TELL_LATE    what is to be told is there after poked was looked at
 */
#define POKERS 2
#define POKES  2

bool poked, ring;
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
#endif
	   atomic { was = poked; poked = true }
#ifdef TELL_LATE
	   told[me] = true;
#endif
	   if
	   :: was
	   :: else -> ring = true
	   fi;
	   !told[me];
	   n++
	od
}

inline look()
{
	i = 0;
	do
	:: i == POKERS -> break
	:: else -> told[i] = false; i++
	od
}

active proctype monitor()
{
	byte i;

end_sleeps:
	do
	:: ring ->
#ifdef CLEAR_FIRST
	   poked = false;
#endif
	   ring = false;
#ifdef LOOK_FIRST
	   look();
#endif
#ifndef CLEAR_FIRST
	   poked = false;
#endif
#ifndef LOOK_FIRST
	   look()
#endif
	od
}

init
{
	run poker(0);
	run poker(1)
}
