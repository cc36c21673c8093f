/*
 * The runtime's own descriptors, which the program is not to see: out of its way, high
 * but not higher than costs nothing, and known by their numbers. Few, long-lived,
 * rarely changed; a table of atomics, so anybody may ask. One more is kept in reserve,
 * for when the program's table of descriptors is full.
 *
 * Where no number is beyond the program's limit, dup2() may ask for one of ours.
 * Then that moves to another number, and nobody may use the old one any more when
 * it becomes the program's file. Who uses a number that may move says so, as for
 * a lock that never waits; two counts take turns, so that those who come later
 * keep nobody waiting:
 *
 *	user				mover, one at a time
 *	----				--------------------
 *	t = turn			dup: the same file, a new number
 *	users[t & 1]++	(A)		publish the new number
 *	turn is t? else undo, again	turn++			(B)
 *	load the number, call		until users[old turn] is 0:
 *	users[t & 1]--			  kick who sleeps in a call
 *					the old number is free
 *
 * Who is at (A) before (B) is waited for, others find the new number. A kick ends
 * a sleep, but not one that is about to begin: so it is sent again. The model is
 * tests/model/moved.pml.
 */
#ifndef FIB_HIDDEN_H
#define FIB_HIDDEN_H

#include "runtime/base.h"

/**
 * Between fib_fd_reach(true) and fib_fd_reach(false), for a process with one
 * thread, numbers are to be had from RLIMIT_NOFILE on: the program cannot have
 * them, dup2() to them or count them. If it may raise the limit, that is.
 */
void fib_fd_reach(bool begin);
/** Is there room there, or high? Ours would lie among the program's if not. */
bool fib_fd_has_reach(void);
/** Our own descriptors live there, or high, out of the way: move @fd there. */
int fib_fd_hide(int fd);
/** The program wants number @fd for itself: it can have that of the reserve. */
void fib_fd_yield(int fd);
/** A duplicate of @fd there, in the place of the reserve if the table is full. */
int fib_fd_dup_hidden(int fd);
/** @fd, such a duplicate, is not needed: the reserve, of file @of, if none is. */
void fib_fd_give_back(int fd, int of);
/** RLIMIT_NOFILE may have changed: have a reserve, a duplicate of @of, below. */
void fib_fd_spare_renew(int of);
void fib_fd_spare_drop(void);
/** Can the program ask for ours by their numbers? Since the start. */
extern bool fib_fd_exposed;
/** *@number is one of ours, and may move. */
void fib_fd_movable(int *number);
/** The program wants number @fd, one of ours. False: it cannot move. */
bool fib_fd_move_away(int fd);
unsigned fib_fd_use_slow(void);
void fib_fd_used_slow(unsigned use);
/** Around a call with a number that may move, which is loaded in between. */
static inline unsigned fib_fd_use(void)
{
	return fib_unlikely(fib_fd_exposed) ? fib_fd_use_slow() : 0;
}
static inline void fib_fd_used(unsigned use)
{
	if (fib_unlikely(fib_fd_exposed))
		fib_fd_used_slow(use);
}
/** It is not ours any more. */
void fib_fd_lose(int fd);
/** Does @fd live there, or is it reserved (reserved.h)? */
bool fib_fd_is_ours(int fd);
/** Does it live there? */
bool fib_fd_is_hidden(int fd);
/** The lowest of ours from @fd on; UINT_MAX: none. */
unsigned fib_fd_next_of_ours(unsigned fd);
/** Close one that was hidden; none if @fd is negative. */
void fib_fd_unhide(int fd);
/** In a child that shares its parent's table of descriptors: they are not ours. */
void fib_fd_leave_hidden(void);
/** In a fork child: close all; @rows: by close_range(). */
void fib_fd_close_hidden(bool rows);

#endif
