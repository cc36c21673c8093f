/* IOManager: harvesting events, and looking after registrations. See iom.h. */
#include <linux/futex.h>
#include <sys/epoll.h>
#include <time.h>
#include "runtime/chaos.h"
#include "runtime/hidden.h"
#include "runtime/iom_int.h"

#define MAX_EVENTS 128

static void handle(struct fib_sched *sched, const struct epoll_event *ev)
{
	uint32_t e = ev->events;
	struct fib_fd *s = fib_iom_peek(sched, (int)(uint32_t)ev->data.u64);
	uint8_t events = 0;

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
		if (events & FIB_IO_READ) {
			fib_add(&s->reads, 2, release);
			fib_and(&s->reads, ~1u, release);
		}
		fib_iom_feed_locked(s, events, true);
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
		if (r >= 0 || r == -EINTR || fib_host_summoned(fib_worker_self()))
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
	if (fib_unlikely(r < 0 && r != -EINTR && !fib_host_summoned(fib_worker_self()))) {
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
	unsigned use = fib_fd_use();
	long n = epoll_sleep(fib_load(fib_shared(&s->iom.epfd), relaxed), ev,
			     deadline_ns);

	fib_fd_used(use);
	if (fib_load(&w->idle, relaxed)) {
		fib_store(&w->idle, 0, relaxed);
		fib_sub(&s->nidle, 1, seq_cst);
		fib_host_woke(s);
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
		if (ev[i].data.u64 == FIB_IOM_WAKE) {
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

/* --- registrations that epoll has lost ------------------------------------------- */

#define CHECK_SLOTS 1024 /* to look at in one go */
#define CHECK_CALLS 64	 /* to make */

/* True: it is not settled yet. */
static bool check(struct fib_fd *s, unsigned *calls)
{
	uint8_t fresh = fib_load(&s->fresh, relaxed);
	long r;

	if (fib_list_empty(&s->waiters) || !s->registered)
		fib_store(&s->fresh, fresh = 0, relaxed);
	if (!fresh || *calls == 0)
		return fresh;
	fib_store(&s->fresh, --fresh, relaxed);
	if (fresh)
		return true;
	--*calls;
	r = fib_iom_control(s, EPOLL_CTL_ADD);
	if (r == -EEXIST)
		return false;
	if (r == -ENOMEM || r == -ENOSPC) {
		fib_store(&s->fresh, 1, relaxed);
		return true;
	}
	fib_count(io_lost);
	s->registered = r == 0;
	fib_add(&s->files, FIB_FILE_NEXT, release);
	fib_store(&s->untrusted, false, relaxed);
	fib_add(&s->reads, 2, relaxed);
	fib_and(&s->reads, ~1u, relaxed);
	fib_iom_feed_locked(s, FIB_IO_READ | FIB_IO_WRITE, true);
	return false;
}

bool fib_iom_check(struct fib_sched *sched)
{
	static int at;
	static bool more, again;
	int top = fib_load(&fib_iom_watched_top, relaxed);
	unsigned calls = CHECK_CALLS;

	for (unsigned n = 0; n < CHECK_SLOTS && at <= top; n++, at++) {
		struct fib_fd *s = fib_iom_peek(sched, at);

		if (!s) {
			at |= FIB_FD_CHUNK - 1;
		} else if (fib_load(&s->fresh, relaxed)) {
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
