/*
 * Channels from inside: who waits in one, or in several at once.
 *
 * Who waits has a struct fib_offer, and in the list of each channel a party, which
 * is a case of it: a value to send, or a place for one. Whoever has come to do
 * its part of a case takes the wait first, in one step, for nobody may do two
 * cases of one wait, nor one that it has given up:
 *
 *	claim	OPEN	may be taken
 *		n > 0	case n - 1 was taken
 *		LEFT	its own fiber or thread has had enough: the time is up,
 *			it is cancelled, another of its cases is ready
 *
 *	who comes, under the channel's lock	who waits
 *	-----------------------------------	---------
 *	for each party of the list:		(L) lock all channels of the cases
 *	(T)  CAS(claim, OPEN -> its case)	(R) is one ready? do it: done
 *	  fails: leave it there, go on		    no: a party into each list
 *	(U)  unlink the party			    unlock all; park
 *	(V)  copy the value, say the result	woken, by (W): claim is the case
 *	(W)  wake who waits			not woken, enough:
 *						(X) CAS(claim, OPEN -> LEFT)
 *						  fails: it is taken; wait for (W)
 *						then lock each channel whose party is
 *						still linked, and unlink it
 *
 * (L): from (R) to the last party nobody can come to any of the channels, so
 * nothing can become ready that is neither seen at (R) nor finds the party. With
 * one lock after the other, two that wait for each other could both have looked
 * before the other was there. The locks are taken in the order of their addresses.
 *
 * A party that was not taken stays in its list until its own fiber unlinks it, so
 * a channel that somebody will come back to is not destroyed: it has a list that
 * is not empty. And a party that was taken is off the list, and who is woken does
 * not touch its channel any more: it may be gone.
 *
 * tests/model/select.pml
 */
#ifndef FIB_CHANNEL_H
#define FIB_CHANNEL_H

#include "libfib/parker.h"

struct fib_channel {
	struct fib_lock lock;
	bool closed;
	size_t size, capacity;
	size_t head;	      /* the oldest value */
	_Atomic size_t count; /* read without the lock */
	struct fib_list senders, receivers;
	char ring[];
};

enum { FIB_OFFER_OPEN = 0, FIB_OFFER_LEFT = -1 };

struct fib_offer {
	struct fib_parker parker;
	_Atomic int claim;
	int result; /* of the case taken; before (W) */
};

struct fib_party {
	struct fib_list link;
	struct fib_offer *wait;
	void *value; /* to be sent, or the place for one */
	int index;   /* of the case */
};

static inline void fib_offer_init(struct fib_offer *w)
{
	fib_parker_init(&w->parker);
	fib_store(&w->claim, FIB_OFFER_OPEN, relaxed);
}

/** (X): nobody will take a case of @w any more; false: one is taken, and done. */
bool fib_offer_leave(struct fib_offer *w);

/** Send or receive at once: 0, -EPIPE, -EAGAIN: it would have to wait. */
int fib_channel_try_locked(struct fib_channel *c, void *value, bool send);
/** @p into the list. */
void fib_channel_join_locked(struct fib_channel *c, struct fib_party *p,
			     bool send);

#endif
