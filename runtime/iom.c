/* IOManager, see iom.h. */
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include "runtime/chaos.h"
#include "runtime/iom.h"
#ifndef FIB_PRELOAD
#include "runtime/lib/lib.h"
#endif

#define MAX_EVENTS 128
#define WAKE_DATA  UINT64_MAX
#define OURS_MAX   4096

/* The descriptors that are ours. Few, long-lived, rarely changed. */
static _Atomic int ours[OURS_MAX];
static _Atomic uint32_t ours_top;      /* none of ours is behind */
static _Atomic int ours_low = INT_MAX; /* none of ours is below */
/* The highest number that anybody has waited for. */
static _Atomic int watched_top = -1;
/* One in reserve, for fib_iom_evict() while the table is full; -1: in use. */
static _Atomic int reserve = -1;

static bool has_room(void);

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
#ifndef FIB_PRELOAD
		c[k].sched = sched;
#endif
		c[k].fd = (int)(i * FIB_FD_CHUNK + k);
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
	fib_unlock(&sched->iom.chunk_lock);
	return fib_iom_peek(sched, fd);
}

static long control(struct fib_fd *s, int op)
{
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET,
		.data.u64 = (uint64_t)s->generation << 32 | (uint32_t)s->fd,
	};

#ifndef FIB_PRELOAD
	if (s->sched->iom.control)
		return s->sched->iom.control(op, s->fd, &ev);
#endif
	return fib_raw(SYS_epoll_ctl, fib_sched_of(s)->iom.epfd, op, s->fd,
		       &ev);
}

static int register_locked(struct fib_fd *s)
{
	long r = control(s, EPOLL_CTL_ADD);

	/* Closed behind our back and opened anew as the same file. */
	if (r == -EEXIST)
		r = control(s, EPOLL_CTL_MOD);
	if (r == 0) {
		s->registered = true;
		fib_count(io_registered);
	}
	return (int)r;
}

#ifndef FIB_PRELOAD
int fib_iom_rearm_locked(struct fib_fd *s)
{
	if (s->registered) {
		long r = control(s, EPOLL_CTL_MOD);

		if (r == 0)
			return 0;
		/* Closed behind our back: events of the old file are stale. */
		s->registered = false;
		s->generation++;
		if (r != -ENOENT)
			return (int)r;
	}
	return register_locked(s);
}

void fib_iom_disarm_locked(struct fib_fd *s)
{
	if (s->registered && !s->event[0] && !s->event[1] &&
	    fib_list_empty(&s->waiters)) {
		control(s, EPOLL_CTL_DEL);
		s->registered = false;
	}
}
#endif

int fib_iom_publish(struct fib_fd *s, struct fib_waiter *w, uint8_t events,
		    bool observer, uint32_t seq)
{
	int r = 0;

	w->fib = fib_self();
	w->events = events;
	w->observer = observer;
	w->hold = false;
	fib_store(&w->slot, s, relaxed);
	fib_store(&w->woken, false, relaxed);
	fib_list_init(&w->node);
	FIB_CHAOS_POINT(iom_publish);
	fib_lock(&s->lock);
	if (!s->registered)
		r = register_locked(s);
	if (r == 0 && !observer && fib_load(&s->edges, relaxed) != seq)
		r = 1;
	if (r == 0) {
		fib_list_add_tail(&s->waiters, &w->node);
		fib_store(&s->waiting, 1, relaxed);
		s->fresh = 2;
		if (fib_unlikely(s->fd > fib_load(&watched_top, relaxed)))
			fib_store(&watched_top, s->fd, relaxed);
	}
	fib_unlock(&s->lock);
	return r;
}

static void unlink_locked(struct fib_fd *s, struct fib_waiter *w)
{
	fib_list_del(&w->node);
	if (fib_list_empty(&s->waiters))
		fib_store(&s->waiting, 0, relaxed);
}

static struct fib_fd *lock_slot_of(struct fib_waiter *w)
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
	struct fib_fd *s = lock_slot_of(w);

	if (!fib_list_empty(&w->node))
		unlink_locked(s, w);
	fib_unlock(&s->lock);
}

static void wake_locked(struct fib_fd *s, struct fib_waiter *w)
{
	struct fib *f = w->fib;

	unlink_locked(s, w);
	/* The waiter's frame may be gone as soon as woken is seen and the
	 * lock is free: f was read before. */
	fib_store(&w->woken, true, release);
	fib_wake(f);
}

/* Wake one consumer for each direction in @events. */
static void feed_locked(struct fib_fd *s, uint8_t events, bool observers)
{
	uint8_t left = events;

	/* (B) */
	fib_add(&s->edges, 1, release);
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (w->observer) {
			if (observers && (w->events & events))
				wake_locked(s, w);
		} else if (w->events & left) {
			left &= (uint8_t)~w->events;
			wake_locked(s, w);
		}
	}
}

bool fib_iom_hold(struct fib_fd *s, struct fib_hold *h, uint32_t closes)
{
	struct fib_waiter *w = &h->w;
	bool in_time;

	w->events = 0;
	w->observer = w->hold = true;
	fib_list_init(&w->node);
	fib_store(&w->slot, s, relaxed);
	FIB_CHAOS_POINT(iom_hold);
	fib_lock(&s->lock);
	in_time = !(closes & FIB_CLOSING) &&
		  fib_load(&s->closes, relaxed) == closes; /* (C) */
	if (in_time) {
		fib_list_add_tail(&s->waiters, &w->node);
		fib_store(&s->waiting, 1, relaxed);
	}
	fib_unlock(&s->lock);
	return in_time;
}

struct fib_fd *fib_iom_try(struct fib_hold *h)
{
	struct fib_fd *s = lock_slot_of(&h->w);

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
	struct fib_fd *s = h->tried;

	/* Either this sees evicting, or (F) sees the count. */
	fib_sub(&s->tries, 1, seq_cst);
	if (fib_unlikely(fib_load(&s->evicting, seq_cst)))
		fib_raw(SYS_futex, &s->tries, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void fib_iom_let_go(struct fib_hold *h)
{
	struct fib_fd *s = lock_slot_of(&h->w);
	bool linked = !fib_list_empty(&h->w.node);

	if (linked)
		unlink_locked(s, &h->w);
	fib_unlock(&s->lock);
	/* One that was moved is a guest there. */
	if (linked && fib_load(&s->guests, relaxed))
		fib_iom_guest_leave(s);
}

/* (F) */
static void wait_for_tries(struct fib_fd *s)
{
	uint32_t n;

	fib_add(&s->evicting, 1, seq_cst);
	while ((n = fib_load(&s->tries, seq_cst)))
		fib_raw(SYS_futex, &s->tries, FUTEX_WAIT_PRIVATE, n, 0);
	fib_sub(&s->evicting, 1, relaxed);
}

void fib_iom_pass(struct fib_fd *s, uint8_t events)
{
	if (!fib_load(&s->waiting, relaxed))
		return;
	fib_lock(&s->lock);
	feed_locked(s, events, false);
	fib_unlock(&s->lock);
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
		feed_locked(s, ev, false);
	}
	fib_unlock(&s->lock);
}

static void handle(struct fib_sched *sched, const struct epoll_event *ev)
{
	uint32_t e = ev->events;
	struct fib_fd *s = fib_iom_peek(sched, (int)(uint32_t)ev->data.u64);
	uint8_t events = 0;

	if (!s)
		return;
	if (e & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		events |= FIB_EV_READ;
	if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		events |= FIB_EV_WRITE;
	FIB_CHAOS_POINT(iom_handle);
	fib_lock(&s->lock);
	if (s->generation == (uint32_t)(ev->data.u64 >> 32)) {
		if (e & (EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			fib_store(&s->untrusted, true, relaxed);
		if (events & FIB_EV_READ) {
			fib_add(&s->reads, 2, release);
			fib_and(&s->reads, ~1u, release);
		}
		feed_locked(s, events, true);
#ifndef FIB_PRELOAD
		/* Urgent data alone makes nobody readable. */
		if (!(e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)))
			events &= (uint8_t)~FIB_EV_READ;
		if (s->event[0] || s->event[1])
			fib_events_fire_locked(s, events);
#endif
	}
	fib_unlock(&s->lock);
}

#ifdef FIB_PRELOAD
#define CHECK_SLOTS 1024 /* to look at in one go */
#define CHECK_CALLS 64	 /* to make */

/* True: it is not settled yet. */
static bool check(struct fib_fd *s, unsigned *calls)
{
	long r;

	if (fib_list_empty(&s->waiters) || !s->registered)
		s->fresh = 0;
	if (!s->fresh || *calls == 0)
		return s->fresh;
	if (--s->fresh)
		return true;
	--*calls;
	r = control(s, EPOLL_CTL_ADD);
	if (r == -EEXIST)
		return false;
	if (r == -ENOMEM || r == -ENOSPC) {
		s->fresh = 1;
		return true;
	}
	fib_count(io_lost);
	s->registered = r == 0;
	s->kind = FIB_FD_UNKNOWN;
	s->attr_epoch = s->born_epoch = 0;
	fib_store(&s->untrusted, false, relaxed);
	fib_add(&s->reads, 2, relaxed);
	fib_and(&s->reads, ~1u, relaxed);
	feed_locked(s, FIB_EV_READ | FIB_EV_WRITE, true);
	return false;
}

bool fib_iom_check(struct fib_sched *sched)
{
	static int at;
	static bool more, again;
	int top = fib_load(&watched_top, relaxed);
	unsigned calls = CHECK_CALLS;

	for (unsigned n = 0; n < CHECK_SLOTS && at <= top; n++, at++) {
		struct fib_fd *s = fib_iom_peek(sched, at);

		if (!s) {
			at |= FIB_FD_CHUNK - 1;
		} else if (__atomic_load_n(&s->fresh, __ATOMIC_RELAXED)) {
			fib_lock(&s->lock);
			if (check(s, &calls))
				more = true;
			fib_unlock(&s->lock);
		}
	}
	if (at > top) {
		again = more;
		more = false;
		at = 0;
	}
	return again || more || at;
}
#endif

/* What a summons ends, whenever it comes. */
#ifdef FIB_PRELOAD
#define sleep_call(nr, a, b, c, d, e, f)                                       \
	fib_raw_intr(&fib_worker_self()->summoned, nr,                         \
		     (long[6]){ a, (long)(b), c, (long)(d), e, f })
#define is_summoned() fib_load(&fib_worker_self()->summoned, relaxed)
#else
#define sleep_call    fib_call
#define is_summoned() false
#endif

static long epoll_sleep(int epfd, struct epoll_event *ev, uint64_t deadline_ns)
{
	static _Atomic int no_pwait2;
	struct timespec ts, *tp = NULL;
	uint64_t ns = 0;
	long r;

	if (deadline_ns != FIB_NEVER) {
		uint64_t now = deadline_ns ? fib_now_ns() : 0;

		ns = deadline_ns > now ? deadline_ns - now : 0;
		ts.tv_sec = (time_t)(ns / FIB_NSEC_PER_SEC);
		ts.tv_nsec = (long)(ns % FIB_NSEC_PER_SEC);
		tp = &ts;
	}
	if (tp && ns && !fib_load(&no_pwait2, relaxed)) {
		r = sleep_call(SYS_epoll_pwait2, epfd, ev, MAX_EVENTS, tp, 0,
			       0);
		/* An older kernel, or a filter, whatever it answers. */
		if (r >= 0 || r == -EINTR || is_summoned())
			return r;
		fib_store(&no_pwait2, 1, relaxed);
	}
	ns = (ns + 999999) / 1000000;
	if (!deadline_ns)
		return fib_raw(SYS_epoll_wait, epfd, ev, MAX_EVENTS, 0);
	r = sleep_call(SYS_epoll_wait, epfd, ev, MAX_EVENTS,
		       !tp	    ? -1 :
		       ns > INT_MAX ? INT_MAX :
				      (int)ns,
		       0, 0);
	/* Not allowed any more: it is slow then, but does not spin. */
	if (fib_unlikely(r < 0 && r != -EINTR && !is_summoned())) {
		ts = (struct timespec){ 0, 1000000 };
		fib_raw(SYS_futex, &no_pwait2, FUTEX_WAIT_PRIVATE,
			fib_load(&no_pwait2, relaxed), &ts);
	}
	return r;
}

unsigned fib_iom_poll(uint64_t deadline_ns)
{
	struct epoll_event ev[MAX_EVENTS];
	struct fib_worker *w = fib_worker_self();
	struct fib_sched *s = fib_sched_of(w);
	long n = epoll_sleep(s->iom.epfd, ev, deadline_ns);

	if (fib_load(&w->idle, relaxed)) {
		fib_store(&w->idle, 0, relaxed);
		fib_sub(&s->nidle, 1, seq_cst);
#ifndef FIB_PRELOAD
		if (fib_load(&s->way_waiters, seq_cst)) {
			fib_add(&s->way, 1, seq_cst);
			fib_raw(SYS_futex, &s->way, FUTEX_WAKE_PRIVATE,
				INT_MAX);
		}
#endif
		/* The other sleepers may rely on its waking up for a timer. */
		if (fib_load(&w->sleeps_until, relaxed) != FIB_NEVER)
			w->took_wake = true;
		if (fib_load(&fib_monitor_asleep, relaxed))
			fib_monitor_poke();
	}
	fib_count(io_polls);
	/* With many descriptors each slot is a cache miss: have them at once. */
	for (long i = 0; i < n; i++)
		__builtin_prefetch(
			fib_iom_peek(s, (int)(uint32_t)ev[i].data.u64));
	for (long i = 0; i < n; i++) {
		if (ev[i].data.u64 == WAKE_DATA) {
			fib_store(&s->wake_pending, 0, seq_cst);
			w->took_wake = true;
		} else {
			handle(s, &ev[i]);
		}
	}
	if (n > 0)
		fib_add(&fib_symtab.stats[FIB_STAT_io_events], (uint64_t)n,
			relaxed);
	return n > 0 ? (unsigned)n : 0;
}

void fib_iom_discard(struct fib_sched *s)
{
	fib_fd_unhide(s->iom.epfd);
	fib_fd_unhide(s->iom.wakefd);
	fib_fd_unhide(fib_xchg(&reserve, -1, seq_cst));
	s->iom.epfd = s->iom.wakefd = -1;
}

int fib_iom_init(struct fib_sched *s, bool hide)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET,
				  .data.u64 = WAKE_DATA };
	int epfd, wakefd = -1, r;

	/* Ours would lie among the first that the program asks for. */
	fib_store(&fib_step, "RLIMIT_NOFILE", relaxed);
	if (hide && !has_room())
		return -EMFILE;
	fib_store(&fib_step, "epoll_create1", relaxed);
	r = epfd = (int)fib_raw(SYS_epoll_create1, EPOLL_CLOEXEC);
	s->iom.epfd = hide ? fib_fd_hide(epfd) : epfd;
	if (r >= 0) {
		fib_store(&fib_step, "eventfd2", relaxed);
		r = wakefd = (int)fib_raw(SYS_eventfd2, 0,
					  EFD_CLOEXEC | EFD_NONBLOCK);
	}
	s->iom.wakefd = hide ? fib_fd_hide(wakefd) : wakefd;
	if (r >= 0) {
		fib_store(&fib_step, "epoll_ctl", relaxed);
		r = (int)fib_raw(SYS_epoll_ctl, s->iom.epfd, EPOLL_CTL_ADD,
				 s->iom.wakefd, &ev);
	}
	if (r < 0) {
		fib_iom_discard(s);
		return r;
	}
	return r;
}

bool fib_iom_closing(struct fib_fd *s)
{
	bool waited_for;

	fib_lock(&s->lock);
	fib_add(&s->closes, FIB_CLOSED + 1, relaxed); /* (G) */
	waited_for = !fib_list_empty(&s->waiters);
	fib_unlock(&s->lock);
	return waited_for;
}

void fib_iom_forget(struct fib_fd *s, bool shared)
{
	fib_lock(&s->lock);
	/* Another description of the same file would keep it registered. */
	if (s->registered && shared && !fib_filtered())
		fib_raw(SYS_epoll_ctl, fib_sched_of(s)->iom.epfd, EPOLL_CTL_DEL,
			s->fd, 0);
	s->registered = false;
	fib_store(&s->untrusted, false, relaxed);
	s->listening = false;
	s->impatient = 0;
	s->lowat = 1;
	fib_add(&s->reads, 2, relaxed);
	fib_and(&s->reads, ~1u, relaxed);
	s->generation++;
	s->kind = FIB_FD_UNKNOWN;
	s->attr_epoch = s->born_epoch = 0;
	s->busy = s->contended = s->polled = 0;
	s->tells_room = false;
	s->tty = FIB_TTY_UNKNOWN;
	/* whoever tries the old file is not to wait for the new one */
	fib_add(&s->edges, 1, release);
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
	again = s->registered || s->kind != FIB_FD_UNKNOWN;
	if (again) {
		s->registered = false;
		s->kind = FIB_FD_UNKNOWN;
		s->attr_epoch = s->born_epoch = 0;
	}
	s->generation++;
	/* They try again, each by itself or handed on. */
	if (again || fib_load(&s->waiting, relaxed))
		feed_locked(s, FIB_EV_READ | FIB_EV_WRITE, again);
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
			unlink_locked(s, w);
	}
	/* They will see that it is closed. */
	feed_locked(s, FIB_EV_READ | FIB_EV_WRITE, false);
	fib_unlock(&s->lock);
	wait_for_tries(s);
}

void fib_iom_evict(struct fib_fd *s)
{
	/* Under a filter there is no epoll for them to move to. */
	int fd = fib_filtered() ? -1 : fib_fd_dup_hidden(s->fd);
	struct fib_fd *to =
		fd < 0 ? NULL : fib_iom_slot(fib_sched_of(s), fd);
	uint32_t moved = 0;

	if (!to) {
		fib_fd_unhide(fd);
		evict_to_nowhere(s);
		return;
	}
	FIB_CHAOS_POINT(iom_evict);
	fib_lock(&s->lock);
	fib_lock(&to->lock);
	to->kind = s->kind;
	to->impatient = s->impatient;
	to->lowat = s->lowat;
	fib_list_for_each (it, &s->waiters) {
		struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (w->observer && !w->hold)
			continue;
		unlink_locked(s, w);
		fib_list_add_tail(&to->waiters, &w->node);
		fib_store(&to->waiting, 1, relaxed);
		fib_store(&w->slot, to, release); /* (D) */
		moved++;
	}
	fib_store(&to->guests, moved, relaxed);
	if (moved)
		register_locked(to);
	fib_unlock(&to->lock);
	fib_unlock(&s->lock);
	if (!moved)
		fib_fd_unhide(fd);
	wait_for_tries(s);
}

void fib_iom_guest_leave(struct fib_fd *s)
{
	int none = -1;

	if (fib_sub(&s->guests, 1, acq_rel) != 1)
		return;
	fib_iom_forget(s, true);
	/* In place of the reserve, if that is what was taken. */
	if (fib_load(&reserve, relaxed) < 0 &&
	    fib_raw(SYS_dup3, fib_sched_of(s)->iom.wakefd, s->fd, O_CLOEXEC) >=
		    0 &&
	    fib_cas(&reserve, &none, s->fd, seq_cst))
		return;
	fib_fd_unhide(s->fd);
}

void fib_iom_reset(struct fib_sched *s)
{
	for (unsigned i = 0; i < FIB_ARRAY_SIZE(s->iom.chunk); i++) {
		struct fib_fd *c = fib_load(&s->iom.chunk[i], relaxed);

		for (unsigned k = 0; c && k < FIB_FD_CHUNK; k++) {
			int fd = c[k].fd;
			uint32_t generation = c[k].generation;

			memset(&c[k], 0, sizeof(c[k]));
			c[k].fd = fd;
			c[k].generation = generation + 1;
			fib_list_init(&c[k].waiters);
		}
	}
	s->iom.epfd = s->iom.wakefd = -1;
	fib_store(&reserve, -1, relaxed);
	fib_store(&s->iom.chunk_lock.word, 0, relaxed);
	for (unsigned i = 0; i < OURS_MAX; i++) {
		int fd = fib_xchg(&ours[i], 0, relaxed);

		if (fd)
			fib_raw(SYS_close, fd);
	}
}

#define REACH 32

/* Where the numbers begin that only a raised limit gives; 0: not now. */
static rlim_t reach_from;

void fib_fd_reach(bool begin)
{
	struct rlimit lim = { 0, 0 };

	fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	if (begin && lim.rlim_cur < lim.rlim_max &&
	    lim.rlim_cur <= FIB_FD_MAX - REACH) {
		reach_from = lim.rlim_cur;
		lim.rlim_cur = lim.rlim_max < reach_from + REACH ?
				       lim.rlim_max :
				       reach_from + REACH;
		if (fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &lim, 0) < 0)
			reach_from = 0;
	} else if (!begin && reach_from) {
		lim.rlim_cur = reach_from;
		reach_from = 0;
		fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, &lim, 0);
	}
}

static bool has_room(void)
{
	struct rlimit lim = { .rlim_cur = 1024 };

	fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	return reach_from || lim.rlim_cur > 64;
}

/* A duplicate of @fd, as high as may be; -errno. */
static long dup_high(int fd)
{
	struct rlimit lim = { .rlim_cur = 1024 };
	long d = reach_from ? fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC,
				      reach_from) :
			      -EMFILE;

	if (d >= 0)
		return d;
	fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	if (lim.rlim_cur > FIB_FD_MAX)
		lim.rlim_cur = FIB_FD_MAX;
	return lim.rlim_cur > 64 ? fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC,
					   lim.rlim_cur - 32) :
				   -EMFILE;
}

/* False: there is no room to remember it. */
static bool note_ours(int fd)
{
	int low = fib_load(&ours_low, relaxed);

	while (fd < low && !fib_cas(&ours_low, &low, fd, relaxed))
		;
	for (unsigned i = 0; i < OURS_MAX; i++) {
		uint32_t top = fib_load(&ours_top, relaxed);
		int none = 0;

		if (fib_load(&ours[i], relaxed) ||
		    !fib_cas(&ours[i], &none, fd, seq_cst))
			continue;
		while (i >= top && !fib_cas(&ours_top, &top, i + 1, seq_cst))
			;
		return true;
	}
	return false;
}

int fib_fd_hide(int fd)
{
	long high = fd < 0 ? -1 : dup_high(fd);

	if (high >= 0) {
		fib_raw(SYS_close, fd);
		fd = (int)high;
	}
	if (fd >= 0)
		note_ours(fd);
	return fd;
}

int fib_fd_dup_hidden(int fd)
{
	long d = dup_high(fd);
	int spare;

	if (d < 0)
		d = fib_raw(SYS_fcntl, fd, F_DUPFD_CLOEXEC, fd);
	if (d >= 0) {
		if (note_ours((int)d))
			return (int)d;
		fib_raw(SYS_close, d);
	}
	/* It is known as ours already. */
	spare = fib_xchg(&reserve, -1, seq_cst);
	if (spare < 0)
		return -EMFILE;
	d = fib_raw(SYS_dup3, fd, spare, O_CLOEXEC);
	if (d < 0)
		fib_store(&reserve, spare, seq_cst);
	return (int)d;
}

void fib_iom_limit_changed(struct fib_sched *s)
{
	struct rlimit lim = { .rlim_cur = 1024 };
	int spare = fib_load(&reserve, relaxed), none = -1;

	fib_raw(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &lim);
	if (spare >= 0 && (rlim_t)spare < lim.rlim_cur)
		return;
	fib_fd_unhide(fib_xchg(&reserve, -1, seq_cst));
	spare = fib_fd_dup_hidden(s->iom.wakefd);
	if (spare >= 0 && !fib_cas(&reserve, &none, spare, seq_cst))
		fib_fd_unhide(spare);
}

void fib_fd_yield(int fd)
{
	int spare = fd;

	if (fd < 0 || !fib_cas(&reserve, &spare, -1, seq_cst))
		return;
	for (unsigned i = 0; i < fib_load(&ours_top, acquire); i++) {
		int want = fd;

		if (fib_cas(&ours[i], &want, 0, seq_cst))
			break;
	}
}

bool fib_fd_is_ours(int fd)
{
	if (fd < fib_load(&ours_low, relaxed))
		return false;
	for (unsigned i = 0; i < fib_load(&ours_top, acquire); i++)
		if (fib_load(&ours[i], relaxed) == fd)
			return true;
	return false;
}

unsigned fib_fd_next_of_ours(unsigned fd)
{
	unsigned next = UINT_MAX;

	for (unsigned i = 0; i < fib_load(&ours_top, acquire); i++) {
		unsigned o = (unsigned)fib_load(&ours[i], relaxed);

		if (o && o >= fd && o < next)
			next = o;
	}
	return next;
}

void fib_fd_unhide(int fd)
{
	if (fd < 0)
		return;
	for (unsigned i = 0; i < fib_load(&ours_top, acquire); i++) {
		int want = fd;

		if (atomic_compare_exchange_strong(&ours[i], &want, 0))
			break;
	}
	fib_raw(SYS_close, fd);
}
