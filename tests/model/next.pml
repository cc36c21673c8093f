/*
 * Who wakes the next one who accepts, and who waits without a look: runtime/trywait.c,
 * fib_io_polled() and note_left(); runtime/iom.h, edges, short reads and what is handed
 * on.
 *
 * Two who wait to accept, each twice, by the listener's number; and another one, in another
 * process or by a call that does not wait, who may take one. Connections come, four
 * of them. The listener is in epoll from when somebody has waited. One at a time asks and
 * accepts (fib_iom_claim()); who finds another one at it waits as if nothing
 * were there, and is told when that one is through. Who has had a connection
 * hands the wake-up on, unless nobody waits, or nothing is left. In that case the queue
 * is marked empty, if no other one has begun to ask, and no event has come, since he did:
 * then who accepts next waits at once. He may have been told with his connection whether
 * anything is left (io_uring), or look after it, or not at all.
 *
 * Proves: nobody waits while there is a connection and nothing more is going to happen.
 *
 * Refuted:
 *   NO_RELEASE who is through does not tell those who found him at it
 *   NO_PASS who has had one does not hand on
 *   NO_EDGE who is about to wait does not look whether an event came since he began
 *   NO_TURN the queue is marked empty whoever has begun, and whatever came, meanwhile
 *   LATE_BEGIN who finds the mark begins after that to count events
 *   LASTING an event leaves the mark
 */
#define COMES 4
#define TIMES 2
#define TWO 2

byte ready;
bool pending, registered;
bool edge[TWO]; /* one came since this one began */
bool busy, contended;
bool listed[TWO], woke[TWO];
byte first; /* of the two, if both wait */
bool newest[TWO]; /* nobody has begun to ask, and no event came, since this one did */
bool marked; /* the mark */

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
	bool was_woken, mine, is_ready, got, last;
	byte times;

begin:	was_woken = false;
#ifdef LATE_BEGIN
	if
	:: marked -> edge[me] = false; goto wait
	:: else
	fi;
#else
	edge[me] = false;
	if
	:: marked -> goto wait
	:: else
	fi;
#endif
again:	atomic { newest[1 - me] = false; newest[me] = true };
	edge[me] = false;
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
			atomic {
				got = ready > 0;
				ready = ready - got;
				if
				:: last = !ready /* io_uring */
				:: last = false
				fi
			}
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
wait:	atomic { /* publish */
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
	:: !last && was_woken && (listed[0] || listed[1]) -> last = !ready /* poll */
	:: else
	fi;
	if
	:: last -> was_woken = false
	:: else
	fi;
	atomic {
		if
#ifdef NO_TURN
		:: last -> marked = true
#else
		:: newest[me] -> marked = last
#endif
		:: else
		fi
	};
	atomic {
		if
		:: was_woken && (listed[0] || listed[1]) -> feed()
		:: else
		fi
	}
#else
	skip;
#endif
	last = false;
	got = false;
	times++;
	if
	:: times < TIMES -> goto begin
	:: else
	fi
}

active proctype comes() {
	byte n;

	do
	:: n < COMES -> atomic { ready++; pending = registered; n++ }
	:: else -> break
	od
}

active proctype other() {
end:	atomic { ready > 0 -> ready-- }
}

active proctype harvester() {
end:	do
	:: atomic { pending ->
		pending = false;
		if
		:: ready ->
			newest[0] = false;
			newest[1] = false;
#ifndef LASTING
			marked = false;
#endif
			feed()
		:: else
		fi }
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
