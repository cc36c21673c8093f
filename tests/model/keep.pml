/*
 * Wake-ups that are kept, as runtime/keep.h tells it: three workers and three
 * fibers that compute until all three have started. The first one runs already
 * and is brief: it queues the second, and tells nobody if a worker watches; but
 * then it computes. The third one waits for a descriptor, and who harvests it
 * runs it, be it the one that watches. What is kept is young for one tick or
 * two of who watches.
 *
 * Proved for every interleaving: all three start. Nobody sleeps on while the
 * second one is queued and nobody else will look.
 *
 * Refuted: READ_FIRST    watched is read before the fiber is queued
 *          SLEEP_YOUNG   a young one makes nobody watch who goes to sleep
 *          LATE_UNWATCH  watched is cleared after the look at the queues
 *          NO_PASS       who has watched and has work keeps it to itself
 *          PASS_OLD      and in passing it on overlooks what is young
 */
#define WORKERS 3
#define FIBERS  3

byte kept;			/* in the queue of worker 0 */
byte young;			/* ticks until anybody takes it */
byte loc[WORKERS];		/* in the others' */
bool wanted, watched;
byte nidle;
bool wake_pending;
bool edge;			/* of the bell */
bool data;			/* for the third fiber */
byte started = 1;

inline notify_one()
{
	atomic { old = wake_pending; wake_pending = true };
	if
	:: old
	:: else -> edge = true
	fi
}

inline keep() /* queue_fiber(), fib_keep() */
{
#ifdef READ_FIRST
	old = watched;
#endif
	kept = 1;
	if
	:: nidle ->
	   atomic { if :: kept -> young = 2 :: else fi };
	   wanted = true;
#ifdef READ_FIRST
	   if :: old :: else -> young = 0; notify_one() fi
#else
	   if :: watched :: else -> young = 0; notify_one() fi
#endif
	:: else
	fi
}

inline harvest(w) /* fib_iom_poll() after its sleep */
{
	nidle--;
	if
	:: event -> wake_pending = false; took = true
	:: else
	fi;
	if :: got -> loc[w]++; got = false :: else fi
}

inline sleep(w, for_good)
{
	if
	:: atomic { edge -> edge = false; event = true }
	:: atomic { data -> data = false; got = true }
	:: atomic { watches -> if :: young -> young-- :: else fi }
	:: !(for_good)
	:: started == FIBERS
	fi
}

inline go_idle(w)
{
	atomic { took = false; event = false; watches = false };
	nidle++;
	atomic { some = kept && !young; old = kept && young };
	if
	:: some -> sleep(w, false)
	:: else ->
#ifdef SLEEP_YOUNG
	   old = false;
#endif
	   if
	   :: old || wanted ->
	      atomic {
		if :: !watched -> watched = true; watches = true :: else fi
	      };
	      if :: watches -> wanted = false :: else fi
	   :: else
	   fi;
	   sleep(w, true)
	fi;
	harvest(w);
#ifndef LATE_UNWATCH
	if :: watches -> watched = false; took = true :: else fi
#else
	if :: watches -> took = true :: else fi
#endif
}

inline pass_wake()
{
	took = false;
	if
	:: nidle ->
#ifdef PASS_OLD
	   if :: kept && !young -> notify_one() :: else fi
#else
	   if :: kept -> notify_one() :: else fi
#endif
	:: else
	fi
}

inline take(w)
{
	atomic {
		if
		:: loc[w] -> loc[w]--; got = true
		:: else ->
		   if :: kept && !young -> kept = 0; got = true :: else fi
		fi
	}
}

proctype worker(byte w)
{
	bool got, old, some, took, event, watches;

	do
	:: started == FIBERS -> break
	:: else ->
	   take(w);
	   if
	   :: !got -> skip
	   :: else ->
#ifdef NO_PASS
	      took = false;
#else
	      if :: took -> pass_wake() :: else fi;
#endif
	      skip
	   fi;
#ifdef LATE_UNWATCH
	   if :: watches -> watches = false; watched = false :: else fi;
#endif
	   if
	   :: got ->
	      got = false;
	      atomic { started++ };
	      started == FIBERS
	   :: else -> go_idle(w)
	   fi
	od
}

proctype first()
{
	bool old;

	keep();
	started == FIBERS
}

init {
	atomic {
		if :: wanted = true :: skip fi;
		run first();
		run worker(1);
		run worker(2);
	};
	data = true
}
