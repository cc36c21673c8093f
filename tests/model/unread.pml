/*
 * A read that seemed to leave nothing may have left something: ask_whether_empty() of
 * hooks/fd/terms.c, fib_iom_has_told() of runtime/iom.h.
 *
 * A reader waits since a short read. Data comes twice, with an event each. A worker looks at
 * epoll, which may have more to tell than it takes, handles what it has taken, and sleeps
 * there. The monitor looks now and then: is there something to read, as at an earlier look of
 * the same wait, and has epoll told since then of all that was there? Then the short read
 * proved nothing, and it says so. Whoever is woken from his sleep in epoll is
 * assumed to be up by the monitor's next look.
 *
 * Proves: it does not say so of a file that an event tells of.
 *
 * Refuted:
 *   AT_ONCE what the worker looks at counts from the monitor's look on that is under way
 *   CUT_SHORT a look that has not taken all counts
 *   EARLY it counts before its events are handled
 *   ANY_WAIT what was there in an earlier wait counts
 */
#define LOOKS 5

byte data, looks, told, reads = 1, unread, unread_at;
bool event, taken, asleep, waits = true;

active proctype sender() {
	byte n;

	for (n : 1 .. 2) {
		atomic { data++; event = true }
	}
}

/* What is woken reads all, and waits again, unless an edge came meanwhile. */
active proctype reader() {
	byte turn;

end:	do
	:: atomic { !waits -> reads++; turn = reads; data = 0 };
	   atomic {
		if
		:: reads == turn -> waits = true
		:: else
		fi
	   }
	od
}

active proctype worker() {
	byte look;
	bool all;

	do
	:: look = looks;
	   atomic {
		/* An event comes, or others that leave it where it is, or none. */
		all = !event;
		if
		:: event -> event = false; taken = true; all = true
		:: true
		fi
	   };
#ifdef CUT_SHORT
	   all = true;
#endif
#ifdef EARLY
	   told = (all -> look : told);
#endif
	   atomic {
		if
		:: taken -> waits = false; reads++; taken = false
		:: else
		fi
	   };
#ifndef EARLY
	   told = (all -> look : told);
#endif
	   if
	   :: atomic { !event -> asleep = true };
end:	      atomic { event -> skip };
	      asleep = false
	   :: true
	   fi
	od
}

active proctype monitor() {
	byte n;

	for (n : 1 .. LOOKS) {
		/* The sleeper is up. */
		!(asleep && event);
		looks++;
		if
		:: asleep -> told = looks
		:: else
		fi;
		atomic { /* the slot's lock */
			if
			:: !waits || data == 0
			:: waits && data > 0 &&
#ifndef ANY_WAIT
			   unread != reads ->
#else
			   unread == 0 ->
#endif
				unread = reads;
#ifndef AT_ONCE
				unread_at = looks + 1
#else
				unread_at = looks
#endif
			:: else ->
				assert(told < unread_at)
			fi
		}
	}
}
