/*
 * Waiting for many descriptors: what poll.c and select.c share. For hook bodies;
 * these may park.
 *
 * The kernel is asked without waiting; if nothing is ready, the fiber becomes
 * an observer of every descriptor, parks, and asks again after each wake-up. As a
 * consumer does (iom.h (A)), it notes the edges of each before it asks, and asks
 * once more if one came before it is an observer. The kernel alone decides what is
 * ready, so that the results are its own.
 */
#ifndef FIB_HOOKS_MANY_H
#define FIB_HOOKS_MANY_H

#include "hooks/fd/fd.h"
#include "runtime/trywait.h"

/* So many are kept on the stack. */
#define FIB_FEW 16

struct fib_watch {
	struct fib_waiter w;
	struct fib_fd *s; /* of the number */
	uint32_t seq;	  /* its edges when the kernel was asked */
	uint32_t files;	  /* and its files */
	int fd;
	short want; /* as poll says it; of what ends the wait */
	uint8_t events;
	bool published;
	bool doubts; /* nothing is presumed to be there: runtime/doubt.h */
};

struct fib_many {
	struct fib_watch *watch;
	unsigned n;
	bool asked;    /* or known, or presumed, not to have an answer */
	bool presumed; /* it was: what doubts says counts */
	bool none;     /* nothing is watched: time and signals alone end it */
	size_t pages;  /* bytes of watch that are ours to give back */
	long (*ask)(void *arg); /* > 0 or -errno: an answer; 0: nothing yet */
	void *arg;
	uint64_t deadline_ns;
	void *also; /* more pages of ours */
	size_t also_size;
};

/**
 * Does the caller wait in the kernel? Who is bound has a thread to itself: the call is made
 * as the program asks for it. (With a mask, what is ready goes before what that lets in.)
 */
static inline bool fib_many_is_for_kernel(void)
{
	return fib_self()->bound && !fib_self()->hook.restore_mask;
}
/** Room for @n watches: @few, or pages that fib_many_wait() gives back. */
bool fib_many_room(struct fib_many *m, struct fib_watch *few, size_t n);
/** m->ask(), of those that are in m->watch by now. */
long fib_many_ask(struct fib_many *m);
/**
 * fib_many_ask() had no answer: wait until it has one: that, or -errno. Frees what
 * is @m's.
 */
long fib_many_wait(struct fib_many *m);
/** Free what is @m's, if it is not to be waited for. */
void fib_many_free(struct fib_many *m);

#endif
