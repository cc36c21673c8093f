/*
 * A number is closed while a worker looks at it: runtime/iom.h, leaving.
 *
 * A fiber closes what epoll may have an event of. Two workers look at epoll, without
 * waiting or to sleep there, a few times: each looks at what has an event, and
 * finds nothing. For that moment it has hold of the file; if the last hold is gone
 * then, the file ends when it leaves the kernel.
 *
 * Proves: when nothing moves any more, the file has ended.
 *
 * Refuted:
 *   NO_LEAVING who goes to sleep does not ask whether anybody is leaving, (R)
 *   NO_ASKING who closes does not ask whether anybody sleeps, (Q)
 *   LATE it asks before it says that it is leaving, (P)
 */
bool in_epoll = true, event, mutex;
byte holds = 1, nidle, leaving;
bool ended;

inline drop(last) {
	holds--;
	last = holds == 0
}

proctype worker() {
	bool last, briefly, has;
	byte round;

	for (round : 1 .. 2) {
	   /* It goes to sleep, or does not mean to. */
	   if
	   :: briefly = true
	   :: briefly = false; nidle++;
#ifndef NO_LEAVING
	      briefly = leaving > 0; /* (R) */
#endif
	      if
	      :: briefly -> nidle--
	      :: else
	      fi
	   fi;
again:	   atomic { !mutex -> mutex = true };
	   if
	   :: atomic { in_epoll && event ->
		event = false;
		has = holds > 0;
		holds = holds + has };
	      if
	      :: has -> atomic { drop(last) } /* nothing is there */
	      :: else
	      fi
	   :: else
	   fi;
	   mutex = false;
	   if
	   :: briefly
	   :: else -> /* until there is something to look at */
end2:	      if
	      :: atomic { in_epoll && event } -> goto again
	      fi
	   fi;
	   /* It leaves the kernel. */
	   atomic {
		ended = ended || last;
		last = false
	   }
	}
}

proctype closer() {
	bool sleeps, last;

#ifdef LATE
	sleeps = nidle > 0;
#endif
	leaving++; /* (P) */
#ifndef LATE
	sleeps = nidle > 0; /* (Q) */
#endif
#ifdef NO_ASKING
	sleeps = false;
#endif
	if
	:: sleeps ->
		atomic { !mutex -> mutex = true };
		in_epoll = false;
		mutex = false
	:: else
	fi;
	atomic {
		drop(last);
		/* the end of the file takes it from epoll */
		if
		:: last -> ended = true; in_epoll = false
		:: else
		fi
	};
	leaving--
}

init {
	atomic {
		event = true;
		run worker();
		run worker();
		run closer()
	};
	/* It is looked at when nothing moves any more. */
	timeout -> assert(ended)
}
