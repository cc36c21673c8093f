/*
 * libfib: calls on descriptors, and their events. See runtime/host.h; included
 * at the end of runtime/iom.h.
 */
#ifndef FIB_HOST_IOM_H
#define FIB_HOST_IOM_H

#include <linux/futex.h>

static inline void fib_host_fd_init(struct fib_fd *s, struct fib_sched *sched)
{
	s->lib.sched = sched;
}

#define fib_host_waiter(f, own) (own)

static inline void fib_host_prefetch_waiter(struct fib_fd *s)
{
}

static inline bool fib_host_holds(struct fib_worker *w)
{
	return false;
}

static inline void fib_host_moved(struct fib_waiter *w)
{
}

static inline long fib_host_control(struct fib_fd *s, int op, const void *ev)
{
	struct fib_sched *sched = s->lib.sched;

	if (sched->lib.control)
		return sched->lib.control(op, s->fd, ev);
	return fib_raw(SYS_epoll_ctl, sched->iom.epfd, op, s->fd, ev);
}

void fib_events_fire_locked(struct fib_fd *slot, uint8_t events);

static inline void fib_host_fd_event(struct fib_fd *s, uint8_t events,
				     bool urgent_alone)
{
	/* Urgent data alone makes nobody readable. */
	if (urgent_alone)
		events &= (uint8_t)~FIB_IO_READ;
	if (s->lib.event[0] || s->lib.event[1])
		fib_events_fire_locked(s, events);
}

/* outside.c: somebody has made way for a sleeper, which may be this one. */
static inline void fib_host_woke(struct fib_sched *s)
{
	if (!fib_load(&s->lib.way_waiters, seq_cst))
		return;
	fib_add(&s->lib.way, 1, seq_cst);
	fib_raw(SYS_futex, &s->lib.way, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* Its descriptors are not hidden, and stay where they are. */
#define fib_host_bell_moved(to) ((void)(to))

#define fib_host_sleep fib_call

/* No fiber is bound. */
#define fib_host_end_poll(bound)  ((void)(bound))
#define fib_host_poll(w, p, left) ((void)(w), (void)(p), (void)(left), 0l)

static inline long fib_host_call_may_block(long nr, int fd, const long a[6])
{
	return fib_call6(nr, fd, a[1], a[2], a[3], a[4], a[5]);
}

/* The loop that looks at epoll may be another library's. */
#define fib_host_asks(w) ((void)(w), false)

#endif
