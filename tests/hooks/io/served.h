/* Who is served first: threads of which each waits for one turn, and notes it. */
#ifndef SERVED_H
#define SERVED_H

#include "../calls.h"

#define SERVED_MAX 8

static int served[SERVED_MAX], nserved;

/* One at a time: the next is served when this is counted. */
static inline void note_served(int who)
{
	served[__atomic_fetch_add(&nserved, 1, __ATOMIC_SEQ_CST)] = who;
}

static inline void wait_served(int n)
{
	while (__atomic_load_n(&nserved, __ATOMIC_SEQ_CST) < n)
		t_settle();
	/* Who was woken for nothing waits again: the order is of those who wait. */
	t_pause();
}

#endif
