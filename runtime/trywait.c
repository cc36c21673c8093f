/* Calls that are tried until they would not block, see trywait.h. */
#include "runtime/chaos.h"
#include "runtime/doubt.h"
#include "runtime/trywait.h"
#include "runtime/timer.h"

static bool woken(const void *arg)
{
	const struct fib_waiter *w = arg;

	return fib_load(&w->woken, acquire);
}

/*
 * The file has gone to @s, and the wake-up was of the slot before perhaps: by
 * the end of the close, which has told one of those that came too late to be
 * moved.
 */
static void follow(struct fib_io *io, struct fib_fd *s)
{
	fib_io_end(io);
	io->s = s;
	io->closes = fib_load(&s->closes, relaxed);
}

void fib_io_follow(struct fib_io *io, struct fib_fd *s)
{
	follow(io, s);
	io->moved = true;
}

bool fib_io_try(struct fib_io *io, struct fib_hold *h)
{
	struct fib_fd *s = fib_iom_try(h);

	if (s && s != io->s)
		follow(io, s);
	return s;
}

/* The bound worker, where there is one, that would poll for @io; else NULL. */
static struct fib_worker *who_polls(const struct fib_io *io)
{
	struct fib_worker *w = fib_worker_self();

	return fib_unlikely(w && w->bound) && io->alone &&
			       io->ev == FIB_IO_READ && !fib_filtered() ?
		       w :
		       NULL;
}

/* Who waits for @s now registers it, and so hears of what is there. */
static bool asks_itself(const struct fib_fd *s)
{
	return fib_load(&s->exact, relaxed) == FIB_EXACT_BEGUN &&
	       !(s->registered & FIB_IO_READ);
}

int fib_io_park(struct fib_io *io)
{
	struct fib_waiter own, *w = fib_host_waiter(fib_self(), &own);
	struct fib_worker *by = who_polls(io);
	bool doubts = io->doubts && !asks_itself(io->s);
	int r = fib_unlikely(by != NULL) ?
			fib_iom_publish_own(io->s, w, io->seq, &io->turn) :
			fib_iom_publish_turn(io->s, w, io->ev, io->seq,
					     &io->turn);

	if (r)
		return r > 0 ? 0 : r;
	io->handed = io->came = false;
	fib_worker_count(fib_worker_self(), FIB_STAT_io_waits, 1);
	if (fib_unlikely(by != NULL)) {
		io->alone = false;
		by->polled = w->polls ? w : NULL;
	}
	if (doubts && !(by && by->polled))
		fib_doubt(io->s, io->seq);
	FIB_CHAOS_POINT(io_published);
	r = fib_park_until(woken, w, io->deadline_ns, FIB_WAIT_FD,
			   (uint64_t)(io->own ? io->own : io->s)->fd);
	if (fib_unlikely(by != NULL))
		by->polled = NULL;
	if (r)
		fib_iom_retract(w);
	io->parked = true;
	if (fib_unlikely(fib_load(&w->slot, acquire) != io->s))
		fib_io_follow(io, fib_load(&w->slot, relaxed));
	if (!woken(w))
		return io->doubts && fib_io_ready(io->s->fd, POLLIN) ? 0 : r;
	io->woken = true;
	io->handed = fib_load(&w->woken, relaxed) == FIB_WOKEN_ON;
	io->came = fib_load(&w->woken, relaxed) != FIB_WOKEN_TO_LOOK;
	return 0;
}

/*
 * A frame that lies below each call that waits is a line of cache for each of these: what
 * is on that way is one.
 */
#define ON_THE_WAY inline __attribute__((always_inline))

static ON_THE_WAY int limit(struct fib_io *io)
{
	int r = io->never ? -EAGAIN : 0;

	if (r == 0 && !io->limited) {
		r = io->rules->limit(io);
		io->limited = r == 0;
		io->never = r == -EAGAIN;
	}
	return r;
}

/*
 * Its number is another file's, or nobody's. Who waited before that was the old file's. Who
 * came to wait while it was closed has done nothing yet: it begins anew, at what is there.
 */
static long __attribute__((noinline, cold)) lost(struct fib_io *io, bool waited)
{
	if (waited && !(io->closes & FIB_CLOSING))
		return -EBADF;
	io->limited = io->never = io->parked = false;
	fib_io_start(io);
	return 0;
}

static ON_THE_WAY long again(struct fib_io *io)
{
	bool waited = io->parked;
	long r = limit(io);

	if (r == 0)
		r = io->rules->block(io);
	return fib_likely(r || !fib_io_lost(io)) ? r : lost(io, waited);
}

long fib_io_again(struct fib_io *io)
{
	return again(io);
}

short fib_io_ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };
	long r;

	do
		r = fib_raw(SYS_poll, &p, 1, 0);
	while (r == -EINTR); /* a kick: it says nothing of the file */
	return r < 0 ? POLLNVAL : p.revents;
}

/*
 * For chaos: before a call is tried, wait for a moment as if it would block.
 * Whatever ends that, it begins after; but by a thread that another one has put
 * under a filter meanwhile: then it begins anew, as its rules say. It keeps its place
 * among those who wait.
 */
static long __attribute__((noinline, cold)) detour(struct fib_io *io)
{
	uint64_t deadline;
	long r;

	if (limit(io))
		return 0;
	deadline = io->deadline_ns;
	io->deadline_ns = fib_now_ns() + fib_chaos_number(1000000);
	fib_io_begin(io);
	io->early = true;
	r = io->rules->block(io);
	io->early = false;
	io->deadline_ns = deadline;
	if (!io->moved)
		fib_io_start(io);
	return fib_filtered() ? r : 0;
}

_Atomic bool fib_io_urgent;

bool fib_io_is_empty(const struct fib_fd *s)
{
	return (fib_load(&s->reads, acquire) & 1) &&
	       !fib_load(&s->untrusted, relaxed) &&
	       !fib_load(&fib_io_urgent, relaxed);
}

static bool known_empty(const struct fib_io *io)
{
	return fib_io_is_empty(io->s) && !io->moved;
}

/* The read that was number @turn had @r of @plain bytes: iom.h. */
static void note_short(struct fib_fd *s, uint32_t turn, bool is_short)
{
	uint32_t seen = turn;
	uint32_t want = is_short && !fib_load(&s->untrusted, relaxed) ?
				turn | 1 :
				turn & ~1u;

	if (want != seen)
		fib_cas(&s->reads, &seen, want, seq_cst);
}

/* It is known to be empty: that one had taken all, or found nothing. */
static void was_empty(struct fib_fd *s, uint32_t reads)
{
	if (!(reads & 1) && !fib_load(&s->untrusted, relaxed))
		fib_cas(&s->reads, &reads, reads | 1, seq_cst);
}

/*
 * doubt.h (A): the read that was number @turn had @r, all that it asked for. Its caller has
 * waited before it, or not: what followed such a read the last times?
 */
static void note_exact(struct fib_fd *s, bool waited, uint32_t turn, long r)
{
	fib_store(&s->exact, waited ? FIB_EXACT_WAITED : FIB_EXACT_AT_ONCE,
		  relaxed);
	fib_store(&s->took, (uint32_t)r, relaxed);
	if (fib_load(&s->sure[waited], relaxed) >= FIB_SURE ||
	    FIB_CHAOS_ODDS(presume, 4))
		fib_store(&s->presumed, turn | 1, relaxed);
}

/* How often connections had no answer yet, in a row; and how many have been made. */
static _Atomic int8_t unanswered;
static _Atomic uint32_t connected;

void fib_io_connected(struct fib_fd *s)
{
	bool tries = fib_add(&connected, 1, relaxed) % FIB_DOUBT_TRY == 0 ||
		     fib_load(&unanswered, relaxed) < FIB_SURE;

	fib_store(&s->exact, FIB_EXACT_BEGUN, relaxed);
	if (!tries || FIB_CHAOS_ODDS(presume, 4))
		fib_store(&s->presumed, fib_load(&s->reads, relaxed) | 1,
			  relaxed);
}

void fib_io_learn(struct fib_fd *s, bool empty)
{
	uint8_t how = fib_load(&s->exact, relaxed);
	_Atomic int8_t *sure;
	int8_t was;

	if (how == FIB_EXACT_NONE)
		return;
	fib_store(&s->exact, FIB_EXACT_NONE, relaxed);
	if (how == FIB_EXACT_POLLED)
		return;
	sure = how == FIB_EXACT_BEGUN ? &unanswered :
					&s->sure[how == FIB_EXACT_WAITED];
	was = fib_load(sure, relaxed);
	if (!empty)
		was = was < 0 ? was : 0;
	else if (was < FIB_SURE_MOST)
		was++;
	fib_store(sure, was, relaxed);
}

void fib_io_has_waited(struct fib_fd *s)
{
	fib_store(&s->exact, FIB_EXACT_POLLED, relaxed);
}

bool fib_io_is_polled(const struct fib_fd *s)
{
	return fib_load(&s->exact, relaxed) == FIB_EXACT_POLLED;
}

void fib_io_read_now(struct fib_fd *s, uint32_t reads, bool empty, long r)
{
	uint8_t how = fib_load(&s->exact, relaxed);

	/* Else nobody would hear of an edge. */
	if (!(s->registered & FIB_IO_READ))
		return;
	fib_io_learn(s, r == -EAGAIN);
	if (empty) {
		was_empty(s, reads);
	} else if (r > 0) {
		/* It has not counted as a read, which would end that. */
		fib_store(&s->presumed, 0, relaxed);
		note_exact(s, how == FIB_EXACT_POLLED, reads, r);
	}
}

/* A try of @io has had @r. */
static void tried(struct fib_io *io, long r)
{
	uint8_t how = fib_load(&io->s->exact, relaxed);

	if (fib_likely(how == FIB_EXACT_NONE))
		return;
	if (io->parked)
		fib_store(&io->s->exact, FIB_EXACT_NONE, relaxed);
	else
		fib_io_learn(io->s, r == -EAGAIN);
	io->polled |= how == FIB_EXACT_POLLED;
}

static bool seems_empty(const struct fib_fd *s)
{
	uint32_t reads = fib_load(&s->reads, acquire);

	return (reads | 1) == fib_load(&s->presumed, relaxed) &&
	       !fib_load(&s->untrusted, relaxed) &&
	       !fib_load(&fib_io_urgent, relaxed);
}

bool fib_io_is_presumed(const struct fib_fd *s)
{
	return seems_empty(s) && fib_doubt_may();
}

/*
 * Who polls by itself learns at once that it was wrong, but does not learn from that: what
 * it finds may have come since. So each 16th read tries first.
 */
static bool may_presume(const struct fib_io *io)
{
	struct fib_worker *w = who_polls(io);

	return w ? ++w->presumes_so % 16 != 0 : fib_doubt_may();
}

bool fib_io_waits_first(struct fib_io *io)
{
	fib_io_begin(io);
	if (known_empty(io))
		return limit(io) == 0;
	if (!seems_empty(io->s) || io->moved || !may_presume(io) || limit(io))
		return false;
	io->doubts = true;
	return true;
}

static bool refuses(const struct fib_io *io, long nr, const long a[6])
{
	return io->ev == FIB_IO_READ && io->rules->refused &&
	       io->rules->refused(nr, a);
}

static bool was_told(struct fib_io *io)
{
	return io->ev == FIB_IO_READ && io->rules->told && io->rules->told(io);
}

/* The first look. 0: try; else what the call returns, which was known to wait. */
static ON_THE_WAY long first(struct fib_io *io, long nr, const long a[6])
{
	bool waits =
		fib_io_waits_first(io) && !refuses(io, nr, a) && !was_told(io);
	long r = waits ? again(io) : 0;

	io->doubts = false;
	return r;
}

uint32_t fib_io_turn(struct fib_io *io)
{
	return fib_add(&io->s->reads, 2, seq_cst) + 2;
}

void fib_io_took(struct fib_io *io, uint32_t turn, bool all)
{
	if (!io->moved)
		note_short(io->s, turn, all);
}

/* Read number @turn had @r, or nothing: what does that tell of the next one? */
static void note_read(struct fib_io *io, uint32_t turn, size_t plain, long r)
{
	bool is_short = plain != FIB_IO_ANY && r < (long)plain;

	FIB_CHAOS_POINT(io_short);
	fib_io_took(io, turn, is_short);
	if (!is_short && r > 0 && !io->moved)
		note_exact(io->s, io->parked || io->polled, turn, r);
}

void fib_io_tried(struct fib_io *io, uint32_t turn, size_t plain, long r)
{
	tried(io, r);
	if (r > 0)
		note_read(io, turn, plain, r);
}

/* A try of one that takes nothing has had @r: as a poll that is asked. */
static void looked(struct fib_io *io, long r)
{
	if (io->parked)
		fib_io_has_waited(io->s);
	else
		fib_io_learn(io->s, r == -EAGAIN);
}

long fib_io_open_call(struct fib_io *io, size_t plain, long nr, const long a[6])
{
	bool looks = plain == FIB_IO_LOOK;
	uint32_t turn = 0;
	long r;

	fib_io_start(io);
	io->alone = true;
	if (FIB_CHAOS_ODDS(would_block, 16) && (r = detour(io)))
		return r;
	if (plain && (r = first(io, nr, a)))
		return r;
	for (;;) {
		if (plain && fib_likely(!looks))
			turn = fib_io_turn(io);
		fib_io_begin(io);
		r = fib_raw6(nr, io->s->fd, a[1], a[2], a[3], a[4], a[5]);
		if (fib_unlikely(looks))
			looked(io, r);
		else if (plain)
			tried(io, r);
		if (r != -EAGAIN || (r = again(io)))
			break;
	}
	if (plain && !looks && (r > 0 || r == -EAGAIN))
		note_read(io, turn, plain, r);
	return r;
}

long fib_io_call(struct fib_io *io, size_t plain, long nr, const long a[6])
{
	long r = fib_io_open_call(io, plain, nr, a);

	fib_io_end(io);
	return r;
}

/*
 * An edge of a listener is mostly one connection, and whoever waits next may be on
 * another kernel thread: one look is less than to wake him for nothing. What comes
 * after it makes an edge of its own, but for what came for one who was handed on. So the
 * next accept() may wait without a look, as after a short read: this one was read number @turn. tests/model/next.pml has this
 * for spin.
 */
static void note_left(struct fib_io *io, uint32_t turn, enum fib_left left)
{
	if (left == FIB_LEFT_UNKNOWN && io->woken &&
	    fib_load(&io->s->waiting, relaxed))
		left = fib_io_ready(io->s->fd, POLLIN) ? FIB_LEFT_SOME :
							 FIB_LEFT_NONE;
	FIB_CHAOS_POINT(io_left);
	if (left == FIB_LEFT_NONE) {
		if (io->handed)
			fib_iom_pass_since(io->s, io->ev, io->seq);
		io->woken = false;
	}
	fib_io_took(io, turn, left == FIB_LEFT_NONE);
}

/* Call @nr if that would not block. *@ready: what poll has said, if it was asked. */
static long once(struct fib_io *io, long nr, const long a[6], short *ready,
		 enum fib_left *left)
{
	long r = -ENOSYS;

	if (!fib_iom_claim(io->s, io->ev))
		return -EAGAIN;
	*left = FIB_LEFT_UNKNOWN;
	if (io->rules->at_once)
		r = io->rules->at_once(io, nr, a, left);
	if (r == -ENOSYS) {
		*ready = fib_io_ready(io->s->fd,
				      io->ev == FIB_IO_READ ? POLLIN : POLLOUT);
		r = *ready || refuses(io, nr, a) ?
			    fib_host_call_may_block(nr, io->s->fd, a) :
			    -EAGAIN;
	}
	fib_iom_release(io->s, io->ev);
	return r;
}

static bool is_untold(struct fib_io *io, long r)
{
	return io->rules->untold && io->rules->untold(io, r);
}

long fib_io_polled(struct fib_io *io, size_t plain, long nr, const long a[6])
{
	bool accepts = nr == SYS_accept4, tells = accepts || plain;
	enum fib_left left = FIB_LEFT_UNKNOWN;
	short ready = 0;
	uint32_t turn = 0;
	long r;

	fib_io_start(io);
	io->alone = !accepts;
	if (FIB_CHAOS_ODDS(would_block, 16) && (r = detour(io)))
		goto out;
	if (tells && (r = first(io, nr, a)))
		goto out;
	for (;;) {
		if (tells)
			turn = fib_io_turn(io);
		fib_io_begin(io);
		r = once(io, nr, a, &ready, &left);
		if (accepts && io->parked && r < 0 && is_untold(io, r))
			r = -EAGAIN;
		if (plain)
			tried(io, r);
		if (r != -EAGAIN || (r = fib_io_again(io)))
			break;
	}
	if (r == 0 && io->woken && (ready & POLLHUP))
		r = io->hung_up;
	if (accepts && r >= 0)
		note_left(io, turn, left);
	if (plain && r > 0)
		note_read(io, turn, plain, r);
out:
	fib_io_end(io);
	return r;
}
