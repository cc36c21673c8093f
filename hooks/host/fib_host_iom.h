/*
 * The preload: calls on descriptors. See runtime/host.h; included at the end of
 * runtime/iom.h.
 */
#ifndef FIB_HOST_IOM_H
#define FIB_HOST_IOM_H

static inline void fib_host_fd_init(struct fib_fd *s, struct fib_sched *sched)
{
}

/* The caller's own, and so an event's slot tells which fiber it wakes. */
#define fib_host_waiter(f, own) ((void)(own), &(f)->io.waiter)

static inline void fib_host_prefetch_waiter(struct fib_fd *s)
{
	/* Without the lock: any address will do. */
	const struct fib_list *node =
		fib_load(fib_shared(&s->waiters.next), relaxed);
	const struct fib *f =
		fib_container_of(node, struct fib, io.waiter.node);

	fib_prefetch(node);
	fib_prefetch(&f->sp);
	fib_prefetch(&f->run);
}

static inline bool fib_host_holds(struct fib_worker *w)
{
	const struct fib *f = fib_load(fib_shared(&w->cur), relaxed);

	return f && fib_load(fib_shared(&f->io.hold), relaxed);
}

/* A stop would have it begin anew, and find another file: hooks/signal/stop.c. */
static inline void fib_host_moved(struct fib_waiter *w)
{
	uint8_t none = FIB_STOP_NOTHING;

	fib_cas(&w->fib->io.stop, &none, FIB_STOP_REPEATS, relaxed);
}

/* What is asked of epoll. */
static inline long fib_host_control(struct fib_fd *s, int op, const void *ev)
{
	return fib_raw(SYS_epoll_ctl, fib_sched.iom.epfd, op, s->fd, ev);
}

static inline void fib_host_fd_event(struct fib_fd *s, uint8_t events,
				     bool urgent_alone)
{
}

/* The monitor sleeps while all do: monitor.c. */
static inline void fib_host_woke(struct fib_sched *s)
{
	if (fib_load(&fib_monitor_asleep, relaxed))
		fib_monitor_wake();
}

#define fib_host_bell_moved fib_monitor_bell_moved

/* A kick that comes before the call is made ends it as one that comes later. */
static inline long fib_host_slept(long r)
{
	return fib_unlikely(r == -FIB_ERESTARTNOINTR) &&
			       !fib_host_summoned(fib_worker_self()) ?
		       -EINTR :
		       r;
}

/* A summons ends it, whenever it comes. */
#define fib_host_sleep(nr, a, b, c, d, e, f)                                   \
	fib_host_slept(                                                        \
		fib_raw_intr(&fib_worker_self()->summoned, nr,                 \
			     (long[6]){ a, (long)(b), c, (long)(d), e, f }))

struct pollfd;

/* A thread under a filter may not be allowed to kick. */
static inline void fib_host_end_poll(struct fib_worker *bound)
{
	if (!fib_host_sends(FIB_ERRAND_KICK))
		fib_host.kick(bound);
}

static inline long fib_host_poll(struct fib_worker *w, struct pollfd *p,
				 const struct timespec *left)
{
	return fib_raw_intr((_Atomic uint32_t *)&w->bound_ready, SYS_ppoll,
			    (long[6]){ (long)p, 1, (long)left, 0, 8, 0 });
}

/*
 * It is announced, and a signal that was there before it is not to be slept
 * over.
 */
static inline long fib_host_call_may_block(long nr, int fd, const long a[6])
{
	long v[6] = { fd, a[1], a[2], a[3], a[4], a[5] };
	struct fib *f = fib_self();

	if (fib_unlikely(!fib_host_stop_is_kernels(f)))
		return -EINTR;
	return fib_raw_intr(&f->attention, nr, v);
}

/* Who runs one fiber alone does not look at epoll. */
#define fib_host_asks(w) (!(w)->bound)

#endif
