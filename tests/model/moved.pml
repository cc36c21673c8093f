/*
 * A descriptor of ours moves away from a number that the program wants, as the
 * head of runtime/hidden.h draws it: two users, one of which sleeps in its call, and
 * two moves, one after the other. number is where ours is; file[n] is whose file n is.
 *
 * Proved for every interleaving: no call is made with a number that is the
 * program's, and no mover waits for ever.
 *
 * Refuted: NO_SECOND    a user does not look at turn again after (A)
 *          TURN_FIRST   (B) goes before the new number is published
 *          ONE_KICK     a sleeper is kicked once
 *          LOAD_EARLY   a user loads the number before (A)
 */
#define OURS 1
#define MOVES 2

byte number = 0, turn, users[2], file[3], moves;
bool asleep, kicked;

inline enter()
{
	do
	:: t = turn;
	   users[t & 1]++;	/* (A) */
#ifdef NO_SECOND
	   break
#else
	   if
	   :: turn == t -> break
	   :: else -> users[t & 1]--
	   fi
#endif
	od
}

proctype user(bool sleeps)
{
	byte t, n, turns = 0;

	do
	:: turns == 2 -> break
	:: turns < 2 ->
	   turns++;
#ifdef LOAD_EARLY
	   n = number;
	   enter();
#else
	   enter();
	   n = number;
#endif
	   kicked = kicked && !sleeps;	/* one that comes too early is lost */
	   /* the kernel looks the number up when the call is entered */
	   atomic {
		assert(file[n] == OURS);
		if
		:: sleeps -> asleep = true
		:: else
		fi
	   };
	   if
	   :: sleeps -> (kicked || moves == MOVES); atomic { asleep = false; kicked = false }
	   :: else
	   fi;
	   users[t & 1]--
	od
}

proctype mover()
{
	byte old, to;
	bool sent;

	do
	:: moves == MOVES -> break
	:: moves < MOVES ->
	   old = number;
	   to = old + 1;
	   file[to] = OURS;
	   sent = false;
#ifdef TURN_FIRST
	   turn++;
	   number = to;
#else
	   number = to;
	   turn++;		/* (B) */
#endif
	   do
	   :: users[(turn - 1) & 1] == 0 -> break
	   :: else ->
	      /* a round: it is kicked, and looked at again some time later */
#ifdef ONE_KICK
	      if
	      :: !sent -> kicked = true; sent = true
	      :: else -> (users[(turn - 1) & 1] == 0)
	      fi
#else
	      (!kicked || users[(turn - 1) & 1] == 0);
	      kicked = true
#endif
	   od;
	   file[old] = 0;	/* the program's */
	   moves++
	od
}

init {
	file[0] = OURS;
	atomic { run user(false); run user(true); run mover() }
}
