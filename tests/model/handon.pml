/*
 * Who has been served hands on, and an event comes: runtime/iom.h, (O).
 *
 * Three readers wait for one file, in order, each on a kernel thread of its own. One byte
 * is written when the last one has been read, and who has read it has returned; or
 * whenever it may be. The writer may hint, where nobody has been sent. One worker takes
 * events, in two steps. Who accepts looks whether any is left, and hands on only then.
 *
 * Proves: they are served in their order, if each byte waits for that, and with hints for
 * an event as well that is taken and not told yet; nobody waits for ever.
 *
 * Refuted:
 *   RACE an event wakes the next one, though one is on its way who was handed on
 *   NO_EDGE it does not count as an edge then
 *   LOOK_ONLY who accepts goes by what is left alone
 *   HINTED_EATS who was handed on has had its event by that which a hint was for
 *   NO_DOUBT whom the event of a hint wakes is taken to have come for something
 *   UNTOLD_FOR_GOOD who was handed on, and waits again, is to have the next event
 */
#define READERS 3

byte data, served, edges;
bool pending, free, hints;
bool sent, untold, hinted, late;
bool waits[READERS] = true, runs[READERS], handed[READERS];

inline wake_first(told) {
	edges++;
	if
	:: waits[0] -> waits[0] = false; runs[0] = true; handed[0] = !told
	:: else ->
		if
		:: waits[1] -> waits[1] = false; runs[1] = true; handed[1] = !told
		:: else ->
			if
			:: waits[2] -> waits[2] = false; runs[2] = true; handed[2] = !told
			:: else
			fi
		fi
	fi;
	sent = waits[0] || waits[1] || waits[2]
}

inline feed(told) {
	wake_first(told);
	untold = !told && sent
}

active proctype writer() {
	byte n;

	if
	:: free = true
	:: skip
	fi;
	if
	:: hints = true
	:: skip
	fi;
	for (n : 0 .. READERS - 1) {
		atomic { free || (served == n && !late) -> data++; pending = true };
		atomic {
			if
			:: hints && !sent && (waits[0] || waits[1] || waits[2]) ->
				wake_first(true);
				hinted = true
			:: else
			fi
		}
	}
}

active proctype harvester() {
end:	do
	:: atomic { pending -> pending = false;
		if
		:: data > 0 -> late = hints
		:: else -> goto end
		fi };
	   atomic {
		if
#ifndef RACE
		:: untold || (hinted && sent) ->
#ifndef NO_EDGE
			edges++;
#endif
#ifndef HINTED_EATS
			untold = untold && hinted
#else
			untold = false
#endif
#endif
#ifndef NO_DOUBT
		:: else -> feed(!hinted)
#else
		:: else -> feed(true)
#endif
		fi;
		hinted = false;
		late = false
	   }
	od
}

active [READERS] proctype reader() {
	byte me = _pid - 2, mark;
	bool left = true;

	do
	:: atomic { runs[me] -> runs[me] = false };
again:	   mark = edges;
	   if
	   :: atomic { data > 0 -> data--; assert(free || served == me); break }
	   :: atomic { data == 0 -> skip }
	   fi;
	   atomic {
		if
		:: edges != mark -> goto again
		:: else ->
			waits[me] = true;
			sent = false;
#ifndef UNTOLD_FOR_GOOD
			untold = false
#endif
		fi
	   }
	od;
	if
	:: !hints -> left = data > 0 /* it accepts: of a listener nobody hints */
	:: skip
	fi;
	atomic {
		if
		:: left -> sent = false; untold = false; feed(false)
#ifndef LOOK_ONLY
		:: !left && handed[me] ->
			sent = false;
			untold = false;
			if
			:: edges != mark -> feed(false)
			:: else
			fi
#endif
		:: else
		fi
	};
	served++
}
