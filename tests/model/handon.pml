/*
 * Who has been served hands on, and an event comes: runtime/iom.h, (O).
 *
 * Three readers wait for one file, in order, each on a kernel thread of its own. One byte
 * is written when the last one has been read, and who has read it has returned. One
 * worker takes events, in two steps.
 *
 * Proves: they are served in their order, and nobody waits for ever.
 *
 * Refuted:
 *   RACE an event wakes the next one, though one is on its way who was handed on
 *   NO_EDGE it does not count as an edge then
 *   UNTOLD_FOR_GOOD who was handed on, and waits again, is to have the next event
 */
#define READERS 3

byte data, served, edges;
bool pending, untold;
bool waits[READERS] = true, runs[READERS];

inline feed(told) {
	edges++;
	untold = !told;
	if
	:: waits[0] -> waits[0] = false; runs[0] = true
	:: else ->
		if
		:: waits[1] -> waits[1] = false; runs[1] = true
		:: else ->
			if
			:: waits[2] -> waits[2] = false; runs[2] = true
			:: else
			fi
		fi
	fi;
	untold = untold && (waits[0] || waits[1] || waits[2])
}

active proctype writer() {
	byte n;

	for (n : 0 .. READERS - 1) {
		atomic { served == n -> data++; pending = true }
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

	do
	:: atomic { runs[me] -> runs[me] = false };
again:	   mark = edges;
	   if
	   :: atomic { data > 0 -> data--; assert(served == me); break }
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
	atomic {
		untold = false;
		feed(false)
	};
	served++
}
