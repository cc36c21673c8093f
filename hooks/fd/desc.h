/*
 * Open file descriptions: what is known of each that decides how long a call
 * waits. O_NONBLOCK belongs to the description, time limits to the socket, which
 * has one description. Numbers that dup() made of each other share one record.
 *
 * Who may change what a record tells of, and who then writes the record:
 *
 *	open	  pipe, socketpair, socket, accept: a new description, ours alone,
 *		  known from its birth (fib_desc_born()). One that turns up without a
 *		  birth (older than the start, received, opened) is a stranger: its
 *		  record is made when its number is first used, and asked for part by
 *		  part when a wait first wants to know.
 *	dup	  both numbers lead to one record. A number that is closed, or that
 *		  has become another file's, lets go of it (fd.h: files).
 *	fcntl	  F_SETFL, FIONBIO, SO_RCVTIMEO and its like, by this process through
 *		  whichever number: the part is unknown from before the call, and
 *		  known again after it. Numbers of strangers may share a description
 *		  and nobody knows (dup before the start, received twice): after a
 *		  change through one of them all others are asked, unless kcmp() says
 *		  that they are other descriptions.
 *	fork	  and SCM_RIGHTS, pidfd_getfd(), a table of descriptors of one's own:
 *		  from then on others may hold, and change, what was ours alone
 *		  (fib_desc_shared()); such records are as a stranger's.
 *	io_uring  does what fcntl(), setsockopt(), shutdown() and SCM_RIGHTS do, and
 *		  nobody sees it: once the process has made a ring, nothing is
 *		  ours alone (fib_desc_unseen()).
 *	exec	  ends the process, or nothing.
 *	others	  tell nobody. So of what is not ours alone it is asked late.
 *
 * Asking late
 * -----------
 * A wait begins by what is known. If it said that calls do not wait
 * (O_NONBLOCK), and is not ours alone, it may have become blocking: a read or accept is
 * made as it is, and the kernel knows. If it waits there, the monitor ends it at a tick, and
 * it is asked what is true, and parks (fib_io_as_it_is()). What else there is asks again
 * at once. Where it said that they wait, the monitor asks of those who still wait a few
 * milliseconds later (fib_iom_look()), and then again and again: what another
 * process changes acts within 10 ms, in a wait that has begun as well, for as
 * long as that is no older than a second; then within 1/128 of its age.
 *
 *	a call			monitor			another process
 *	------			-------			---------------
 *	mark = found	 (A)				F_SETFL
 *	nonblock? EAGAIN	lock slot
 *	publish, park		  ask		 (B)
 *				  record is otherwise, and this process has
 *				  changed nothing since before (B):
 *				    write it, found++	 (C)
 *				  the number has not been told of found:
 *				    wake who waits	 (D)
 *				unlock
 *	woken: try again, EAGAIN
 *	found != mark: to (A)
 *
 * (A) is before the look at nonblock and (C) after the write, so a change that a
 * call has not seen makes found differ. (D) wakes one call in each direction, and
 * each hands its wake-up on, whatever comes of it (iom.h). A call that publishes
 * after (D) has begun after (C), or finds that an edge came: iom.h (B).
 *
 * What this process changes itself is not told to those who wait: natively a
 * wait goes on that began before. Hence the count of changes: the monitor's
 * answer is nothing if one is under way or has come since it asked, nor of what
 * is unknown.
 *
 *	fcntl()				who asks
 *	-------				--------
 *	changes++, unknown	(E)	seen = changes
 *	the kernel's call		F_GETFL, ...
 *	changes += .., unknown	(F)	lock; changes is seen, and nothing is
 *	ask, or it is known		under way? then write; unlock
 *
 * What another process does between (E) and the end of the right column is
 * for the calls that begin after it, as what came before (E) is.
 *
 * tests/model/late.pml has this for spin.
 *
 * A record's memory is never given back, so it may be read without its lock by
 * who is about to lose the number: it may read of another description then, as
 * the kernel may find either file.
 */
#ifndef FIB_HOOKS_DESC_H
#define FIB_HOOKS_DESC_H

#include "runtime/iom.h"

/* Parts of what is known. */
enum fib_desc_part {
	FIB_DESC_FLAGS = 1,
	FIB_DESC_READ = 2,  /* SO_RCVTIMEO; FIB_IO_READ << 1 */
	FIB_DESC_WRITE = 4, /* SO_SNDTIMEO; FIB_IO_WRITE << 1 */
	FIB_DESC_LOWAT = 8,
	FIB_DESC_ACCESS = 16, /* asked with the flags; never changes */
	FIB_DESC_FILE = 32,   /* which file it is: neither does that */
};
#define FIB_DESC_LIMITS (FIB_DESC_READ | FIB_DESC_WRITE)

/* fib_desc.changes: of this process, and in the low byte those under way. */
#define FIB_CHANGED  0x100u
#define FIB_CHANGING 0xffu

/** O_ASYNC is set on some descriptor, or was. */
extern _Atomic bool fib_desc_async_used;
/** Some description is odd, or was. */
extern _Atomic bool fib_desc_odd_used;

/* Who waits in accept() where that has been ended: who hears of it? */
enum fib_desc_ended {
	FIB_DESC_ALL_HEAR,	 /* shutdown(): inet_shutdown() wakes all */
	FIB_DESC_ONE_IS_TO_HEAR, /* connect(AF_UNSPEC): so tcp_disconnect() does */
	FIB_DESC_ONE_HAS_HEARD,
};

/* Where those stand who wait for a description that has several numbers. */
struct fib_queue {
	struct fib_fd *slot;  /* of one of these; NULL: each at its own */
	uint32_t files;	      /* of the slot, as long as it is that */
	_Atomic int standing; /* who counts is to come to that slot */
};

struct fib_desc {
	struct fib_lock lock;	  /* to write what is known */
	_Atomic uint32_t refs;	  /* numbers that lead here */
	_Atomic uint32_t changes; /* see (E), (F) */
	_Atomic uint32_t found;	  /* changes by others: see (C) */
	_Atomic uint32_t born;	  /* fib_desc_is_ours(); 0: a stranger */
	_Atomic uint32_t apart;	  /* no other stranger is it: terms.c */
	_Atomic uint8_t known;	  /* enum fib_desc_part */
	bool home;		  /* its other end was born here as well */
	bool nonblock;
	uint8_t access;		/* O_ACCMODE */
	uint8_t impatient;	/* FIB_IO_*: limits below 0: does not wait */
	_Atomic uint8_t odd;	/* FIB_IO_*: what waits does so in the kernel */
	_Atomic uint8_t undone; /* by this process: fib_fd_undone() */
	_Atomic uint8_t
		connected;	/* a connect() was made: fib_fd_had_connect() */
	uint8_t changed;	/* parts that this process has set, ever */
	_Atomic bool listens;	/* the kernel has said so: fib_fd_listens() */
	_Atomic bool locked;	/* it has a F_OFD_SETLK, perhaps */
	_Atomic uint8_t ended;	/* enum fib_desc_ended, of who listened */
	_Atomic uint32_t begun; /* hooks/io/conn.c */
	int lowat;		/* SO_RCVLOWAT */
	uint64_t limit_ns[2];	/* for reading, for writing; FIB_NEVER: none */
	uint64_t file[2];	/* its device and inode */
	struct fib_queue queue[2]; /* the same; lock */
	struct fib_desc *next;	   /* of those that are free */
};

/* What the kernel has said. */
struct fib_desc_answer {
	uint32_t changes; /* when it was asked */
	uint8_t parts;
	bool nonblock;
	uint8_t access;
	int lowat;
	uint64_t limit_ns[2];
	uint64_t file[2];
};

/** A record with one reference, of a stranger. */
struct fib_desc *fib_desc_create(void);
void fib_desc_get(struct fib_desc *d);
/**
 * The caller is going to stand in the queue of @d for @ev: at which slot? @own, as file
 * @files, if nobody stands at another one; *@closes is of that slot. The caller is
 * counted (fiber.io.counted) until fib_desc_queue_leave(). NULL: @d is nobody's.
 */
struct fib_fd *fib_desc_queue(struct fib_desc *d, uint8_t ev,
			      struct fib_fd *own, uint32_t files,
			      uint32_t *closes);
void fib_desc_queue_leave(struct fib *f);
/** There are other numbers than that of @own, where some may wait by now. */
bool fib_desc_has_twins(struct fib_desc *d, struct fib_fd *own, uint32_t files);
void fib_desc_put(struct fib_desc *d);
/** From now on the kernel makes the calls on @d that wait for @events. */
void fib_desc_be_odd(struct fib_desc *d, uint8_t events);
/** It is a listener, or none any more: by whichever number. */
void fib_desc_set_listens(struct fib_desc *d, bool listens);
void fib_desc_set_ended(struct fib_desc *d, uint8_t how);
/**
 * @d is a description that nobody else has, with no limits, opened with @flags;
 * @home: what it is the other end of was born here as well.
 */
void fib_desc_born(struct fib_desc *d, int flags, bool home);
/**
 * @d, just born, is a connection of listener @l (NULL: which is not known), and has
 * what that had when it came. If @l is ours alone, and this process never set that, it
 * is what is known of @l, or else it is to be asked. Of a limit below 0 that cannot be:
 * the kernel knows whether it was set before that, and whether it is inherited.
 */
void fib_desc_inherit(struct fib_desc *d, struct fib_desc *l);
/** No other process can have it, nor a number that is a stranger. */
bool fib_desc_is_ours(const struct fib_desc *d);
/** From now on others may have any that there is by now. */
void fib_desc_shared(void);
/**
 * The same, and any that there will be: there is a ring of io_uring, whose requests
 * change them, or pass them on, as another process does. False: it was so before.
 */
bool fib_desc_unseen(void);
bool fib_desc_may_be_shared(void);

/** Ask the kernel for @parts of the description of @fd. */
void fib_desc_ask(const struct fib_desc *d, int fd, uint8_t parts,
		  struct fib_desc_answer *a);
/** It is of @d for sure: write what no change of ours has made old. */
void fib_desc_learn(struct fib_desc *d, const struct fib_desc_answer *a);
/** The same, of what others may have changed: (C). */
void fib_desc_find(struct fib_desc *d, struct fib_desc_answer *a);
/** (E) and (F): around a change of @parts by this process. The count before it. */
uint32_t fib_desc_change(struct fib_desc *d, uint8_t parts);
void fib_desc_changed(struct fib_desc *d, uint8_t parts);
/** After (F): that change, the only one since count @was, has set it to @a. */
void fib_desc_set(struct fib_desc *d, struct fib_desc_answer *a, uint32_t was);

/** In a fork child. */
void fib_desc_reset(void);

#endif
