/*
 * Blocking calls on descriptors: made so that they do not block, and repeated
 * when the descriptor may be ready. One loop for the hook bodies and for
 * fib_read() and its like:
 *
 *	fib_io_begin()		what comes from now on counts (iom.h)
 *	try			MSG_DONTWAIT, RWF_NOWAIT, or a poll first
 *	  not EAGAIN: done
 *	rules->limit()		once: may it wait, and how long?
 *	rules->block()		fib_io_park(); again
 *	fib_io_end()		hand the wake-up on
 *
 * Who has waited, and finds the number closed meanwhile, has lost its file: that
 * is EBADF, and not the data of the file that has the number now. (Who began
 * while it was being closed begins anew.) A call in parts holds on to its file
 * (iom.h).
 *
 * What is the layer's above: how long a call may wait (a socket's time limit, an
 * argument), and what ends a wait (signals and cancellation, which a library
 * does not have). For fibers; as a library for threads as well, which wait in
 * the kernel.
 */
#ifndef FIB_TRYWAIT_H
#define FIB_TRYWAIT_H

#include <poll.h>
#include "runtime/iom.h"

struct fib_io;

/* Connections, when one has been accepted. */
enum fib_left {
	FIB_LEFT_UNKNOWN,
	FIB_LEFT_NONE, /* what comes from now on makes an edge */
	FIB_LEFT_SOME,
};

/* What the layer above knows of how to wait. */
struct fib_io_rules {
	/** 0 and io->deadline_ns, or what a call returns that may not wait. */
	int (*limit)(struct fib_io *io);
	/** Wait: 0 to try again, else what the call returns. */
	long (*block)(struct fib_io *io);
	/**
	 * Of fib_io_polled(), or NULL: call @nr as with O_NONBLOCK, or since an
	 * edge has told, and of an accept() whether others are left; -ENOSYS: by poll.
	 */
	long (*at_once)(struct fib_io *io, long nr, const long a[6],
			enum fib_left *left);
	/**
	 * NULL, or of a call that reads: does the kernel refuse it before it waits,
	 * or may it? Then it is tried, whatever is known of the file.
	 */
	bool (*refused)(long nr, const long a[6]);
	/**
	 * NULL, or of a read: has the caller been told that there is something, at this
	 * file perhaps? Then it is tried, though it seems to be empty.
	 */
	bool (*told)(struct fib_io *io);
	/**
	 * NULL, or of an accept() that has waited and failed with @r: has the kernel told
	 * of that another one, and him alone? Then it waits on.
	 */
	bool (*untold)(struct fib_io *io, long r);
};

/* One call on one descriptor. */
struct fib_io {
	struct fib_fd *s;
	struct fib_fd *own; /* the caller's number, where s is not: for dumps */
	const struct fib_io_rules *rules;
	uint64_t deadline_ns;
	uint32_t seq;	 /* edges when the try began */
	uint32_t closes; /* of the number, when the call began */
	uint32_t turn;	 /* among those who wait: iom.h */
	uint8_t ev;
	bool limited; /* deadline_ns is known */
	bool never;   /* it does not wait, as is known */
	bool woken;   /* by an edge: others may want to know */
	bool handed; /* by one of these, and it is to see whether any is left */
	bool came;   /* the last wait was ended by what it was for, or so */
	bool doubts; /* it waits by what is presumed: doubt.h */
	bool polled; /* somebody has waited for it by poll before */
	bool moved;  /* the descriptor was closed; s is a duplicate's slot */
	bool alone;  /* a bound worker may poll for it: iom.h */
	bool parked;
	bool early;  /* for chaos: it waits before its first try */
	int hung_up; /* in the place of 0, where a hang-up has ended a wait */
	FIB_HOST_IO
};
#define FIB_IO(slot, event, how)                                               \
	((struct fib_io){ .s = (slot),                                         \
			  .ev = (event),                                       \
			  .rules = (how),                                      \
			  .deadline_ns = FIB_NEVER })

/** Once, before the first try. */
static inline void fib_io_start(struct fib_io *io)
{
	io->closes = fib_load(&io->s->closes, relaxed);
}

static inline void fib_io_begin(struct fib_io *io)
{
	io->seq = fib_iom_begin(io->s);
}

/** A wait has ended, and the number is another file's, or nobody's. */
static inline bool fib_io_lost(const struct fib_io *io)
{
	return io->parked && io->closes != fib_load(&io->s->closes, relaxed);
}

/**
 * Park until the descriptor may be ready, or io->deadline_ns: 0: try again;
 * -EINTR; -ETIMEDOUT; what epoll_ctl says; -ENOMEM: no room for a timer.
 */
int fib_io_park(struct fib_io *io);

/** Also before io->s is another's: who waits at this one is to know. */
static inline void fib_io_end(struct fib_io *io)
{
	if (io->woken)
		fib_iom_pass(io->s, io->ev);
	if (fib_unlikely(io->moved))
		fib_iom_guest_leave(io->s);
	io->woken = io->moved = false;
}

/** A close has moved the caller to @s, as whose guest it goes on. */
void fib_io_follow(struct fib_io *io, struct fib_fd *s);

/** fib_iom_try() for @io, which goes to where @h is. False: the file is lost. */
bool fib_io_try(struct fib_io *io, struct fib_hold *h);

/**
 * Make call @nr, which is not going to block (MSG_DONTWAIT, RWF_NOWAIT), until
 * it is not EAGAIN. a[0] stands for the descriptor. @plain: it reads that many bytes
 * of a file that a short count proves to be empty; FIB_IO_ANY: it reads, and its count
 * proves nothing; FIB_IO_LOOK: it looks, and takes nothing; 0: something else.
 */
#define FIB_IO_ANY  SIZE_MAX
#define FIB_IO_LOOK (SIZE_MAX - 1)
long fib_io_call(struct fib_io *io, size_t plain, long nr, const long a[6]);
/** The same without fib_io_end(): the caller may want to stay where it has moved. */
long fib_io_open_call(struct fib_io *io, size_t plain, long nr,
		      const long a[6]);
/**
 * Somebody has received urgent data, before an edge told of it perhaps, or has
 * made a pipe one of packets: a read that ends at a mark is short, too. Or data may
 * come without an edge (TCP_REPAIR).
 */
extern _Atomic bool fib_io_urgent;
/** What is ready of @events, POLLHUP and the like; a signal is no answer. */
short fib_io_ready(int fd, short events);
/**
 * For who tries and waits in its own way: is it to wait before it tries? It is known,
 * or presumed (io->doubts, for that wait), that there is nothing.
 */
bool fib_io_waits_first(struct fib_io *io);
/** Before a try: which one it is. After it: has it taken all that there was then? */
uint32_t fib_io_turn(struct fib_io *io);
void fib_io_took(struct fib_io *io, uint32_t turn, bool all);
/** After it, too: it had @r of @plain bytes (see below), or an error. */
void fib_io_tried(struct fib_io *io, uint32_t turn, size_t plain, long r);
/** @s is known to be empty, whatever comes since it was looked at with fib_iom_begin(). */
bool fib_io_is_empty(const struct fib_fd *s);
/**
 * One that was not to wait had @r; its reads were @reads when it began, and it does not
 * count as one. @empty: nothing was left, or there.
 */
void fib_io_read_now(struct fib_fd *s, uint32_t reads, bool empty, long r);
/** @s is presumed to be empty: who waits for it has a doubt (doubt.h). */
bool fib_io_is_presumed(const struct fib_fd *s);
/** @s is a connection that the caller has just made. */
void fib_io_connected(struct fib_fd *s);
/** It was looked at after its last read, without a wait, and after one. */
void fib_io_learn(struct fib_fd *s, bool empty);
void fib_io_has_waited(struct fib_fd *s);
/** Has it, by poll, and nobody tried since? */
bool fib_io_is_polled(const struct fib_fd *s);
/** EAGAIN: may it wait? Then wait. 0: try again, else what the call returns. */
long fib_io_again(struct fib_io *io);
/** Make call @nr, which would block, when poll says that it does not; @plain as above. */
long fib_io_polled(struct fib_io *io, size_t plain, long nr, const long a[6]);

#endif
