/*
 * Fibers that one worker alone may run, as libfib/outside.c tells it. A
 * thread that is no worker queues three, for whichever of two workers. Who
 * sleeps cannot be woken by name: the kernel picks one of those in epoll_wait.
 *
 * Proved for every interleaving: all three run. No worker sleeps on while one
 * of its own is queued, and nobody who makes way for it stays behind.
 *
 * Refuted: NO_RECHECK  the queues are not looked at after the idle mark
 *          READ_FIRST  the idle mark is read before the fiber is queued
 *          LATE_CLEAR  wake_pending is cleared after the look at the queues
 *          NO_PASS     who took a wake-up and has work keeps it to itself
 *          NO_NOTIFY   who makes way does not send the wake-up on
 *          LATE_SEQ    who makes way looks first, then at the futex
 *          WORK_FIRST  it looks for what is queued before it looks who sleeps
 *          EARLY_WAY   who gets up looks for those first, then is up
 */
#define WORKERS 2
#define FIBERS	3
#define WAITS(v) (pinned[v] && idle[v])
#define ANY_WAITS (WAITS(0) || WAITS(1))

byte pinned[WORKERS];		/* fibers in the queues */
bool idle[WORKERS];
bool wake_pending;
bool edge;			/* the eventfd, edge-triggered, in epoll */
byte way_waiters;
bool moved[WORKERS];		/* the futex has changed since one's look */
byte ran;

inline notify_one()
{
	if
	:: wake_pending
	:: else ->
	   atomic { old = wake_pending; wake_pending = true };
	   if
	   :: old -> old = false
	   :: else -> edge = true
	   fi
	fi
}

inline tell_way()
{
	if
	:: way_waiters -> atomic { moved[0] = true; moved[1] = true }
	:: else
	fi
}

inline harvest(w, wait) /* fib_iom_poll() */
{
	event = false;
	if
	:: wait ->
	   if
	   :: atomic { edge -> edge = false; event = true }
	   :: ran == FIBERS
	   fi
	:: else ->
	   atomic { event = edge; edge = false }
	fi;
	if
	:: idle[w] ->
#ifdef EARLY_WAY
	   tell_way();
	   idle[w] = false
#else
	   idle[w] = false;
	   tell_way()
#endif
	:: else
	fi;
	if
	:: event ->
#ifdef LATE_CLEAR
	   clear = true;
#else
	   wake_pending = false;
#endif
	   took = true;
	   event = false
	:: else
	fi
}

inline make_way(w) /* i is 0, before and after */
{
	do
	:: i < WORKERS ->
	   if
	   :: i != w && WAITS(i) ->
#ifndef NO_NOTIFY
	      notify_one();
#endif
	      way_waiters++;
	      do
	      ::
#ifdef LATE_SEQ
		 if :: !WAITS(i) -> break :: else fi;
		 moved[w] = false;
#else
		 moved[w] = false;
#ifdef WORK_FIRST
		 if :: !pinned[i] -> break :: else fi;
		 if :: !idle[i] -> break :: else fi;
#else
		 if :: !idle[i] -> break :: else fi;
		 if :: !pinned[i] -> break :: else fi;
#endif
#endif
		 moved[w]
	      od;
	      way_waiters--
	   :: else
	   fi;
	   i++
	:: else -> i = 0; break
	od
}

inline go_idle(w)
{
	atomic { took = false; idle[w] = true };
#ifdef NO_RECHECK
	harvest(w, true)
#else
	if
	:: ANY_WAITS -> harvest(w, false)
	:: else -> harvest(w, true)
	fi
#endif
}

inline pass_wake()
{
	took = false;
	if :: ANY_WAITS -> notify_one() :: else fi
}

proctype worker(byte w)
{
	bool old, took, event, clear;
	byte i;

	do
	:: ran == FIBERS -> break
	:: else ->
	   if
	   :: pinned[w] ->
	      if :: harvest(w, false) :: skip fi; /* every 61st turn */
	      pinned[w]--;
#ifdef LATE_CLEAR
	      if :: clear -> clear = false; wake_pending = false :: else fi;
#endif
#ifdef NO_PASS
	      took = false;
#else
	      if :: took -> pass_wake() :: else fi;
#endif
	      ran++;
	      if :: true -> ran == FIBERS || pinned[w] :: true fi
	   :: else ->
	      make_way(w);
#ifdef LATE_CLEAR
	      if :: clear -> clear = false; wake_pending = false :: else fi;
#endif
	      go_idle(w)
	   fi
	od
}

proctype thread()
{
	bool old, is_idle;
	byte n, v;

	for (n : 1 .. FIBERS) {
		select(v : 0 .. WORKERS - 1);
#ifdef READ_FIRST
		is_idle = idle[v];
		pinned[v]++;
#else
		pinned[v]++;
		is_idle = idle[v];
#endif
		if :: is_idle -> notify_one() :: else fi
	}
}

init {
	atomic {
		run worker(0);
		run worker(1);
		run thread()
	}
}
