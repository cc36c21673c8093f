/*
 * A connection that io_uring begins, and who ends it: hooks/io/conn.c.
 *
 * Two that connect and two that end it, twice each. From the first try until it is
 * cancelled, a connection that is ended would be begun anew.
 *
 * One that is refused leaves the socket for a moment as the kernel does not.
 *
 * Proves: nobody ends one in between, or begins another one, which would end with that;
 * and nobody waits for ever.
 *
 * Refuted:
 *   NO_TURN who connects does not wait for another one who does
 *   NO_LOOK who connects does not look for those who end it, (A)
 *   NO_AWAIT who ends it does not wait for those who have begun
 *   LATE_END who ends it says so when nobody begins any more, (B)
 */
#define TURNS 2
#define ENDS 16

byte begun, trying;

active [2] proctype connects() {
	byte n, seen;

	do
	:: n < TURNS ->
again:		seen = begun;
#ifndef NO_TURN
		if
		:: seen % ENDS -> goto again
		:: else
		fi;
#endif
		if
#ifndef NO_LOOK
		:: seen >= ENDS -> skip /* in the kernel */
#endif
		:: else ->
			/* (A) */
			if
			:: atomic { begun == seen -> begun = begun + 1 }
			:: atomic { begun != seen -> goto again }
			fi;
			trying = trying + 1;
			assert(trying == 1);
			trying = trying - 1; /* disconnected, if it was refused */
			begun = begun - 1
		fi;
		n++
	:: else -> break
	od
}

active [2] proctype ends() {
	byte n;

	do
	:: n < TURNS ->
#ifndef LATE_END
		begun = begun + ENDS; /* (B) */
#endif
#ifndef NO_AWAIT
		begun % ENDS == 0;
#endif
#ifdef LATE_END
		begun = begun + ENDS;
#endif
		assert(!trying);
		begun = begun - ENDS;
		n++
	:: else -> break
	od
}
