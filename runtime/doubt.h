/*
 * Doubts: what a worker has presumed of descriptors, and is to ask about.
 *
 * A read that took all that it asked for does not tell whether anything is left.
 * Mostly nothing is: two threads that pass a word to and fro, a record behind its head.
 * Where that was so the last times, a read waits without a try, as it does after a short
 * one (iom.h), and its worker has a doubt. It asks about all of these by one poll, when
 * it looks at epoll, and before it sleeps there:
 *
 *	reader, on worker W			W, later
 *	-------------------			--------
 *	read: all of it
 *	  presumed = reads	(A)
 *	read: presumed is reads?		doubted = false		(C)
 *	  publish				poll: is it ready?	(D)
 *	  doubted was false: then		epoll: events
 *	  it is one of W's doubts (B)		it is ready, and somebody waits
 *	  park					  yet: that was an edge	(E)
 *
 * What was there before (B) is found by (D): it comes after the publish, be it that
 * (B) finds doubted and leaves it to who has that doubt. What comes later makes an edge,
 * as ever; and so, since epoll is looked at between (D) and (E), it is not taken for a
 * wrong presumption. Where epoll has more to tell than a look takes, the edge may be among
 * that: then epoll is to tell of it at (E), in its turn (fib_iom_tell_unread_locked()). An
 * edge, a hint or another read that begins ends what was presumed at (A), since each
 * changes reads.
 *
 * Of two that take turns, one waits for what the other is going to say, when its worker
 * goes to sleep, and epoll has the event for that one already. So where looks at epoll have
 * settled all doubts the last time, and once in FIB_DOUBT_TRY sleeps besides, epoll
 * comes first, and if it has something nothing is asked. What nobody waits for any more
 * is no doubt then (L); one that was there at FIB_DOUBT_LOOKS such looks is asked about
 * at the next.
 *
 * A worker that is stuck in a fiber does not look: then the monitor asks, each tick.
 * One that is about to block, to lie down, or to run one fiber alone, asks before. If
 * something else ends a wait, a limit or a signal, who waits looks himself before it
 * counts (fib_io_park()). So a wrong presumption costs a turn of the worker's queue,
 * or three.
 *
 * What was left after earlier reads is kept for those that had waited themselves and
 * for those that had not: the head of a record is followed by more, and its body by
 * nothing. FIB_SURE times in a row is enough; one that was wrong counts as many.
 *
 * Whoever connects mostly has to wait for an answer. So the same goes for the first read
 * of a connection that this process has made, by what the last such reads have found,
 * whichever descriptors they were of (fib_io_connected()); each FIB_DOUBT_TRY one
 * tries. It is not registered yet, and what is there already is told by that: then
 * there is nothing to ask.
 *
 * tests/model/doubt.pml has this for spin.
 */
#ifndef FIB_DOUBT_H
#define FIB_DOUBT_H

#include "runtime/iom.h"

#define FIB_DOUBT_TRY	16
#define FIB_DOUBT_LOOKS 2
#define FIB_SURE	4
#define FIB_SURE_MOST	8
#define FIB_SURE_WRONG	(-32)

/* What there is to learn of a slot by its next read, or by a poll before that. */
enum fib_exact {
	FIB_EXACT_NONE,
	FIB_EXACT_AT_ONCE, /* is anything left by one that had not waited? */
	FIB_EXACT_WAITED,  /* or that had? */
	FIB_EXACT_POLLED,  /* nothing; but that read has been waited for */
	FIB_EXACT_BEGUN,   /* has a connection that has just been made an answer? */
};

/** May the calling fiber presume anything: is there somebody to ask, and room? */
bool fib_doubt_may(void);
/** (B): the caller, a fiber, has published itself at @s, when edges was @seq. */
void fib_doubt(struct fib_fd *s, uint32_t seq);
/**
 * Is @w, the caller, which goes to sleep, to look at epoll before it asks? Then it says
 * fib_doubt_looked() if epoll had something, and else asks.
 */
bool fib_doubt_can_wait(struct fib_worker *w);
/** (L) */
void fib_doubt_looked(struct fib_worker *w);
/**
 * (C), (D): about all that @w, the caller, doubts. How many are ready: these are for
 * fib_doubt_settle(), in any case.
 */
unsigned fib_doubt_ask(struct fib_worker *w);
/** (E); @fresh: of all that came before (D), epoll has told. */
void fib_doubt_settle(struct fib_worker *w, bool fresh);
/** Both, without a look at epoll. */
void fib_doubt_end(struct fib_worker *w);
/** For the monitor: @w does not ask. */
void fib_doubt_ask_for(struct fib_worker *w);

#endif
