/*
 * The checked locks, of builds with FIB_LOCK_RANKS: see lock.h, which includes
 * this. What a worker holds is noted in the worker, what another kernel thread
 * does in a table by its number: a lock is given back where it was taken,
 * before the fiber moves.
 */
#ifndef FIB_LOCKRANK_H
#define FIB_LOCKRANK_H

#define FIB_HELD_MAX 8

/* What one kernel thread holds, from the bottom. NULL: given back meanwhile. */
struct fib_held {
	int n;
	struct fib_held_lock {
		_Atomic int *word;
		int rank;
		const char *file; /* where it was taken */
		int line;
	} at[FIB_HELD_MAX];
};

enum fib_rank_how {
	FIB_RANK_ABOVE,	 /* all that the caller holds */
	FIB_RANK_SECOND, /* or equal to the last */
};

void fib_rank_lock(_Atomic int *word, int rank, enum fib_rank_how how,
		   const char *file, int line);
bool fib_rank_trylock(_Atomic int *word, int rank, const char *file, int line);
void fib_rank_unlock(_Atomic int *word, const char *file, int line);
/* Nothing is held but locks of @but, or FIB_RANK_NONE. */
void fib_rank_none(int but, const char *what, const char *file, int line);
void fib_locks_forget(void);

#define fib_lock(l)                                                            \
	fib_rank_lock(&(l)->word, (l)->rank, FIB_RANK_ABOVE, __FILE__, __LINE__)
#define fib_lock_second(l)                                                     \
	fib_rank_lock(&(l)->word, (l)->rank, FIB_RANK_SECOND, __FILE__,        \
		      __LINE__)
#define fib_trylock(l)                                                         \
	fib_rank_trylock(&(l)->word, (l)->rank, __FILE__, __LINE__)
#define fib_unlock(l) fib_rank_unlock(&(l)->word, __FILE__, __LINE__)
#define fib_lock_bare(word, name)                                              \
	fib_rank_lock(word, FIB_RANK_##name, FIB_RANK_ABOVE, __FILE__, __LINE__)
#define fib_unlock_bare(word) fib_rank_unlock(word, __FILE__, __LINE__)
#define fib_no_lock(what)                                                      \
	fib_rank_none(FIB_RANK_NONE, what, __FILE__, __LINE__)
#define fib_only_lock(name, what)                                              \
	fib_rank_none(FIB_RANK_##name, what, __FILE__, __LINE__)

#endif
