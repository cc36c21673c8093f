/*
 * Standing in line: fibers that wait for one thing in a way that only the kernel
 * knows. The first of them waits in the kernel, and holds its kernel thread; the
 * others park. When the first one leaves, served or not, the next one's turn has
 * come.
 *
 *	newcomer			who leaves
 *	--------			----------
 *	lock; first of the key?	(A)	lock; unlink
 *	  yes: its turn is now		  the next of the key:
 *	link at the end			    its turn = 1; wake	(B)
 *	unlock; park until its turn	unlock
 *	a signal, a time limit: leaves,
 *	  as (B) if its turn has come
 *
 * For requests that are alike: whenever one of those that park could be served,
 * so could the first one, and more than one are served one by one. Each makes
 * its own call when its turn has come, so what comes of it is the kernel's.
 *
 * But a lock is a description's (place.owner): when one is served, all who ask by the
 * same description have it. So their turn comes then, whoever is between them (C).
 *
 * And who waits for a lock and is interrupted asks for it anew, as do those then
 * who stood behind it: in the kernel, whoever is the first to do so is the first in
 * line (locks_delete_block(), __locks_insert_block() of fs/locks.c), and those who ask
 * by one description stand together. Mostly it is the interrupted one, which is awake,
 * and has the processor. Here it goes a longer way, so its claim is kept for a while, and
 * the next one stands back:
 *
 *	interrupted			the next one
 *	-----------			------------
 *	lock; unlink; claim its place
 *	the next: wake	(D)		woken
 *	unlock
 *	its handler; asks anew		lock; are there claims before its own place? (E)
 *	lock; is there a claim?		  yes: stand back until they are over
 *	  yes: to its place, the	  no: is it its turn still?
 *	  turn is its own	(F)	unlock
 *	  no: behind all
 *	unlock
 *	or its call ends: lock; claim
 *	no more; the next: wake (G)
 *
 * A cancel may unwind the stack that a place lies on: who parks or blocks leaves
 * the line first (wait.c).
 *
 * Locks: docs/LOCKS.md. For fibers, in a hook.
 */
#ifndef FIB_LINE_H
#define FIB_LINE_H

#include "runtime/iom.h"
#include "runtime/timer.h"

#define FIB_LINE_KEY 5

struct fib_place {
	struct fib_list node;
	struct fib *fib;
	uint64_t key[FIB_LINE_KEY];
	/* Of its descriptor, or NULL; as it was when the call began. */
	struct fib_fd *slot;
	uint32_t closes;
	const void *owner; /* of what is waited for; NULL: each by itself */
	uint64_t ticket;   /* drawn when it first asked; a group's is one */
	_Atomic bool turn;
	_Atomic bool look;	  /* who stood before it has left */
	_Atomic uint64_t back_ns; /* it stands back until then; or 0 */
	bool keeps; /* its place, when it is interrupted; has an owner */
	bool first; /* it stands there as the first one, or not at all */
	bool ends;  /* the time limit is its call's, which has another one */
	bool in_line;
	struct fib_timer limit; /* ends: from when its turn has come */
};

/* What fib_line_stand() and fib_line_call() answer who would not be the first one. */
#define FIB_LINE_TAKEN 532

/** Is somebody in line for @key? */
bool fib_line_exists(const uint64_t key[FIB_LINE_KEY]);
/**
 * Stand in line for p->key until it is the caller's turn (0), @deadline_ns
 * (-ETIMEDOUT), or a signal (-EINTR). A cancellation point. With 0, the caller
 * makes its call and leaves. With p->ends, its call in the kernel ends at @deadline_ns
 * as by a kick: p->limit.fired then.
 */
int fib_line_stand(struct fib_place *p, uint64_t deadline_ns);
/**
 * Stand in line, make call @nr, which may block, and leave. A signal that has no
 * handler changes nothing. It is made on the file that the caller holds (io.hold of
 * the fiber). If none, p->slot's number must not have been closed meanwhile: -EBADF,
 * or -FIB_ERESTARTNOINTR where the close was under way before, so that it may have
 * been that of the number's file before. -EINTR, -ETIMEDOUT.
 */
long fib_line_call(struct fib_place *p, uint64_t deadline_ns, long nr,
		   const long a[6]);
/** The call of @f, the caller, has ended by a signal: it comes back to no place. */
void fib_line_give_up(struct fib *f);
/** Also of one that is not in line (any more). */
void fib_line_leave(struct fib_place *p);
/** Before the first fiber, and in a fork child's. */
void fib_line_reset(void);

#endif
