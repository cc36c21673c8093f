/*
 * Who has been served hands on, and an event comes: runtime/iom.h, (O).
 *
 * Three readers wait for one file, in order, each on a kernel thread of its own. One byte
 * is written when the last one has been read, and who has read it has returned; or
 * whenever it may be. One worker takes events, in two steps. Who accepts looks whether any
 * is left, and hands on only then.
 *
 * Proves: they are served in their order, if each byte waits for that; nobody waits for ever.
 *
 * Refuted:
 *   RACE an event wakes the next one, though one is on its way who was handed on
 *   NO_EDGE it does not count as an edge then
 *   LOOK_ONLY who accepts goes by what is left alone
 *   UNTOLD_FOR_GOOD who was handed on, and waits again, is to have the next event
 */
#define READERS 3

byte data, served, edges;
bool pending, untold, free;
bool waits[READERS] = true, runs[READERS], handed[READERS];

inline feed(told) {
	edges++;
	untold = !told;
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
	untold = untold && (waits[0] || waits[1] || waits[2])
}

active proctype writer() {
	byte n;

	if
	:: free = true
	:: skip
	fi;
	for (n : 0 .. READERS - 1) {
		atomic { free || served == n -> data++; pending = true }
	}
}

active proctype harvester() {
end:	do
	:: atomic { pending -> pending = false;
		if
		:: data > 0
		:: else -> goto end
		fi };
	   atomic {
		if
#ifndef RACE
		:: untold ->
#ifndef NO_EDGE
			edges++
#else
			skip
#endif
#endif
		:: else -> feed(true)
		fi;
		untold = false
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
#ifndef UNTOLD_FOR_GOOD
			untold = false
#endif
		fi
	   }
	od;
	if
	:: left = data > 0 /* it accepts */
	:: skip
	fi;
	atomic {
		if
		:: left -> untold = false; feed(false)
#ifndef LOOK_ONLY
		:: !left && handed[me] ->
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
