/*
 * Calls from one descriptor to another: sendfile, splice, tee.
 *
 * The kernel has both files from the beginning of the call to its end. Here a
 * call begins with numbers, and between two tries others may close them. So when
 * it first has to wait it holds on to both slots (iom.h), as a transfer in parts
 * does to one; if either number was closed since the call began, nothing was
 * done yet that counts, and it begins anew.
 */
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"

static bool hold_one(struct fib_io *io, struct fib_hold *h)
{
	struct fib *f = fib_self();

	if (!io->s)
		return true;
	if (!fib_iom_hold(io->s, h, io->closes))
		return false;
	h->also = f->io.hold;
	f->io.hold = h;
	return true;
}

static bool hold(struct fib_ends *e)
{
	e->held = hold_one(&e->in, &e->hold_in) &&
		  hold_one(&e->out, &e->hold_out);
	if (!e->held)
		fib_io_let_go();
	return e->held;
}

static bool try_begins(struct fib_io *io, struct fib_hold *h)
{
	return !io->s || fib_io_try(io, h);
}

static void try_ends(const struct fib_io *io, struct fib_hold *h)
{
	if (io->s)
		fib_iom_tried(h);
}

static long try_part(struct fib_ends *e)
{
	struct fib *f = fib_self();
	bool last = e->in.tries_last || e->out.tries_last;
	long r;

	fib_store(&f->sig.kicked, false, relaxed);
	if (e->in.s)
		fib_io_begin(&e->in);
	if (e->out.s)
		fib_io_begin(&e->out);
	e->wait = NULL;
	/* The signal that has woken it is heeded when it is to wait again. */
	if (fib_unlikely(last))
		fib_store(&f->attention, 0, seq_cst);
	r = e->part(e, e->in.s ? e->in.s->fd : -1,
		    e->out.s ? e->out.s->fd : -1);
	if (fib_unlikely(last))
		fib_store(&f->attention, 1, seq_cst);
	return r;
}

static long try_held(struct fib_ends *e)
{
	long r = -EBADF;

	/* A cancel came near, and did not act. */
	if (!fib_self()->io.hold && !hold(e))
		return r;
	if (!try_begins(&e->in, &e->hold_in))
		return r;
	if (try_begins(&e->out, &e->hold_out)) {
		r = try_part(e);
		try_ends(&e->out, &e->hold_out);
	}
	try_ends(&e->in, &e->hold_in);
	return r;
}

/* Interrupted, but by no handler. */
static bool goes_on(long r)
{
	struct fib *f = fib_self();

	if ((r != -EINTR && r != -FIB_ERESTARTNOINTR) || !fib_part_goes_on())
		return false;
	if (fib_xchg(&f->sig.preempt, false, relaxed))
		fib_sched_preempted();
	return true;
}

/* It waits at its other end: what has woken it here is for the next one. */
static void hand_on(struct fib_io *io)
{
	if (io->s && io->woken)
		fib_iom_pass(io->s, io->ev);
	io->woken = false;
}

/* 0: try again. */
static long wait(struct fib_ends *e)
{
	if (!e->held && !hold(e))
		return -FIB_ERESTARTNOINTR;
	if (fib_unlikely(e->unsure)) {
		e->unsure = false;
		return 0;
	}
	e->waited |= e->wait == &e->out;
	hand_on(e->wait == &e->out ? &e->in : &e->out);
	return e->wait->rules->block(e->wait);
}

/* @r was moved; is there more to do? */
static bool moved(struct fib_ends *e, long r)
{
	e->done += r;
	e->left -= (size_t)r;
	fib_self()->hook.restarted = 0;
	e->waited = false;
	/* as fib_io_parts(): the next part is behind the others */
	e->in.turn = e->out.turn = 0;
	fib_part_done();
	if (e->out.s)
		fib_fd_wrote(fib_fd_of(e->out.s), r);
	return e->whole && e->left &&
	       ((size_t)r == e->asked || fib_io_was_cut());
}

/* do_sendfile() does so once, for what was sent, whatever has ended it. */
static void store_position(struct fib_ends *e)
{
	if (e->held ? !try_begins(&e->in, &e->hold_in) :
		      e->in.closes != fib_load(&e->in.s->closes, relaxed))
		return;
	fib_raw(SYS_lseek, e->in.s->fd, e->at + e->done, SEEK_SET);
	if (e->held)
		try_ends(&e->in, &e->hold_in);
}

long fib_io_ends(struct fib_ends *e)
{
	long r = 0;

	if (e->in.s)
		fib_io_start(&e->in);
	if (e->out.s)
		fib_io_start(&e->out);
	do {
		if (e->done && !e->held && !hold(e))
			break;
		r = e->held ? try_held(e) : try_part(e);
		if (r > 0 && !moved(e, r))
			break;
		if (r == -EAGAIN && e->wait)
			r = wait(e);
		else if (goes_on(r))
			r = 0;
		else if (r <= 0)
			break;
	} while (r >= 0);
	if (e->stores)
		store_position(e);
	if (e->held)
		fib_io_let_go();
	if (e->in.s)
		fib_io_end(&e->in);
	if (e->out.s)
		fib_io_end(&e->out);
	return e->done ? e->done : r;
}
