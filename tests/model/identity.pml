/*
 * A change that every kernel thread of the process makes, as the head of
 * hooks/process/identity.c draws it. The caller, thread 0, makes two changes. Thread 2
 * creates thread 1, which ends, and then another one in its slot. Thread 3 goes
 * into exec and comes back, since that fails.
 *
 * Proved for every interleaving: a change is over at some time, and then no
 * thread is left that has not made it.
 *
 * Refuted: COUNT           who is to follow is counted, and then waited for
 *          NO_TELL         who ends does not say so
 *          TELL_FIRST      who ends says so before it is gone
 *          NEW_AT_BIRTH    who is born takes the number of the change
 *          LOOK_ONCE       who was born meanwhile is not looked for
 *          BIRTH_UNLOCKED  a look may find a birth half done
 *          LATE_NUMBER     the creator gives its number after it has cloned, and
 *                          may take a kick in between
 *          ASKED_STAYS     a slot's next thread counts as asked
 *          NO_SELF_KICK    exec fails, and nobody kicks
 *          LATE_VALUE      progress is read after the look
 */
#define N 4
byte has[N];		/* what the kernel knows of the thread */
byte seen[N];		/* what the thread says */
byte asked[N];
bool live[N], gone[N], kicked[N], no_kick[N];
byte current, progress;
bool changing, locked, done;
bool busy; /* the slot of thread 1 */

inline lock()
{
	atomic { !locked -> locked = true }
}

inline kick(i)
{
	atomic {
		if
		:: live[i] && !no_kick[i] -> kicked[i] = true
		:: else
		fi
	}
}

/* fib_identity_follow(), in the kick's handler */
inline handler(me)
{
	atomic { kicked[me] -> kicked[me] = false };
	if
	:: !gone[me] && seen[me] < current ->
		has[me] = current;
		seen[me] = current;
		progress++
	:: else
	fi
}

inline look() /* all_have() */
{
	lock();
	all = true;
	i = 1;
	do
	:: i < N ->
	   if
	   :: live[i] && !gone[i] && seen[i] != now ->
		all = false;
		if
		:: asked[i] != now -> kick(i)
		:: else
		fi;
		asked[i] = now
	   :: else
	   fi;
	   i++
	:: else -> break
	od;
	locked = false
}

proctype caller()
{
	byte now, value, i;
	bool all;

	do
	:: now < 2 ->
	   now++;
	   has[0] = now;
	   seen[0] = now;
	   changing = true;
	   current = now;
#ifdef COUNT
	   value = progress;
	   i = 1;
	   lock();
	   do
	   :: i < N ->
	      if
	      :: live[i] && !gone[i] && seen[i] != now ->
		value++;
		kick(i)
	      :: else
	      fi;
	      i++
	   :: else -> break
	   od;
	   locked = false;
	   progress == value;
#else
	   do
	   :: true ->
#ifndef LATE_VALUE
	      value = progress;
#endif
	      look();
#ifdef LATE_VALUE
	      value = progress;
#endif
	      if
	      :: all -> break
	      :: else -> progress != value
	      fi
#ifdef LOOK_ONCE
	      ;
	      do
	      :: seen[2] == now && seen[3] == now -> break
	      od;
	      break
#endif
	   od;
#endif
	   skip;
	   d_step {
		changing = false;
		i = 0;
		do
		:: i < N -> assert(!live[i] || gone[i] || has[i] == now); i++
		:: else -> break
		od
	   }
	:: else -> break
	od;
	done = true
}

proctype execs()
{
	bool was;

	do
	:: handler(3)
	:: !was ->
	   was = true;
	   atomic { no_kick[3] = true; kicked[3] = false };
	   no_kick[3] = false
#ifndef NO_SELF_KICK
	   ;
	   kick(3)
#endif
	:: done && !kicked[3] -> break
	od
}

proctype born(bool stays)
{
	live[1] = true; /* born: the creator goes on */
	do
	:: handler(1)
	:: !stays || done && !kicked[1] -> break
	od;
#ifdef TELL_FIRST
	if :: changing -> progress++ :: else fi;
	gone[1] = true;
#else
	gone[1] = true;
#if !defined(NO_TELL) && !defined(COUNT)
	if :: changing -> progress++ :: else fi;
#endif
#endif
	atomic { live[1] = false; kicked[1] = false; busy = false }
}

proctype creates()
{
	byte n;

	do
	:: handler(2)
	:: n < 2 && !busy ->
	   n++;
#ifndef BIRTH_UNLOCKED
	   lock();
#endif
#ifdef LATE_NUMBER
	   has[1] = has[2];
	   if :: handler(2) :: skip fi;
#endif
	   seen[1] = seen[2];
#ifdef NEW_AT_BIRTH
	   seen[1] = current;
#endif
#ifndef ASKED_STAYS
	   asked[1] = seen[2];
#endif
#ifndef LATE_NUMBER
	   has[1] = has[2];
#endif
	   atomic { busy = true; gone[1] = false; run born(n == 2) };
	   live[1] || gone[1];
#ifndef BIRTH_UNLOCKED
	   locked = false
#endif
	:: done && !kicked[2] -> break
	od
}

init {
	atomic {
		live[0] = true; live[3] = true; live[2] = true;
		run caller(); run execs(); run creates()
	}
}
