/*
 * A signal for the process, as the head of hooks/signal/forward.c draws it: the
 * kernel's queue, a signalfd that the receiver polls, two fibers that open and
 * close their masks and handle what they were given, one at a time, a sender, a
 * fiber that sends to its own process, and one who looks for what timers have sent to threads.
 *
 * Proved for every interleaving: once a fiber has opened its mask for good, no
 * signal stays behind, neither in the kernel's queue nor in ours; and those that were left
 * in the kernel's, since a fiber that alone wants them has one to handle, are not there
 * any more when it looks what is next.
 *
 * Refuted: NO_WAIT         a fiber does not wait for who is looking just now
 *          LOOK_FIRST      a fiber looks at unwatched before it opens its mask
 *          NO_POKE         the signalfd is not told that it is wanted again
 *          NO_UNWATCH      what was queued here is not noted in unwatched
 *          TAKE_AND_GO     who has dequeued one does not look at unwatched
 *          NO_SYNC         who sends in the process, to the kernel, does not look again
 *          STALE_LOOK      the receiver clears unwatched by what it saw here without the lock
 *          EARLY_LOOK      the same, by what it saw in the kernel
 *          NO_FORWARD      who looks for timers leaves what else was there to the receiver
 */
byte pending;		/* in the kernel */
byte behind;		/* of these, left there when somebody forwarded last */
byte owed[2];		/* the same, when a fiber handled one, while the other blocks it */
byte queued;		/* dequeued there, and then blocked by all: in our queue */
bool unwatched;		/* out of the signalfd's set, if the receiver has told it */
bool watched = true;	/* in that set */
bool poked, locked, sent, sent_inside;
bool open[2];		/* masks */
bool given[2];		/* in the fiber's queue: attention.pml */
byte unblocked;		/* fibers that will not close their mask again */

#define WANTS (open[0] && !given[0] || !open[0] && open[1] && !given[1])
#define DONE                                                                   \
	(unblocked == 2 && sent && sent_inside && !locked && !pending &&       \
	 !queued && !given[0] && !given[1])

inline lock()
{
	atomic { !locked -> locked = true }
}

inline take()
{
	pending--;
	if :: behind -> behind-- :: else fi;
	if :: owed[0] -> owed[0]-- :: else fi;
	if :: owed[1] -> owed[1]-- :: else fi
}

inline forward_locked()
{
	do
	:: if
	   :: WANTS
	   :: else -> atomic { unwatched = true; behind = pending }; break
	   fi;
	   if
	   :: atomic { queued -> queued-- }
	   :: atomic { !queued && pending -> take() }
	   :: atomic { !queued && !pending -> break }
	   fi;
	   /* fib_signal_send_process() */
	   if
	   :: atomic { open[0] -> given[0] = true }
	   :: atomic { !open[0] && open[1] -> given[1] = true }
	   :: atomic { !open[0] && !open[1] -> queued++ };
#ifdef NO_UNWATCH
	      break
#endif
	   fi
	od
}

inline rewatch()
{
	if
#ifdef NO_WAIT
	:: unwatched ->
#else
	:: unwatched || locked ->
#endif
	   lock();
	   found = unwatched;
	   if :: found -> unwatched = false; forward_locked() :: else fi;
	   locked = false;
#ifndef NO_POKE
	   if :: found -> poked = true :: else fi
#endif
	:: else
	fi
}

inline open_mask(me) /* fib_signal_unblocked() */
{
#ifdef LOOK_FIRST
	rewatch();
	now = pending > 0;
	atomic { open[me] = true; owed[1 - me] = 0 };
#else
	atomic { open[me] = true; owed[1 - me] = 0 };
	now = pending > 0;
#endif
	if :: now -> lock(); forward_locked(); locked = false :: else fi;
#ifndef LOOK_FIRST
	rewatch()
#endif
}

/* What it was given, and blocks by now, is another one's: fib_sig_retarget(). */
inline close_mask(me)
{
	open[me] = false;
	if
	:: atomic { given[me] -> given[me] = false };
	   lock();
	   queued++;
	   forward_locked();
	   locked = false
	:: else
	fi
}

inline handle(me)
{
	atomic {
		given[me] && open[me] -> given[me] = false;
		owed[me] = (open[1 - me] -> 0 : behind)
	};
#ifndef TAKE_AND_GO
	rewatch();
	assert(!owed[me] || given[me])
#endif
}

proctype fiber(byte me)
{
	bool found, now;

	open_mask(me);
	if
	:: close_mask(me); open_mask(me)
	:: skip
	fi;
	unblocked++;
	do
	:: handle(me)
	:: DONE -> break
	od
}

proctype sender()
{
	pending++;
	sent = true
}

/* A fiber that sends it to its own process: to_own_process(), in_kernel(). */
proctype insider()
{
	if
	:: WANTS
	:: else ->
	   unwatched = true;
	   pending++;
#ifndef NO_SYNC
	   lock();
	   if :: pending -> forward_locked() :: else fi;
	   locked = false
#endif
	fi;
	sent_inside = true
}

/* fib_signal_take_timers(): what comes in between is queued here. */
proctype taker()
{
	lock();
	if
	:: atomic { pending -> take(); queued++ };
#ifdef NO_FORWARD
	   unwatched = true
#else
	   forward_locked()
#endif
	:: else
	fi;
	locked = false
}

proctype receiver()
{
	bool was, here;

	do
	:: DONE -> break
	:: atomic { (pending && watched) || poked -> poked = false };
	   /* fib_receiver_run() */
	   was = pending > 0;
#ifndef STALE_LOOK
	   lock();
#endif
#ifndef EARLY_LOOK
	   if :: unwatched && !was -> was = pending > 0 :: else fi;
#endif
	   here = queued > 0;
	   if :: !was && !here -> unwatched = false :: else fi;
#ifdef STALE_LOOK
	   lock();
#endif
	   if :: was -> forward_locked() :: else fi;
	   locked = false;
	   watched = !unwatched
	od
}

init {
	atomic { run fiber(0); run fiber(1); run sender(); run insider();
		 run taker(); run receiver() }
}
