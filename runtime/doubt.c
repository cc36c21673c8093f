/* What was presumed of descriptors, see doubt.h. */
#include <poll.h>
#include "runtime/chaos.h"
#include "runtime/doubt.h"
#include "runtime/iom_int.h"

bool fib_doubt_may(void)
{
	const struct fib_worker *w = fib_worker_self();

	return w && fib_host_asks(w) &&
	       fib_load(&w->doubts, relaxed) < FIB_DOUBTS;
}

void fib_doubt(struct fib_fd *s, uint32_t seq)
{
	struct fib_worker *w = fib_worker_self();
	uint32_t n;

	FIB_CHAOS_POINT(doubt);
	if (fib_xchg(&s->doubted, true, seq_cst)) /* (B) */
		return;
	if (fib_load(&w->doubts, relaxed) == FIB_DOUBTS)
		fib_doubt_end(w);
	n = fib_load(&w->doubts, relaxed);
	fib_store(&w->doubt[n].seq, seq, relaxed);
	fib_store(&w->doubt[n].s, s, relaxed);
	w->doubt[n].looks = 0;
	fib_store(&w->doubts, n + 1, release);
}

static bool is_awaited(const struct fib_fd *s)
{
	return fib_load(&s->waiting, relaxed) & (FIB_IO_READ | FIB_IO_OTHERS);
}

/*
 * Which of @n slots are @ready, and how many. Where the kernel does not say, all are. None
 * of them is closed meanwhile: it would end later than its close.
 */
static unsigned ask(struct fib_fd *const slot[FIB_DOUBTS], uint32_t n,
		    uint8_t ready[FIB_DOUBTS])
{
	struct pollfd p[FIB_DOUBTS];
	uint8_t which[FIB_DOUBTS];
	unsigned asked = 0, found = 0;
	long r;

	for (uint32_t i = 0; i < n; i++) {
		fib_iom_enter(slot[i]);
		if (!is_awaited(slot[i])) {
			fib_iom_leave(slot[i]);
			continue;
		}
		p[asked] =
			(struct pollfd){ .fd = slot[i]->fd, .events = POLLIN };
		which[asked++] = (uint8_t)i;
	}
	if (!asked)
		return 0;
	do
		r = fib_raw(SYS_poll, p, asked, 0);
	while (r == -EINTR);
	FIB_CHAOS_POINT(doubt_asked);
	for (unsigned i = 0; i < asked; i++) {
		fib_iom_leave(slot[which[i]]);
		if (r < 0 || p[i].revents)
			ready[found++] = which[i];
	}
	return found;
}

/* The reader has not tried yet: exact says by what it presumed. */
static void was_wrong(struct fib_fd *s)
{
	uint8_t how = fib_load(&s->exact, relaxed);

	if (how != FIB_EXACT_AT_ONCE && how != FIB_EXACT_WAITED)
		return;
	fib_store(&s->sure[how == FIB_EXACT_WAITED], FIB_SURE_WRONG, relaxed);
	fib_count(io_doubts_wrong);
}

/* (E) */
static void settle(struct fib_fd *s, uint32_t seq, bool fresh)
{
	fib_lock(&s->lock);
	/* Who was sent to it hands on. */
	if (is_awaited(s) &&
	    !(fib_load(&s->waiting, relaxed) & FIB_IO_SENT(FIB_IO_READ)) &&
	    (fresh || !s->registered || fib_iom_tell_unread_locked(s) < 0)) {
		if (fresh && fib_load(&s->edges, relaxed) == seq)
			was_wrong(s);
		fib_iom_read_begins(s);
		fib_iom_feed_locked(s, FIB_IO_READ, FIB_IO_READ);
	}
	fib_unlock(&s->lock);
}

/* The oldest comes first. */
static bool is_due(const struct fib_worker *w)
{
	return fib_load(&w->doubts, relaxed) &&
	       w->doubt[0].looks == FIB_DOUBT_LOOKS;
}

bool fib_doubt_can_wait(struct fib_worker *w)
{
	if (fib_likely(!fib_load(&w->doubts, relaxed)) || is_due(w))
		return false;
	return w->doubts_settle || ++w->doubt_tries % FIB_DOUBT_TRY == 0 ||
	       FIB_CHAOS_ODDS(doubts_wait, 4);
}

/* As (C), and (B) where somebody waits: whoever came meanwhile may have left it to @w. */
void fib_doubt_looked(struct fib_worker *w)
{
	uint32_t n = fib_load(&w->doubts, relaxed), kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		struct fib_doubt *d = &w->doubt[i], *to = &w->doubt[kept];
		struct fib_fd *s = fib_load(&d->s, relaxed);

		fib_store(&s->doubted, false, seq_cst); /* (L) */
		if (!is_awaited(s) || fib_xchg(&s->doubted, true, seq_cst))
			continue;
		fib_store(&to->seq, fib_load(&d->seq, relaxed), relaxed);
		fib_store(&to->s, s, relaxed);
		to->looks = d->looks + 1;
		kept++;
	}
	fib_store(&w->doubts, kept, release);
	w->doubts_settle = !is_due(w);
}

unsigned fib_doubt_ask(struct fib_worker *w)
{
	uint32_t n = fib_load(&w->doubts, relaxed);
	struct fib_fd *slot[FIB_DOUBTS];

	if (fib_likely(!n))
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		slot[i] = fib_load(&w->doubt[i].s, relaxed);
		fib_store(&slot[i]->doubted, false, seq_cst); /* (C) */
	}
	fib_worker_count(w, FIB_STAT_io_doubts, n);
	w->ready = (uint8_t)ask(slot, n, w->readies);
	if (!w->ready)
		fib_store(&w->doubts, 0, relaxed);
	return w->ready;
}

void fib_doubt_settle(struct fib_worker *w, bool fresh)
{
	for (unsigned i = 0; i < w->ready; i++) {
		const struct fib_doubt *d = &w->doubt[w->readies[i]];

		settle(fib_load(&d->s, relaxed), fib_load(&d->seq, relaxed),
		       fresh);
	}
	w->ready = 0;
	fib_store(&w->doubts, 0, relaxed);
}

void fib_doubt_end(struct fib_worker *w)
{
	if (fib_doubt_ask(w))
		fib_doubt_settle(w, false);
}

void fib_doubt_ask_for(struct fib_worker *w)
{
	uint32_t n = fib_load(&w->doubts, acquire);
	struct fib_fd *slot[FIB_DOUBTS];
	uint8_t ready[FIB_DOUBTS];

	/* @w may go on meanwhile, and have others: tests/model/asked.pml. */
	for (uint32_t i = 0; i < n; i++)
		slot[i] = fib_load(&w->doubt[i].s, relaxed);
	n = ask(slot, n, ready);
	for (uint32_t i = 0; i < n; i++)
		settle(slot[ready[i]], 0, false);
}
