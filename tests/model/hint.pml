/*
 * A reader is told by who writes to the other end: runtime/iom.h, hints.
 *
 * A fiber on worker 1 writes twice, tells of each, and computes for ever then, so that
 * what it has queued is run by nobody else's leave. Another process writes once, and
 * yet another takes one. Two fibers read one each: they have tried, or wait, in
 * whatever order. Worker 2 is idle: it sleeps in epoll. Worker 3 is busy, and looks at
 * epoll without waiting when it likes. What a worker wakes while it harvests it runs or
 * tells of, as ever: so that runs.
 *
 * Or: one fiber writes once, nobody else does anything, and both wait already.
 *
 * Proves: both have read, and nobody waits for ever; or, who waited first has read.
 *
 * Refuted:
 *   NO_ANSWER who takes the event of a hint does not look at the queues, (N)
 *   SENT_FOR_GOOD who was sent and waits again is taken for one under way
 *   NO_PASS who was sent does not hand on, (M)
 *   SILENT_EVENT whom an event wakes is not said to be sent, (L)
 */
#define NONE 2

bool once;			/* the second of the two */
byte data;
bool pending;			/* epoll has an event of it */
byte edges, first = NONE, second = NONE; /* who waits */
bool sent, hinted, bell;
bool queued[2], runs[2];	/* in the queue of worker 1; elsewhere */

#define RUNS(f) runs[f] = true

inline unlink_first() {
	first = second;
	second = NONE
}

/* One of epoll's, or what is handed on. */
inline feed() {
	edges++;
	if
	:: first != NONE ->
		RUNS(first);
		unlink_first();
#ifndef SILENT_EVENT
		sent = first != NONE /* (L) */
#endif
	:: else
	fi
}

/* It has taken the event, which says that there is something. */
inline handle(answers) {
	atomic {
		answers = hinted;
		if
		:: hinted && sent -> edges++
		:: else -> feed()
		fi;
		hinted = false
	}
}

inline hint() {
	atomic {
		if
		:: sent
		:: else ->
			edges++;
			if
			:: first != NONE ->
				queued[first] = true;
				hinted = true;
				unlink_first();
				sent = first != NONE /* (L) */
			:: else
			fi
		fi
	}
}

proctype writer() {
	atomic { !once || (first == 0 && second == 1) ->
		data++;
		pending = true };
	hint();
	if
	:: once
	:: else ->
		atomic { data++; pending = true };
		hint()
	fi
}

proctype other_writer() {
	atomic { data++; pending = true }
}

proctype other_reader() {
	atomic { data > 0 -> data-- }
}

proctype reader(byte me) {
	byte mark;
	bool woken;

	!once || me == 0 || first == 0;
	do
	:: mark = edges; /* (A) */
	   if
	   :: atomic { data > 0 -> data--; assert(!once || me == 0); break }
	   :: atomic { data == 0 -> skip }
	   fi;
	   atomic {
		if
		:: edges != mark
		:: else ->
			if
			:: first == NONE -> first = me
			:: else -> second = me
			fi;
#ifndef SENT_FOR_GOOD
			sent = false;
#endif
			goto parks
		fi
	   };
	   goto again;
	   /* Of one, the second gets nothing. */
parks:	   if
	   :: once && me == 1 ->
end:		atomic { runs[me] -> runs[me] = false; woken = true }
	   :: else -> atomic { runs[me] -> runs[me] = false; woken = true }
	   fi;
again:	   skip
	od;
#ifndef NO_PASS
	atomic {
		if
		:: woken ->
			sent = false; /* (M) */
			if
			:: first != NONE -> feed()
			:: else
			fi
		:: else
		fi
	}
#endif
}

inline take_queued() {
	atomic {
		if
		:: queued[0] -> queued[0] = false; RUNS(0)
		:: else
		fi;
		if
		:: queued[1] -> queued[1] = false; RUNS(1)
		:: else
		fi
	}
}

active proctype idle() {
	bool unused;

end:	do
	:: atomic { bell -> bell = false };
	   take_queued()
	:: atomic { pending && data > 0 -> pending = false };
	   handle(unused);
	   take_queued()
	od
}

active proctype busy() {
	bool answers;

end:	do
	:: atomic { pending -> pending = false;
		if
		:: data > 0
		:: else -> goto end
		fi };
	   handle(answers);
#ifndef NO_ANSWER
	   if
	   :: answers && (queued[0] || queued[1]) -> bell = true
	   :: else
	   fi
#endif
	od
}

init {
	atomic {
		if
		:: once = true
		:: run other_writer();
		   run other_reader()
		fi;
		run writer();
		run reader(0);
		run reader(1)
	}
}
