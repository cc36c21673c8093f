/*
 * Asking late, as hooks/fd/desc.h tells it: a call on a description that another
 * process may have made non-blocking, the monitor that asks after it, a thread of
 * this process that changes the same flag, and the other process.
 *
 * Proved for every interleaving: once the other process has made the description
 * non-blocking, after the own change if there is one, a call that waits there
 * ends, though nothing ever comes. A change of this process ends no wait that has
 * begun before it. And whoever asks when all is over knows what is true.
 *
 * Refuted: MARK_LATE   the count of what was found is taken after the look (A)
 *          WRITE_LAST  found is counted before the record is written (C)
 *          NO_TOLD     news is what the monitor has found itself: another number
 *                      of the description has been told of it, this one has not
 *          NO_COUNT    own changes are not counted (E), (F)
 */
bool real;			/* O_NONBLOCK, in the kernel */
bool rec, known = true;		/* the record */
byte changes, under;
byte found, told;
bool locked;			/* the slot */
bool record_locked;
bool waiting, woken;
bool began_before;		/* the call published before the own change */
bool own_first;			/* the own change sets it, the other does not */
bool own_done, done;

inline lock(l) { atomic { !l -> l = true } }
inline unlock(l) { l = false }

/* The right column of (E), (F): ask, and write what no own change made old. */
inline learn()
{
	seen = changes; su = under;
	v = real;
	lock(record_locked);
	if
	:: seen == changes && !su && !under -> rec = v; known = true
	:: else
	fi;
	unlock(record_locked)
}

inline write_found()
{
#ifdef WRITE_LAST
	found++;
	rec = v
#else
	rec = v;
	found++	/* (C) */
#endif
}

proctype call()
{
	bool v, su, first = true;
	byte seen, mark;

again:
#ifdef MARK_LATE
	if :: known -> v = rec :: else -> learn() fi;
	mark = found;
#else
	mark = found;	/* (A) */
	if :: known -> v = rec :: else -> learn() fi;
#endif
	if
	:: v ->
	   assert(!(own_first && began_before));
	   goto out
	:: else
	fi;
	do
	:: /* publish, park */
	   lock(locked);
	   if
	   :: first && !own_done && !under && !changes -> began_before = true
	   :: else
	   fi;
	   first = false;
	   atomic { woken = false; waiting = true };
	   unlock(locked);
	   if
	   :: woken
	   :: own_first && own_done -> goto out /* rightly waits for good */
	   fi;
	   if
	   :: found != mark -> goto again
	   :: else
	   fi
	od;
out:	done = true
}

/* Again and again, while there is something to be seen. */
proctype monitor()
{
	bool v, su, news;
	byte seen;

	do
	:: done -> break
	:: waiting && ((known && real != rec) || found != told) ->
	   lock(locked);
	   if
	   :: !waiting -> skip
	   :: else ->
	      news = false;
	      seen = changes; su = under;
	      v = real;		/* (B) */
	      lock(record_locked);
	      if
#ifdef NO_COUNT
	      :: known && v != rec ->
#else
	      :: seen == changes && !su && !under && known && v != rec ->
#endif
		 write_found();
		 news = true
	      :: else
	      fi;
#ifndef NO_TOLD
	      news = found != told;
#endif
	      told = found;
	      unlock(record_locked);
	      if :: news -> atomic { waiting = false; woken = true } :: else fi /* (D) */
	   fi;
	   unlock(locked)
	od
}

/* Another number of the same description has somebody who waits, too. */
proctype other_number()
{
	bool v, su;
	byte seen;

	if
	:: done
	:: known && real != rec && !own_first ->
	   seen = changes; su = under;
	   v = real;
	   lock(record_locked);
	   if
	   :: seen == changes && !su && !under && known && v != rec ->
	      write_found()
	   :: else
	   fi;
	   unlock(record_locked)
	:: own_first && own_done
	fi
}

proctype own()
{
	bool v, su;
	byte seen;

	lock(record_locked);
#ifndef NO_COUNT
	under++; known = false;	/* (E) */
#endif
	unlock(record_locked);
	if :: own_first -> real = true :: else fi;
	lock(record_locked);
#ifndef NO_COUNT
	under--; changes++; known = false;	/* (F) */
#endif
	unlock(record_locked);
	learn();
	own_done = true
}

proctype other()
{
	own_done;
	if
	:: own_first
	:: else -> real = true
	fi
}

init {
	atomic {
		if :: own_first = true :: own_first = false fi;
		run call(); run monitor(); run other_number(); run own();
		run other()
	}
}
