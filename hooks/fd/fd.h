/*
 * Descriptors: what is known of each, and how it ends.
 *
 * The record of a number remembers the kind of file (found once by fstat), which
 * holds until the number is closed, and leads to the record of the open file
 * description, which has what decides how long a call waits: desc.h.
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
 * Both ends at home: of a pipe or a pair of sockets that this process has made, each
 * end knows the slot of the other (fib_known.peer) and which file that was then. Who
 * has written to one end, or closed it, tells the other's readers; who is about to
 * wait because one end is empty, the other's writers. An eventfd is its own other end.
 * It is a hint and no more (runtime/iom.h): others may take what was written, another
 * process may hold either end, the reader may wait by a duplicate, the other end may
 * be closed and its number another file's. A duplicate knows what its original did.
 * Of TCP and UDP nobody sees that both ends are ours: a connection that has been used
 * for a while is looked for by its addresses (peer.c).
 *
 * Natively all who wait for a file stand in one queue, by whichever number they call.
 * So those who call by numbers that dup() has made wait at the slot of one of these: that
 * of whoever waits first (hooks/io/queue.c). Who was moved by its close stands at a hidden
 * duplicate, apart from who comes then. So do numbers that are one file and nobody
 * knows: those older than the start are compared when they are first waited for, others
 * (received, made by io_uring, a fork's) are not.
 *
 * A fiber may leave the table of descriptors (CLOSE_RANGE_UNSHARE, unshare() of
 * CLONE_FILES): the same numbers are other files to it. It is dedicated then,
 * has nothing to do with records and slots, and waits in the kernel.
 *
 * Locks: docs/LOCKS.md.
 */
#ifndef FIB_HOOKS_FD_H
#define FIB_HOOKS_FD_H

#include <sys/stat.h>
#include "hooks/fd/desc.h"
#include "runtime/iom.h"

enum fib_fd_kind {
	FIB_FD_UNKNOWN = 0,
	FIB_FD_TCP,    /* TCP and nothing like it (MPTCP, SCTP) */
	FIB_FD_STREAM, /* AF_UNIX, SOCK_STREAM */
	FIB_FD_OTHER,  /* streams of other kinds: MPTCP, vsock, ... */
	FIB_FD_LOCAL,  /* AF_UNIX, datagrams and SOCK_SEQPACKET */
	FIB_FD_DGRAM,  /* all other sockets: a send seldom blocks */
	FIB_FD_PIPE,   /* and FIFOs: RWF_NOWAIT works */
	FIB_FD_NOWAIT, /* as it does for eventfd and the like */
	FIB_FD_POLLED, /* poll, then call: terminals, timerfd, ... */
	FIB_FD_EPOLL,  /* refuses both; where /proc says so, else as an eventfd */
	FIB_FD_MEMORY, /* /dev/null and its like, maps of BPF: never wait */
	FIB_FD_ALWAYS, /* never would block, as poll sees it: files */
};

/** With a kind that is found: its calls of FIB_IO_* are the kernel's, fib_fd_be_odd(). */
#define FIB_FD_ODD(events) ((uint8_t)((events) << 6))
#define FIB_FD_ODDS(kind)  ((uint8_t)((kind) >> 6))

enum fib_tty {
	FIB_TTY_UNKNOWN = 0,
	FIB_TTY_NOT,	/* another device */
	FIB_TTY_MASTER, /* of a terminal */
	FIB_TTY_IS,
	FIB_TTY_OWN,	/* the process's, when it was last read from */
	FIB_TTY_FOLDER, /* none, but a folder, which is not of /proc */
};

/* The other end of a file, perhaps: while the slot's files is @files. */
struct fib_peer {
	struct fib_fd *slot; /* NULL: none is known */
	uint32_t files;
};

struct fib_known {
	struct fib_lock lock;
	int fd;
	struct fib_fd *slot;	/* of the number, for ever */
	_Atomic uint32_t files; /* the slot's, of the file that this tells of */
	_Atomic uint32_t
		peer_files; /* without a peer: how often it was missed */
	struct fib_desc *_Atomic desc; /* NULL: begin anew */
	struct fib_fd *_Atomic peer;   /* struct fib_peer */
	uint32_t told;		       /* of desc->found: desc.h (D) */
	uint8_t kind;		       /* enum fib_fd_kind */
	uint8_t polled; /* FIB_IO_*: where RWF_NOWAIT does not work */
	uint8_t tty;	/* enum fib_tty */
	uint8_t doubts; /* times that a short read was not the end */
	union {
		bool tells_room; /* of a terminal poll has once said that */
		uint8_t tells_end; /* FIB_TELLS_END: of others, that no writer is left */
	};
	uint8_t misled;	       /* calls until an edge is believed */
	_Atomic uint8_t twin;  /* FIB_TWIN_*, lock */
	_Atomic int acceptors; /* by this number, and how: hooks/wait/way.h */
	_Atomic int turn;  /* they go over to the kernel: hooks/io/accept.c */
	_Atomic int crowd; /* the most that have parked at once */
} __attribute__((aligned(64)));

/* Of a FIFO whose poll need not say so yet: nothing was left in it once. */
#define FIB_WAS_EMPTY 1
#define FIB_TELLS_END 2

/* Its description has other numbers, perhaps; that was looked for. */
#define FIB_TWIN_HAS	1
#define FIB_TWIN_LOOKED 2

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
/**
 * Is nothing known of @fd, which has a record? Then *@files, its file number. (Who asks
 * about all numbers there may be is to make no records.)
 */
bool fib_fd_is_unknown(int fd, uint32_t *files);
/** File number @files of @fd is @st: if it is always ready, that is known from now on. */
void fib_fd_shown(int fd, uint32_t files, const struct stat *st);
/**
 * Is @fd known to be a folder that is not of /proc? If not, *@files for who finds out that
 * it is: fib_fd_be_folder().
 */
bool fib_fd_is_folder(int fd, uint32_t *files);
void fib_fd_be_folder(int fd, uint32_t files);
/** The record of slot @s, where a call waits that began with fib_fd_know(). */
struct fib_known *fib_fd_of(const struct fib_fd *s);
/** fib_host.prefetch. */
void fib_fd_prefetch(const struct fib *f);
/** enum fib_fd_kind of @fd, as far as is known. */
uint8_t fib_fd_kind(int fd);
/** May what comes of @fd be what another process did after it sent a signal? */
bool fib_fd_tells(int fd);
static inline bool fib_fd_is_socket(const struct fib_known *k)
{
	return k->kind >= FIB_FD_TCP && k->kind <= FIB_FD_DGRAM;
}
static inline bool fib_fd_has_messages(const struct fib_known *k)
{
	return k->kind == FIB_FD_LOCAL || k->kind == FIB_FD_DGRAM;
}
/** A terminal, which a process may be in the background of; a master is none. */
static inline bool fib_fd_is_tty(const struct fib_known *k)
{
	return k->tty == FIB_TTY_IS || k->tty == FIB_TTY_OWN;
}
static inline bool fib_fd_is_master(const struct fib_known *k)
{
	return k->kind == FIB_FD_POLLED && k->tty == FIB_TTY_MASTER;
}
static inline bool fib_fd_is_terminal(const struct fib_known *k)
{
	return fib_fd_is_tty(k) || fib_fd_is_master(k);
}
static inline bool fib_fd_is_prompt(const struct fib_known *k)
{
	return k->kind >= FIB_FD_EPOLL;
}
/** Of kind @kind; where /proc does not say, an eventfd and the like may be. */
static inline bool fib_fd_may_be_epoll(uint8_t kind)
{
	return kind == FIB_FD_EPOLL || kind == FIB_FD_NOWAIT;
}
static inline bool fib_fd_takes_nowait(const struct fib_known *k)
{
	return k->kind == FIB_FD_PIPE || k->kind == FIB_FD_NOWAIT;
}
/**
 * Of what kind a short read proves that there is no more, as a rule: not where
 * packets or passed descriptors end a read, which the monitor finds out.
 */
static inline bool fib_fd_shows_end(const struct fib_known *k)
{
	return k->kind == FIB_FD_TCP || k->kind == FIB_FD_STREAM ||
	       k->kind == FIB_FD_PIPE;
}
/** A master tells by a read of its own what the other side does, TIOCPKT. */
extern _Atomic bool fib_fd_packets_used;
/** There is a file that tells of a change once in some epoll descriptor: io/epoll.c. */
extern _Atomic bool fib_fd_tells_once;
/**
 * Descriptor @fd is new, of a @kind that was found, opened with @flags, and ours alone;
 * @home: its peer, too.
 */
void fib_fd_born(int fd, uint8_t kind, int flags, bool home);
/** Around dup(): the first before it. False: there is no memory for a record. */
uint32_t fib_fd_files(int fd);
bool fib_fd_duplicated(int from, uint32_t files, int to);
/** Does the file of @fd live on when that is closed? */
bool fib_fd_has_others(int fd);
/** @fd has been left: fib_iom_forget(). */
void fib_fd_let_go(int fd);
/** The caller, which is dedicated, has descriptors of its own from now on. */
void fib_fd_unshared(void);
/** From now on descriptors may be shared with another process. */
void fib_fd_shared(void);
/** A ring of io_uring is made, or used: fib_desc_unseen(). */
void fib_fd_unseen(void);
/** In a fork child, when the slots are reset. */
void fib_fd_known_reset(void);

/* --- terms.c: what calls go by ---------------------------------------------- */

/** Device and inode of the file of @k; false: they are not to be had. */
bool fib_fd_file(struct fib_known *k, uint64_t file[2]);
/** How many bytes a read of @k waits for: SO_RCVLOWAT. */
size_t fib_fd_lowat(struct fib_known *k);
/** Does the program want EAGAIN from @k? */
bool fib_fd_nonblock(struct fib_known *k);
/* The description, if O_NONBLOCK is set by all that is known of it; or NULL. */
static inline const struct fib_desc *
fib_fd_known_nonblock(const struct fib_known *k)
{
	const struct fib_desc *d = fib_load(&k->desc, acquire);

	return d && (fib_load(&d->known, acquire) & FIB_DESC_FLAGS) &&
			       fib_unlikely(d->nonblock) &&
			       fib_load(&k->files, acquire) ==
				       fib_load(&k->slot->files, relaxed) ?
		       d :
		       NULL;
}
/**
 * Is that known, so that the call may be made as it is? False where it is to be asked.
 * No other process has it then: what is set or taken back meanwhile is by a call of
 * ours, and for the calls that begin after that.
 */
static inline bool fib_fd_never_waits(const struct fib_known *k)
{
	const struct fib_desc *d = fib_fd_known_nonblock(k);

	return fib_unlikely(d != NULL) && fib_desc_is_ours(d);
}
/**
 * O_NONBLOCK is set by all that is known, but another process may have taken it back: so
 * the call is made as it is, and the kernel decides (fib_io_as_it_is()).
 */
static inline bool fib_fd_seems_nonblock(const struct fib_known *k)
{
	const struct fib_desc *d = fib_fd_known_nonblock(k);

	return fib_unlikely(d != NULL) && !fib_desc_is_ours(d);
}
/** What @k was opened for: O_ACCMODE. */
uint8_t fib_fd_access(struct fib_known *k);
/** SO_RCVTIMEO or SO_SNDTIMEO of @k, in ns; FIB_NEVER: none. */
uint64_t fib_fd_limit(struct fib_known *k, uint8_t ev);
/** The same, and O_NONBLOCK, asked for now. */
uint64_t fib_fd_limit_anew(struct fib_known *k, uint8_t ev);
/* What a wait goes by. */
struct fib_fd_terms {
	uint64_t limit_ns;
	uint32_t found; /* desc.h (A) */
	uint8_t undone;
	bool ours; /* no other process can change them */
};
/**
 * All of it at once: of @k, which waits, as far as is known. False: it is to be asked one by
 * one.
 */
bool fib_fd_terms(struct fib_known *k, uint8_t ev, struct fib_fd_terms *t);
/** Deadline for a call on @k that begins now. */
uint64_t fib_fd_deadline(struct fib_known *k, uint8_t ev);
/** Is the limit below 0, so that no call waits? */
bool fib_fd_impatient(struct fib_known *k, uint8_t ev);
/** Does the kernel make what waits for @ev? */
bool fib_fd_is_odd_itself(struct fib_known *k, uint8_t ev);
static inline bool fib_fd_is_odd(struct fib_known *k, uint8_t ev)
{
	return fib_unlikely(fib_load(&fib_desc_odd_used, relaxed)) &&
	       fib_fd_is_odd_itself(k, ev);
}
void fib_fd_be_odd(struct fib_known *k, uint8_t ev);
/** Has it a limit, of either kind? */
static inline bool fib_fd_timed(struct fib_known *k)
{
	return (fib_fd_limit(k, FIB_IO_READ) & fib_fd_limit(k, FIB_IO_WRITE)) !=
		       FIB_NEVER ||
	       fib_fd_impatient(k, FIB_IO_READ | FIB_IO_WRITE);
}
/** Is @k known to listen? Until shutdown() or connect(AF_UNSPEC) has ended that. */
static inline bool fib_fd_listens(const struct fib_known *k)
{
	const struct fib_desc *d = fib_load(&k->desc, acquire);

	return d && fib_load(&d->listens, relaxed);
}
void fib_fd_set_listens(struct fib_known *k, bool listens);
/** This process is about to end it so. */
void fib_fd_ends(struct fib_known *k, enum fib_desc_ended how);
/** An accept() that has waited at @k finds that nobody listens: how is that for it? */
enum fib_desc_ended fib_fd_hears(struct fib_known *k);
/** How often the connection of @k was taken back, connect(AF_UNSPEC): modulo 256. */
_Atomic uint8_t *fib_fd_undone(struct fib_known *k);
/** May a connect() have been made on @k before? From now on one has. */
bool fib_fd_had_connect(struct fib_known *k);
/** Connections of @k that are just being begun, and who would end them: conn.c. */
_Atomic uint32_t *fib_fd_begun(struct fib_known *k);
/** Changes of @k by others that were found so far: desc.h (A). */
uint32_t fib_fd_found(struct fib_known *k);
/** How many sends wait for room at the receiver of a unix datagram. */
extern _Atomic int fib_fd_for_receivers;
/** What socket @fd has sent and nobody has received yet, and how much of that it may have. */
struct fib_sndbuf {
	int used, size;
} fib_fd_sndbuf(int fd);
/** Of a unix datagram socket poll tells of the receiver as well: unix_writable(). */
static inline bool fib_fd_tells_of_receiver(struct fib_sndbuf b)
{
	return b.used <= b.size / 4;
}
/** No other process can change what is known of @k. */
bool fib_fd_is_ours_alone(struct fib_known *k);
/** The caller waits for @events of @k where the monitor does not ask for it: ask. */
void fib_fd_ask_late(struct fib_known *k, uint8_t events);
/** fib_host.late: calls still wait at @s. Ask what they did not. */
unsigned fib_fd_late(struct fib_fd *s, uint8_t events);
/** After a read of @fd that had less than it asked for there is nothing left. */
bool fib_fd_short_is_last(int fd);
/** setsockopt() has set a time limit of @fd: below 0, no call waits. */
void fib_fd_limited(int fd, uint8_t ev, bool negative);
/* A change by this process, by way of a number. */
struct fib_change {
	struct fib_known *k; /* NULL: nothing is known */
	struct fib_desc *desc;
	uint8_t parts; /* enum fib_desc_part */
	uint32_t was;
};
/** Before a change of @parts, 0: none; and after it, which has done it or not. */
struct fib_change fib_fd_change(int fd, uint8_t parts);
void fib_fd_changed(const struct fib_change *c);
/** The same after F_SETFL or FIONBIO, which has had success. */
void fib_fd_set_nonblock(const struct fib_change *c, bool nonblock);
/** After one of FIB_DESC_READ or FIB_DESC_WRITE alone: the limit is @ns. */
void fib_fd_set_limit(const struct fib_change *c, uint64_t ns);
/** One that accept4() with @flags made of @listener; NULL: which is another by now. */
void fib_fd_accepted(int fd, struct fib_known *listener, int flags);
extern _Atomic bool fib_fd_may_ask;
/**
 * May the caller make calls that programs seldom make, as kcmp()? No filter kills for
 * them.
 */
static inline bool fib_fd_asks(void)
{
	return fib_load(&fib_fd_may_ask, relaxed) && !fib_filtered();
}

/* --- peer.c ----------------------------------------------------------------- */

static inline struct fib_peer fib_fd_peer(const struct fib_known *k)
{
	return (struct fib_peer){ fib_load(&k->peer, relaxed),
				  fib_load(&k->peer_files, relaxed) };
}
/** Who waits for @events at @p may have something to do. */
static inline void fib_fd_hint(struct fib_peer p, uint8_t events)
{
	if (fib_likely(!p.slot))
		return;
	if ((fib_load(&p.slot->waiting, relaxed) & (events | FIB_IO_OTHERS)) ||
	    ((events & FIB_IO_READ) && (fib_load(&p.slot->reads, relaxed) & 1)))
		fib_iom_hint(p.slot, p.files, events);
}
/* Uses of a connection after which its other end is looked for; and of the last look. */
#define FIB_PEER_SEEK 64
#define FIB_PEER_LAST (4 * FIB_PEER_SEEK)
void fib_fd_seek_peer(struct fib_known *k, uint32_t missed);
/** Who waits for @events at the other end of @k may have something to do. */
static inline void fib_fd_hint_peer(struct fib_known *k, uint8_t events)
{
	struct fib_peer p = fib_fd_peer(k);

	if (p.slot)
		fib_fd_hint(p, events);
	else if ((k->kind == FIB_FD_TCP || fib_fd_has_messages(k)) &&
		 fib_unlikely(p.files < FIB_PEER_LAST))
		fib_fd_seek_peer(k, p.files);
}
/** After a write to @k with result @r, of any kind. */
static inline long fib_fd_wrote(struct fib_known *k, long r)
{
	if (r > 0)
		fib_fd_hint_peer(k, FIB_IO_READ);
	return r;
}
static inline void fib_fd_set_peer_locked(struct fib_known *k,
					  struct fib_peer p)
{
	fib_store(&k->peer_files, p.files, relaxed);
	fib_store(&k->peer, p.slot, relaxed);
}
/** These two numbers have just been born, as the two ends of one file. */
void fib_fd_meet(int a, int b);
/** The same before the start, by whoever made them. Any thread. */
void fib_fd_met_early(int a, int b);
/** What is known of @fd, before it is closed. */
struct fib_peer fib_fd_peer_of(int fd);
/** The other end of number @s, which as file @files was found to be of @kind. */
struct fib_peer fib_fd_find_peer(struct fib_fd *s, uint8_t kind,
				 uint32_t files);

/* --- twins.c ---------------------------------------------------------------- */

/** @k is waited for: was it duplicated before the start? Once. */
void fib_fd_find_twin(struct fib_known *k);
/**
 * The caller, who is going to wait for @ev of the file of @k, whose number was closed
 * @began times when the call began, stands in the file's queue, until
 * fib_desc_queue_leave(). At which slot, and how often that was closed; NULL: its own.
 */
struct fib_fd *fib_fd_queue(struct fib_known *k, uint8_t ev, uint32_t began,
			    uint32_t *closes);

/* --- kind.c ----------------------------------------------------------------- */

/** SO_RCVLOWAT is set on some socket; SO_PEEK_OFF is; what hooks/io/much.c asks for is. */
extern _Atomic bool fib_fd_lowat_used, fib_fd_peek_off_used, fib_fd_glue_used;
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* linux/socket.h, since Linux 6.5 */
#endif
/** enum fib_fd_kind of @fd, as the kernel says, and FIB_FD_ODD(). */
uint8_t fib_fd_find_kind(int fd);
/** The same of socket @fd, which socket() or socketpair() has just made of that. */
uint8_t fib_fd_made_kind(int fd, int domain, int type, int protocol);

/* --- fd.c: how it ends, and calls that wait for nothing -------------------- */

struct fib_place;
/** fib_iom_refuge(), of which is known what is known of @s. */
struct fib_fd *fib_fd_refuge(struct fib_fd *s);
/**
 * After the first try, which fib_iom_enter() began with @closes: the call stays
 * with its file. False: the number was being closed by then, or no duplicate is
 * to be had.
 */
bool fib_fd_hold(struct fib_fd *s, struct fib_hold *h, uint32_t closes);
/**
 * Before the first try of a call on @fd that may stand in line @p
 * (hooks/wait/line.h); the try may not wait.
 */
void fib_fd_try(struct fib_place *p, int fd);
/** It has ended, and the call with it. */
void fib_fd_tried(struct fib_place *p);
/**
 * It would wait: call @nr in line @p, two words of whose key are the file's, on
 * the file that it was tried with.
 */
long fib_fd_in_line(struct fib_place *p, uint64_t deadline_ns, long nr,
		    const long a[6]);
/** close_range(): ours stay out of reach, it goes piece by piece around them. */
long fib_fd_close_range(unsigned first, unsigned last, unsigned flags);
/**
 * Two descriptors of @kind that a call has made, opened with @first, @second and
 * @flags: tell the program. 0 or -EFAULT, and there are none.
 */
long fib_fd_pair(const int fd[2], uint8_t kind, int first, int second,
		 int flags, int *user);
/** Has the program asked for signals from descriptors? */
bool fib_fd_signals(void);

/* --- jobs.c ---------------------------------------------------------------- */

/* struct termios of the kernel */
struct fib_modes {
	uint32_t iflag, oflag, cflag, lflag;
	uint8_t line, cc[19];
};

/**
 * Before a call reads from @k or writes to it, a terminal perhaps: 0, or what it returns
 * to a process in the background.
 */
long fib_job_io(struct fib_known *k, uint8_t ev);
long fib_job_ioctl(int fd, unsigned cmd);
/** May it send a signal, where it succeeds? */
bool fib_job_signals(unsigned cmd);
/** The side of a pseudo terminal that is no process's terminal. */
bool fib_job_is_master(int fd);

#endif
