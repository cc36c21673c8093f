/*
 * The lock, and the order in which locks are taken.
 *
 * A lock sleeps in the kernel when it is contended, so it is held for a moment
 * only: never across a park, never when a hook returns to the program, and
 * not while the program's memory is touched, but for the futex table's, which
 * touches a word that it has touched before (fault.h).
 *
 * Each lock has a rank, lock.def; docs/LOCKS.md is the same as a table, with the
 * reasons. Who holds a lock takes others of higher ranks alone. Where two of one
 * rank are taken there is a rule for these two, and the second is taken by
 * fib_lock_second(). fib_trylock() and fib_lock_within(), which do not wait for
 * ever, may take a lock of any rank.
 *
 * A build with FIB_LOCK_RANKS checks all of this, and ends the process with both
 * locks' names (lockrank.c). In any other build a lock is one word, and the
 * ranks cost nothing.
 */
#ifndef FIB_LOCK_H
#define FIB_LOCK_H

#include "runtime/base.h"

enum fib_rank {
	FIB_RANK_NONE, /* of a lock that nobody gave a rank: not to be taken */
#define FIB_RANK(name, lock, guards) FIB_RANK_##name,
#include "runtime/lock.def"
#undef FIB_RANK
};

/* 0: free, 1: held, 2: held and somebody may sleep on it */
struct fib_lock {
	_Atomic int word;
#ifdef FIB_LOCK_RANKS
	int rank;
#endif
};

/* For a lock that is made when the program is: = FIB_LOCK(STACK). */
#ifdef FIB_LOCK_RANKS
#define FIB_LOCK(name)		  { 0, FIB_RANK_##name }
#define fib_lock_init_rank_(l, r) ((l)->rank = (r))
#else
#define FIB_LOCK(name)		  { 0 }
#define fib_lock_init_rank_(l, r) ((void)0)
#endif
/** Free, whoever had it: in memory that is new, or in a fork child. */
#define fib_lock_init(l, name)                                                 \
	(fib_store(&(l)->word, 0, relaxed),                                    \
	 fib_lock_init_rank_(l, FIB_RANK_##name))

void fib_lock_slow(_Atomic int *word);
void fib_unlock_slow(_Atomic int *word);
/** The lock, or false after @ms: for who can do without. */
bool fib_lock_within(struct fib_lock *l, unsigned ms);
/* A turn of waiting for a lock, after which fib_host_late() is told. */
#define FIB_LATE_NS 100000000

/* The lock without its rank: the functions below are what others call. */
static inline bool fib_word_trylock(_Atomic int *word)
{
	int free = 0;

	return fib_cas(word, &free, 1, acquire);
}

static inline void fib_word_lock(_Atomic int *word)
{
	if (fib_unlikely(!fib_word_trylock(word)))
		fib_lock_slow(word);
}

static inline void fib_word_unlock(_Atomic int *word)
{
	if (fib_unlikely(fib_xchg(word, 0, release) == 2))
		fib_unlock_slow(word);
}

/** A full barrier, of who has given back a lock since it wrote what it means. */
static inline void fib_fence_after_unlock(void)
{
	if (FIB_LOCK_IS_FENCE)
		fib_barrier();
	else
		fib_fence(seq_cst);
}

/*
 * fib_lock(l), fib_lock_second(l), fib_trylock(l), fib_unlock(l).
 *
 * fib_lock_bare(word, name), fib_unlock_bare(word): a lock that is a plain word,
 * because it lies in a structure of fib.h.
 *
 * fib_no_lock(what): the caller holds none here.
 * fib_only_lock(name, what): or one of that rank, or several; with FUTEX, FUTEX_PI too.
 * fib_locks_forget(): in a fork child, where the locks of others are nobody's.
 */
#ifdef FIB_LOCK_RANKS
#include "runtime/lockrank.h"
#else
static inline void fib_lock(struct fib_lock *l)
{
	fib_word_lock(&l->word);
}

static inline void fib_lock_second(struct fib_lock *l)
{
	fib_word_lock(&l->word);
}

static inline bool fib_trylock(struct fib_lock *l)
{
	return fib_word_trylock(&l->word);
}

static inline void fib_unlock(struct fib_lock *l)
{
	fib_word_unlock(&l->word);
}

#define fib_lock_bare(word, name) fib_word_lock(word)
#define fib_unlock_bare(word)	  fib_word_unlock(word)
#define fib_no_lock(what)	  ((void)0)
#define fib_only_lock(name, what) ((void)0)
#define fib_locks_forget()	  ((void)0)
#endif

#endif
