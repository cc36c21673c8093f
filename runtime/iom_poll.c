/* IOManager: harvesting events, and looking after registrations. See iom.h. */
#include <linux/futex.h>
#include <poll.h>
#include <sys/epoll.h>
#include <time.h>
#include "runtime/chaos.h"
#include "runtime/doubt.h"
#include "runtime/hidden.h"
#include "runtime/iom_int.h"
#include "runtime/runq.h"

#define MAX_EVENTS                                                             \
	32	/* their fibers are to be in the cache yet when they run */
#define AHEAD 4 /* events whose fibers are on their way to the cache */

/* The monitor's looks; and the last of them before which a complete look at epoll began. */
static _Atomic uint32_t looks, told;

static void note_told(uint32_t at)
{
	if (fib_load(&told, relaxed) != at)
		fib_store(&told, at, release);
}

uint32_t fib_iom_looks(void)
{
	return fib_load(&looks, relaxed) + 1;
}

bool fib_iom_has_told(uint32_t at)
{
	return (int32_t)(fib_load(&told, acquire) - at) >= 0;
}

static struct fib_fd *slot_of(struct fib_sched *s, const struct epoll_event *ev)
{
	return fib_iom_peek(s, (int)(uint32_t)ev->data.u64);
}

/* For which of FIB_IO_* has one been sent? (L) */
static uint8_t sent_locked(const struct fib_fd *s)
{
	return fib_load(&s->waiting, relaxed) >> 3 & FIB_IO_BOTH;
}

/* (O): who has been sent for one of @events may have come for nothing. */
static void doubt_locked(struct fib_fd *s, uint8_t events)
{
	events &= sent_locked(s);
	if (events)
		fib_iom_waits_locked(s, FIB_IO_UNTOLD(events));
}

static void handle(struct fib_sched *sched, struct fib_worker *w,
		   const struct epoll_event *ev)
{
	uint32_t e = ev->events;
	struct fib_fd *s = slot_of(sched, ev);
	uint8_t events = 0, sent;
	bool hinted;

	if (!s)
		return;
	if (e & (EPOLLIN | EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		events |= FIB_IO_READ;
	if (e & (EPOLLOUT | EPOLLHUP | EPOLLERR))
		events |= FIB_IO_WRITE;
	FIB_CHAOS_POINT(iom_handle);
	fib_lock(&s->lock);
	if (s->generation == (uint32_t)(ev->data.u64 >> 32)) {
		if (e & (EPOLLPRI | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			fib_store(&s->untrusted, true, relaxed);
		sent = fib_load(&s->waiting, relaxed) >> 5 & events; /* (O) */
		hinted = s->hinted;
		if (fib_unlikely(hinted)) { /* (N) */
			s->hinted = false;
			w->took_wake = true;
			sent |= sent_locked(s);
		} else if (fib_unlikely(sent)) {
			fib_iom_waits_not_locked(s, FIB_IO_UNTOLD(sent));
		}
		if (events & FIB_IO_READ)
			fib_iom_read_begins(s);
		fib_iom_feed_locked(s, events & (uint8_t)~sent, events);
		if (fib_unlikely(hinted)) /* (O) */
			doubt_locked(s, events & (uint8_t)~sent);
		/* sk_stream_wait_memory() is woken by whatever comes, as well. */
		if (events == FIB_IO_READ &&
		    (fib_load(&s->waiting, relaxed) & FIB_IO_WRITE))
			fib_iom_feed_locked(s, FIB_IO_WRITE, 0);
		fib_host_fd_event(
			s, events,
			!(e & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)));
	}
	fib_unlock(&s->lock);
}

static long epoll_sleep(int epfd, struct epoll_event *ev, uint64_t deadline_ns)
{
	static _Atomic int no_pwait2;
	struct timespec ts, *tp = NULL;
	uint64_t ns = 0;
	long r;

	if (deadline_ns != FIB_NEVER) {
		ns = fib_ns_left(deadline_ns);
		ts = fib_timespec(ns);
		tp = &ts;
	}
	if (tp && ns && !fib_load(&no_pwait2, relaxed)) {
		r = fib_host_sleep(SYS_epoll_pwait2, epfd, ev, MAX_EVENTS, tp,
				   0, 0);
		/* An older kernel, or a filter, whatever it answers. */
		if (r >= 0 || r == -EINTR ||
		    fib_host_summoned(fib_worker_self()))
			return r;
		fib_store(&no_pwait2, 1, relaxed);
	}
	ns = (ns + 999999) / 1000000;
	if (!deadline_ns)
		return fib_raw(SYS_epoll_wait, epfd, ev, MAX_EVENTS, 0);
	r = fib_host_sleep(SYS_epoll_wait, epfd, ev, MAX_EVENTS,
			   !tp		? -1 :
			   ns > INT_MAX ? INT_MAX :
					  (int)ns,
			   0, 0);
	/* Not allowed any more: it is slow then, but does not spin. */
	if (fib_unlikely(r < 0 && r != -EINTR &&
			 !fib_host_summoned(fib_worker_self()))) {
		ts = (struct timespec){ 0, 1000000 };
		fib_raw(SYS_futex, &no_pwait2, FUTEX_WAIT_PRIVATE,
			fib_load(&no_pwait2, relaxed), &ts);
	}
	return r;
}

/* Ask about what is in doubt, and look at epoll; *@early: they have changed places. */
static long ask_and_look(struct fib_worker *w, struct epoll_event *ev,
			 uint64_t deadline_ns, bool *early)
{
	int epfd = fib_load(fib_shared(&fib_sched_of(w)->iom.epfd), relaxed);

	*early = deadline_ns && fib_doubt_can_wait(w);
	if (*early) {
		long n = epoll_sleep(epfd, ev, 0);

		if (n > 0)
			return n;
		*early = w->doubts_settle = false;
		fib_worker_count(w, FIB_STAT_io_polls, 1);
	}
	if (fib_doubt_ask(w))
		deadline_ns = 0;
	return epoll_sleep(epfd, ev, deadline_ns);
}

unsigned fib_iom_poll(uint64_t deadline_ns)
{
	struct epoll_event ev[MAX_EVENTS];
	struct fib_worker *w = fib_worker_self();
	struct fib_sched *s = fib_sched_of(w);
	unsigned use = fib_fd_use();
	uint32_t look = fib_load(&looks, acquire);
	bool slept = fib_load(&w->idle, relaxed), early;
	long n;

	fib_worker_tells(w);
	w->stopped = 0;
	n = ask_and_look(w, ev, deadline_ns, &early);

	fib_fd_used(use);
	if (slept) {
		fib_store(&w->idle, 0, relaxed);
		fib_sub(&s->nidle, 1, seq_cst);
		fib_host_woke(s);
		/* The other sleepers may rely on its waking up for a timer. */
		if (fib_load(&w->sleeps_until, relaxed) != FIB_NEVER)
			w->took_wake = true;
	}
	fib_worker_count(w, FIB_STAT_io_polls, 1);
	if (fib_unlikely(n == -EINTR) && fib_host.interrupted)
		fib_host.interrupted(w);
	/* With many descriptors each slot is a cache miss: have them at once. */
	for (long i = 0; i < n; i++)
		fib_prefetch(slot_of(s, &ev[i]));
	fib_runq_harvest_begin(w);
	for (long i = 0; i < n; i++) {
		struct fib_fd *later =
			i + AHEAD < n ? slot_of(s, &ev[i + AHEAD]) : NULL;

		if (later)
			fib_host_prefetch_waiter(later);
		if (ev[i].data.u64 < FIB_IOM_NEWS) {
			handle(s, w, &ev[i]);
		} else if (ev[i].data.u64 == FIB_IOM_WAKE) {
			fib_store(&s->wake_pending, 0, seq_cst);
			w->took_wake = true;
		} else {
			fib_host.news();
		}
	}
	if (early)
		fib_doubt_looked(w);
	else if (fib_unlikely(w->ready))
		fib_doubt_settle(w, n >= 0 && n < MAX_EVENTS);
	if (n >= 0 && n < MAX_EVENTS)
		note_told(look);
	fib_runq_harvest_end(w, slept);
	w->more = n == MAX_EVENTS;
	w->looked = 0;
	w->turns = 0;
	w->turns_due = fib_load(&w->queued, relaxed) / 2;
	if (n <= 0)
		return 0;
	fib_worker_count(w, FIB_STAT_io_events, (uint64_t)n);
	return (unsigned)n;
}

/* --- bound workers ------------------------------------------------------------- */

/* There is something at the file of @x, for which bound @w has polled; or it cannot. */
static void came_to(struct fib_worker *w, struct fib_waiter *x, short revents)
{
	struct fib_fd *s = fib_iom_lock_slot_of(x);

	w->polled = NULL;
	x->polls = false;
	/* (W): else epoll has told of it, or is about to. */
	if (!fib_list_empty(&x->node) && !s->registered) {
		if (revents & ~POLLIN)
			fib_store(&s->untrusted, true, relaxed);
		if (revents || fib_iom_register_locked(s, FIB_IO_READ) < 0) {
			fib_iom_read_begins(s);
			fib_iom_feed_locked(s, FIB_IO_READ, FIB_IO_READ);
		}
	}
	fib_unlock(&s->lock);
}

bool fib_iom_sleep_bound(struct fib_worker *w, const struct timespec *left)
{
	struct fib_waiter *x = w->polled;
	struct fib_fd *s = fib_iom_lock_slot_of(x);
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	bool waits = !fib_list_empty(&x->node);
	long n;

	fib_unlock(&s->lock);
	if (!waits)
		return false;
	fib_store(&w->polls, true, seq_cst); /* (T) */
	FIB_CHAOS_POINT(iom_poll_own);
	n = fib_host_poll(w, &p, left);
	fib_store(&w->polls, false, relaxed);
	if (n > 0 ||
	    (n < 0 && n != -EINTR && !fib_load(&w->bound_ready, relaxed)))
		came_to(w, x, n > 0 ? p.revents : 0);
	return true;
}

/* --- who waits for long ----------------------------------------------------------- */

#define LOOK_SLOTS 1024	      /* to look at in one go */
#define CALL_NS	   62500ull   /* so often a call, of all looks */
#define CHECK_NS   9000000ull /* a wait after which its registration is */
#define EACH_NS	   150000ull  /* so often one of them */
#define AGE_PARTS  128 /* a wait is looked at again after that part of its age */
#define HURRY_NS   20000000ull /* if that is less: in a hurry */

_Atomic uint8_t fib_iom_hurry;

struct look {
	uint64_t now_ns;
	uint64_t soon_ns; /* when the next look may be */
	uint64_t next_ns; /* the soonest that is wanted */
	unsigned calls;	  /* that may be made yet */
	unsigned checks;  /* and check() */
	bool late; /* there was none for long: no second look before asking */
};

static void come_back(struct look *l, uint64_t ns)
{
	if (ns < l->soon_ns)
		ns = l->soon_ns;
	if (ns < l->next_ns)
		l->next_ns = ns;
}

/* Who waits there, but for observers: FIB_IO_* */
static uint8_t consumers(const struct fib_fd *s)
{
	uint8_t events = 0;

	fib_list_for_each (it, &s->waiters) {
		const struct fib_waiter *w =
			fib_container_of(it, struct fib_waiter, node);

		if (!w->observer)
			events |= w->events;
	}
	return events;
}

long fib_iom_tell_unread_locked(struct fib_fd *s)
{
	uint8_t waits = fib_load(&s->waiting, relaxed), events = s->registered;
	long r;

	if (!(waits & (FIB_IO_WRITE | FIB_IO_OTHERS)))
		events &= FIB_IO_READ;
	r = fib_iom_control(s, EPOLL_CTL_MOD, events);
	if (r == 0)
		s->registered = events;
	return r;
}

/* Has epoll lost the registration? False: it does not say. */
static bool check(struct fib_fd *s)
{
	long r = -ENOENT;

	if (fib_iom_seems_empty(s))
		r = fib_iom_tell_unread_locked(s);
	if (r == -ENOENT)
		r = fib_iom_control(s, EPOLL_CTL_ADD, FIB_IO_BOTH);
	else if (r == 0)
		return true;
	if (r == -EEXIST)
		return true;
	if (r == -ENOMEM || r == -ENOSPC)
		return false;
	s->registered = r == 0 ? FIB_IO_BOTH : 0;
	fib_iom_lost_locked(s);
	return true;
}

/* Of look_ns: those who wait were woken by the last look, and none has come back since. */
#define ASKED 1ull

/*
 * @s is looked at as one that waits anew; but for a call that the monitor has had look once
 * more, and that waits on: its age counts, or it would be woken as often for ever.
 */
void fib_iom_freshen_locked(struct fib_fd *s, bool again)
{
	if (!again || s->look_ns == FIB_NEVER || !(s->look_ns & ASKED)) {
		fib_store(&s->fresh, FIB_FRESH_NEW, relaxed);
		return;
	}
	s->look_ns &= ~ASKED;
	if (fib_load(&s->fresh, relaxed) == FIB_FRESH_OLD)
		fib_store(&s->fresh, FIB_FRESH_SEEN, relaxed);
}

/* The host's questions, if it is time for them. */
static void ask(struct fib_fd *s, struct look *l)
{
	unsigned r = 0;
	uint8_t events;

	if (!fib_host.late || l->now_ns < s->look_ns)
		return;
	if (!l->calls) {
		if (fib_load(&fib_iom_hurry, relaxed))
			fib_iom_hurries();
		return;
	}
	events = consumers(s);
	if (events)
		r = fib_host.late(s, events);
	s->look_ns = FIB_NEVER;
	if (!r)
		return;
	l->calls -= l->calls > 1 ? 2 : 1;
	s->look_ns =
		(l->now_ns + (l->now_ns - s->seen_ns) / AGE_PARTS) & ~ASKED;
	if ((r & FIB_LATE_SOON) && s->look_ns - l->now_ns < HURRY_NS)
		fib_iom_hurries();
	if (!(r & FIB_LATE_NEWS))
		return;
	s->look_ns |= ASKED;
	/* (L): who was woken, and has not tried yet, is faster, or hands on. */
	events &= (uint8_t)~sent_locked(s);
	fib_iom_feed_locked(s, events, 0);
}

static void look_at_locked(struct fib_fd *s, struct look *l)
{
	uint8_t fresh = fib_load(&s->fresh, relaxed);

	if (fib_list_empty(&s->waiters) || (!s->registered && !consumers(s))) {
		fib_store(&s->fresh, FIB_FRESH_OLD, relaxed);
		return;
	}
	if (fresh == FIB_FRESH_NEW) {
		fresh = FIB_FRESH_SEEN;
		s->seen_ns = l->now_ns;
		s->look_ns = (l->late ? l->now_ns : l->soon_ns) & ~ASKED;
	}
	ask(s, l);
	if (fresh == FIB_FRESH_SEEN) {
		if (!s->registered) {
			fresh = FIB_FRESH_AGAIN; /* who polls it has it open */
		} else if (l->now_ns - s->seen_ns < CHECK_NS || !l->checks) {
			come_back(l, s->seen_ns + CHECK_NS);
		} else {
			l->checks--;
			if (check(s))
				fresh = FIB_FRESH_AGAIN;
			else
				come_back(l, 0);
		}
	}
	if (fresh == FIB_FRESH_AGAIN && s->look_ns == FIB_NEVER)
		fresh = FIB_FRESH_OLD;
	if (fresh != FIB_FRESH_OLD && s->look_ns != FIB_NEVER)
		come_back(l, s->look_ns);
	fib_store(&s->fresh, fresh, relaxed);
}

static _Atomic uint32_t anew; /* how often it was said */

void fib_iom_ask_anew(void)
{
	fib_add(&anew, 1, release);
}

/* The end of a round. */
static void calm_down(void)
{
	uint8_t h = fib_load(&fib_iom_hurry, relaxed);

	if (h)
		fib_cas(&fib_iom_hurry, &h, h - 1, relaxed);
}

uint64_t fib_iom_look(struct fib_sched *sched, uint64_t now_ns,
		      uint64_t period_ns, bool late)
{
	static int at;
	static uint64_t next_ns = FIB_NEVER;
	static uint32_t said;
	static bool all; /* since then, in this round */
	uint32_t now_said = fib_load(&anew, acquire);
	int top = fib_load(&fib_iom_watched_top, relaxed);
	struct look l = { .now_ns = now_ns,
			  .soon_ns = now_ns + period_ns,
			  .next_ns = next_ns,
			  .calls = (unsigned)(period_ns / CALL_NS),
			  .checks = (unsigned)(period_ns / EACH_NS),
			  .late = late };

	fib_add(&looks, 1, release);
	/* Who sleeps there would be told. */
	if (fib_load(&sched->nidle, relaxed))
		note_told(fib_load(&looks, relaxed));
	if (at == 0) {
		all = said != now_said;
		said = now_said;
	}
	for (unsigned n = 0; n < LOOK_SLOTS && at <= top; n++, at++) {
		struct fib_fd *s = fib_iom_peek(sched, at);
		bool again;

		if (!s) {
			at |= FIB_FD_CHUNK - 1;
			continue;
		}
		again = all && (fib_load(&s->waiting, relaxed) & FIB_IO_WRITE);
		if (again || fib_load(&s->fresh, relaxed)) {
			fib_lock(&s->lock);
			if (again)
				fib_store(&s->fresh, FIB_FRESH_NEW, relaxed);
			look_at_locked(s, &l);
			fib_unlock(&s->lock);
		}
	}
	/* It takes several looks to look at all of many. */
	next_ns = at > top ? FIB_NEVER : l.next_ns;
	if (at <= top)
		return l.soon_ns;
	at = 0;
	calm_down();
	return said == now_said ? l.next_ns : l.soon_ns;
}
