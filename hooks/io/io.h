/*
 * Reading and writing on what may block: what the files of this folder share
 * beside the loops of runtime/trywait.h. For hook bodies; these may park.
 */
#ifndef FIB_HOOKS_IO_H
#define FIB_HOOKS_IO_H

#include "hooks/core/hook.h"
#include "hooks/fd/fd.h"
#include "runtime/trywait.h"

#define FIB_IOV_MAX 1024       /* UIO_MAXIOV of linux/uio.h */
#define FIB_IO_MAX  0x7ffff000 /* MAX_RW_COUNT of linux/fs.h */

/** What a call does of @len bytes, import_ubuf() of the kernel. */
static inline size_t fib_io_most(size_t len)
{
	return len < FIB_IO_MAX ? len : FIB_IO_MAX;
}

/* --- epoll.c --------------------------------------------------------------- */

/**
 * Does the caller live in calls like the one that begins? The kernel is to wait.
 * @soon: it counts as one that does, whatever it has done before.
 */
bool fib_io_loops(bool soon);
/** It would: but it is bound by that alone. */
bool fib_io_would_loop(void);
/** It is: no event of @s is for us, unless a fiber waits for it. */
void fib_io_disarm(struct fib_fd *s);
/** The caller is about to park; @as_loop: in such a call. */
void fib_io_waits(bool as_loop);

/* --- block.c --------------------------------------------------------------- */

/** How a hook's call waits. */
extern const struct fib_io_rules fib_io_hooked;
#define FIB_HOOK_IO(k, ev) FIB_IO((k)->slot, ev, &fib_io_hooked)

/** What a wait's failure is to the program. */
long fib_io_failed(const struct fib_io *io, long r);

/* What follows where a kick, and no handler or cancel, has cut a call short. */
struct fib_rest {
	/**
	 * @r came of the last call: it is added to done. Was it cut short? Then
	 * *@nr and @v[1] to @v[5] are the call for what is left.
	 */
	bool (*next)(struct fib_rest *rest, long r, long *nr, long v[6]);
	long done;
	bool nothing; /* next() is asked of 0 bytes, too */
};
/* What is made of SCM_CREDENTIALS. */
struct fib_creds {
	struct {
		size_t cmsg_len; /* 0: there are none */
		int cmsg_level, cmsg_type;
	} h; /* struct cmsghdr, which ends in an array in some headers */
	struct ucred c;
};
_Static_assert(offsetof(struct fib_creds, c) == CMSG_LEN(0), "as the kernel's");
/** What call @nr was ended by is for no handler, and not for a cancel. */
bool fib_io_is_kick(long r, struct fib_rest *rest, long *nr, long v[6]);

/* --- whole.c ------------------------------------------------------------------ */

struct fib_place;

/**
 * As fib_io_in_kernel(). @rest: what was cut follows, on the same file; @line: in
 * its turn there (hooks/wait/line.h), with its key set. NULL: not so.
 */
long fib_io_whole(struct fib_known *k, uint8_t ev, bool first, long nr,
		  const long a[6], struct fib_rest *rest,
		  struct fib_place *line);
/**
 * Call @nr as the program asked for it, on a kernel thread that may block: for
 * whatever is not on the short list of cases that are made here. @first: wait
 * until poll says that it has something to do, so as to hold none until then.
 */
static inline long fib_io_in_kernel(struct fib_known *k, uint8_t ev, bool first,
				    long nr, const long a[6])
{
	return fib_io_whole(k, ev, first, nr, a, NULL, NULL);
}

/* --- much.c: a receive that waits for more than one byte ---------------------- */

/** How much the vector has. What is not there, the kernel will complain of. */
size_t fib_io_message_length(const struct msghdr *h);
/**
 * recvfrom or recvmsg by arguments @a, with @flags, of a socket whose SO_RCVLOWAT is
 * @lowat. Its frame is large: it is not for those who wait otherwise.
 */
long fib_io_receive_much(struct fib_known *k, long nr, const long a[6],
			 long flags, size_t lowat);
/** recvfrom or recvmsg by arguments @a, of no bytes from TCP. */
long fib_io_receive_nothing(struct fib_known *k, long nr, const long a[6]);
#ifndef SO_INQ
#define SO_INQ 84 /* linux/socket.h, since Linux 6.17 */
#endif
/** SO_INQ is set on some unix socket. */
extern _Atomic bool fib_io_inq_used;

/*
 * A transfer in parts, each by a call that does not block. It is one call to the
 * program: one file, one result, one time limit.
 */
struct fib_parts {
	struct fib_io io;
	struct fib_hold hold;
	/** Try at descriptor @fd; > 0, -EAGAIN, or the end of it. */
	long (*part)(struct fib_parts *p, int fd, struct iovec *v, unsigned n);
	/** Or NULL: what comes of it, when that was > 0; closes do not wait for it. */
	long (*then)(struct fib_parts *p, struct iovec *v, unsigned n, long r);
	const struct iovec *iov; /* the program's; it may not be there */
	size_t n;
	size_t skip; /* bytes of iov that are done */
	long done;
	bool blocked; /* by the first try, which was made already, or is known to be */
	bool waited;
	bool refused; /* the file takes no calls that do not block any more */
	bool at_last; /* whatever ends its wait, what is there by then is a part */
	/* of net.c */
	long nr, *first; /* the call that the first part is made by */
	long *first_flags;
	int flags;
	struct fib_creds creds; /* with each part */
};

#define FIB_PART_VECTOR 16
/** The next vector of @p in @v: its length, 0 at the end; -EFAULT, -EINVAL. */
long fib_io_window(struct fib_parts *p, struct iovec *v);
/**
 * All but what is done already: how much is, or -errno if nothing is. The caller
 * has made the first try, or none, within fib_iom_enter(), which ends here.
 */
long fib_io_parts(struct fib_parts *p);

/** fifo.c: is that more than FIFO @k may take at once, and does the call wait? */
bool fib_io_is_too_much(struct fib_known *k, const struct iovec *iov, int n);
/** Then it goes in pieces. */
long fib_io_write_fifo(struct fib_known *k, const struct iovec *iov, int n);

/*
 * ends.c: a call that moves data from one descriptor to another, by tries that do
 * not block. It is one call to the program: whichever end it waits for, it stays
 * with both files.
 */
struct fib_ends {
	struct fib_io in, out; /* a slot of NULL: there is no such end */
	struct fib_hold hold_in, hold_out;
	/**
	 * Try, with these descriptors, at what is left: what was moved, and in
	 * asked how much was to be; 0, the end of the input; or -errno. With
	 * -EAGAIN it says for which end to wait, or NULL: that is the result.
	 */
	long (*part)(struct fib_ends *e, int in, int out);
	struct fib_io *wait;
	size_t left, asked;
	long done;
	bool whole; /* it goes on until nothing is left */
	bool held;
	bool unsure; /* for which end to wait: another try says, when they are held */
	bool waited; /* for the output, since something was moved */
	/* of splice.c */
	struct fib_known *from, *to;
	bool nb_in, nb_out; /* O_NONBLOCK or the like: it does not wait */
	bool had_room;	    /* splice: it waits for the input alone */
	size_t pipes; /* sendfile: at which pipeful nb_out was looked at */
	bool own;     /* from the input's own position, */
	int64_t at;   /* else from this; -1: not known yet */
	bool stores;  /* where it ends is to be the input's own position */
	long nr;
	const long *a; /* as the program called it */
};

/** All that @e is to move: how much was, or -errno if nothing. */
long fib_io_ends(struct fib_ends *e);

/**
 * A call that has done a part (fiber.sig.kicked was false before it): was it cut short
 * by a kick, and not by a handler or a cancel? Then the rest is to follow.
 */
bool fib_io_was_cut(void);
/** @r of @asked bytes of what a cut had left: is there more to do? */
bool fib_io_goes_on(long r, size_t asked);
/**
 * The kernel has made call @nr, which is no write: @r. One that waits for nothing, and looks
 * for signals all the same, as getrandom() or a read of /dev/zero does, goes on.
 */
long fib_io_read_on(long nr, const long a[6], long r);
static inline long fib_io_whole_read(long nr, const long a[6], long r)
{
	return fib_likely(!fib_load(&fib_self()->sig.kicked, relaxed) ||
			  r <= 0) ?
		       r :
		       fib_io_read_on(nr, a, r);
}
/**
 * After @done bytes of @iov: how many are written in the end, or -errno if none. @flags:
 * pwritev2()'s.
 */
long fib_io_write_rest(struct fib_fd *s, uint32_t closes,
		       const struct iovec *iov, size_t n, int flags, long done);
/** The credentials that message @h says are the sender's. */
void fib_io_find_creds(const struct msghdr *h, struct fib_creds *c);
/** They are the control messages of @h, if there are any. */
void fib_io_put_creds(struct fib_creds *c, struct msghdr *h);
/** Send by call @nr with @flags the @len bytes of @iov, in the kernel. */
long fib_io_send_whole(struct fib_known *k, long nr, const long a[6],
		       long flags, const struct iovec *iov, size_t n,
		       size_t len);
/** tty.c: read from a terminal, by call @nr: the kernel does. */
long fib_io_read_tty(struct fib_known *k, long nr, const long a[6]);
/** Before the first fiber, and in a fork child's. */
void fib_io_tty_reset(void);
/** Of the program's vector. */
size_t fib_io_length(const struct iovec *iov, int n);
/** @v, @n, which is the library's, without what is beyond @most bytes; how many are left. */
size_t fib_io_limit_vector(struct iovec *v, size_t n, size_t most);
/** What the caller holds for its call, of one file or two, it holds no more. */
void fib_io_let_go(void);

/** The record of socket @fd; NULL: it is none, or nothing is known of it. */
static inline struct fib_known *fib_io_socket(int fd)
{
	struct fib_known *k = fib_fd_know(fd);

	return k && fib_fd_is_socket(k) ? k : NULL;
}

/** Of a socket, an int of level SOL_SOCKET; @none: it has none. */
static inline int fib_io_option(const struct fib_known *k, int name, int none)
{
	int val = none, len = sizeof(val);

	fib_raw(SYS_getsockopt, k->fd, SOL_SOCKET, name, &val, &len);
	return val;
}

/* --- open.c, open_write.c --------------------------------------------------- */

/** Before the first fiber, and in a fork child's. */
void fib_open_reset(void);
/**
 * Around a fork, in whose child no file is open for which somebody waits here: when
 * the parent goes on, that is so. Between the first two there is no other fork; the
 * last is for both, @parent after success and its child after its reset. @leave_out:
 * it shares the table, or does not come here.
 */
void fib_open_fork_begin(int ends[2], bool leave_out);
void fib_open_fork_made(int ends[2]);
void fib_open_fork_end(int ends[2], bool parent);
/**
 * openat() of a path that was a FIFO a moment ago, for writing, with arguments @a: what
 * it returns, in *@result. False: it is otherwise, and nothing has been done.
 */
bool fib_open_writer(const long a[6], long *result);
void fib_open_writers_reset(void);
/** fib_host.news(): files that are watched have been opened. Any worker. */
void fib_open_news(void);
/** @fd, which was opened with O_NONBLOCK and O_CLOEXEC, is as @flags say. */
void fib_open_as_asked(int fd, int flags);

/** accept.c: does socket @k listen? */
bool fib_io_listens(struct fib_known *k);
/** Does the file of @fd listen? The kernel is asked. */
bool fib_io_listens_by_kernel(int fd);
/** @io holds that slot by @h from now on, and is there. False: it is its own. */
bool fib_io_goes_to_queue(struct fib_io *io, struct fib_hold *h);
/* fib_io.hung_up, of a terminal: was it the master that was closed? */
#define FIB_IO_HUNG_UP 533
/* What its wait ends with where that is another one than its own. */
#define FIB_IO_ELSEWHERE 531
/** queue.c: fib_io_open_call() has ended with that. */
long fib_io_call_in_queue(struct fib_io *io, size_t plain, long nr,
			  const long a[6]) __attribute__((cold));
/*
 * As fib_io_open_call(), but it waits where all do who wait for the file, by
 * whichever number. @io is at that slot then.
 */
static inline long fib_io_shared_call(struct fib_io *io, size_t plain, long nr,
				      const long a[6])
{
	long r;

	io->shared = true;
	r = fib_io_open_call(io, plain, nr, a);
	if (fib_unlikely(r == -FIB_IO_ELSEWHERE))
		r = fib_io_call_in_queue(io, plain, nr, a);
	fib_desc_queue_leave(fib_self());
	return r;
}
/* What a wait of accept() ends with, when its caller is to go on in the kernel. */
#define FIB_IO_GOES_OVER 530

/** net.c: receive by call @nr, whose flags are *@flags; @plain as fib_io_call(). */
long fib_io_receive(struct fib_known *k, size_t plain, long nr, long a[6],
		    long *flags);
/**
 * net.c: as call @nr is asked for, which does not wait. @plain: so many bytes; 0: that it
 * had fewer would prove nothing.
 */
long fib_io_receive_now(struct fib_known *k, size_t plain, long nr,
			const long a[6]);
/**
 * block.c: *@r, of call @nr on @k, which does not wait if O_NONBLOCK is set still. Else it
 * waits in the kernel, until the monitor finds that it does. False then: the caller is
 * to ask, and park.
 */
bool fib_io_as_it_is(struct fib_known *k, long nr, const long a[6], long *r);
/** net.c: the same, of a read or receive. */
bool fib_io_receive_as_it_is(struct fib_known *k, size_t plain, long nr,
			     const long a[6], long *r);
/** net.c: what O_NONBLOCK does is to set MSG_DONTWAIT, __sys_recvfrom() and its kin. */
bool fib_io_never_waits(const struct fib_known *k, long *flags);
/** net.c: sendmsg(); *@whole: nothing of it is left. */
long fib_io_send_message(struct fib_known *k, struct msghdr *msg, int flags,
			 bool *whole);
/** net.c: sendto() with the arguments @a, whose flags may change. */
long fib_io_send(struct fib_known *k, long a[6]);

/** Does it reach where programs have no memory: TASK_SIZE_MAX, without five-level paging? */
static inline bool fib_io_is_beyond(uintptr_t base, size_t len)
{
	const size_t end = (1ul << 47) - FIB_PAGE;

	return len > end || base > end - len;
}
/* refused.c: the kernel refuses it before it waits; or it may. */
bool fib_io_is_refused(const struct msghdr *h);
/** The same of the first message of recvmmsg's @vec. */
bool fib_io_is_first_refused(const void *vec);
/** The same of call @nr, which reads: for what is known to be empty. */
bool fib_io_refuses(long nr, const long a[6]);
/**
 * A wait in the kernel has had @r: so many descriptors are ready. Of one that is bound, epoll
 * of ours does not hear of them: what is known of them is what its last reads have left.
 * (Which they are, the kernel's epoll tells the program alone.)
 */
void fib_io_tells(long r);
/** Was it, of one that may be @io's, which would wait without a look? Of each once. */
bool fib_io_was_told(struct fib_io *io);
/** flags.c: @flags of a receive without those that socket @k does not look at. */
int fib_io_heeded(const struct fib_known *k, int flags);
/** The same of a send. */
int fib_io_heeded_send(const struct fib_known *k, int flags);
/** net.c: @r, which a send with @flags returns. */
long fib_io_sent(long r, long flags);
/** poll.c: the mask of ppoll and its like; 0 or -errno. */
long fib_poll_mask(const uint64_t *mask, size_t size);
/** poll.c: when the program's @ts from now is (NULL: never); 0 or -errno. */
long fib_poll_deadline(const struct timespec *ts, uint64_t *deadline);
/**
 * poll.c: @deadline of a ppoll, select or pselect6 that ends with @r: later by the time
 * that the process was stopped, if that has ended it. It is repeated until then.
 */
uint64_t fib_poll_goes_on(uint64_t deadline, long r);
/** poll.c: what is left of it goes there, as ppoll and pselect6 do. */
void fib_poll_left(struct timespec *ts, uint64_t deadline);
/** unix.c: a send by a datagram socket, and a stream's connect(). */
long fib_io_send_datagram(struct fib_known *k, long nr, long a[6], long *flags);
long fib_io_connect_unix(struct fib_known *k, const long a[6]);

/**
 * The kernel has no call of that name, or a filter has it not: what the program
 * called may be allowed.
 */
static inline bool fib_is_denied(long r)
{
	return r == -EPERM || r == -EACCES || r == -ENOSYS;
}
/** Call @nr as the program made it; it holds its kernel thread. */
long fib_io_own(long nr, const long a[6]);

#endif
