/*
 * Waits that one kernel thread has in io_uring for all, as runtime/uring.h tells
 * it: two fibers wait, the first of them twice with what lies at one place of its
 * stack, and may leave at any time; another process wakes one; the waits have a limit
 * linked to them, which comes at any time. What stands in the kernel's queue, and
 * the order of its requests, are the kernel's.
 *
 * Proved for every interleaving: every wait ends; as many return that they were
 * woken as the other process has woken; the server touches no wait that is over, and
 * no limit has the name of another wait.
 *
 * Refuted: LATE_ASLEEP   asleep is set after todo was taken
 *          LATE_SEEN     bell is read after todo was taken
 *          NO_COUNT      who pushes does not change bell
 *          ONE_WAKES     only the first who finds the server asleep wakes it
 *          LEAVE_EARLY   a fiber does not wait until its cancel was taken
 *          CANCEL_WINS   a fiber that has asked for a cancel says it was not woken
 *          LIMIT_LATE    a wait is done though its limit's result has yet to come
 */
#define FIBERS 2
#define BELL   FIBERS	/* the request's place among those of fibers */
#define WAKES  1

mtype = { wait, cancel, woken, canceled, changed, none, armed, fired, passed };

chan todo = [4] of { mtype, byte };
chan submitted = [6] of { mtype, byte, byte };
chan results = [8] of { mtype, byte };
bool queued[FIBERS + 1];	/* in the kernel's queue for the word */
byte bell;
bool asleep;
bool done[FIBERS], taken[FIBERS], over[FIBERS];
mtype result[FIBERS];
mtype limit[FIBERS] = none;
byte to_come[FIBERS];	/* results that will come */
byte awake, returned, ended;

/* The kernel ends a wait: a limit that has not come ends with it. */
inline dequeue(how, who)
{
	queued[who] = false;
	results!how, who;
	if
	:: who < FIBERS && limit[who] == armed ->
	   limit[who] = none;
	   results!passed, who
	:: else
	fi
}

inline ring() /* (B) */
{
#ifndef NO_COUNT
	bell++;
#endif
#ifdef ONE_WAKES
	atomic { was = asleep; asleep = false };
#else
	was = asleep;
#endif
	if
	:: was ->
	   atomic {
		if
		:: queued[BELL] -> dequeue(woken, BELL)
		:: else
		fi;
		was = false
	   }
	:: else
	fi
}

proctype fiber(byte me, waits)
{
	bool was, leaves;

	do
	:: waits == 0 -> break
	:: else ->
	   atomic {
		waits--;
		done[me] = false; taken[me] = false; over[me] = false;
		leaves = false; to_come[me] = 2;
		assert(limit[me] == none);
		todo!wait, me	/* (A) */
	   };
	   ring();
	   if
	   :: done[me]
	   :: atomic { leaves = true; todo!cancel, me };	/* (G) */
	      ring();
#ifdef LEAVE_EARLY
	      done[me]
#else
	      done[me] && taken[me]
#endif
	   fi;
	   atomic {
		over[me] = true;
		if
#ifdef CANCEL_WINS
		:: leaves
#endif
		:: result[me] == woken -> returned++
		:: else
		fi
	   }
	od;
	ended++
}

inline take() /* (E) */
{
	do
	:: atomic {
		todo?op, id ->
		if
		:: op == wait -> submitted!wait, id, 0
		:: else ->
		   assert(!over[id]);
		   if
		   :: done[id]
		   :: else -> submitted!cancel, id, 0
		   fi;
		   taken[id] = true
		fi;
		op = 0; id = 0
	   }
	:: empty(todo) -> break
	od
}

inline enter() /* (F) */
{
	do
	:: atomic {
		submitted?op, id, val ->
		if
		:: op == cancel ->
		   if
		   :: queued[id] -> dequeue(canceled, id)
		   :: else
		   fi
		:: op == wait && id == BELL && bell != val ->
		   results!changed, BELL
		:: else ->
		   queued[id] = true;
		   if
		   :: id < FIBERS -> limit[id] = armed
		   :: else
		   fi
		fi;
		op = 0; id = 0; val = 0
	   }
	:: empty(submitted) -> break
	od;
	do
	:: atomic {
		limit[0] == fired || limit[1] == fired ->
		if
		:: limit[0] == fired -> id = 0
		:: limit[1] == fired -> id = 1
		fi;
		limit[id] = none;
		if
		:: queued[id] -> dequeue(canceled, id)
		:: else
		fi;
		results!passed, id;
		id = 0
	   }
	:: nempty(results) -> break
	:: ended == FIBERS -> break
	od
}

inline harvest() /* (H) */
{
	do
	:: atomic {
		results?op, id ->
		if
		:: id == BELL -> rings = false
		:: else ->
		   assert(!over[id] && !done[id]);
		   to_come[id]--;
		   if
		   :: op != passed -> result[id] = op
		   :: else
		   fi;
#ifdef LIMIT_LATE
		   done[id] = op != passed
#else
		   done[id] = to_come[id] == 0
#endif
		fi;
		op = 0; id = 0
	   }
	:: empty(results) -> break
	od
}

active proctype server()
{
	mtype op;
	byte id, val, seen;
	bool rings;	/* the request for bell is there */

	do
	:: ended == FIBERS -> break
	:: else ->
#ifdef LATE_ASLEEP
	   seen = bell;
	   take();
	   asleep = true;
#else
	   asleep = true;	/* (C) */
#ifdef LATE_SEEN
	   take();
	   seen = bell;
#else
	   seen = bell;		/* (D) */
	   take();
#endif
#endif
	   if
	   :: atomic { !rings -> rings = true; submitted!wait, BELL, seen; seen = 0 }
	   :: else -> seen = 0
	   fi;
	   enter();
	   asleep = false;
	   harvest()
	od
}

/* FUTEX_WAKE of one, by another process. */
active proctype waker()
{
	byte n;

	do
	:: n == WAKES -> break
	:: else ->
	   n++;
	   atomic {
		if
		:: queued[0] -> dequeue(woken, 0); awake++
		:: queued[1] -> dequeue(woken, 1); awake++
		:: else
		fi
	   }
	od
}

/* The clock comes to a limit, or is set to it, or not. */
active proctype clock()
{
	do
	:: atomic { limit[0] == armed -> limit[0] = fired }
	:: atomic { limit[1] == armed -> limit[1] = fired }
	:: ended == FIBERS -> break
	od
}

init {
	atomic { run fiber(0, 2); run fiber(1, 1) };
	ended == FIBERS;
	assert(returned == awake)
}
