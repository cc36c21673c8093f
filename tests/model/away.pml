/*
 * Who waits in the kernel while the monitor goes to sleep: runtime/spares.c, (A) to (D).
 *
 * Proved for every interleaving of a worker that waits some times, having told of it or
 * not, and the monitor: that does not sleep on for a wait that was told of and is over,
 * nor when the worker has run another fiber. (It may sleep while that one's own fiber has the
 * worker, and no CPU time.)
 *
 * Refuted: EARLY       (D) looks at away before runs is counted
 *          SILENT      (B) is left out
 *          LOOK_FIRST  the monitor looks, and then says that it sleeps
 *          ONE_TICK    who is marked away counts as such at once
 */
#define WAITS 3
#define QUIET 2

bool blocking, away, asleep, sleeps, wake;
bool back; /* from what it had told of, and in that fiber since */
bool told; /* that is why the monitor sleeps */
byte runs, cpu, seen, away_cpu;

inline tell()
{
	if
	:: asleep -> asleep = false; wake = true
	:: else
	fi
}

inline next_fiber()
{
#ifdef EARLY
	was = away;
	runs++;
#else
	runs++;
	was = away;
#endif
	if
	:: was -> away = false; tell()
	:: else
	fi
}

active proctype worker()
{
	byte n;
	bool was;

	do
	:: n == WAITS -> break
	:: n < WAITS -> /* a call that is told of */
	   blocking = true;
	   blocking = false;
	   cpu++;
#ifndef SILENT
	   tell();
#endif
	   back = true;
	   if
	   :: break /* it computes for good */
	   :: back = false; next_fiber()
	   fi;
	   n++
	:: n < WAITS -> /* one that is not */
	   cpu++;
	   next_fiber();
	   n++
	od
}

inline look(tick)
{
	told = false;
	is = runs == seen;
	seen = (tick -> runs : seen);
	if
	:: is && blocking -> told = true
	:: is && !blocking ->
	   c = cpu;
#ifndef ONE_TICK
	   is = away && c == away_cpu;
#endif
	   if
	   :: tick -> away_cpu = c; away = true
	   :: else
	   fi
	:: else
	fi
}

active proctype monitor()
{
	byte quiet, c;
	bool is;

end_awake:
	do
	:: sleeps -> /* until it is woken */
end_sleeps:
	   wake;
	   wake = false;
	   sleeps = false;
	   quiet = 0
	:: !sleeps && quiet < QUIET ->
	   look(true);
	   quiet = (is -> quiet + 1 : 0)
	:: !sleeps && quiet == QUIET ->
#ifdef LOOK_FIRST
	   look(false);
	   asleep = true;
#else
	   asleep = true;
	   look(false);
#endif
	   if
	   :: is -> sleeps = true
	   :: else -> asleep = false; wake = false; quiet = 0
	   fi
	od
}

active proctype nothing_moves()
{
end_ok:
	timeout -> assert(!sleeps || (runs == seen && !(told && back)))
}
