/*
 * A signal for one fiber, as the head of hooks/signal/signal.h draws it: two senders,
 * a fiber that parks in a call until a datum comes or attention, and then loops
 * in its own code for ever; two workers; kicks that a worker takes between any
 * two steps.
 *
 * Proved for every interleaving: both signals are delivered, wherever the
 * fiber is when they come, though it makes no further call.
 *
 * Refuted: KICK_FIRST   the kick goes before attention is set
 *          NO_SECOND    no look at attention after (B)
 *          CLEAR_LATE   attention is cleared after the queue was emptied
 *          ON_LATE      a worker notes that it runs the fiber when that has
 *                       looked at attention already
 *          NO_WAKE      a parked fiber is not woken
 */
#define NONE     0
#define PARKED   1
#define NOTIFIED 2
#define NOBODY   2
#define DONE     (delivered == 3)

byte permit = NONE, queued = 1, on = NOBODY;
bool attention, in_hook, datum, entered;
byte sigpend, delivered;	/* a bit for each signal */
bool kicked[2];

inline deliver()
{
#ifdef CLEAR_LATE
	atomic { delivered = delivered | sigpend; sigpend = 0 };
	attention = false
#else
	attention = false;
	atomic { delivered = delivered | sigpend; sigpend = 0 }
#endif
}

/* The kick's handler: at once, or later. It diverts what is not in a hook. */
inline interrupt(w)
{
	if
	:: atomic { kicked[w] -> kicked[w] = false };
	   if
	   :: attention && !in_hook -> in_hook = true; deliver(); in_hook = false
	   :: else
	   fi
	:: skip
	fi
}

inline wake()
{
	atomic { old = permit; permit = NOTIFIED };
	if
	:: old == PARKED -> permit = NONE; queued++
	:: else
	fi
}

proctype worker(byte w)
{
	bool early, parked;

	do
	:: DONE -> break
	:: atomic { kicked[w] -> kicked[w] = false } /* runs nobody */
	:: atomic { queued > 0 -> queued-- };
#ifndef ON_LATE
	   on = w;
#endif
	   in_hook = true;
	   /* the wait in a body, fib_park() */
	   do
	   :: datum || attention -> break
	   :: else ->
	      interrupt(w);
	      atomic {
		if
		:: permit == NOTIFIED -> permit = NONE; early = true
		:: else -> early = false
		fi
	      };
	      if
	      :: early
	      :: else ->
		 on = NOBODY;
		 atomic {
			if
			:: permit == NONE -> permit = PARKED; parked = true
			:: else -> parked = false
			fi
		 };
		 if
		 :: parked
		 :: else -> permit = NONE; queued++
		 fi;
		 goto next
	      fi
	   od;
	   /* the end of fib_hook_call() */
	   if :: attention -> deliver() :: else fi;
	   interrupt(w);
	   in_hook = false; /* (B) */
	   interrupt(w);
#ifndef NO_SECOND
	   if
	   :: attention -> in_hook = true; deliver(); in_hook = false
	   :: else
	   fi;
#endif
#ifdef ON_LATE
	   on = w;
#endif
	   /* the program's own loop: only a kick gets it out */
	   do
	   :: DONE -> break
	   :: atomic { kicked[w] -> kicked[w] = false };
	      if
	      :: attention -> in_hook = true; deliver(); in_hook = false
	      :: else
	      fi
	   od;
next:	   skip
	od
}

proctype sender(byte bit_)
{
	byte old, who;

	atomic { sigpend = sigpend | bit_ };
#ifdef KICK_FIRST
	who = on;
	if :: who != NOBODY -> kicked[who] = true :: else fi;
	attention = true;
	wake()
#else
	attention = true; /* (A) */
#ifndef NO_WAKE
	wake();
#endif
	who = on;
	if :: who != NOBODY -> kicked[who] = true :: else fi
#endif
}

proctype feeder()
{
	byte old;

	if :: datum = true; wake() :: skip fi
}

init {
	atomic {
		run worker(0); run worker(1);
		run sender(1); run sender(2); run feeder()
	}
}
