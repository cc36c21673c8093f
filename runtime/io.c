/* Calls that are tried until they would not block, see io.h. */
#include <poll.h>
#include "runtime/chaos.h"
#include "runtime/io.h"
#include "runtime/timer.h"

/* A poll that said yes may be wrong by now: what may block is announced. */
#ifdef FIB_PRELOAD
#define call_may_block fib_raw6
#else
#define call_may_block fib_call6
#endif

static bool woken(const void *arg)
{
	const struct fib_waiter *w = arg;

	return fib_load(&w->woken, acquire);
}

int fib_io_park(struct fib_io *io)
{
	struct fib_waiter w;
	int r = fib_iom_publish(io->s, &w, io->ev, false, io->seq);

	if (r)
		return r > 0 ? 0 : r;
	fib_count(io_waits);
	FIB_CHAOS_POINT(io_published);
	r = fib_park_until(woken, &w, io->deadline_ns, FIB_WAIT_FD,
			   (uint64_t)io->s->fd);
	if (r)
		fib_iom_retract(&w);
	if (fib_unlikely(fib_load(&w.slot, acquire) != io->s)) {
		if (io->moved)
			fib_iom_guest_leave(io->s);
		io->s = fib_load(&w.slot, relaxed);
		io->moved = true;
	}
	if (!woken(&w))
		return r;
	io->woken = true;
	return 0;
}

static int limit(struct fib_io *io)
{
	int r = io->limited ? 0 : fib_io_limit(io);

	io->limited = r == 0;
	return r;
}

/* 0: to be tried again. */
static long block(struct fib_io *io)
{
	long r = limit(io);

	return r ? r : fib_io_block(io);
}

/*
 * For chaos: before a call is tried, wait for a moment as if it would block.
 * Whatever ends that, it is tried after.
 */
static void __attribute__((noinline, cold)) detour(struct fib_io *io)
{
	uint64_t deadline;

	if (limit(io))
		return;
	deadline = io->deadline_ns;
	io->deadline_ns = fib_now_ns() + fib_chaos_number(1000000);
	fib_io_begin(io);
	fib_io_block(io);
	io->deadline_ns = deadline;
}

static bool known_empty(const struct fib_io *io)
{
	return (fib_load(&io->s->reads, acquire) & 1) && !io->moved &&
	       !fib_load(&io->s->untrusted, relaxed);
}

/* The read that was number @turn had @r of @plain bytes: iom.h. */
static void note_short(struct fib_fd *s, uint32_t turn, bool is_short)
{
	uint32_t seen = turn;
	uint32_t want = is_short && !fib_load(&s->untrusted, relaxed) ?
				turn | 1 :
				turn & ~1u;

	if (want != seen)
		atomic_compare_exchange_strong(&s->reads, &seen, want);
}

long fib_io_call(struct fib_io *io, size_t plain, long nr, const long a[6])
{
	struct fib_fd *s = io->s;
	bool tcp = plain && s->kind == FIB_FD_TCP;
	uint32_t turn = 0;
	long r;

	if (fib_unlikely(fib_load(&s->error, relaxed)))
		return fib_xchg(&s->error, 0, relaxed);
	if (FIB_CHAOS_ODDS(would_block, 16))
		detour(io);
	fib_io_begin(io);
	if (tcp && known_empty(io) && limit(io) == 0) {
		r = fib_io_block(io);
		if (r)
			goto out;
	}
	for (;;) {
		if (tcp)
			turn = fib_add(&s->reads, 2, seq_cst) + 2;
		fib_io_begin(io);
		r = fib_raw6(nr, io->s->fd, a[1], a[2], a[3], a[4], a[5]);
		if (r != -EAGAIN || (r = block(io)))
			break;
	}
	FIB_CHAOS_POINT(io_short);
	if (tcp && r > 0 && !io->moved)
		note_short(s, turn, (size_t)r < plain);
out:
	fib_io_end(io);
	return r;
}

long fib_io_polled(struct fib_io *io, long nr, const long a[6])
{
	struct pollfd p = { .events =
				    io->ev == FIB_EV_READ ? POLLIN : POLLOUT };
	long r;

	if (FIB_CHAOS_ODDS(would_block, 16))
		detour(io);
	for (;;) {
		fib_io_begin(io);
		r = -EAGAIN;
		if (fib_iom_claim(io->s, io->ev)) {
			p.fd = io->s->fd;
			if (fib_raw(SYS_poll, &p, 1, 0))
				r = call_may_block(nr, p.fd, a[1], a[2], a[3],
						   a[4], a[5]);
			fib_iom_release(io->s, io->ev);
		}
		if (r != -EAGAIN || (r = block(io)))
			break;
	}
	/* n_tty_read() tells who waited of the hang-up, and others of EOF. */
	if (r == 0 && io->woken && io->s->kind == FIB_FD_POLLED &&
	    (p.revents & POLLHUP))
		r = -EIO;
	fib_io_end(io);
	return r;
}
