/*
 * A bound worker polls for its fiber: runtime/iom.h, (T) to (W).
 *
 * The fiber waits to read, and another one, which is not bound, comes to wait for the
 * same file at any time. Two bytes are written; or one, and a signal ends the fiber's
 * wait. A worker takes events.
 *
 * Proves: of two bytes each reads one; of one, either reads it, or the fiber has been
 * ended before, and the other one reads it.
 *
 * Refuted:
 *   LATE_POLLS the worker says that it polls when it has looked, (T)
 *   NO_LOOK it does not look whether its fiber may run
 *   FUTEX_ALONE who wakes it does not kick, (V)
 *   ASKS_FIRST he looks whether it polls before he says that the fiber may run, (U)
 */
bool one;			/* the second of the two */
byte data;
bool registered, pending;	/* epoll has it; and an event of it */
bool d_waits, p_waits, d_first;	/* who stands in the list */
byte edges;
bool bound_ready, polls, inside, kicked, p_runs;
bool attention, d_done, chosen;

inline futex_or_kick(sees) {
	if
#ifndef FUTEX_ALONE
	:: sees -> kicked = inside || kicked
#endif
	:: else -> skip /* who sleeps on bound_ready sees it */
	fi
}

/* fib_wake() of the bound fiber, when it is off the list. */
inline wake_bound(sees) {
#ifdef ASKS_FIRST
	sees = polls;
	bound_ready = true;
#else
	bound_ready = true;	/* (U) */
	sees = polls;		/* (V) */
#endif
	futex_or_kick(sees)
}

/* Under the slot's lock. */
inline feed(who) {
	edges++;
	who = 0;
	if
	:: d_waits && (d_first || !p_waits) -> d_waits = false; who = 1
	:: else ->
		if
		:: p_waits -> p_waits = false; p_runs = true
		:: else
		fi
	fi
}

inline add() {
	if
	:: registered
	:: else -> registered = true; pending = data > 0
	fi
}

active proctype bound() {
	byte mark, who;
	bool own = true, r;

	chosen;
again:	mark = edges;
	if
	:: atomic { data > 0 -> data--; goto done }
	:: atomic { data == 0 -> skip }
	fi;
	atomic {
		if
		:: edges != mark -> goto again
		:: else
		fi;
		d_waits = true;
		d_first = !p_waits;
		own = own && !p_waits;
		registered = registered && !own;
		if
		:: own -> skip
		:: else -> add()
		fi
	};
	do
	:: bound_ready -> bound_ready = false; break
	:: own && !bound_ready ->
#ifndef LATE_POLLS
	   polls = true; /* (T) */
#endif
	   inside = true;
	   if
#ifndef NO_LOOK
	   :: bound_ready -> inside = false; r = false
#endif
	   :: atomic {
#ifndef NO_LOOK
		!bound_ready ->
#else
		true ->
#endif
		skip };
#ifdef LATE_POLLS
	      polls = true;
#endif
	      atomic { data > 0 || kicked -> r = data > 0; inside = false; kicked = false }
	   fi;
	   polls = false;
	   if
	   :: r ->
		own = false;
		who = 0;
		atomic { if
			 :: d_waits && !registered -> feed(who)
			 :: else
			 fi };
		if
		:: who == 1 -> bound_ready = true
		:: else
		fi
	   :: else
	   fi
	:: !own && bound_ready -> skip
	od;
	own = false;
	/* Read, or be ended. */
	if
	:: attention -> atomic { d_waits = false }
	:: else -> goto again
	fi;
done:	atomic { feed(who) }; /* hands on */
	d_done = true
}

active proctype other() {
	byte mark, who;
	bool sees;

	chosen;
	do
	:: mark = edges;
	   if
	   :: atomic { data > 0 -> data--; break }
	   :: atomic { data == 0 -> skip }
	   fi;
	   atomic {
		if
		:: edges != mark -> goto again
		:: else
		fi;
		p_waits = true;
		add()
	   };
	   if
	   :: one ->
end:		atomic { p_runs -> p_runs = false }
	   :: else -> atomic { p_runs -> p_runs = false }
	   fi;
again:	   skip
	od;
	atomic { feed(who) }; /* hands on */
	if
	:: who == 1 -> wake_bound(sees)
	:: else
	fi
}

active proctype writer() {
	byte n;

	if
	:: one = true; n = 1
	:: n = 2
	fi;
	chosen = true;
	do
	:: n > 0 -> atomic { data++; pending = pending || registered; n-- }
	:: else -> break
	od
}

active proctype signal() {
	bool sees;

	chosen;
	if
	:: !one
	:: else ->
		attention = true;
		if
		:: d_done
		:: else -> wake_bound(sees)
		fi
	fi
}

active proctype harvester() {
	byte who;
	bool sees;

end:	do
	:: atomic { pending -> pending = false;
		if
		:: data > 0
		:: else -> goto end
		fi };
	   atomic { feed(who) };
	   if
	   :: who == 1 -> wake_bound(sees)
	   :: else
	   fi
	od
}
