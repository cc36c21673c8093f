/*
 * A connection that io_uring begins, and who ends it: hooks/io/conn.c.
 *
 * Two that connect and two that end it, twice each. From the first try until it is
 * cancelled, a connection that is ended would be begun anew.
 *
 * Proves: nobody ends one in between; and who ends one does not wait for ever.
 *
 * Refuted:
 *   NO_LOOK who connects does not look for those who end it, (A)
 *   NO_AWAIT who ends it does not wait for those who have begun
 *   LATE_END who ends it says so when nobody begins any more, (B)
 */
#define TURNS 2
#define ENDS 16

byte begun, trying;

active [2] proctype connects() {
	byte n, old;

	do
	:: n < TURNS ->
		atomic {
			old = begun;
			begun = begun + 1
		} /* (A) */
		if
#ifndef NO_LOOK
		:: old >= ENDS -> skip /* in the kernel */
#endif
		:: else ->
			trying = trying + 1;
			trying = trying - 1
		fi;
		begun = begun - 1;
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
