/*
 * The monitor asks in a worker's place what that one has a doubt about: runtime/doubt.c,
 * fib_doubt_ask_for().
 *
 * A worker doubts one file and then the other, as it comes out of what it was stuck in,
 * while the monitor asks about what it doubts: it enters the file, polls, and leaves it. Both
 * files are closed meanwhile, each of which ends when nobody is at the file any more.
 *
 * Proves: both closes end, and nobody leaves what he has not entered.
 *
 * Refuted:
 *   LOOKS_AGAIN the monitor looks a second time which file it is to leave
 *   NO_ENTERING it polls a file that may be closed then
 */
byte doubt;
byte tries[2];
bool closing[2], closed[2];

proctype worker() {
	doubt = 1;
	doubt = 0
}

proctype monitor() {
	byte slot, round;

	for (round : 1 .. 2) {
		slot = doubt;
#ifndef NO_ENTERING
		tries[slot]++;
#endif
		if
		:: closing[slot] /* nobody waits there: none is woken */
		:: else -> assert(!closed[slot]) /* the poll */
		fi;
#ifdef LOOKS_AGAIN
		slot = doubt;
#endif
#ifndef NO_ENTERING
		assert(tries[slot] > 0);
		tries[slot]--
#endif
	}
}

proctype closer(byte slot) {
	closing[slot] = true;
	tries[slot] == 0;
	closed[slot] = true
}

init {
	atomic {
		run worker();
		run monitor();
		run closer(0);
		run closer(1)
	}
}
