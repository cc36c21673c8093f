/* IOManager: what becomes of those who wait when a number is closed. See iom.h. */
#include <linux/futex.h>
#include <sys/epoll.h>
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/iom_int.h"

/* --- holds --------------------------------------------------------------------- */

bool fib_iom_hold(struct fib_fd *s, struct fib_hold *h, uint32_t closes)
{
	struct fib_waiter *w = &h->w;
	bool in_time;

	w->events = 0;
	w->observer = w->hold = true;
	w->fib = fib_self();
	h->also = NULL;
	fib_list_init(&w->node);
	fib_store(&w->slot, s, relaxed);
	FIB_CHAOS_POINT(iom_hold);
	fib_lock(&s->lock);
	in_time = !(closes & FIB_CLOSING) &&
		  fib_load(&s->closes, relaxed) == closes; /* (C) */
	if (in_time) {
		fib_list_add_tail(&s->waiters, &w->node);
		fib_iom_waits_locked(s, FIB_IO_OTHERS);
		/* The caller is a guest there already, as which it may leave before. */
		if (fib_unlikely(fib_load(&s->guests, relaxed)))
			fib_add(&s->guests, 1, relaxed);
	}
	fib_unlock(&s->lock);
	return in_time;
}

struct fib_fd *fib_iom_try(struct fib_hold *h)
{
	struct fib_fd *s = fib_iom_lock_slot_of(&h->w);

	if (fib_list_empty(&h->w.node)) {
		fib_unlock(&s->lock);
		return NULL;
	}
	h->tried = s;
	fib_add(&s->tries, 1, relaxed); /* (E) */
	fib_unlock(&s->lock);
	return s;
}

void fib_iom_tried(struct fib_hold *h)
{
	fib_iom_leave(h->tried);
}

int fib_iom_number(struct fib_hold *h)
{
	struct fib_fd *s = fib_iom_try(h);

	if (!s)
		return -1;
	fib_iom_tried(h);
	return s->fd;
}

void fib_iom_tried_all(struct fib_fd *s)
{
	fib_raw(SYS_futex, &s->tries, FUTEX_WAKE_PRIVATE, INT_MAX);
}

struct fib_fd *fib_iom_move(struct fib_fd *s, struct fib_hold *h,
			    struct fib_fd *to)
{
	struct fib_fd *at = fib_iom_lock_slot_of(&h->w);
	bool takes = at == s;

	if (takes) {
		if (!fib_list_empty(&h->w.node))
			fib_iom_unlink_locked(s, &h->w);
		/* A duplicate that nobody else knows. */
		fib_lock_second(&to->lock);
		fib_list_add_tail(&to->waiters, &h->w.node);
		fib_iom_waits_locked(to, FIB_IO_OTHERS);
		fib_store(&to->guests, 1, relaxed);
		fib_store(&h->w.slot, to, release);
		fib_unlock(&to->lock);
	}
	fib_unlock(&at->lock);
	if (!takes)
		fib_fd_unhide(to->fd);
	return takes ? to : at;
}

struct fib_fd *fib_iom_unhold(struct fib_hold *h)
{
	struct fib_fd *s = fib_iom_lock_slot_of(&h->w);
	bool linked = !fib_list_empty(&h->w.node);

	if (linked)
		fib_iom_unlink_locked(s, &h->w);
	fib_unlock(&s->lock);
	return linked ? s : NULL;
}

void fib_iom_let_go(struct fib_hold *h)
{
	struct fib_fd *s = fib_iom_unhold(h);

	/* One that was moved, or has come there later, is a guest. */
	if (s && fib_load(&s->guests, relaxed))
		fib_iom_guest_leave(s);
}

#define TRY_NS 10000000 /* a long time */

/*
 * A try waits in the kernel all the same: another one has taken what it had seen, and who
 * is to bring more may be our caller. A kick ends it. (Who holds no file has none, and
 * keeps its place in the kernel's queues.)
 */
static void end_tries(const struct fib_sched *sched)
{
	const struct fib_worker *self = fib_worker_self();

	if (!fib_host.kick || fib_filtered())
		return;
	for (uint32_t i = 0; i < fib_load(&sched->workers, acquire); i++) {
		struct fib_worker *w = sched->worker[i];

		if (w != self && fib_host_holds(w))
			fib_host.kick(w);
	}
}

/* (F) */
static void wait_for_tries(struct fib_fd *s)
{
	static const struct timespec ts = { 0, TRY_NS };
	uint32_t n;

	fib_add(&s->evicting, 1, seq_cst);
	while ((n = fib_load(&s->tries, seq_cst)))
		if (fib_raw(SYS_futex, &s->tries, FUTEX_WAIT_PRIVATE, n, &ts) ==
		    -ETIMEDOUT)
			end_tries(fib_sched_of(s));
	fib_sub(&s->evicting, 1, relaxed);
}

/* --- closing ------------------------------------------------------------------- */

static bool closing_locked(struct fib_fd *s)
{
	/* Who waits is not woken any more by an event, but moved. */
	s->generation++;
	fib_add(&s->closes, FIB_CLOSED + 1, seq_cst); /* (G) */
	return !fib_list_empty(&s->waiters) ||
	       fib_load(&s->tries, seq_cst); /* (K) */
}

bool fib_iom_closing(struct fib_fd *s)
{
	bool waited_for;

	fib_lock(&s->lock);
	waited_for = closing_locked(s);
	fib_unlock(&s->lock);
	return waited_for;
}

int fib_iom_closing_seen(struct fib_fd *s)
{
	int r;

	fib_lock(&s->lock);
	r = s->woken ? -EAGAIN : closing_locked(s);
	fib_unlock(&s->lock);
	return r;
}

const struct fib *fib_iom_woken(struct fib_fd *s)
{
	const struct fib *f;

	fib_lock(&s->lock);
	f = s->woken;
	fib_unlock(&s->lock);
	return f;
}

void fib_iom_seen_to(struct fib_fd *s, const struct fib *f)
{
	fib_lock(&s->lock);
	if (s->woken == f)
		fib_store(fib_shared(&s->woken), NULL, relaxed);
	fib_unlock(&s->lock);
}

/* What was known of the number's file is not of the next one. */
static void forget_locked(struct fib_fd *s)
{
	s->registered = s->taken_off = 0;
	fib_store(&s->untrusted, false, relaxed);
	fib_iom_read_begins(s);
	s->generation++;
	fib_add(&s->files, FIB_FILE_LEFT, release);
	s->busy = s->contended = 0;
	fib_iom_sent_ends_locked(s, FIB_IO_BOTH);
	if (fib_unlikely(s->hinted)) /* (N): no event will come */
		fib_worker_self()->took_wake = true;
	s->hinted = false;
	/* whoever tries the old file is not to wait for the new one */
	fib_iom_edge_locked(s);
}

void fib_iom_forget(struct fib_fd *s, bool shared)
{
	struct fib_sched *sched = fib_sched_of(s);
	unsigned use;

	fib_lock(&s->lock);
	if (s->registered && !fib_filtered()) {
		if (!shared && !s->leaving)
			fib_add(&sched->iom.leaving, 1, seq_cst); /* (P) */
		s->leaving |= !shared;
		FIB_CHAOS_POINT(iom_leaving);
		/* Another description of the same file would keep it registered. */
		if (shared || fib_load(&sched->nidle, seq_cst)) { /* (Q) */
			use = fib_fd_use();
			fib_raw(SYS_epoll_ctl, sched->iom.epfd, EPOLL_CTL_DEL,
				s->fd, 0);
			fib_fd_used(use);
		}
	}
	forget_locked(s);
	fib_unlock(&s->lock);
}

void fib_iom_opened_anew(struct fib_fd *s)
{
	fib_lock(&s->lock);
	forget_locked(s);
	/* Who was fast enough to wait for it already registers it again. */
	if (fib_load(&s->waiting, relaxed))
		fib_iom_feed_locked(s, FIB_IO_BOTH, FIB_IO_BOTH);
	fib_unlock(&s->lock);
}

void fib_iom_closed(struct fib_fd *s)
{
	bool again;

	FIB_CHAOS_POINT(iom_closed);
	fib_lock(&s->lock);
	/* (H); but (G) may have been before there was a slot */
	if (fib_load(&s->closes, relaxed) & FIB_CLOSING)
		fib_add(&s->closes, FIB_CLOSED - 1, relaxed);
	if (s->leaving)
		fib_sub(&fib_sched_of(s)->iom.leaving, 1, relaxed);
	again = s->registered;
	s->leaving = false;
	s->registered = 0;
	s->generation++;
	fib_add(&s->files, FIB_FILE_NEXT, release);
	/* They try again, each by itself or handed on. */
	if (again || fib_load(&s->waiting, relaxed))
		fib_iom_feed_locked(s, FIB_IO_BOTH, again ? FIB_IO_BOTH : 0);
	fib_unlock(&s->lock);
}

/* No duplicate is to be had: the holders have lost their file. */
static void evict_to_nowhere(struct fib_fd *s)
{
	fib_lock(&s->lock);
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (w->hold)
			fib_iom_unlink_locked(s, w);
	}
	/* They will see that it is closed. */
	fib_iom_feed_locked(s, FIB_IO_BOTH, 0);
	fib_unlock(&s->lock);
	wait_for_tries(s);
}

struct fib_fd *fib_iom_refuge(struct fib_fd *s)
{
	/* Under a filter there is no epoll for them to move to. */
	int fd = fib_filtered() ? -1 : fib_fd_dup_hidden(s->fd);
	struct fib_fd *to = fd < 0 ? NULL : fib_iom_slot(fib_sched_of(s), fd);

	if (!to)
		fib_fd_unhide(fd);
	return to;
}

void fib_iom_evict(struct fib_fd *s, struct fib_fd *to)
{
	uint32_t moved = 0;

	if (!to) {
		evict_to_nowhere(s);
		return;
	}
	FIB_CHAOS_POINT(iom_evict);
	fib_lock(&s->lock);
	/* A duplicate that nobody else knows. */
	fib_lock_second(&to->lock);
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (w->observer && !w->hold)
			continue;
		fib_iom_unlink_locked(s, w);
		if (w->observer && w->events)
			w->events = FIB_IO_BOTH;
		fib_list_add_tail(&to->waiters, &w->node);
		fib_iom_waits_locked(to,
				     w->observer ? FIB_IO_OTHERS : w->events);
		fib_store(&w->slot, to, release); /* (D) */
		fib_host_moved(w);
		moved++;
	}
	to->turns = s->turns;
	fib_store(&to->guests, moved, relaxed);
	if (moved) {
		fib_iom_register_locked(to, FIB_IO_BOTH);
		fib_store(&to->fresh, FIB_FRESH_NEW, relaxed);
	}
	fib_unlock(&to->lock);
	fib_unlock(&s->lock);
	if (!moved)
		fib_fd_unhide(to->fd);
	wait_for_tries(s);
}

void fib_iom_guest_leave(struct fib_fd *s)
{
	if (fib_sub(&s->guests, 1, acq_rel) != 1)
		return;
	fib_iom_forget(s, true);
	fib_fd_give_back(s->fd, fib_sched_of(s)->iom.wakefd);
}
