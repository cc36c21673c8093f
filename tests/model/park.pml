/*
 * Park and wake, as runtime/sched.h draws it: one fiber, two workers, two
 * wakers that each have something for it, and one waker that comes late.
 *
 * Proved for every interleaving: the fiber's stack is on one worker at a time;
 * the fiber is in a run queue at most once, and not after its end; it ends,
 * so no wake-up is lost.
 *
 * Refuted: EARLY_COMMIT   (A) before the stack has been left
 *          NO_PERMIT      a wake-up that finds nobody parked leaves no mark
 *          READ_WRITE     (B) reads and writes, instead of both in one step
 *          COMMIT_BLIND   (A) stores, instead of comparing
 */
#define NONE     0
#define PARKED   1
#define NOTIFIED 2
#define HAS_ALL  (datum[0] && datum[1])

byte permit = NONE;
bool datum[2];
byte queued = 1;
bool stack_used, ended;

inline queue_fiber()
{
	atomic {
		assert(queued == 0 && !ended);
		queued++
	}
}

inline commit() /* (A) and, if it fails, (C) */
{
#ifdef COMMIT_BLIND
	permit = PARKED; parked = true;
#else
	atomic {
		if
		:: permit == NONE -> permit = PARKED; parked = true
		:: else -> parked = false
		fi
	}
#endif
	if
	:: parked
	:: else -> permit = NONE; queue_fiber()
	fi
}

#define WOKEN(was) (was == PARKED -> NONE : NOTIFIED)

inline wake() /* (B) */
{
#ifdef NO_PERMIT
	atomic { old = permit; if :: old == PARKED -> permit = NONE :: else fi }
#elif defined(READ_WRITE)
	old = permit;
	permit = WOKEN(old);
#else
	atomic { old = permit; permit = WOKEN(old) }
#endif
	if
	:: old == PARKED -> queue_fiber()
	:: else
	fi
}

proctype worker()
{
	bool parked, early;

	do
	:: ended -> break
	:: atomic { queued > 0 -> queued-- };
	   assert(!stack_used);
	   stack_used = true;
	   /* the fiber: fib_park() until its condition holds */
	   do
	   :: HAS_ALL -> ended = true; stack_used = false; break
	   :: else ->
	      atomic {
		if
		:: permit == NOTIFIED -> permit = NONE; early = true
		:: else -> early = false
		fi
	      }
	      if
	      :: early
	      :: else ->
#ifdef EARLY_COMMIT
		 commit();
		 stack_used = false;
#else
		 stack_used = false;
		 commit();
#endif
		 break
	      fi
	   od
	od
}

proctype waker(byte i)
{
	byte old;

	datum[i] = true;
	wake()
}

proctype late_waker()
{
	byte old;

	wake()
}

init {
	atomic {
		run worker(); run worker();
		run waker(0); run waker(1); run late_waker()
	}
}
