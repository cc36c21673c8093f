/*
 * Sleeping workers, as runtime/sched.h and runtime/idle.c tell it: three workers and
 * three fibers that compute until all three have started. So each worker has to wake
 * up for the one that is left to it. The first fiber runs already. The second
 * is queued by it, or by a thread that is no worker. The third one sleeps: the
 * first has armed its timer. Or that is the first one's own, and it parks; then
 * its worker has an event, and runs the second.
 *
 * Proved for every interleaving: all three start. No worker sleeps on while a
 * fiber is queued or a timer is due that nobody else will look after.
 *
 * Refuted: NO_RECHECK   the queues are not looked at after the idle count
 *          READ_FIRST   the idle count is read before the fiber is queued
 *          LATE_CLEAR   wake_pending is cleared after the look at the queues
 *          NO_PASS      who took a wake-up and has work keeps it to itself
 *          NO_DEADLINE  arming a timer tells nobody
 *          NO_TOOK      nor does who parks then leave it to who is next
 *          NOT_COUNTED  who goes to sleep looks whether others sleep for the timer
 *                       before it is counted
 */
#define WORKERS 3
#define FIBERS  3
#define QUEUED  (inject + loc[0] + loc[1] + loc[2] > 0)

byte inject, loc[WORKERS];	/* fibers in the queues */
bool idle[WORKERS];
bool until[WORKERS];		/* sleeps until the timer, not for ever */
byte nidle;
bool wake_pending;
bool edge;			/* the eventfd, edge-triggered, in epoll */
bool armed;			/* the timer */
byte started = 1;

inline notify_one()
{
	if
	:: wake_pending
	:: else ->
	   atomic { old = wake_pending; wake_pending = true };
	   if
	   :: old
	   :: else -> edge = true
	   fi
	fi
}

inline tell_of(where)
{
#ifdef READ_FIRST
	i = nidle;
	where++;
	if :: i -> notify_one() :: else fi
#else
	where++;
	if :: nidle -> notify_one() :: else fi
#endif
}

inline tell_of_deadline() /* fib_sched_deadline() */
{
	if
	:: nidle ->
	   i = 0;
	   do
	   :: i < WORKERS ->
	      if
	      :: idle[i] ->
		 if
		 :: until[i] -> break
		 :: else -> i++
		 fi
	      :: else -> i++
	      fi
	   :: else -> notify_one(); break
	   od
	:: else
	fi
}

inline harvest(w, wait) /* fib_iom_poll(), run_timers() */
{
	event = false;
	if
	:: wait ->
	   if
	   :: atomic { edge -> edge = false; event = true }
	   :: until[w] && armed
	   :: started == FIBERS
	   fi
	:: else ->
	   atomic { event = edge; edge = false }
	fi;
	if
	:: idle[w] ->
	   idle[w] = false;
	   nidle--;
	   if :: until[w] -> took = true :: else fi
	:: else
	fi;
	if
	:: event ->
#ifdef LATE_CLEAR
	   clear = true;
#else
	   wake_pending = false;
#endif
	   took = true
	:: else
	fi;
	if /* due or not yet */
	:: atomic { armed -> armed = false; loc[w]++ }
	:: skip
	fi
}

inline look_for_others(w) /* own_deadline() */
{
	others = idle[(w + 1) % WORKERS];
	others = others && until[(w + 1) % WORKERS];
	seen = idle[(w + 2) % WORKERS];
	atomic {
		others = others || (seen && until[(w + 2) % WORKERS]);
		seen = false
	}
}

inline go_idle(w)
{
	atomic { took = false; until[w] = false }; /* nobody reads it yet */
#ifdef NOT_COUNTED
	look_for_others(w);
#endif
	idle[w] = true;
	nidle++;
#ifdef NO_RECHECK
	until[w] = armed;
	harvest(w, true)
#else
	if
	:: QUEUED -> harvest(w, false)
	:: else ->
#ifndef NOT_COUNTED
	   look_for_others(w);
#endif
	   atomic { until[w] = armed && !others; others = false };
	   harvest(w, true)
	fi
#endif
}

inline pass_wake()
{
	took = false;
	if
	:: nidle ->
	   if
	   :: QUEUED -> notify_one()
	   :: else -> if :: armed -> tell_of_deadline() :: else fi
	   fi
	:: else
	fi
}

inline take(w) /* its own, the injected, another's */
{
	atomic { if :: loc[w] -> loc[w]--; got = true :: else fi };
	if
	:: got
	:: else -> atomic { if :: inject -> inject--; got = true :: else fi }
	fi;
	i = 1;
	do
	:: !got && i < WORKERS ->
	   atomic {
		if
		:: loc[(w + i) % WORKERS] ->
		   loc[(w + i) % WORKERS]--; got = true
		:: else
		fi
	   };
	   i++
	:: else -> break
	od
}

proctype worker(byte w; bool first, queues)
{
	bool got, old, took, event, clear, others, seen;
	byte i;

	if
	:: first ->
	   if
	   :: armed = true; /* it goes on */
#ifndef NO_DEADLINE
	      tell_of_deadline();
#endif
	      if :: queues -> tell_of(loc[w]) :: else fi;
	      started == FIBERS
	   :: queues -> armed = true; /* it parks */
#ifndef NO_TOOK
	      took = true;
#endif
	      if :: took -> pass_wake() :: else fi;
	      atomic { started++ };
	      started == FIBERS
	   fi
	:: else
	fi;
	do
	:: started == FIBERS -> break
	:: else ->
	   got = false;
	   if :: harvest(w, false) :: skip fi; /* every 61st turn */
	   take(w);
#ifdef LATE_CLEAR
	   if :: clear -> clear = false; wake_pending = false :: else fi;
#endif
	   if
	   :: !got -> go_idle(w)
	   :: else ->
	      if
	      :: loc[w] || inject -> if :: nidle -> notify_one() :: else fi
	      :: else
	      fi;
#ifdef NO_PASS
	      took = false;
#else
	      if :: took -> pass_wake() :: else fi;
#endif
	      atomic { started++ };
	      started == FIBERS
	   fi
	od
}

proctype thread()
{
	bool old;
	byte i;

	tell_of(inject)
}

init {
	bool by_first;

	if :: by_first = true :: by_first = false fi;
	atomic {
		run worker(0, true, by_first);
		run worker(1, false, false);
		run worker(2, false, false);
		if :: by_first :: else -> run thread() fi
	}
}
