/* Calls that the kernel makes as they are, on a kernel thread that may block: io.h. */
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/line.h"
#include "hooks/wait/wait.h"
#include "runtime/chaos.h"

/*
 * The number @h holds, or a duplicate that nobody closes: for a call that blocks by
 * its number, which is to find this file.
 */
static int lasting(struct fib_hold *h)
{
	struct fib_fd *s = fib_iom_try(h), *to;
	int fd;

	if (!s)
		return -1;
	to = fib_load(&s->guests, relaxed) ? NULL : fib_fd_refuge(s);
	fd = (to ? fib_iom_move(s, h, to) : s)->fd;
	fib_iom_tried(h);
	return fd;
}

/*
 * With @h on its file: the number to call by when the turn in line has come; < 0:
 * a signal or the time limit came, or the file is lost.
 */
static int take_turn(const struct fib_io *io, struct fib_place *line,
		     struct fib_hold *h)
{
	int fd = io->s->fd, r;

	if (!line)
		return fd;
	line->ends = io->deadline_ns != FIB_NEVER;
	r = fib_line_stand(line, io->deadline_ns);
	if (r)
		return r == -ETIMEDOUT ? -EAGAIN : -EINTR;
	if (fib_self()->io.hold)
		fd = fib_iom_number(h);
	else if (io->closes != fib_load(&io->s->closes, relaxed))
		/* As in fib_line_call(). */
		return io->closes & FIB_CLOSING ? -FIB_ERESTARTNOINTR : -EBADF;
	return fd < 0 ? -EBADF : fd;
}

/* Receives, accept() and connect() bring no signal upon the thread that makes them. */
static long in_kernel(long nr, const long v[6])
{
	switch (nr) {
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
		return fib_blocking_for_event(nr, v);
	default:
		return fib_blocking(nr, v);
	}
}

/*
 * A kick that is for no handler ends the call as any signal does: it is made
 * again, or for what is left of it, on the same file.
 */
static long blocking_on(struct fib_io *io, long nr, long v[6],
			struct fib_rest *rest, struct fib_place *line)
{
	struct fib *f = fib_self();
	struct fib_hold hold;
	long r, stops;

	if (fib_iom_hold(io->s, &hold, io->closes))
		f->io.hold = &hold;
	r = v[0] = take_turn(io, line, &hold);
	while (v[0] >= 0) {
		stops = fib_signal_continued();
		fib_store(&f->sig.kicked, false, relaxed);
		FIB_CHAOS_POINT(block_number);
		r = in_kernel(nr, v);
		/* Closed before the kernel had looked at it, and not after a stop. */
		if (r == -EBADF && f->io.hold &&
		    fib_iom_number(&hold) != v[0] &&
		    fib_signal_continues() == stops) {
			v[0] = lasting(&hold);
			continue;
		}
		if (!f->io.hold || fib_stop_ended() ||
		    !fib_io_is_kick(r, rest, &nr, v))
			break;
		if (line && line->ends &&
		    fib_load(&line->limit.fired, acquire)) {
			r = -EAGAIN;
			break;
		}
		if (fib_xchg(&f->sig.preempt, false, relaxed))
			fib_sched_preempted();
		v[0] = lasting(&hold);
	}
	if (line)
		fib_line_leave(line);
	if (f->io.hold)
		fib_iom_let_go(&hold);
	f->io.hold = NULL;
	return rest && rest->done ? rest->done : r;
}

/*
 * A receive looks at O_NONBLOCK when it begins, sock_rcvtimeo(). @io has waited by poll since,
 * and so the kernel has looked later: is it not to wait, says a flag that came meanwhile?
 */
static bool outlives(const struct fib_io *io, const struct fib_known *k,
		     bool timed)
{
	return io->parked && !timed && io->ev == FIB_IO_READ &&
	       fib_fd_is_socket(k);
}

long fib_io_whole(struct fib_known *k, uint8_t ev, bool first, long nr,
		  const long a[6], struct fib_rest *rest,
		  struct fib_place *line)
{
	struct fib_io io = FIB_HOOK_IO(k, ev);
	long v[6] = { 0, a[1], a[2], a[3], a[4], a[5] };
	bool timed = fib_fd_limit(k, ev) != FIB_NEVER, waits;
	long r = 0;

	if (fib_fd_nonblock(k))
		return fib_pass(nr, a);
	fib_io_start(&io);
	do {
		fib_io_begin(&io);
		waits = first &&
			!fib_io_ready(io.s->fd, ev == FIB_IO_READ ? POLLIN :
								     POLLOUT);
		if (waits)
			continue;
		fib_count(io_kernel);
		if (timed && line)
			io.deadline_ns = fib_fd_deadline(k, ev);
		if (timed || fib_self()->io.part)
			fib_stop_ends();
		r = blocking_on(&io, nr, v, rest, line);
		if (r == -EINTR)
			r = timed ? -FIB_ERESTARTNOHAND : -FIB_ERESTARTSYS;
		waits = r == -EAGAIN && outlives(&io, k, timed);
	} while (waits && (r = fib_io_again(&io)) == 0);
	fib_io_end(&io);
	return r;
}
