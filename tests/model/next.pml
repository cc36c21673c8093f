/*
 * Who wakes the next one who accepts: runtime/trywait.c, fib_io_polled() and is_last();
 * runtime/iom.h, edges and what is handed on.
 *
 * Two who wait to accept, each once, by the listener's number; and another one, in another
 * process or by a call that does not wait, who may take one. Connections come, three
 * of them. The listener is in epoll from when somebody has waited. One at a time asks and
 * accepts (fib_iom_claim()); who finds another one at it waits as if nothing
 * were there, and is told when that one is through. Who has had a connection
 * hands the wake-up on, unless nobody waits, or nothing is left.
 *
 * Proves: nobody waits while there is a connection and nothing more is going to happen.
 *
 * Refuted:
 *   NO_RELEASE who is through does not tell those who found him at it
 *   NO_PASS who has had one does not hand on
 *   NO_EDGE who is about to wait does not look whether an event came since he began
 */
#define COMES 3
#define TWO 2

byte ready;
bool pending, registered;
bool edge[TWO]; /* one came since this one began */
bool busy, contended;
bool listed[TWO], woke[TWO];
byte first; /* of the two, if both wait */

inline feed() {
	edge[0] = true;
	edge[1] = true;
	if
	:: listed[0] && (first == 0 || !listed[1]) -> listed[0] = false; woke[0] = true
	:: listed[1] && (first == 1 || !listed[0]) -> listed[1] = false; woke[1] = true
	:: else
	fi
}

proctype accepts(byte me) {
	bool was_woken, mine, is_ready, got;

again:	edge[me] = false;
	atomic { /* fib_iom_claim() */
		mine = !busy;
		contended = contended || busy;
		busy = true
	};
	got = false;
	if
	:: mine ->
		is_ready = ready > 0; /* poll */
		if
		:: is_ready ->
			/* It may wait for a moment, if another was quicker: not for good. */
			atomic { got = ready > 0; ready = ready - got }
		:: else
		fi;
		atomic { /* fib_iom_release() */
			busy = false;
#ifndef NO_RELEASE
			if
			:: contended -> contended = false; feed()
			:: else
			fi
#endif
		}
	:: else
	fi;
	if
	:: got -> goto done
	:: else
	fi;
	atomic { /* publish */
		if
#ifndef NO_EDGE
		:: edge[me] -> goto again
#endif
		:: else
		fi;
		if
		:: !registered -> registered = true; pending = ready > 0
		:: else
		fi;
		first = (listed[1 - me] -> 1 - me : me);
		listed[me] = true
	};
	/* It may wait for good, if there is nothing. */
end:	atomic { woke[me] -> woke[me] = false; was_woken = true };
	goto again;

done:
#ifndef NO_PASS
	if
	:: was_woken && (listed[0] || listed[1]) && !ready -> was_woken = false
	:: else
	fi;
	atomic {
		if
		:: was_woken && (listed[0] || listed[1]) -> feed()
		:: else
		fi
	}
#else
	skip
#endif
}

active proctype comes() {
	byte n;

	do
	:: n < COMES -> atomic { ready++; pending = registered; n++ }
	:: else -> break
	od
}

active proctype other() {
	atomic { ready > 0 -> ready-- }
}

active proctype harvester() {
end:	do
	:: atomic { pending -> pending = false; if :: ready -> feed() :: else fi }
	od
}

init {
	atomic {
		run accepts(0);
		run accepts(1)
	};
	/* When nothing moves any more. */
	timeout -> assert(!ready || (!listed[0] && !listed[1]))
}
