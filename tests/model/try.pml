/*
 * A try by io_uring, and a filter that forbids it: runtime/uring_try.c.
 *
 * Two workers that try twice each, and one who stops and then has the filter installed
 * for all.
 *
 * Proves: no worker makes the call under the filter; and who stops does not wait for
 * ever.
 *
 * Refuted:
 *   LOOK_FIRST looks whether it is allowed before it says that it tries, (A)
 *   NO_AWAIT who stops does not wait for those who have begun
 *   BLIND_AWAIT who stops waits for them before it forbids, (B)
 */
#define TRIES 2

bool trying[2], forbidden, filter;

active [2] proctype worker() {
	byte n;
	bool may;

	do
	:: n < TRIES ->
#ifdef LOOK_FIRST
		may = !forbidden;
		trying[_pid] = 1;
#else
		trying[_pid] = 1; /* (A) */
		may = !forbidden;
#endif
		if
		:: may -> assert(!filter)
		:: else
		fi;
		trying[_pid] = 0;
		n++
	:: else -> break
	od
}

active proctype stops() {
	byte i;

#ifndef BLIND_AWAIT
	forbidden = 1; /* (B) */
#endif
#ifndef NO_AWAIT
	do
	:: i < 2 ->
		!trying[i];
		i++
	:: else -> break
	od;
#endif
	forbidden = 1;
	filter = 1
}
