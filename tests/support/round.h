/* Threads that wait for each other in turn, so that each waits time and again. */
#ifndef T_ROUND_H
#define T_ROUND_H

#include "t.h"

#define T_ROUND 6

static int t_round[T_ROUND][2];

static inline void t_round_begin(void)
{
	for (int i = 0; i < T_ROUND; i++)
		t_pipe(t_round[i]);
}

/* @who gets the first turn. */
static inline void t_round_starts(int who)
{
	t_put(t_round[who][1], 'x');
}

/* Wait for the turn, and hand it on. */
static inline void t_round_turn(long who)
{
	CHECK(t_get(t_round[who][0]) == 'x');
	t_put(t_round[(who + 1) % T_ROUND][1], 'x');
}

#endif
