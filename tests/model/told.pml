/*
 * A number is closed by who has made its file ready: see_to() of hooks/fd/fd.c, and
 * fib_iom_woken(), fib_iom_closing_seen() of runtime/iom_close.c.
 *
 * A fiber waits for the file, and what it waits for has come. A worker that finds the
 * event takes it out of the queue, names it as the last that was woken, and makes it
 * ready; or the close comes first, and moves it to a duplicate. Once it runs it makes its
 * call again, by the number. (That a close gives up after a while is not in here: then the
 * call may be too late.)
 *
 * Proves: its call does not find the number closed.
 *
 * Refuted:
 *   UNLOCKED the close looks at who is named without the lock
 *   NO_AGAIN it does not look again when it begins
 *   NO_WAIT it does not wait until the call has been made
 */
mtype = { PARKED, READY, RUNNING, DONE };
mtype state = PARKED;
bool mutex, queued = true, named, closed, moved;

inline lock() {
	atomic { !mutex -> mutex = true }
}

proctype worker() {
	lock();
	if
	:: queued ->
		queued = false;
		named = true;
		state = READY
	:: else
	fi;
	mutex = false
}

proctype fiber() {
	if
	:: state == READY -> state = RUNNING; assert(!closed)
	:: moved
	fi;
	state = DONE
}

proctype closer() {
	bool was;

see:	if
	:: named ->
#ifndef UNLOCKED
		lock();
		was = named;
		mutex = false;
#endif
#ifndef NO_WAIT
		state != READY && state != RUNNING;
#endif
		lock();
		named = false;
		mutex = false
	:: else
	fi;
	lock();
#ifndef NO_AGAIN
	if
	:: named -> mutex = false; goto see
	:: else
	fi;
#endif
	if
	:: queued -> queued = false; moved = true
	:: else
	fi;
	mutex = false;
	closed = true
}

init {
	atomic {
		run worker();
		run fiber();
		run closer()
	}
}
