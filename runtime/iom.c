/* IOManager: slots, and who waits there. See iom.h. */
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/iom_int.h"
#include "runtime/reserved.h"

/* It costs a call, and another one when the next fiber waits there. */
#define TAKEN_OFF_MOST 2

/* The highest number that anybody has waited for. */
_Atomic int fib_iom_watched_top = -1;

struct fib_fd *fib_iom_peek(struct fib_sched *sched, int fd)
{
	struct fib_fd *c;

	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	c = fib_load(&sched->iom.chunk[(unsigned)fd >> FIB_FD_CHUNK_BITS],
		     acquire);
	return c ? &c[(unsigned)fd & (FIB_FD_CHUNK - 1)] : NULL;
}

static struct fib_fd *chunk_create(struct fib_sched *sched, unsigned i)
{
	struct fib_fd *c = fib_pages_alloc(FIB_FD_CHUNK * sizeof(*c));

	for (unsigned k = 0; c && k < FIB_FD_CHUNK; k++) {
		fib_host_fd_init(&c[k], sched);
		c[k].fd = (int)(i * FIB_FD_CHUNK + k);
		fib_lock_init(&c[k].lock, SLOT);
		fib_list_init(&c[k].waiters);
	}
	return c;
}

struct fib_fd *fib_iom_slot(struct fib_sched *sched, int fd)
{
	struct fib_fd *s = fib_iom_peek(sched, fd);
	unsigned i = (unsigned)fd >> FIB_FD_CHUNK_BITS;

	if (fib_likely(s))
		return s;
	if ((unsigned)fd >= FIB_FD_MAX)
		return NULL;
	fib_lock(&sched->iom.chunk_lock);
	if (!fib_load(&sched->iom.chunk[i], relaxed))
		fib_store(&sched->iom.chunk[i], chunk_create(sched, i),
			  release);
	if (fib_load(&sched->iom.chunks, relaxed) <= i)
		fib_store(&sched->iom.chunks, i + 1, release);
	fib_unlock(&sched->iom.chunk_lock);
	return fib_iom_peek(sched, fd);
}

long fib_iom_control(struct fib_fd *s, int op, uint8_t events)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET |
			  (events & FIB_IO_WRITE ? EPOLLOUT : 0u),
		.data.u64 = (uint64_t)s->generation << 32 | (uint32_t)s->fd,
	};
	unsigned use = fib_fd_use();
	long r = fib_host_control(s, op, &ev);

	fib_fd_used(use);
	return r;
}

void fib_iom_lost_locked(struct fib_fd *s)
{
	fib_count(io_lost);
	fib_add(&s->files, FIB_FILE_NEXT, release);
	fib_store(&s->untrusted, false, relaxed);
	fib_iom_read_begins(s);
	fib_iom_feed_locked(s, FIB_IO_BOTH, FIB_IO_BOTH);
}

int fib_iom_register_locked(struct fib_fd *s, uint8_t events)
{
	bool more = s->registered;
	long r = -ENOENT;

	events |= s->registered | FIB_IO_READ;
	if (more)
		r = fib_iom_control(s, EPOLL_CTL_MOD, events);
	if (r == -ENOENT) {
		s->registered = 0;
		r = fib_iom_control(s, EPOLL_CTL_ADD, events);
		/* Closed behind our back and opened anew as the same file. */
		if (r == -EEXIST)
			r = fib_iom_control(s, EPOLL_CTL_MOD, events);
		if (r == 0)
			fib_count(io_registered);
		if (more)
			fib_iom_lost_locked(s);
	}
	if (r == 0)
		s->registered = events;
	return (int)r;
}

int fib_iom_rearm_locked(struct fib_fd *s)
{
	if (s->registered) {
		long r;

		/* An event that a worker has by now is of what was, not of now. */
		s->generation++;
		r = fib_iom_control(s, EPOLL_CTL_MOD, FIB_IO_BOTH);
		if (r == 0)
			s->registered = FIB_IO_BOTH;
		if (r == 0)
			return 0;
		/* Closed behind our back. */
		s->registered = 0;
		if (r != -ENOENT)
			return (int)r;
	}
	return fib_iom_register_locked(s, FIB_IO_BOTH);
}

void fib_iom_disarm_locked(struct fib_fd *s)
{
	if (s->registered && fib_list_empty(&s->waiters)) {
		fib_iom_control(s, EPOLL_CTL_DEL, 0);
		s->registered = 0;
	}
}

void fib_iom_mute_locked(struct fib_fd *s)
{
	/* An event that a worker has by now is for nobody. */
	s->generation++;
	if (s->registered)
		fib_iom_control(s, EPOLL_CTL_DEL, 0);
	s->registered = 0;
}

static uint32_t draw_turn_locked(struct fib_fd *s)
{
	do
		s->turns++;
	while (s->turns == 0 || s->turns == FIB_TURN_FIRST);
	return s->turns;
}

static void queue_locked(struct fib_fd *s, struct fib_waiter *w, uint32_t *turn)
{
	struct fib_list *at = &s->waiters;

	if (*turn == 0) {
		*turn = w->turn = draw_turn_locked(s);
	} else if (*turn == FIB_TURN_FIRST) {
		w->turn = draw_turn_locked(s);
		at = s->waiters.next;
	} else {
		w->turn = *turn;
		fib_list_for_each (it, &s->waiters) {
			const struct fib_waiter *x =
				fib_container_of(it, struct fib_waiter, node);

			if (!x->observer && (int32_t)(x->turn - *turn) > 0) {
				at = it;
				break;
			}
		}
	}
	/* before @at */
	fib_list_add_tail(at, &w->node);
}

/* Is nobody else told of @s, or may he be forgotten? */
static bool is_alone_locked(struct fib_fd *s)
{
	if (!fib_list_empty(&s->waiters))
		return false;
	if (!s->registered)
		return true;
	if (s->taken_off >= TAKEN_OFF_MOST)
		return false;
	s->taken_off++;
	fib_iom_disarm_locked(s);
	return true;
}

/* @since: if no edge came since it was @seq. @polls: the caller would poll by itself. */
static int publish(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
		   bool observer, bool keeps, bool since, uint32_t seq,
		   uint32_t *turn, bool polls)
{
	bool again = *turn != 0;
	int r = 0;

	w->fib = fib_self();
	w->events = events;
	w->observer = observer;
	w->hold = keeps;
	fib_store(&w->slot, s, relaxed);
	fib_store(&w->woken, 0, relaxed);
	fib_list_init(&w->node);
	FIB_CHAOS_POINT(iom_publish);
	fib_lock(&s->lock);
	w->polls = polls && is_alone_locked(s);
	if (!w->polls && (!s->registered || (events & ~s->registered)))
		r = fib_iom_register_locked(s, events);
	if (r == 0 && since && fib_load(&s->edges, relaxed) != seq)
		r = 1;
	if (r == 0) {
		if (observer) {
			fib_list_add_tail(&s->waiters, &w->node);
		} else {
			queue_locked(s, w, turn);
			fib_iom_sent_ends_locked(s, events);
		}
		fib_iom_waits_locked(s, observer ? FIB_IO_OTHERS : events);
		fib_iom_freshen_locked(s, again);
	}
	fib_unlock(&s->lock);
	return r;
}

int fib_iom_publish(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
		    bool observer, uint32_t seq)
{
	return publish(s, w, events, observer, false, !observer, seq,
		       &(uint32_t){ 0 }, false);
}

int fib_iom_observe(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
		    uint32_t seq)
{
	return publish(s, w, events, true, true, true, seq, &(uint32_t){ 0 },
		       false);
}

int fib_iom_publish_turn(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
			 uint32_t seq, uint32_t *turn)
{
	return publish(s, w, events, false, false, true, seq, turn, false);
}

int fib_iom_publish_own(struct fib_fd *s, struct fib_waiter *w, uint32_t seq,
			uint32_t *turn)
{
	return publish(s, w, FIB_IO_READ, false, false, true, seq, turn, true);
}

void fib_iom_unlink_locked(struct fib_fd *s, struct fib_waiter *w)
{
	fib_list_del(&w->node);
	if (fib_list_empty(&s->waiters))
		fib_store(&s->waiting, 0, relaxed);
}

struct fib_fd *fib_iom_lock_slot_of(struct fib_waiter *w)
{
	for (;;) {
		struct fib_fd *s = fib_load(&w->slot, acquire);

		FIB_CHAOS_POINT(iom_retract);
		fib_lock(&s->lock);
		if (s == fib_load(&w->slot, relaxed))
			return s;
		fib_unlock(&s->lock);
	}
}

void fib_iom_retract(struct fib_waiter *w)
{
	struct fib_fd *s = fib_iom_lock_slot_of(w);

	if (!fib_list_empty(&w->node))
		fib_iom_unlink_locked(s, w);
	fib_unlock(&s->lock);
}

static void wake_locked(struct fib_fd *s, struct fib_waiter *w, uint8_t how)
{
	struct fib *f = w->fib;

	fib_iom_unlink_locked(s, w);
	if (!w->observer)
		fib_store(fib_shared(&s->woken), f, relaxed);
	/* The waiter's frame may be gone as soon as woken is seen and the
	 * lock is free: f was read before. */
	fib_store(&w->woken, how, release);
	fib_wake(f);
}

/* (L): one for each of @events has been woken. @told: by what has come. */
static void mark_sent_locked(struct fib_fd *s, uint8_t events, bool told)
{
	events &= fib_load(&s->waiting, relaxed);
	if (fib_unlikely(events))
		fib_iom_waits_locked(
			s, FIB_IO_SENT(events) |
				   (told ? 0 : FIB_IO_UNTOLD(events)));
}

void fib_iom_feed_locked(struct fib_fd *s, uint8_t events, uint8_t observers)
{
	uint8_t how = observers ? FIB_WOKEN_FOR_IT : FIB_WOKEN_ON;
	uint8_t left = events;

	fib_iom_edge_locked(s);
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (w->observer) {
			if (w->events & observers)
				wake_locked(s, w, how);
		} else if (w->events & left) {
			left &= (uint8_t)~w->events;
			wake_locked(s, w, how);
		}
	}
	mark_sent_locked(s, events & (uint8_t)~left, observers);
}

void fib_iom_edge(struct fib_fd *s)
{
	fib_lock(&s->lock);
	fib_iom_edge_locked(s);
	fib_unlock(&s->lock);
}

void fib_iom_all_again(struct fib_fd *s, uint8_t events, uint8_t woken)
{
	fib_lock(&s->lock);
	fib_iom_edge_locked(s);
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (w->events & events)
			wake_locked(s, w, woken);
	}
	fib_unlock(&s->lock);
}

static void pass(struct fib_fd *s, uint8_t events, bool since, uint32_t seq)
{
	uint8_t sent = FIB_IO_SENT(events);

	if (!(fib_load(&s->waiting, relaxed) & (events | sent)))
		return;
	fib_lock(&s->lock);
	fib_iom_sent_ends_locked(s, events); /* (M) */
	if (!since || fib_load(&s->edges, relaxed) != seq)
		fib_iom_feed_locked(s, events, 0);
	fib_unlock(&s->lock);
}

void fib_iom_pass(struct fib_fd *s, uint8_t events)
{
	pass(s, events, false, 0);
}

void fib_iom_pass_since(struct fib_fd *s, uint8_t events, uint32_t seq)
{
	pass(s, events, true, seq);
}

static struct fib_waiter *first_locked(struct fib_fd *s, uint8_t events)
{
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *x =
			fib_container_of(it, struct fib_waiter, node);

		if (!x->observer && (x->events & events))
			return x;
	}
	return NULL;
}

void fib_iom_first_goes_last(struct fib_fd *s, uint8_t events)
{
	struct fib_waiter *w;

	fib_lock(&s->lock);
	w = first_locked(s, events);
	if (w) {
		fib_list_del(&w->node);
		w->turn = draw_turn_locked(s);
		fib_list_add_tail(&s->waiters, &w->node);
	}
	fib_unlock(&s->lock);
}

static void wake_by_hint_locked(struct fib_fd *s, struct fib_waiter *x)
{
	struct fib_worker *w = fib_worker_self();

	w->hints = true; /* (N) */
	wake_locked(s, x, FIB_WOKEN_TO_LOOK);
	w->hints = false;
	s->hinted = true;
}

/*
 * A bound worker has no queue that others look at: it would have to tell an idle one of @x,
 * and then epoll tells of the same, where that sleeps. So that is left to epoll, if @x is in it.
 */
static bool is_epolls_locked(const struct fib_fd *s, const struct fib_waiter *x,
			     uint8_t events)
{
	const struct fib_worker *w = fib_worker_self();

	return fib_unlikely(w->bound != NULL) && !x->fib->bound &&
	       !(events & ~s->registered) &&
	       fib_load(&fib_sched_of(w)->nidle, relaxed);
}

/* Who only looks takes nothing from the others. */
static void show_locked(struct fib_fd *s, uint8_t events)
{
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *x =
			fib_container_of(it, struct fib_waiter, node);

		if (x->observer && (x->events & events) &&
		    !is_epolls_locked(s, x, events))
			wake_by_hint_locked(s, x);
	}
}

void fib_iom_hint(struct fib_fd *s, uint32_t files, uint8_t events)
{
	struct fib_waiter *x;

	/* fib_iom_forget() could not take it from epoll. */
	if (fib_unlikely(fib_filtered()))
		return;
	FIB_CHAOS_POINT(iom_hint);
	fib_lock(&s->lock);
	x = first_locked(s, events);
	if (fib_load(&s->files, relaxed) == files && !(x && x->polls) &&
	    !(fib_load(&s->closes, relaxed) & FIB_CLOSING) &&
	    !(fib_load(&s->waiting, relaxed) & FIB_IO_SENT(events))) {
		if (events & FIB_IO_READ)
			fib_iom_read_begins(s);
		fib_iom_edge_locked(s);
		/* @x is sent: it has what may be there now, or hands it on. */
		if (!x) {
			show_locked(s, events);
		} else if (!is_epolls_locked(s, x, events)) {
			wake_by_hint_locked(s, x);
			mark_sent_locked(s, events, true);
		}
	}
	fib_unlock(&s->lock);
}

/* @turn: of those whose turn comes before; 0: of all. */
static bool has_reader_locked(struct fib_fd *s, uint32_t turn)
{
	fib_list_for_each (it, &s->waiters) {
		const struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (!w->observer && (w->events & FIB_IO_READ) &&
		    (!turn || (int32_t)(w->turn - turn) < 0))
			return true;
	}
	return false;
}

bool fib_iom_wake_reader(struct fib_fd *s)
{
	bool any;

	fib_lock(&s->lock);
	any = has_reader_locked(s, 0);
	if (any)
		fib_iom_feed_locked(s, FIB_IO_READ, 0);
	fib_unlock(&s->lock);
	return any;
}

bool fib_iom_has_reader(struct fib_fd *s, uint32_t turn)
{
	bool any;

	if (!fib_load(&s->waiting, relaxed))
		return false;
	fib_lock(&s->lock);
	any = has_reader_locked(s, turn);
	fib_unlock(&s->lock);
	return any;
}

void fib_iom_nudge_writers(struct fib_sched *sched)
{
	int top = fib_load(&fib_iom_watched_top, relaxed);

	for (int fd = 0; fd <= top; fd++) {
		struct fib_fd *s = fib_iom_peek(sched, fd);

		if (!s)
			fd |= FIB_FD_CHUNK - 1;
		else
			fib_iom_pass(s, FIB_IO_WRITE);
	}
}

bool fib_iom_claim(struct fib_fd *s, uint8_t ev)
{
	bool mine;

	fib_lock(&s->lock);
	mine = !(s->busy & ev);
	if (mine)
		s->busy |= ev;
	else
		s->contended |= ev;
	fib_unlock(&s->lock);
	return mine;
}

void fib_iom_release(struct fib_fd *s, uint8_t ev)
{
	fib_lock(&s->lock);
	s->busy &= (uint8_t)~ev;
	if (s->contended & ev) {
		s->contended &= (uint8_t)~ev;
		fib_iom_feed_locked(s, ev, 0);
	}
	fib_unlock(&s->lock);
}

/* --- the scheduler's own ------------------------------------------------------ */

static long bell(int op, int epfd, int bell, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u64 = FIB_IOM_WAKE };

	return fib_raw(SYS_epoll_ctl, epfd, op, bell, &ev);
}

int fib_bell_make(void)
{
	return (int)fib_raw(SYS_eventfd2, 1, EFD_CLOEXEC | EFD_NONBLOCK);
}

long fib_bell_hang(int epfd, int fd)
{
	return bell(EPOLL_CTL_ADD, epfd, fd, EPOLLET);
}

long fib_bell_ring(int epfd, int fd)
{
	return bell(EPOLL_CTL_MOD, epfd, fd, EPOLLIN | EPOLLET);
}

bool fib_iom_is_closed(struct fib_sched *s)
{
	unsigned use = fib_fd_use();
	int epfd = s->iom.epfd;
	/* EINVAL: none can be in itself. Of others it is EBADF or EPERM, mostly. */
	bool closed = !fib_fd_is_ours(epfd) ||
		      bell(EPOLL_CTL_ADD, epfd, epfd, 0) != -EINVAL;

	fib_fd_used(use);
	return closed;
}

/*
 * The program has closed the bell where nobody saw it. To hang up another one
 * rings. Where epfd is gone as well, workers look by themselves (iom_poll.c).
 */
static void hang_anew(struct fib_sched *s)
{
	static _Atomic int busy;
	int old = s->iom.wakefd, fd;

	if (!fib_fd_is_ours(old) || fib_iom_is_closed(s) ||
	    fib_xchg(&busy, 1, acquire))
		return;
	fd = fib_fd_hide(fib_bell_make());
	if (bell(EPOLL_CTL_ADD, s->iom.epfd, fd, EPOLLIN | EPOLLET) == 0) {
		fib_fd_lose(old);
		fib_store(fib_shared(&s->iom.wakefd), fd, relaxed);
	} else {
		fib_fd_unhide(fd);
	}
	fib_store(&busy, 0, release);
}

void fib_iom_ring(struct fib_sched *s)
{
	unsigned use = fib_fd_use();
	long r = fib_bell_ring(s->iom.epfd, s->iom.wakefd);

	fib_fd_used(use);
	if (fib_unlikely(r < 0))
		hang_anew(s);
}

long fib_iom_tell_of(struct fib_sched *s, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET,
				  .data.u64 = FIB_IOM_NEWS };
	unsigned use = fib_fd_use();
	long r = fib_raw(SYS_epoll_ctl, s->iom.epfd, EPOLL_CTL_ADD, fd, &ev);

	fib_fd_used(use);
	return r;
}

void fib_iom_bell_moves(struct fib_sched *s, int to)
{
	fib_bell_hang(s->iom.epfd, to);
	fib_host_bell_moved(to);
}

void fib_iom_discard(struct fib_sched *s)
{
	fib_fd_unhide(s->iom.epfd);
	fib_fd_unhide(s->iom.wakefd);
	fib_fd_spare_drop();
	fib_reserved_fini();
	s->iom.epfd = s->iom.wakefd = -1;
}

int fib_iom_init(struct fib_sched *s, bool hide)
{
	int epfd, wakefd = -1, r;

	fib_lock_init(&s->iom.chunk_lock, CHUNK);
	/* Ours would lie among the first that the program asks for. */
	fib_store(&fib_step, "RLIMIT_NOFILE", relaxed);
	if (hide && !fib_fd_has_reach())
		return -EMFILE;
	fib_store(&fib_step, "epoll_create1", relaxed);
	r = epfd = (int)fib_raw(SYS_epoll_create1, EPOLL_CLOEXEC);
	s->iom.epfd = hide ? fib_fd_hide(epfd) : epfd;
	if (r >= 0) {
		fib_store(&fib_step, "eventfd2", relaxed);
		r = wakefd = fib_bell_make();
	}
	s->iom.wakefd = hide ? fib_fd_hide(wakefd) : wakefd;
	if (r >= 0) {
		fib_store(&fib_step, "epoll_ctl", relaxed);
		r = (int)fib_bell_hang(s->iom.epfd, s->iom.wakefd);
	}
	if (r < 0) {
		fib_iom_discard(s);
		return r;
	}
	if (hide) {
		fib_fd_movable(&s->iom.epfd);
		fib_fd_movable(&s->iom.wakefd);
		fib_reserved_init(s->iom.wakefd);
	}
	return r;
}

void fib_iom_limit_changed(struct fib_sched *s)
{
	fib_fd_spare_renew(s->iom.wakefd);
}

void fib_iom_reset(struct fib_sched *s)
{
	for (unsigned i = 0; i < fib_load(&s->iom.chunks, relaxed); i++) {
		struct fib_fd *c = fib_load(&s->iom.chunk[i], relaxed);

		for (unsigned k = 0; c && k < FIB_FD_CHUNK; k++) {
			int fd = c[k].fd;
			uint32_t generation = c[k].generation;
			uint32_t files = fib_load(&c[k].files, relaxed);

			memset(&c[k], 0, sizeof(c[k]));
			c[k].fd = fd;
			c[k].generation = generation + 1;
			fib_store(&c[k].files, files + FIB_FILE_LEFT, relaxed);
			fib_lock_init(&c[k].lock, SLOT);
			fib_list_init(&c[k].waiters);
		}
	}
	s->iom.epfd = s->iom.wakefd = -1;
	fib_store(&s->iom.leaving, 0, relaxed);
	fib_lock_init(&s->iom.chunk_lock, CHUNK);
}
