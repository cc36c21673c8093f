/*
 * Descriptors: what is known of each, and how it ends.
 *
 * The record remembers the kind of file (found once by fstat) and attributes
 * (O_NONBLOCK, SO_RCVTIMEO, SO_SNDTIMEO) that decide how a call waits. Kind
 * belongs to the file and holds until the number is closed. Attributes belong
 * to the open file description, which other numbers and other processes may
 * share: a change through any number of this process starts a new attr_epoch,
 * and what is remembered counts only for descriptors born after the last fork
 * (share_epoch). Others are asked anew each time that a call would block.
 *
 * The IOManager's slot counts the files that a number has been (fib_fd.files): it
 * does so when a close is noted, whoever notes it. A record is of one of them;
 * when the slot has gone on, nothing is known. So no close has to look for the
 * record, and what was asked of the file before is told from what is true now:
 *
 *	who asks			close()
 *	--------			-------
 *	n = slot->files			files++
 *	fstat, getsockopt, ...		close the number
 *	lock; slot->files is n?		files++
 *	  then write, files = n; unlock
 *
 * A record is read without its lock: it is of the file, or of none. Who reads while
 * the number is closed under it may read of either, as the kernel may find either.
 *
 * A fiber may leave the table of descriptors (CLOSE_RANGE_UNSHARE, unshare() of
 * CLONE_FILES): the same numbers are other files to it. It is dedicated then,
 * has nothing to do with records and slots, and waits in the kernel.
 *
 * Locks: docs/LOCKS.md.
 */
#ifndef FIB_HOOKS_FD_H
#define FIB_HOOKS_FD_H

#include "runtime/iom.h"

enum fib_fd_kind {
	FIB_FD_UNKNOWN = 0,
	FIB_FD_TCP,    /* TCP and nothing like it (MPTCP, SCTP) */
	FIB_FD_STREAM, /* AF_UNIX, SOCK_STREAM */
	FIB_FD_DGRAM,  /* all other sockets: a send seldom blocks */
	FIB_FD_NOWAIT, /* pipes and the like: RWF_NOWAIT works */
	FIB_FD_POLLED, /* poll, then call: terminals, timerfd, ... */
	FIB_FD_ALWAYS, /* never would block, as poll sees it: files */
};

enum fib_tty { FIB_TTY_UNKNOWN = 0, FIB_TTY_NOT, FIB_TTY_IS };

struct fib_known {
	struct fib_lock lock;
	int fd;
	struct fib_fd *slot;	/* of the number, for ever */
	_Atomic uint32_t files; /* the slot's, of the file that this tells of */
	uint32_t attr_epoch, born_epoch;
	uint8_t kind; /* enum fib_fd_kind */
	bool nonblock;
	bool timed; /* it has a time limit for reading or writing */
	bool listening;
	uint8_t access;	   /* O_ACCMODE */
	uint8_t impatient; /* FIB_IO_*: time limits below 0: does not wait */
	uint8_t polled;	   /* FIB_IO_*: where RWF_NOWAIT does not work */
	uint8_t tty;	   /* enum fib_tty */
	bool tells_room;   /* poll has once said that there is room to write */
	bool tells_end;	   /* it says so when there is no writer (any more) */
	_Atomic uint8_t undone; /* how often connect(AF_UNSPEC) was called */
	int lowat;	   /* SO_RCVLOWAT */
	uint64_t rcvtimeo_ns, sndtimeo_ns; /* FIB_NEVER: none */
} __attribute__((aligned(64)));

/* But for a lock that has its rank with it. */
_Static_assert(sizeof(struct fib_known) == 64 ||
		       sizeof(struct fib_lock) > sizeof(int),
	       "one cache line");

/* --- known.c: the records -------------------------------------------------- */

/** The record of @fd, its kind known; NULL: leave the descriptor alone. */
struct fib_known *fib_fd_know(int fd);
/**
 * The kernel says that @k is not what it was: the number has been closed and
 * used again since fib_fd_know(). As that, for the file that it is now.
 */
struct fib_known *fib_fd_relearn(struct fib_known *k);
/** The record of slot @s, where a call waits that began with fib_fd_know(). */
struct fib_known *fib_fd_of(const struct fib_fd *s);
/** enum fib_fd_kind of @fd, as far as is known. */
uint8_t fib_fd_kind(int fd);
static inline bool fib_fd_is_socket(const struct fib_known *k)
{
	return k->kind >= FIB_FD_TCP && k->kind <= FIB_FD_DGRAM;
}
/** SO_RCVLOWAT is set on some socket. */
extern _Atomic bool fib_fd_lowat_used;
/** Does a read of @k wait for more than one byte? */
bool fib_fd_lowat(struct fib_known *k);
/** Is there a limit to how long calls on @k may wait? */
bool fib_fd_timed(struct fib_known *k);
/** Does the program want EAGAIN from @k? */
bool fib_fd_nonblock(struct fib_known *k);
/** Deadline for a call on @k: from SO_RCVTIMEO or SO_SNDTIMEO. */
uint64_t fib_fd_deadline(struct fib_known *k, uint8_t ev);
/** A descriptor that is known to be new, and ours alone. */
void fib_fd_born(int fd, uint8_t kind);
/** One that accept() made of @listener. */
void fib_fd_accepted(int fd, const struct fib_known *listener);
/** setsockopt() has set a time limit of @fd: below 0, no call waits. */
void fib_fd_limited(int fd, uint8_t ev, bool negative);
/** What cannot be asked of @to, a duplicate of @from. False: no memory. */
bool fib_fd_copy_known(struct fib_fd *from, struct fib_fd *to);
/** Attributes of other descriptors may have changed as well. */
void fib_fd_changed(void);
/** The caller, which is dedicated, has descriptors of its own from now on. */
void fib_fd_unshared(void);
/** From now on descriptors may be shared with another process. */
void fib_fd_shared(void);
bool fib_fd_may_be_shared(void);
/** In a fork child, when the slots are reset. */
void fib_fd_known_reset(void);

/* --- fd.c: how it ends, and calls that wait for nothing -------------------- */

/** fib_iom_refuge(), of which is known what is known of @s. */
struct fib_fd *fib_fd_refuge(struct fib_fd *s);
/** close_range(): ours stay out of reach, it goes piece by piece around them. */
long fib_fd_close_range(unsigned first, unsigned last, unsigned flags);
/** Has the program asked for signals from descriptors? */
bool fib_fd_signals(void);

/* --- jobs.c ---------------------------------------------------------------- */

/**
 * Before a call on a terminal, perhaps: 0, or what it returns to a process in
 * the background.
 */
long fib_job_io(struct fib_known *k, uint8_t ev);
long fib_job_ioctl(int fd, unsigned cmd);

#endif
