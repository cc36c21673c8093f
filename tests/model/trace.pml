/*
 * Rings of events, as runtime/trace.h tells it: a writer, and a reader in another
 * process, who copies word by word while the writer goes on.
 *
 * Proved for every interleaving: what the reader keeps of a position is the
 * event of that position, whole; and what he finds when the writer rests is all
 * that the ring has.
 *
 * Refuted: HEAD_FIRST  the head is advanced before the event is written (A)
 *          NO_LOOK     the reader does not look again (D)
 *          ONE_MORE    the slot that may be being written is kept
 */
#define SIZE   2
#define EVENTS 5

byte first[SIZE], second[SIZE]; /* two words of an event: its position, and 1 */
byte head;
bool rests;

active proctype writer()
{
	do
	:: head == EVENTS -> break
	:: head < EVENTS ->
#ifdef HEAD_FIRST
		head++;
		first[(head - 1) % SIZE] = head;
		second[(head - 1) % SIZE] = head
#else
		first[head % SIZE] = head + 1;
		second[head % SIZE] = head + 1;
		head++		/* (A); (B) keeps this order */
#endif
	od;
	rests = true
}

active proctype reader()
{
	byte tail, h, again, p, one[EVENTS], two[EVENTS], kept;
	bool last;

begin:
	last = rests;
	kept = 0;
	h = head;		/* (C) */
	if
	:: h > tail + SIZE -> tail = h - SIZE
	:: else
	fi;
	p = tail;
	do
	:: p == h -> break
	:: p < h ->
		/* In whichever order the words are copied. */
		if
		:: one[p] = first[p % SIZE]; two[p] = second[p % SIZE]
		:: two[p] = second[p % SIZE]; one[p] = first[p % SIZE]
		fi;
		p++
	od;
#ifdef NO_LOOK
	again = h;
#else
	again = head;		/* (D) */
#endif
	p = tail;
	do
	:: p == h -> break
	:: p < h ->
		if
#ifdef ONE_MORE
		:: p + SIZE >= again ->
#else
		:: p + SIZE > again ->
#endif
			assert(one[p] == p + 1 && two[p] == p + 1);
			kept++
		:: else
		fi;
		p++
	od;
	/* The slot next in line is given up, though nobody writes it. */
	if
	:: last -> assert(kept >= h - tail - 1 && h == EVENTS)
	:: else -> tail = h; goto begin
	fi
}
