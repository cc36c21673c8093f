/*
 * IOManager: one epoll descriptor for all workers, edge-triggered, and one
 * slot for each file descriptor of the program.
 *
 * A slot's life: a descriptor is registered when somebody first has to wait
 * for it, and stays so until it is closed: for reading, and for writing as well once
 * somebody waits for that (most sockets have room, and would say so at once). An
 * edge wakes one waiting consumer per direction (readers and writers eat what
 * made the descriptor ready) and every waiting observer (poll, select). Edges
 * are counted, so that one is not lost where no consumer waits.
 *
 *	consumer                              harvester
 *	--------                              ---------
 *	seq = edges               (A)         edge
 *	try the call: EAGAIN                  lock
 *	lock                                    edges++               (B)
 *	  edges != seq: unlock, try again       a consumer waits: wake it
 *	  else publish waiter                 unlock
 *	unlock; park
 *
 * An edge after (A) is either found in edges or finds the waiter; one before
 * (A) came before the try, which then finds what the edge was about. A bit that
 * says "an edge came" would not do in the place of the count: another consumer
 * that begins would wipe it out, eat some of what the edge stands for, and
 * leave this one to park beside the rest.
 *
 * One edge may stand for food for many. So a consumer that was woken hands
 * the wake-up on to the next one when it has done its call, whatever came of
 * it (fib_iom_pass): at the slot where it was woken, so before it follows its
 * file to another. But accept() looks first whether there is any left: what comes
 * after that look makes an edge, which wakes the next one itself. If there is none, the
 * next accept() waits without a look, as below a read does after a short one.
 *
 * Consumers are served first come, first served, as the exclusive waiters of the
 * kernel are. Who was woken by what was handed on, and found nothing, has not had
 * its turn: it keeps the number that it drew when it first published, and goes
 * back to where it stood.
 *
 * After a short read from a TCP socket, a pipe, a unix stream it is known to be empty,
 * unless an edge came meanwhile: then the next read may wait at once, without
 * a call that fails first. That holds only while no HUP, RDHUP, ERR or PRI was
 * ever seen on it, for they may come with the data and make no further edge. An
 * edge counts as a read that began (reads below) before it counts as an edge,
 * so who finds the short mark and takes seq before that is told by (B). A read that is not
 * to wait does not count as one; but EAGAIN, or a part of what it has asked for, says the
 * same of a registered descriptor, if no read and no edge began since before the call
 * (fib_io_read_now()); and poll, for poll alone. What is only presumed to be empty is
 * doubt.h's. A read is short as well where the program has no memory for what comes next:
 * so where somebody has waited for long since a short read, epoll is to say anew what there
 * is to read (fib_iom_look()).
 *
 * (O): who was woken by what was handed on has come for nothing yet. So the next event is
 * for that one, and wakes nobody else: it has not tried, and finds what has come, or
 * finds edges changed, and tries again; and it hands on in any case, also if it accepts,
 * and edges have changed since it began to try. Else the two would
 * race for it, and who stood behind might win (tests/model/handon.pml). The event of a hint
 * (below) is not the next one: it may be of what the one before has read. So whom it wakes
 * has come for nothing yet as well. (One that is taken from epoll before a byte comes, and
 * handled after the next, may still have two race.)
 *
 * Hints: whoever has made a descriptor ready, and knows who waits for that, may say
 * so (fib_iom_hint()), and the consumer does not wait until somebody looks at epoll.
 * A hint may be wrong in any way: the consumer tries its call, and goes back to where
 * it stood; where there is none, all observers look. It may be missing as well: the
 * descriptor stays in epoll, whose own edge for the same data comes in any case, and
 * costs one more try for nothing at most each time that somebody looks there.
 *
 *	waker, on worker 1		consumers X, Y, which wait
 *	------------------		--------------------------
 *	write to the other end
 *	lock; X was sent already?
 *	  nothing; else wake it:
 *	  queue of worker 1
 *	  hinted = 1
 *	  Y is left: sent = 1	(L)	X: try; done
 *	unlock				  lock; sent = 0; wake Y (M)
 *	write, lock; sent; unlock	  unlock
 *
 * Whoever wakes X while Y is left says that X is sent: a hint, an event, who hands on.
 * Until X has handed on, no hint sends Y to race for what X was woken for, be it
 * that the event was first, and nor does the event of a hint. X hands on in any case;
 * if it has found nothing and waits again, it is sent no more.
 *
 * No idle worker is told of X: the event is about to wake one, as it would without the
 * hint. It looks at the queues before it sleeps again, and finds X there; if the event
 * goes to a worker that is busy, that one looks whether somebody is to be told (N),
 * since hinted says that an event answers for a wake-up. An event that was taken before
 * has sent somebody, as long as X is one of those who are left: then no hint sends X,
 * but who was sent wakes it as ever. What keep.h has is true of X as well.
 *
 * The event may have come before the hint, woken X, and found it waiting again when the
 * hint came: for nothing, or because a short read was no proof (packets), so that the
 * hint is all that X has. Then no event tells of X. So its waker tells a worker that
 * idles before its own is held up in the kernel (fib_sched_tell()), and if it computes,
 * the monitor does (fib_sched_look()).
 *
 * A waker on a bound worker has no queue for X, and would have to tell a worker of it: where
 * one sleeps in epoll it leaves X to the event, unless X is not in epoll. The edge counts.
 *
 * tests/model/hint.pml has this for spin.
 *
 * A bound worker that waits alone to read from a file does not need epoll, where
 * another worker would have to hear of each event and tell it by a futex: it sleeps in
 * poll() on the number itself. Its fiber stands in the slot's list as ever. A slot that
 * somebody has registered before is taken from epoll for that, a few times at most; who
 * comes to wait there registers it, and from then on what comes is epoll's to tell, so
 * that it is told once. Who wakes the fiber for another reason kicks its thread:
 *
 *	bound worker			waker
 *	------------			-----
 *	list empty: publish		fib_wake(): the permit is its own
 *	polls = 1		(T)	bound_ready = 1		(U)
 *	bound_ready? or poll()		polls? kick, else futex	(V)
 *	polls = 0
 *	lock; still in the list,
 *	  not registered?	(W)
 *	  edge; feed
 *	unlock
 *
 * From its look at bound_ready on a kick ends poll() (raw.S). A call polls once: what
 * that tells of may be no use to a read (an error that is queued), and poll() would say
 * so again and again. After that it waits like any other. (P), (Q): the kernel keeps
 * open what it polls, as natively what it reads from. tests/model/own.pml.
 *
 * Closing: the slot's generation is part of the epoll event, so that a stale
 * event is told from a fresh one. Natively, who waits on a descriptor that
 * another thread closes goes on waiting for the file: fib_iom_evict() gives the
 * waiters a duplicate under a high number, and moves them to its slot. So a
 * waiter's slot may change while it is parked; it is looked up again under the
 * lock, as a futex waiter's bucket is.
 *
 * A call that moves its data in parts must stay with its file between its waits
 * as well. It holds the slot (struct fib_hold), from when it first would block
 * to its end:
 *
 *	the call				close()
 *	--------				-------
 *	closes		before the first try	lock; closes += ..; unlock (G)
 *	hold: lock; closes as it was?	(C)	dup; lock
 *	  then link, else it is too late	  move waiters and holds (D)
 *	try:  lock; the slot it is linked	unlock
 *	  in; tries++ there; unlock	(E)	wait until tries is 0	(F)
 *	  the call, which does not block	close the number
 *	  tries--; is anybody at (F)?		lock; closes += ..; unlock (H)
 *	leave: lock; unlink; unlock
 *
 * A try that began before (D) has the old number, which stays what it is until
 * (F) has seen the try's end. One that begins after (D) has the duplicate's. A try that
 * waits in the kernel after all is kicked at (F), and goes on by that as well.
 * Who comes to (C) after (G) is told by closes, and others are linked at (D).
 *
 * The first try of all comes before it is known whether the call is going to wait,
 * so before it holds. It counts in tries as well, and may then hold even after (G):
 *
 *	the call				close()
 *	--------				-------
 *	tries++				(I)	closes += ..		(G)
 *	closes as it is now		(J)	a waiter, or tries?	(K)
 *	the first try: a part is done		  then on to (F), else close it
 *	(C) fails: a duplicate of its own
 *	tries--
 *
 * Either (K) sees the count, and the number stays until the duplicate is made, or
 * (J) sees (G): then the call began while the number was being closed.
 *
 * closes counts twice: how often the number was closed, and in its low byte
 * how many are between (G) and (H). A call that begins there may find either
 * file, and cannot hold: it begins anew when that is over.
 *
 * While a worker sleeps in epoll, what it looks at and finds nothing at stays open
 * until it returns: the kernel looks with a reference of its own (ep_item_poll()),
 * and if that turns out to be the last one, the file ends when the caller leaves
 * the kernel. The other end would hear of no close. So where somebody sleeps, a
 * number is taken from epoll before it is closed, which waits for who looks:
 *
 *	close()				worker
 *	-------				------
 *	leaving++		(P)	nidle++
 *	does anybody sleep?	(Q)	is anybody leaving?	(R)
 *	  then it is taken from epoll	  then sleep for 1 ms at most
 *	close the number		sleep
 *	leaving--			nidle--
 *
 * Either (Q) sees the sleeper or (R) sees the close (tests/model/leaving.pml).
 *
 * A number may also be closed where nobody sees it: by io_uring, by an
 * instruction of the program's own. Then epoll has forgotten the file, while the
 * slot is registered, and who waits for the number's next file would wait for
 * good. So the monitor looks after who has waited for a while (fib_iom_look()):
 *
 *	fresh	NEW	somebody has published since the monitor came by
 *		SEEN	it has come by once
 *		AGAIN	found to be registered since; the host asks again
 *		OLD	the same, and it does not; or nobody waits
 *
 * To register the slot's number once more says which: EEXIST, if epoll still has
 * this file by this number, and nothing else happens. If it does not, it has it
 * now, and everybody tries again. So a wait costs nothing that ends soon, one
 * call that takes longer, and the call is not the waiter's. The host has its own
 * questions to ask late (fib_host.late).
 *
 * Locks: docs/LOCKS.md.
 */
#ifndef FIB_IOM_H
#define FIB_IOM_H

#include "runtime/sched.h"

/* Directions, as FIB_EV_READ and FIB_EV_WRITE of libfib/fib.h. */
enum { FIB_IO_READ = 1, FIB_IO_WRITE = 2 };
#define FIB_IO_BOTH (FIB_IO_READ | FIB_IO_WRITE)

/*
 * fib_fd.waiting, beside those: others than consumers; one has been sent, and others
 * are left (L); no event since has been for that one (O).
 */
#define FIB_IO_OTHERS	      4
#define FIB_IO_SENT(events)   ((uint8_t)((events) << 3))
#define FIB_IO_UNTOLD(events) ((uint8_t)((events) << 5))

/* fib_fd.closes */
#define FIB_CLOSING 0xffu
#define FIB_CLOSED  0x100u

/* (R) */
#define FIB_IOM_LEAVING_NS 1000000u

/*
 * fib_fd.files: the number has begun to be closed, or may be another file's. What
 * was learned of the file before counts no more.
 */
#define FIB_FILE_LEFT 0x10000u
#define FIB_FILE_NEXT 1u

enum fib_fresh {
	FIB_FRESH_OLD = 0,
	FIB_FRESH_AGAIN = 1,
	FIB_FRESH_SEEN = 2,
	FIB_FRESH_NEW = 3,
};

struct fib_fd {
	/* one cache line: what a read that waits touches */
	struct fib_lock lock;
	int fd;
	struct fib_list waiters;
	uint32_t generation;
	_Atomic uint32_t edges; /* and wake-ups handed on, ever; lock */
	/*
	 * Reads begun, times two; the lowest bit says that the last one was
	 * short. Only the last to begin may set it (compare and swap), since
	 * another reader may have left something behind. An edge begins one.
	 */
	_Atomic uint32_t reads;
	_Atomic uint32_t files;	 /* that the number has been: see above; lock */
	_Atomic uint32_t closes; /* of the number: see above; lock */
	_Atomic uint8_t waiting; /* who may be in the list: FIB_IO_*; lock */
	uint8_t busy;		 /* FIB_IO_*: poll-then-call under way */
	uint8_t contended;	 /* FIB_IO_*: somebody waits for busy */
	uint8_t registered; /* FIB_IO_*: what epoll has it for; 0: not at all */
	uint8_t taken_off;  /* how often, for who polls it; lock */
	bool leaving;	    /* counted in fib_iom.leaving; lock */
	_Atomic bool untrusted;	   /* short reads prove nothing */
	_Atomic uint8_t fresh;	   /* enum fib_fresh */
	_Atomic uint16_t evicting; /* for closes alone: who waits at (F) */
	_Atomic uint32_t guests;   /* moved here by a close, and their holds */
	_Atomic uint32_t tries;	   /* of calls in parts, under way */
	uint32_t turns;		   /* of consumers, ever; lock */
	bool hinted;		   /* since the last event of epoll's; lock */
	struct fib *woken;	/* the last consumer that was, or NULL; lock */
	_Atomic uint64_t quiet; /* the host's: what poll has said nothing of */
	/* doubt.h */
	_Atomic uint32_t presumed; /* reads, with the mark: nothing was left */
	_Atomic uint32_t took;	   /* of the last read that took all it could */
	_Atomic bool doubted;
	_Atomic uint8_t exact;	/* enum fib_exact */
	_Atomic int8_t sure[2]; /* how often nothing was left, in a row */
	/* the monitor's: fib_iom_look() */
	uint32_t unread; /* reads, when something was left after all */
	uint64_t seen_ns, look_ns; /* who waits; when to look at it again */
	uint32_t unread_at;	   /* fib_iom_looks() of that */
	FIB_HOST_FD
} __attribute__((aligned(64)));

_Static_assert(offsetof(struct fib_fd, tries) < 64 ||
		       sizeof(struct fib_lock) >
			       sizeof(int), /* with its rank */
	       "one cache line");

/* A call that stays with the file of a slot: above. */
struct fib_hold {
	struct fib_waiter w;
	struct fib_fd *tried;  /* whose tries it counts in */
	struct fib_hold *also; /* of the same call: its other file */
};

/*
 * A bell, which wakes who sleeps at an epoll descriptor: an eventfd that is
 * readable for good. No event is wanted of it, until it is rung: then of the edge
 * that it is. So the epoll descriptor is asked for a wake-up, and no number is
 * written to: where the program has closed one of the two and has another file
 * there, the kernel says so, and nothing happens to that file.
 */
int fib_bell_make(void);
/** 0 or -errno. */
long fib_bell_hang(int epfd, int bell);
/** One sleeper wakes up, or who comes next does. 0 or -errno. Any thread. */
long fib_bell_ring(int epfd, int bell);
/** The bell of @s gets number @to: epoll and the monitor know it by that too. */
void fib_iom_bell_moves(struct fib_sched *s, int to);
/**
 * Has the program closed what all workers sleep on, where nobody saw it? They look by
 * themselves then (iom_poll.c), and nothing of ours is made anew, which would have the
 * lowest free number for a moment, and be closed as well or be lost.
 */
bool fib_iom_is_closed(struct fib_sched *s);
/** Wake one idle worker of @s. */
void fib_iom_ring(struct fib_sched *s);
/** Workers tell fib_host.news() of what comes of @fd, one that is hidden: 0 or -errno. */
long fib_iom_tell_of(struct fib_sched *s, int fd);

/** Slot of @fd; NULL if it is out of range or memory is short. */
struct fib_fd *fib_iom_slot(struct fib_sched *s, int fd);
/** Slot of @fd if there ever was one. */
struct fib_fd *fib_iom_peek(struct fib_sched *s, int fd);

/* The same, of the scheduler that the caller is in. */
static inline struct fib_fd *fib_fd_get(int fd)
{
	return fib_iom_slot(fib_sched_here(), fd);
}
static inline struct fib_fd *fib_fd_peek(int fd)
{
	return fib_iom_peek(fib_sched_here(), fd);
}

/** Nobody is on his way to a registered file, which a short read has emptied. Its lock. */
static inline bool fib_iom_seems_empty(const struct fib_fd *s)
{
	return s->registered && (fib_load(&s->reads, relaxed) & 1) &&
	       !(fib_load(&s->waiting, relaxed) & FIB_IO_SENT(FIB_IO_READ));
}

/**
 * A number for what is there by now, in the monitor: fib_iom_has_told() of it says that
 * epoll has told of all that, or has nothing to tell of it. tests/model/unread.pml.
 */
uint32_t fib_iom_looks(void);
bool fib_iom_has_told(uint32_t at);

/** (A): what comes from now on counts. For fib_iom_publish(). */
static inline uint32_t fib_iom_begin(struct fib_fd *s)
{
	/* pairs with (B); the try is a system call and is not moved above */
	return fib_load(&s->edges, acquire);
}

/**
 * Publish @w for @events. For a consumer, 1 if there was an edge since it began
 * with @seq: the call should be tried again first. -errno of epoll_ctl: EPERM
 * means that the descriptor is always ready.
 */
int fib_iom_publish(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
		    bool observer, uint32_t seq);
/**
 * An observer that stays with the file: if the number is closed, it is a guest of
 * another slot (w->slot), which it leaves when it has been woken or retracted, and
 * observes whatever comes. 1, as for a consumer.
 */
int fib_iom_observe(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
		    uint32_t seq);
/**
 * The same for a consumer that has waited before perhaps: *@turn says where it
 * stands. 0: behind all, and it becomes its turn; FIB_TURN_FIRST: before all.
 */
int fib_iom_publish_turn(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
			 uint32_t seq, uint32_t *turn);
#define FIB_TURN_FIRST UINT32_MAX
/**
 * The same for who would poll by itself, to read: it is to (@w->polls), where nobody
 * else waits. Then the slot need not be registered.
 */
int fib_iom_publish_own(struct fib_fd *s, struct fib_waiter *w, uint32_t seq,
			uint32_t *turn);
/**
 * @w, bound, sleeps until the file of w->polled is ready, bound_ready is 1, or @left is
 * over. False: not that way.
 */
bool fib_iom_sleep_bound(struct fib_worker *w, const struct timespec *left);
/** Take @w back. */
void fib_iom_retract(struct fib_waiter *w);
/**
 * (G): the number of @s is going to be closed. Does anybody wait for it, or try?
 * Then it is to be evicted first.
 */
bool fib_iom_closing(struct fib_fd *s);
/** The same; -EAGAIN, and it is not: somebody was woken, and has not been seen to. */
int fib_iom_closing_seen(struct fib_fd *s);
/** Who was woken last for @s, and is ready by now: it is named before. NULL: seen to. */
const struct fib *fib_iom_woken(struct fib_fd *s);
/** Who was woken last for @s, @f, is not waited for any more. */
void fib_iom_seen_to(struct fib_fd *s, const struct fib *f);
/** The slot of a duplicate of @s; NULL: none is to be had. */
struct fib_fd *fib_iom_refuge(struct fib_fd *s);
/**
 * The descriptor of @s is going to be closed under its waiting consumers: give
 * them @to, its refuge, which is closed when the last of them has said goodbye.
 * NULL: those who hold it have lost their file.
 */
void fib_iom_evict(struct fib_fd *s, struct fib_fd *to);
void fib_iom_guest_leave(struct fib_fd *s);
/**
 * False: the number has been closed since closes was @closes. A guest's hold is one more
 * guest: a call of several messages keeps the file for those that follow.
 */
bool fib_iom_hold(struct fib_fd *s, struct fib_hold *h, uint32_t closes);
/** Somebody at (F) is to look again. */
void fib_iom_tried_all(struct fib_fd *s) __attribute__((cold));
/** (I), (J): the first try begins; what closes is then. It may not wait. */
static inline uint32_t fib_iom_enter(struct fib_fd *s)
{
	fib_add(&s->tries, 1, seq_cst);
	return fib_load(&s->closes, seq_cst);
}
/** It has ended: either this sees evicting, or (F) sees the count. */
static inline void fib_iom_leave(struct fib_fd *s)
{
	fib_sub(&s->tries, 1, seq_cst);
	if (fib_unlikely(fib_load(&s->evicting, seq_cst)))
		fib_iom_tried_all(s);
}
/** (E): the slot of the file, until fib_iom_tried(); NULL: it is lost. */
struct fib_fd *fib_iom_try(struct fib_hold *h);
void fib_iom_tried(struct fib_hold *h);
/** The number of its file, for now; -1: it is lost. */
int fib_iom_number(struct fib_hold *h);
void fib_iom_let_go(struct fib_hold *h);
/** As that, but it stays a guest where it is: there. NULL: it has lost the file. */
struct fib_fd *fib_iom_unhold(struct fib_hold *h);
/**
 * Between the two, or between fib_iom_enter() and fib_iom_leave() of @s where @h
 * does not hold yet: it holds @to from now on, a refuge that nobody else knows,
 * unless a close has just given it another one. The slot where it is.
 */
struct fib_fd *fib_iom_move(struct fib_fd *s, struct fib_hold *h,
			    struct fib_fd *to);
/**
 * Another process may change from now on what nobody else had: the monitor asks anew for
 * those who wait to write, of whom it knew that there was nothing to ask for.
 */
void fib_iom_ask_anew(void);
/** Whoever waits to write to any descriptor is to try again. */
void fib_iom_nudge_writers(struct fib_sched *s);
/** Who has begun to try at @s, and does not wait yet, is to try again. */
void fib_iom_edge(struct fib_fd *s);
/** Whoever waits at @s for one of @events is to try again; @woken: FIB_WOKEN_FOR_IT, ... */
void fib_iom_all_again(struct fib_fd *s, uint8_t events, uint8_t woken);
/**
 * @s may be ready for one of @events: another way than epoll has told of it, if @s is
 * the file that it was when files was @files. See "Hints".
 */
void fib_iom_hint(struct fib_fd *s, uint32_t files, uint8_t events);
/** The first who waits for one of @events is behind the others from now on. */
void fib_iom_first_goes_last(struct fib_fd *s, uint8_t events);
/** A woken consumer is done: let the next one try. */
void fib_iom_pass(struct fib_fd *s, uint8_t events);
/** One that was handed on has looked, and nothing was left: if an edge came since @seq. */
void fib_iom_pass_since(struct fib_fd *s, uint8_t events, uint32_t seq);

/** Have an event now if it is ready now, and none from before: 0, -EBADF, -EPERM, ... */
int fib_iom_rearm_locked(struct fib_fd *s);
/** No event is wanted of @s any more: unless a fiber waits for it. */
void fib_iom_disarm_locked(struct fib_fd *s);
/** The same, whoever waits: fib_iom_wake_reader() alone wakes them. */
void fib_iom_mute_locked(struct fib_fd *s);
/** Wake the first who waits to read; false: there is none. */
bool fib_iom_wake_reader(struct fib_fd *s);
/** Does one whose turn is before @turn? 0: any. */
bool fib_iom_has_reader(struct fib_fd *s, uint32_t turn);

/**
 * One at a time for calls that are made after a poll said they would not
 * block. False: somebody else is at it; wait as if it had been EAGAIN.
 */
bool fib_iom_claim(struct fib_fd *s, uint8_t ev);
void fib_iom_release(struct fib_fd *s, uint8_t ev);

/** Harvest; wait until @deadline_ns at most, 0: do not wait. Workers only. */
unsigned fib_iom_poll(uint64_t deadline_ns);
/**
 * The descriptors of @s: under high numbers if others are not to see them. 0, or
 * -errno: then it has none.
 */
int fib_iom_init(struct fib_sched *s, bool hide);
/** Give them back, before anything runs. */
void fib_iom_discard(struct fib_sched *s);
/**
 * Look after those that have waited for a while; the monitor's thread alone, each
 * @period_ns; @late: who waits anew may have waited for longer than that. When it is to
 * come back; FIB_NEVER: when somebody waits anew.
 */
uint64_t fib_iom_look(struct fib_sched *s, uint64_t now_ns, uint64_t period_ns,
		      bool late);
/** The monitor looks more often while it is not 0. */
extern _Atomic uint8_t fib_iom_hurry;
#define FIB_IOM_HURRY 8
/**
 * There is a wait of which fib_host.late() is to be asked within 10 ms: from whoever begins
 * one, and from the monitor, where it has asked of a young one. It takes 1 away in each
 * round of looks: so whoever finds that it was said has the rounds left to begin to wait.
 */
static inline void fib_iom_hurries(void)
{
	if (fib_unlikely(fib_load(&fib_iom_hurry, relaxed) != FIB_IOM_HURRY))
		fib_store(&fib_iom_hurry, FIB_IOM_HURRY, relaxed);
}
/** RLIMIT_NOFILE has changed: is the reserve still below it? */
void fib_iom_limit_changed(struct fib_sched *s);
/** The descriptor is going to be closed or replaced. */
void fib_iom_forget(struct fib_fd *s, bool shared);
/**
 * It has been. Who called in between has registered the old file once more, and
 * the number may be another file's by now: that one would never be registered.
 * Who waits all the same came after fib_iom_evict(): it finds a closed number.
 */
void fib_iom_closed(struct fib_fd *s);
/**
 * The number is a file's that is new: an older one was closed unseen, or somebody waits for
 * this one already.
 */
void fib_iom_opened_anew(struct fib_fd *s) __attribute__((cold));
static inline void fib_iom_opened(struct fib_fd *s)
{
	if (fib_unlikely(s->registered))
		fib_iom_opened_anew(s);
}
/** (R): a worker that is going to sleep to @deadline_ns may until then. */
static inline uint64_t fib_iom_deadline(struct fib_sched *s,
					uint64_t deadline_ns)
{
	uint64_t soon;

	if (fib_likely(!fib_load(&s->iom.leaving, relaxed)))
		return deadline_ns;
	soon = fib_now_ns() + FIB_IOM_LEAVING_NS;
	return soon < deadline_ns ? soon : deadline_ns;
}
/** In a fork child: the table begins anew. */
void fib_iom_reset(struct fib_sched *s);

#include "fib_host_iom.h"

#endif
