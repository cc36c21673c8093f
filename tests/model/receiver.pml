/*
 * A signal for the process, as the head of hooks/receiver.c draws it: the
 * kernel's queue, a signalfd that the receiver polls, two fibers that open and
 * close their masks, and a sender that sends twice.
 *
 * Proved for every interleaving: once a fiber has opened its mask for good, no
 * signal stays behind, neither in the kernel's queue nor kept.
 *
 * Refuted: NO_SECOND_LOOK  left is set, and the masks are not looked at again
 *          LOOK_FIRST      a fiber looks at left before it opens its mask
 *          NO_POKE         the signalfd is not told that it is wanted again
 *          FORGET_LEFT     what was kept is not noted in left
 *          KEEP_LEFT       left stays set though a fiber has opened meanwhile
 */
bool pending;		/* in the kernel */
bool kept;		/* taken, and then blocked by all */
bool left;		/* out of the signalfd's set, if the receiver has told it */
bool watched = true;	/* in that set */
bool poked, locked, sent;
bool open[2];		/* masks */
byte settled;		/* fibers that will not close their mask again */

#define PICK (open[0] || open[1])
#define DONE (settled == 2 && sent && !pending && !kept)

inline look_at()
{
	if
	:: PICK -> fetch()
	:: else ->
	   left = true;
#ifndef NO_SECOND_LOOK
	   if
	   :: PICK -> left = false; fetch()
	   :: else
	   fi
#endif
	fi
}

inline fetch()
{
	atomic { !locked -> locked = true };
	do
	:: atomic { kept -> kept = false; got = true };
	   give();
	   if :: !got -> break :: else fi
	:: atomic { !kept && pending -> pending = false; got = true };
	   give();
	   if :: !got -> break :: else fi
	:: atomic { !kept && !pending -> break }
	od;
	locked = false
}

inline give() /* got stays true: look for more */
{
	if
	:: PICK /* in that fiber's queue: attention.pml */
	:: else ->
	   kept = true;
#ifndef FORGET_LEFT
	   left = true;
#endif
	   if
	   :: PICK ->
#ifndef KEEP_LEFT
	      left = false
#endif
	   :: else -> got = false
	   fi
	fi
}

inline open_mask(me) /* fib_signal_opened() */
{
#ifdef LOOK_FIRST
	found = left;
	now = pending;
	open[me] = true;
	if :: now -> look_at() :: else fi;
#else
	open[me] = true;
	if :: pending -> look_at() :: else fi;
	found = left;
#endif
	if
	:: found ->
	   left = false;
	   look_at();
#ifndef NO_POKE
	   poked = true
#endif
	:: else
	fi
}

proctype fiber(byte me)
{
	bool found, got, now;

	open_mask(me);
	if
	:: open[me] = false; open_mask(me)
	:: skip
	fi;
	atomic { settled++ }
}

proctype sender()
{
	pending = true;
	pending = true;
	sent = true
}

proctype receiver()
{
	bool got, was;

	do
	:: DONE -> break
	:: atomic { (pending && watched) || poked -> poked = false };
	   /* fib_receive() */
	   was = pending;
	   atomic { if :: !was && !kept -> left = false :: else fi };
	   if :: was -> look_at() :: else fi;
	   watched = !left
	od
}

init {
	atomic { run fiber(0); run fiber(1); run sender(); run receiver() }
}
