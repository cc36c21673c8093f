/*
 * The futex table grows, as the head of runtime/futex_table.h draws it: two who wait
 * for one word, who wakes both, and a grower that moves the word's bucket 0 to
 * bucket 1 of a new table. table says which of the two is looked at. where[w] is the
 * bucket that waiter w is in, or NOWHERE.
 *
 * Proved for every interleaving: nobody who has seen the word as it was sleeps for
 * good, and nobody waits for ever for a lock.
 *
 * Refuted: COUNT_DOWN    who moves leaves the old bucket's count
 *          TABLE_FIRST   (C) goes before (B)
 *          NO_LOOK       who has locked a bucket does not look whether it moved
 *          LATE_COUNT    a waiter counts after it has read the word
 */
#define NOWHERE 2

bit word, table, moved, growing, lk[2], woken[2];
byte count[2], where[2];

inline lock(i)   { atomic { lk[i] == 0 -> lk[i] = 1 } }
inline unlock(i) { lk[i] = 0 }

inline lock_word()
{
	do
	:: b = table;
#ifndef LATE_COUNT
	   if
	   :: waits -> count[b]++
	   :: else
	   fi;
#endif
	   lock(b);
#ifdef NO_LOOK
	   break
#else
	   if
	   :: b == 0 && moved ->
#ifndef LATE_COUNT
	      if
	      :: waits -> count[b]--
	      :: else
	      fi;
#endif
	      unlock(b);
	      growing == 0	/* (D) */
	   :: else -> break
	   fi
#endif
	od
}

proctype waiter(byte id)
{
	bit b, saw, waits = 1;

	lock_word();
	saw = word;
#ifdef LATE_COUNT
	if
	:: saw == 0 -> count[b]++; where[id] = b
	:: else
	fi;
#else
	if
	:: saw == 0 -> where[id] = b
	:: else -> count[b]--
	fi;
#endif
	unlock(b);
	if
	:: saw == 0 -> woken[id] == 1
	:: else
	fi
}

proctype waker()
{
	bit b, waits = 0;
	byte w = 0, n;

	word = 1;
	b = table;
	n = count[b];
	if
	:: n == 0 -> goto done
	:: else
	fi;
	lock_word();
	do
	:: w == 2 -> break
	:: w < 2 ->
	   if
	   :: where[w] == b ->
	      where[w] = NOWHERE; count[b]--; woken[w] = 1
	   :: else
	   fi;
	   w++
	od;
	unlock(b);
done:
	skip
}

proctype grower()
{
	byte w = 0;

	growing = 1;		/* (A) */
#ifdef TABLE_FIRST
	table = 1;
#endif
	lock(0);
	moved = 1;		/* (B) */
	do
	:: w == 2 -> break
	:: w < 2 ->
	   if
	   :: where[w] == 0 ->
	      lock(1);
	      where[w] = 1; count[1]++;
#ifdef COUNT_DOWN
	      count[0]--;
#endif
	      unlock(1)
	   :: else
	   fi;
	   w++
	od;
	unlock(0);
	table = 1;		/* (C) */
	growing = 0		/* (D) */
}

init
{
	atomic {
		where[0] = NOWHERE; where[1] = NOWHERE;
		run waiter(0); run waiter(1); run waker(); run grower()
	}
}
