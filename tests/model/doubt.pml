/*
 * A reader presumes that nothing is there, and its worker asks: runtime/doubt.h.
 *
 * Two fibers, each on a worker of its own, read one unit each of the same file. Both
 * presume that it is empty, as the last read has said; there are two units, or one, and
 * the other one is written at some time, of which epoll has an event. dup() may make an
 * edge that wakes nobody. A worker looks when it has a doubt, or epoll an event, and
 * while no fiber runs there.
 *
 * Proves: both have read when nothing moves any more.
 *
 * Refuted:
 *   NO_ASKING a worker sleeps in doubt
 *   LOOK_DROPS a look at epoll before a question ends all doubts, (L)
 *   LOOK_LATE it sees who waits before it says that it has no doubt
 *   OLD_EDGE what is ready is left to itself where an edge has come since, (E)
 *   NO_PASS who was woken does not hand on
 */
#define NONE 2

byte data;
bool pending;			/* epoll has an event */
bool stray = true;		/* and one of another file */
byte edges, reads, presumed;
byte first = NONE, second = NONE; /* who waits */
bool sent, runs[2];
bool doubted, doubts[2];	/* the slot's, the workers' */
byte seen[2];			/* edges then */
bool looked[2];			/* at epoll, in doubt, without a question */
bool busy[2];			/* a fiber runs there, or it looks */
byte done;

inline feed() {
	edges++;
	if
	:: first != NONE ->
		runs[first] = true;
		first = second;
		second = NONE;
		sent = first != NONE
	:: else
	fi
}

inline doubt() {
	atomic {
		was = doubted;
		doubted = true
	};
	if
	:: was
	:: else -> atomic { doubts[id] = true; seen[id] = seq; looked[id] = false }
	fi
}

proctype reader(byte id) {
	byte seq, turn;
	bool in_doubt, woken, was;

	atomic { !busy[id] -> busy[id] = true };
	seq = edges;
	if
	:: presumed == reads -> in_doubt = true; goto wait
	:: else
	fi;
try:	atomic { reads++; turn = reads };
	seq = edges;
	if
	:: atomic { data > 0 -> data-- }; goto got
	:: else
	fi;
wait:	atomic {
		if
		:: edges != seq -> goto again
		:: else ->
			if
			:: first == NONE -> first = id
			:: else -> second = id
			fi;
			sent = false
		fi
	};
	if
	:: in_doubt -> doubt() /* (B) */
	:: else
	fi;
	busy[id] = false;
end:	atomic { runs[id] && !busy[id] -> runs[id] = false; busy[id] = true };
	woken = true;
again:	in_doubt = false;
	goto try;
got:	if
	:: presumed = turn /* (A) */
	:: skip
	fi;
#ifndef NO_PASS
	if
	:: woken -> atomic { sent = false; feed() }
	:: else
	fi;
#endif
	done++;
	busy[id] = false
}

/* (L) */
inline settle_by_look() {
#ifdef LOOK_DROPS
	atomic { doubted = false; doubts[id] = false }
#else
#ifdef LOOK_LATE
	waits = first != NONE;
	doubted = false;
#else
	doubted = false;
	waits = first != NONE;
#endif
	atomic {
		if
		:: waits && !doubted -> doubted = true; looked[id] = true
		:: else -> doubts[id] = false
		fi;
		waits = false
	}
#endif
}

proctype worker(byte id) {
	bool asks, ready, waits;
	byte old;

end:	do
	:: atomic { !busy[id] && !runs[id] && (pending || stray) && doubts[id] &&
		!looked[id] -> busy[id] = true; stray = false };
		atomic {
			if
			:: pending -> pending = false; reads++; feed()
			:: else
			fi
		};
		settle_by_look();
		busy[id] = false
	:: atomic { !busy[id] && !runs[id] && (pending
#ifndef NO_ASKING
		|| doubts[id]
#endif
		) -> busy[id] = true };
		asks = doubts[id];
		old = seen[id];
		doubts[id] = false;
		if
		:: asks ->
			doubted = false; /* (C) */
			ready = data > 0 && first != NONE /* (D) */
		:: else
		fi;
		atomic {
			if
			:: pending -> pending = false; reads++; feed()
			:: else
			fi
		};
		atomic { /* (E) */
			if
#ifdef OLD_EDGE
			:: ready && first != NONE && edges == old ->
#else
			:: ready && first != NONE && !sent ->
#endif
				reads++; feed()
			:: else
			fi;
			ready = false
		};
		busy[id] = false
	od
}

proctype other() {
	if
	:: edges++ /* dup() */
	:: skip
	fi;
	if
	:: data < 2 -> atomic { data++; pending = true }
	:: else
	fi
}

init {
	atomic {
		if
		:: data = 1
		:: data = 2
		fi;
		run reader(0);
		run reader(1);
		run worker(0);
		run worker(1);
		run other()
	};
	/* It is looked at when nothing moves any more. */
	timeout -> assert(done == 2)
}
