/*
 * A signal for the process, as the head of hooks/receiver.c draws it: the
 * kernel's queue, a signalfd that the receiver polls, two fibers that open and
 * close their masks and handle what they were given, one at a time, and a sender
 * that sends twice.
 *
 * Proved for every interleaving: once a fiber has opened its mask for good, no
 * signal stays behind, neither in the kernel's queue nor kept.
 *
 * Refuted: NO_WAIT         a fiber does not wait for who is looking just now
 *          LOOK_FIRST      a fiber looks at left before it opens its mask
 *          NO_POKE         the signalfd is not told that it is wanted again
 *          FORGET_LEFT     what was kept is not noted in left
 *          TAKE_AND_GO     who has taken one does not look at left
 */
bool pending;		/* in the kernel */
bool kept;		/* taken, and then blocked by all */
bool left;		/* out of the signalfd's set, if the receiver has told it */
bool watched = true;	/* in that set */
bool poked, locked, sent;
bool open[2];		/* masks */
bool given[2];		/* in the fiber's queue: attention.pml */
byte settled;		/* fibers that will not close their mask again */

#define TAKES (open[0] && !given[0] || !open[0] && open[1] && !given[1])
#define DONE                                                                   \
	(settled == 2 && sent && !locked && !pending && !kept &&               \
	 !given[0] && !given[1])

inline lock()
{
	atomic { !locked -> locked = true }
}

inline look_at_locked()
{
	do
	:: if
	   :: TAKES
	   :: else -> left = true; break
	   fi;
	   if
	   :: atomic { kept -> kept = false }
	   :: atomic { !kept && pending -> pending = false }
	   :: atomic { !kept && !pending -> break }
	   fi;
	   /* fib_signal_route() */
	   if
	   :: atomic { open[0] -> given[0] = true }
	   :: atomic { !open[0] && open[1] -> given[1] = true }
	   :: atomic { !open[0] && !open[1] -> kept = true };
#ifdef FORGET_LEFT
	      break
#endif
	   fi
	od
}

inline recheck()
{
	if
#ifdef NO_WAIT
	:: left ->
#else
	:: left || locked ->
#endif
	   lock();
	   found = left;
	   left = false;
	   if :: found -> look_at_locked() :: else fi;
	   locked = false;
#ifndef NO_POKE
	   if :: found -> poked = true :: else fi
#endif
	:: else
	fi
}

inline open_mask(me) /* fib_signal_opened() */
{
#ifdef LOOK_FIRST
	recheck();
	now = pending;
	open[me] = true;
#else
	open[me] = true;
	now = pending;
#endif
	if :: now -> lock(); look_at_locked(); locked = false :: else fi;
#ifndef LOOK_FIRST
	recheck()
#endif
}

inline handle(me)
{
	atomic { given[me] && open[me] -> given[me] = false };
#ifndef TAKE_AND_GO
	recheck()
#endif
}

proctype fiber(byte me)
{
	bool found, now;

	open_mask(me);
	if
	:: open[me] = false; open_mask(me)
	:: skip
	fi;
	settled++;
	do
	:: handle(me)
	:: DONE -> break
	od
}

proctype sender()
{
	pending = true;
	pending = true;
	sent = true
}

proctype receiver()
{
	bool was;

	do
	:: DONE -> break
	:: atomic { (pending && watched) || poked -> poked = false };
	   /* fib_receive() */
	   was = pending;
	   atomic { if :: !was && !kept -> left = false :: else fi };
	   if :: was -> lock(); look_at_locked(); locked = false :: else fi;
	   watched = !left
	od
}

init {
	atomic { run fiber(0); run fiber(1); run sender(); run receiver() }
}
