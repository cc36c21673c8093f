/*
 * fib_select() and channels, as in libfib/channel.h: parties, and whose the wait is.
 *
 * Two channels without room, 0 and 1. Four who wait: one selects receiving from
 * either, one sending to either, one sends to 1 alone, one receives from 0 alone;
 * the last two may have enough of it.
 *
 * Proves: each does one case at most, and none after it has left; as many have
 * sent to a channel as have received from it; and where nothing moves any more,
 * no sender and receiver of one channel wait beside each other.
 *
 * Refuted:
 *   NO_CLAIM who comes takes a party without taking the wait, (T)
 *   BLIND_LEAVE who has had enough does not take the wait back, (X)
 *   ONE_BY_ONE looked at under one lock after the other, and joined after, (L)
 */
#define WHO 4
#define OPEN 0
#define LEFT 3

bit locked[2];
bit listed[8]; /* channel * WHO + who */
byte claim[WHO], took[WHO];
bit woken[WHO], waits[WHO];

/* 0 and 3 receive, 1 and 2 send */
#define SENDS(w) ((w) == 1 || (w) == 2)
#define IN(c, w) listed[(c) * WHO + (w)]
#define LOCK(c) atomic { !locked[c] -> locked[c] = 1 }
#define UNLOCK(c) locked[c] = 0

/* Of @me at channel @c, which is locked: found, or not. */
inline look(me, c, found) {
	p = 0;
	do
	:: p < WHO && !found ->
		if
		:: IN(c, p) && SENDS(p) != SENDS(me) ->
			atomic { /* (T) */
				if
#ifdef NO_CLAIM
				:: true ->
#else
				:: claim[p] == OPEN ->
#endif
					claim[p] = c + 1;
					found = 1;
				:: else
				fi
			}
			if
			:: found ->
				IN(c, p) = 0; /* (U) */
				took[p]++;    /* (V) */
				took[me]++;
				woken[p] = 1; /* (W) */
			:: else
			fi
		:: else
		fi;
		p++
	:: else -> break
	od
}

/* Parked, in the lists of @low to @high. */
inline wait_for_it(me, low, high, patient) {
	waits[me] = 1;
	if
	:: woken[me]
	:: !patient ->
		atomic { /* (X) */
			if
#ifdef BLIND_LEAVE
			:: true -> claim[me] = LEFT
#else
			:: claim[me] == OPEN -> claim[me] = LEFT
			:: else -> skip
#endif
			fi
		};
		if
		:: claim[me] == LEFT -> assert(took[me] == 0)
		:: else -> woken[me]
		fi
	fi;
	waits[me] = 0;
	c = low;
	do
	:: c <= high ->
		LOCK(c);
		IN(c, me) = 0;
		UNLOCK(c);
		c++
	:: else -> break
	od;
	assert(claim[me] != LEFT || took[me] == 0)
}

proctype selects(byte me) {
	byte p, c;
	bit found;

#ifdef ONE_BY_ONE
	LOCK(0); look(me, 0, found); UNLOCK(0);
	if
	:: !found -> LOCK(1); look(me, 1, found); UNLOCK(1)
	:: else
	fi;
	if
	:: !found ->
		LOCK(0); IN(0, me) = 1; UNLOCK(0);
		LOCK(1); IN(1, me) = 1; UNLOCK(1);
		wait_for_it(me, 0, 1, true)
	:: else
	fi
#else
	LOCK(0); LOCK(1); /* (L) */
	look(me, 0, found); /* (R) */
	if
	:: !found -> look(me, 1, found)
	:: else
	fi;
	if
	:: !found -> IN(0, me) = 1; IN(1, me) = 1
	:: else
	fi;
	UNLOCK(1); UNLOCK(0);
	if
	:: !found -> wait_for_it(me, 0, 1, true)
	:: else
	fi
#endif
}

proctype plain(byte me; byte at) {
	byte p, c;
	bit found;

	LOCK(at);
	look(me, at, found);
	if
	:: !found -> IN(at, me) = 1; UNLOCK(at); wait_for_it(me, at, at, false)
	:: else -> UNLOCK(at)
	fi
}

#define MEET(c, s, r) (IN(c, s) && IN(c, r) && waits[s] && waits[r] && \
		       claim[s] == OPEN && claim[r] == OPEN)

init {
	byte i;

	atomic {
		run selects(0);
		run selects(1);
		run plain(2, 1);
		run plain(3, 0)
	}
	timeout;
	for (i : 0 .. 3) {
		assert(took[i] <= 1);
	}
	assert(took[0] + took[3] == took[1] + took[2]);
	for (i : 0 .. 1) {
		assert(!MEET(i, 1, 0) && !MEET(i, 1, 3) && !MEET(i, 2, 0) &&
		       !MEET(i, 2, 3));
	}
	/* who is left over waits for good, and nobody is to blame */
	if
	:: waits[0] -> claim[0] = 1; took[0]++; woken[0] = 1
	:: else
	fi;
	if
	:: waits[1] -> claim[1] = 1; took[1]++; woken[1] = 1
	:: else
	fi
}
