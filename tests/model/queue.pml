/*
 * The queue of a file that has several numbers: hooks/io/queue.c, hooks/fd/twins.c,
 * and what hooks/fd/desc.c and runtime/iom_close.c do for it.
 *
 * Three numbers of one file, and one who reads by each: a try, and then he waits for
 * the others, at his own number or at that of whoever waits already. The second and
 * third number are made by dup(), when the first reader has begun or waits perhaps.
 * The first number is closed meanwhile, or not. As many bytes are written as there
 * are readers, at once, by another process. Each slot where somebody waits is in epoll.
 * Whoever waits since a moment at which his number was being closed, or something was
 * there already, might have come in another order as well.
 *
 * Proves: who waited already when another one began is not passed by: no event
 * wakes that one and leaves him waiting (but for those whom the close has moved:
 * they stand apart from who comes then). Everybody is served. No try is made by a
 * number that is closed, and the duplicate is closed once, when the last guest has left.
 *
 * Refuted:
 *   NO_EDGE dup() does not have those try again who are about to wait
 *   NO_COUNT who is going to wait is not counted before he does, so that there is
 *     nobody yet for who comes by another number
 *   NO_WAITING who waits since before there was another number is not asked for
 *   ONE_LOOK whom a close of that number has turned away does not ask anew
 *   NO_HOLD he does not hold the slot where he goes
 *   LATE_CLOSES how often that number was closed is taken after it was compared
 */
#define READERS 3
#define REFUGE	3
#define SLOTS	4
#define NONE	9

/* The kernel's */
byte data;
bool open[SLOTS], pending[SLOTS];
/* Slots */
byte edges[SLOTS], closes[SLOTS], files[SLOTS], tries[SLOTS], guests;
bool closing[SLOTS], registered[SLOTS];
/* The description */
bool twins;			/* the first number knows of the others */
bool number_twins;		/* and they of it */
byte qslot = NONE, qfiles, standing;
/* Readers */
byte at[READERS], turn[READERS], hold_at[READERS], before[READERS];
bool listed[READERS], woke[READERS], moved[READERS];
bool late[READERS];		/* it waits since something was there */
byte turns, parked;
byte began_by = 1;		/* the others are alike: in that order */

#define FIRST(s, w, a, b)                                                      \
	(listed[w] && at[w] == s &&                                            \
	 !(listed[a] && at[a] == s && turn[a] < turn[w]) &&                    \
	 !(listed[b] && at[b] == s && turn[b] < turn[w]))
#define WAITS(s)                                                               \
	((listed[0] && at[0] == s) || (listed[1] && at[1] == s) ||             \
	 (listed[2] && at[2] == s))
#define HOLDS(s) (hold_at[0] == s || hold_at[1] == s || hold_at[2] == s)
#define PASSED_BY(w, o)                                                        \
	((before[w] & (1 << o)) && listed[o] && !moved[o] && !closing[at[o]] && !late[w])

inline wake(w, is_event) {
	listed[w] = false;
	woke[w] = true;
	assert(!is_event || (!PASSED_BY(w, 0) && !PASSED_BY(w, 1) &&
			     !PASSED_BY(w, 2)))
}

inline feed(s, is_event) {
	edges[s]++;
	if
	:: FIRST(s, 0, 1, 2) -> wake(0, is_event)
	:: FIRST(s, 1, 0, 2) -> wake(1, is_event)
	:: FIRST(s, 2, 0, 1) -> wake(2, is_event)
	:: else
	fi
}

inline guest_leaves() {
	assert(guests > 0);
	guests--;
	if
	:: guests == 0 -> open[REFUGE] = false; registered[REFUGE] = false
	:: else
	fi
}

#ifdef NO_COUNT
#define COUNTED 0
#else
#define COUNTED standing
#endif
#ifdef NO_WAITING
#define STANDS COUNTED
#else
#define STANDS (COUNTED || WAITS(qslot))
#endif

/* fib_desc_queue() */
inline ask_queue() {
	if
	:: files[me] != is_file
	:: files[me] == is_file && (qslot == NONE || qslot == me) -> qslot = me; qfiles = is_file
	:: else ->
		if
#ifdef ONE_LOOK
		:: files[qslot] == qfiles && STANDS
#else
		:: files[qslot] == qfiles && !closing[qslot] && STANDS
#endif
		:: else -> qslot = me; qfiles = is_file
		fi
	fi;
	q = (files[me] == is_file -> qslot : me);
	q_closes = closes[q];
	q_closing = closing[q];
	if
	:: !counted -> counted = true; standing++
	:: else
	fi
}

proctype reader(byte me) {
	byte s, seq, began, is_file, q, q_closes;
	bool counted, shared, was_woken, guest, got, q_closing, waited;

	atomic {
		!me || (number_twins && me == began_by);
		began_by = began_by + (me > 0);
		before[me] = parked;
		s = me;
		began = closes[me];
		is_file = files[me];
		shared = true;
		if
		:: closing[me] -> goto out /* it begins anew */
		:: else
		fi
	};

own:	seq = edges[s];
	atomic {
		if
		:: !open[s] -> goto out
		:: open[s] && data > 0 -> data--; goto out
		:: else
		fi
	};
	/* block() */
	atomic {
		if
		:: shared && twins -> shared = false; ask_queue()
		:: else -> q = me
		fi
	};
	if
	:: q != me -> goto elsewhere
	:: else
	fi;
	atomic {
		if
		:: !open[s] -> goto out
		:: open[s] && edges[s] != seq -> goto again
		:: else -> skip
		fi;
		if
		:: !registered[s] -> registered[s] = true; pending[s] = data > 0
		:: else
		fi;
		if
		:: !turn[me] -> turns++; turn[me] = turns
		:: else
		fi;
		at[me] = s;
		listed[me] = true;
		late[me] = late[me] || data > 0 || closing[me];
		moved[me] = moved[me] || closing[me];
		waited = true;
		parked = parked | (1 << me);
		seq = 0;
		q = 0;
		q_closes = 0;
		q_closing = 0
	};
	atomic { woke[me] -> woke[me] = false };
	/* fib_io_follow() */
	atomic {
		if
		:: at[me] != s ->
			if
			:: was_woken -> feed(s, false)
			:: else
			fi;
			s = at[me];
			began = closes[s];
			guest = true
		:: else
		fi;
		was_woken = true
	};
again:	if
	:: waited && closes[s] != began -> goto out
	:: else -> goto own
	fi;

elsewhere: /* fib_io_goes_to_queue(); the first look may be old */
	atomic { ask_queue() };
	if
	:: q == me -> goto own
	:: else
	fi;
	atomic {
		/* kcmp(), and then the own number */
		got = open[q] && open[me]
	};
#ifdef LATE_CLOSES
	q_closes = closes[q];
	q_closing = closing[q];
#endif
	if
	:: closes[me] != began -> goto own
	:: else
	fi;
#ifdef NO_HOLD
	got = got && !q_closing;
	s = q;
#else
	atomic { /* fib_iom_hold() */
		got = got && !q_closing && closes[q] == q_closes;
		if
		:: got -> hold_at[me] = q; s = q; q = 0; q_closes = 0; seq = 0
		:: else
		fi
	};
#endif
	if
#ifdef ONE_LOOK
	:: !got -> goto own
#else
	:: !got -> goto elsewhere
#endif
	:: else
	fi;

	/* call_there() */
there:	atomic {
#ifndef NO_HOLD
		if
		:: hold_at[me] != s ->
			if
			:: was_woken -> feed(s, false); was_woken = false
			:: else
			fi;
			s = hold_at[me]
		:: else
		fi;
#endif
		tries[s]++
	};
	seq = edges[s];
	atomic {
		assert(open[s]);
		got = data > 0;
		data = data - got
	};
	tries[s]--;
	if
	:: got -> got = false; goto out
	:: else
	fi;
	atomic {
		if
		:: edges[s] != seq -> goto there
		:: else
		fi;
		if
		:: !registered[s] && open[s] -> registered[s] = true; pending[s] = data > 0
		:: else
		fi;
		if
		:: !turn[me] -> turns++; turn[me] = turns
		:: else
		fi;
		at[me] = s;
		listed[me] = true;
		late[me] = late[me] || data > 0 || closing[me];
		moved[me] = moved[me] || closing[me];
		parked = parked | (1 << me);
		seq = 0;
		q = 0;
		q_closes = 0;
		q_closing = 0
	};
	atomic { woke[me] -> woke[me] = false };
	atomic {
		if
		:: at[me] != s ->
			if
			:: was_woken -> feed(s, false)
			:: else
			fi;
			s = at[me];
			guest = true
		:: else
		fi;
		was_woken = true
	};
	goto there;

out:	atomic {
		if
		:: was_woken -> feed(s, false)
		:: else
		fi;
		parked = parked & (7 - (1 << me));
		before[0] = before[0] & parked;
		before[1] = before[1] & parked;
		before[2] = before[2] & parked;
		was_woken = false;
		before[me] = 0;
		late[me] = false;
		moved[me] = false;
		turn[me] = 0;
		at[me] = 0;
		standing = standing - counted;
		if
		:: guest -> guest_leaves()
		:: else
		fi;
		if
		:: hold_at[me] == REFUGE -> guest_leaves()
		:: else
		fi;
		hold_at[me] = NONE;
		seq = 0;
		q = 0;
		q_closes = 0;
		q_closing = 0;
		s = 0;
		began = 0;
		is_file = 0
	}
}

inline move(n, w) {
	if
	:: listed[w] && at[w] == n -> at[w] = REFUGE; moved[w] = true; guests++
	:: else
	fi;
	if
	:: hold_at[w] == n -> hold_at[w] = REFUGE; moved[w] = true; guests++
	:: else
	fi
}

proctype closer(byte n) {
	bool anybody;

	atomic { /* (G), (K) */
		number_twins;
		closes[n]++;
		closing[n] = true;
		anybody = WAITS(n) || HOLDS(n) || tries[n]
	};
	if
	:: anybody ->
		atomic { /* (D) */
			move(n, 0);
			move(n, 1);
			move(n, 2);
			if
			:: guests ->
				open[REFUGE] = true;
				registered[REFUGE] = true;
				pending[REFUGE] = data > 0
			:: else
			fi
		};
		tries[n] == 0 /* (F) */
	:: else
	fi;
	atomic { /* fib_iom_forget() */
		registered[n] = false;
		pending[n] = false;
		files[n]++;
		edges[n]++;
		open[n] = false
	};
	atomic { /* (H) */
		closing[n] = false;
		registered[n] = false;
		files[n]++;
		if
		:: WAITS(n) -> feed(n, false)
		:: else
		fi
	}
}

proctype writer() {
	atomic {
		data = READERS;
		pending[0] = registered[0];
		pending[1] = registered[1];
		pending[2] = registered[2];
		pending[3] = registered[3]
	}
}

proctype harvester() {
end:	do
	:: atomic { pending[0] -> pending[0] = false; feed(0, true) }
	:: atomic { pending[1] -> pending[1] = false; feed(1, true) }
	:: atomic { pending[2] -> pending[2] = false; feed(2, true) }
	:: atomic { pending[3] -> pending[3] = false; feed(3, true) }
	od
}

proctype duplicates() {
	/* fib_desc_has_twins() */
	atomic {
		twins = true;
		qslot = 0;
		qfiles = files[0]
	};
#ifndef NO_EDGE
	edges[0]++;
#endif
	number_twins = true
}

init {
	atomic {
		open[0] = true;
		open[1] = true;
		open[2] = true;
		hold_at[0] = NONE;
		hold_at[1] = NONE;
		hold_at[2] = NONE;
		run reader(0);
		run reader(1);
		run reader(2);
		run duplicates();
		run writer();
		run harvester();
		if
		:: run closer(0)
		:: skip
		fi
	}
}
