/*
 * Claims in a line: hooks/wait/line.h, (D) to (G).
 *
 * Fibers ask for one lock, each by its own description. Whoever's turn it is waits in
 * the kernel, and is served there, or interrupted; those that park may be as well. An
 * interrupted one asks anew, ends its call, or jumps out of it and says nothing. There is
 * room for one claim, and it is over at some time.
 *
 * Proves: who goes into the kernel is the first in line, and before nobody who is on his
 * way back, unless that one's claim is over; nobody parks for ever, whoever has claims
 * that he does not take up.
 *
 * Refuted:
 *   CALLED_FIRST the next one's turn comes before there is the claim
 *   NO_TIMER who stands back does so until it is told
 *   NO_LOOK who is called up does not look for claims
 *   BOTH who takes his place again leaves the turn to the other one as well
 */
#define FIBERS 3
#define BREAKS 2 /* how often one is interrupted, in all */
#define NONE   9

bool in_line[FIBERS], turn[FIBERS], look[FIBERS], woken[FIBERS];
byte ticket[FIBERS], back[FIBERS]; /* the claim that it stands back for; 0: none */
byte tickets, breaks;
bool going[FIBERS]; /* it leaves, and is going to claim its place */
/* The claim: whose, for which place, which one it is; and which are over. */
byte by = NONE, at, claim;
bool over[BREAKS + 1];

#define CLAIMED_BEFORE(i) (by != NONE && !over[claim] && at < ticket[i])
#define GOING_BEFORE(j, i) (going[j] && ticket[j] < ticket[i])
#define STANDS_BEFORE(j, i) (in_line[j] && ticket[j] < ticket[i])

/* The first in line whose ticket is @from or later. */
inline find(from) {
	q = NONE;
	k = 0;
	do
	:: k < FIBERS ->
		if
		:: in_line[k] && ticket[k] >= from &&
		   (q == NONE || ticket[k] < ticket[q]) -> q = k
		:: else
		fi;
		k++
	:: else -> break
	od;
	k = 0
}

inline look_at(f) {
	look[f] = true;
	woken[f] = true
}

inline call_up(f) {
	if
	:: turn[f] && !back[f]
	:: else ->
		back[f] = 0;
		turn[f] = true;
		woken[f] = true
	fi
}

inline stand() {
	atomic {
		find(0);
		if
		:: by == i -> ticket[i] = at; by = NONE
		:: else -> tickets++; ticket[i] = tickets
		fi;
		turn[i] = (q == NONE || ticket[q] > ticket[i]);	/* (A) */
		if
#ifndef BOTH
		:: q != NONE && turn[i] -> turn[q] = false	/* (F) */
#endif
		:: else
		fi;
		back[i] = 0;
		look[i] = false;
		in_line[i] = true;
		q = NONE
	}
}

inline asks() {
	atomic {						/* (E) */
		look[i] = false;
#ifdef NO_LOOK
		back[i] = 0;
#else
		back[i] = (CLAIMED_BEFORE(i) -> claim : 0);
#endif
		mine = turn[i] && !back[i];
		assert(!mine || !(CLAIMED_BEFORE(i) ||
				  GOING_BEFORE(0, i) || GOING_BEFORE(1, i) ||
				  GOING_BEFORE(2, i) || STANDS_BEFORE(0, i) ||
				  STANDS_BEFORE(1, i) || STANDS_BEFORE(2, i)))
	}
}

inline next_up() {
	if
	:: turn[i] ->
		find(0);
		if
		:: q != NONE -> call_up(q)			/* (B) */
		:: else
		fi
	:: else
	fi
}

inline leave(comes_back) {
	atomic {
		in_line[i] = false;
#ifdef CALLED_FIRST
		find(ticket[i]);
		going[i] = (comes_back && q != NONE &&
			    (by == NONE || over[claim]));
		next_up()
	};
	atomic {
#endif
		find(ticket[i]);
		mine = look[i];
		if
		:: q != NONE && comes_back && (by == NONE || over[claim]) ->
			by = i;
			at = ticket[i];
			claim++;
			mine = true
		:: else
		fi;
		if
		:: q != NONE && mine -> look_at(q)		/* (D) */
		:: else
		fi;
#ifndef CALLED_FIRST
		next_up();
#endif
		going[i] = false;
		mine = false;
		q = NONE
	}
}

inline give_up() {
	atomic {						/* (G) */
		if
		:: by == i ->
			by = NONE;
			find(at);
			if
			:: q != NONE -> look_at(q)
			:: else
			fi
		:: else
		fi;
		q = NONE
	}
}

proctype fiber(byte i) {
	byte q = NONE, k;
	bool mine;
ask:
	stand();
parks:
	do
	:: look[i] || (turn[i] && !back[i]) ->
		asks();
		if
		:: mine -> mine = false; break
		:: else
		fi
	:: else ->
		if
		:: atomic { woken[i] -> woken[i] = false }
#ifndef NO_TIMER
		:: back[i] && over[back[i]] -> look[i] = true
#endif
		:: atomic { breaks < BREAKS -> breaks++ };
			leave(true);
			goto interrupted
		fi
	od;
	/* In the kernel: the lock is had by one after the other. */
	if
	:: leave(false);
		goto done
	:: atomic { breaks < BREAKS -> breaks++ };
		leave(true)
	fi;
interrupted:
	if
	:: goto ask
	:: give_up()
	:: skip /* a handler has jumped */
	fi;
done:
	skip
}

proctype clock(byte c) {
end:
	claim >= c;
	over[c] = true
}

init {
	atomic {
		run fiber(0);
		run fiber(1);
		run fiber(2);
		run clock(1);
		run clock(2)
	}
}
