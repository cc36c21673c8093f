/*
 * Several who accept go over to the kernel: hooks/io/accept.c.
 *
 * Two who are parked, the conductor, and one who comes later. The first of those who
 * are parked may be ended by a signal instead; each may be served in the kernel before
 * anybody has seen it sleep.
 *
 * Proves: they are in the kernel's queue in the order in which they came, unless the
 * conductor has waited for one for too long; and nobody waits for ever.
 *
 * Refuted:
 *   NO_SLEEP the conductor does not wait until one sleeps in the kernel, (C)
 *   NO_DONE who has been served does not say so, (D)
 *   NO_TURN who comes later does not wait for the others
 *   NO_CAS who comes after that says so nevertheless
 *   LATE_BLIND it does not look whether the conductor sleeps, (E)
 */
#define BEGUN 1
#define DONE  2
#define LAST  3
#define TID(i) (10 + i)
#define WAITERS 2
#define CONDUCTOR 2
#define LATE 3

byte turn;
bool over, impatient, parked[WAITERS], woken[WAITERS];
bool in_line[4], sleeps[4]; /* by whose turn it is in the queue */

/* Into the kernel's queue: nobody who came before is still outside. */
inline enter(who) {
	atomic {
		assert(impatient || who < 1 || !in_line[0]);
		assert(impatient || who < 2 || !in_line[1]);
		assert(impatient || who < 3 || !in_line[2]);
		in_line[who] = 0;
		sleeps[who] = 1
	}
}

inline change(from, to) {
	if
	:: atomic { turn == from -> turn = to }
	:: else
	fi
}

proctype waiter(byte me) {
	if
	:: woken[me]
	:: me == 0 ->
		/* a signal: it is off the list, unless it has been woken */
		atomic {
			if
			:: parked[me] -> parked[me] = 0; in_line[me] = 0; goto left
			:: else
			fi
		};
		woken[me]
	fi;
#ifdef NO_CAS
	turn = TID(me);
#else
	change(BEGUN, TID(me));
#endif
	enter(me);
	sleeps[me] = 0; /* served */
#ifndef NO_DONE
	change(TID(me), DONE) /* (D) */
#endif
left:	skip
}

active proctype conductor() {
	byte i, who;

	atomic {
		do
		:: i < WAITERS ->
			parked[i] = 1;
			in_line[i] = 1;
			i++
		:: else -> break
		od;
		in_line[CONDUCTOR] = 1;
		run waiter(0);
		run waiter(1)
	};
	atomic { turn = BEGUN; over = 1 }; /* (A) */
	do
	:: turn = BEGUN;
		atomic { /* (B) */
			if
			:: parked[0] -> who = 0
			:: !parked[0] && parked[1] -> who = 1
			:: else -> break
			fi;
			parked[who] = 0;
			woken[who] = 1
		};
		/* (C) */
		if
		:: turn == DONE
		:: atomic { turn == BEGUN -> impatient = 1 }
#ifdef NO_SLEEP
		:: turn == TID(who)
#else
		:: turn >= TID(0) && sleeps[turn - TID(0)]
#endif
		fi
	od;
	turn = LAST; /* (E) */
	enter(CONDUCTOR);
	sleeps[CONDUCTOR] = 0;
	change(LAST, 0)
}

active proctype late() {
	over;
#ifndef NO_TURN
	do
	:: !turn -> break
#ifdef LATE_BLIND
	:: turn == LAST -> turn = 0
#else
	:: atomic { turn == LAST && sleeps[CONDUCTOR] -> turn = 0 }
#endif
	od;
#endif
	enter(LATE)
}
