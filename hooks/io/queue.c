/*
 * Calls by one of several numbers of a file, which dup() has made: all who wait for
 * it stand in one queue, in the order in which they came (fd.h). A call is tried by
 * its own number; when it would wait, and others do by another one, it goes to their
 * slot, and is tried by that number from then on. It holds that slot, so that it stays
 * with the file when that number is closed, as a call in parts does (iom.h); its own
 * may be closed then. tests/model/queue.pml has this for spin.
 */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/wait/wait.h"
#include "runtime/trywait.h"

bool fib_io_goes_to_queue(struct fib_io *io, struct fib_hold *h)
{
	struct fib_known *k = fib_fd_of(io->s);
	struct fib_fd *q;
	uint32_t closes;

	if (fib_self()->io.hold || fib_load(&io->s->guests, relaxed))
		return false;
	if (!fib_load(&k->twin, relaxed))
		fib_fd_find_twin(k);
	/* One that is closed meanwhile is the queue no more: another one is. */
	do
		q = fib_fd_queue(k, io->ev, io->closes, &closes);
	while (q && !fib_iom_hold(q, h, closes));
	if (!q)
		return false;
	fib_self()->io.hold = h;
	fib_io_end(io);
	io->own = io->s;
	io->s = q;
	io->closes = closes;
	io->turn = 0; /* it has none there */
	return true;
}

/* At the queue: try, wait, until it is not EAGAIN. */
static long call_there(struct fib_io *io, struct fib_hold *h, bool plain,
		       long nr, const long a[6])
{
	struct fib *f = fib_self();
	long r;

	do {
		/* A cancel came near, and did not act. */
		if (!f->io.hold && fib_iom_hold(io->s, h, io->closes))
			f->io.hold = h;
		/* It is lost there. Its own number may have it yet. */
		if (!f->io.hold || !fib_io_try(io, h))
			return -FIB_ERESTARTNOINTR;
		if (plain)
			fib_add(&io->s->reads, 2, seq_cst);
		fib_io_begin(io);
		r = fib_raw6(nr, io->s->fd, a[1], a[2], a[3], a[4], a[5]);
		fib_iom_tried(h);
	} while (r == -EAGAIN && (r = io->rules->block(io)) == 0);
	return r;
}

long fib_io_call_in_queue(struct fib_io *io, size_t plain, long nr,
			  const long a[6])
{
	struct fib *f = fib_self();
	struct fib_hold hold;
	long r;

	if (!fib_io_goes_to_queue(io, &hold))
		return fib_io_open_call(io, plain, nr, a);
	r = call_there(io, &hold, plain, nr, a);
	fib_desc_queue_leave(f);
	if (f->io.hold)
		fib_iom_let_go(&hold);
	f->io.hold = NULL;
	return r;
}
