/* poll and ppoll. */
#include "hooks/core/deadline.h"
#include "hooks/core/hook.h"
#include "hooks/io/io.h"
#include "hooks/io/many.h"
#include "hooks/signal/signal.h"
#include "hooks/wait/wait.h"
#include "runtime/timer.h"

/* What is waited for is what the vector said at first: do_sys_poll() copies it. */
struct poll_args {
	struct pollfd *fds; /* the copy, if there is one */
	struct pollfd *user;
	unsigned n;
};

static long ask_poll(void *arg)
{
	const struct poll_args *p = arg;
	long r = fib_raw(SYS_poll, p->fds, p->n, 0);

	for (unsigned i = 0; r >= 0 && p->fds != p->user && i < p->n; i++)
		if (fib_copy(&p->user[i].revents, &p->fds[i].revents,
			     sizeof(p->fds->revents)))
			return -EFAULT;
	return r;
}

/* No memory here, or epoll has none. */
static long poll_in_kernel(struct pollfd *fds, unsigned n, uint64_t deadline_ns)
{
	struct timespec ts;
	long r = fib_blocking(SYS_ppoll,
			      (long[6]){ (long)fds, (long)n,
					 fib_time_left(deadline_ns, &ts) });

	fib_io_tells(r);
	return r == -EINTR ? -FIB_ERESTARTNOHAND : r;
}

/* Which to watch: those with a negative number are only skipped. */
static void poll_watches(struct fib_many *m, const struct pollfd *fds,
			 unsigned n)
{
	m->n = 0;
	for (unsigned i = 0; i < n; i++) {
		struct fib_watch *x = &m->watch[m->n];
		short e = fds[i].events;

		if (fds[i].fd < 0)
			continue;
		x->fd = fds[i].fd;
		x->want = e | POLLERR | POLLHUP;
		if (e & (POLLOUT | POLLWRNORM | POLLWRBAND))
			x->events |= FIB_IO_WRITE;
		if (!x->events || (e & (POLLIN | POLLPRI | POLLRDNORM |
					POLLRDBAND | POLLRDHUP)))
			x->events |= FIB_IO_READ;
		m->n++;
	}
}

/* Ask, of those that are watched from now on. */
static long watch_poll(struct fib_many *m, struct fib_watch *few,
		       struct pollfd *copy)
{
	struct poll_args *p = m->arg;
	size_t size = p->n * sizeof(*copy);

	if (!fib_many_room(m, few, p->n)) {
		m->pages = 0;
		return -ENOMEM;
	}
	if (m->pages) {
		copy = m->also = fib_pages_alloc(size);
		m->also_size = size;
		if (!copy)
			return -ENOMEM;
	}
	p->fds = copy;
	if (fib_copy(copy, p->user, size))
		return -EFAULT;
	poll_watches(m, copy, p->n);
	return fib_many_ask(m);
}

static long do_poll(struct pollfd *fds, unsigned n, uint64_t deadline_ns)
{
	struct poll_args args = { fds, fds, n };
	struct fib_watch few[FIB_FEW];
	struct pollfd copy[FIB_FEW];
	struct fib_many m = { .ask = ask_poll,
			      .arg = &args,
			      .none = n == 0 && !fib_filtered(),
			      .deadline_ns = deadline_ns };
	/* Pages for many are taken when there is no answer yet. */
	bool at_once = deadline_ns && n <= FIB_FEW;
	long r;

	if (deadline_ns && fib_many_is_for_kernel())
		return poll_in_kernel(fds, n, deadline_ns);
	if (at_once)
		r = watch_poll(&m, few, copy);
	else
		r = m.none ? 0 : ask_poll(&args);
	fib_io_tells(r);
	if (r == 0)
		r = fib_signal_mask_open();
	if (r == 0 && deadline_ns && fib_self()->call.own_files)
		r = -ENOMEM;
	if (r == 0 && deadline_ns && !at_once)
		r = watch_poll(&m, few, copy);
	if (r == 0 && deadline_ns)
		r = fib_many_wait(&m);
	else
		fib_many_free(&m);
	/* A vector that cannot be written is EFAULT when there is an answer. */
	return deadline_ns && (r == -ENOMEM || r == -EFAULT) ?
		       poll_in_kernel(fds, n, deadline_ns) :
		       r;
}

long fib_sys_poll(struct pollfd *fds, unsigned n, int timeout_ms)
{
	uint64_t deadline = FIB_NEVER;

	if (timeout_ms == 0)
		deadline = 0;
	else if (timeout_ms > 0)
		deadline = fib_deadline_in((uint64_t)timeout_ms * 1000000);
	return do_poll(fds, n, deadline);
}

/*
 * The mask of ppoll and its like. As in the kernel, descriptors are looked at
 * before signals: if one is ready, what the mask lets in stays pending.
 */
long fib_poll_mask(const uint64_t *mask, size_t size)
{
	uint64_t set;

	if (!mask)
		return 0;
	if (size != 8)
		return -EINVAL;
	if (fib_copy(&set, mask, sizeof(set)))
		return -EFAULT;
	fib_signal_mask_later(set);
	return 0;
}

long fib_poll_deadline(const struct timespec *ts, uint64_t *deadline)
{
	int64_t ns;

	*deadline = FIB_NEVER;
	if (!ts)
		return 0;
	ns = fib_timespec_ns(ts);
	if (ns < 0)
		return ns;
	*deadline = ns == 0 ? 0 : fib_deadline_in((uint64_t)ns);
	return 0;
}

uint64_t fib_poll_goes_on(uint64_t deadline, long r)
{
	if (r != -FIB_ERESTARTNOHAND || !fib_stop_came() ||
	    deadline == FIB_NEVER)
		return deadline;
	deadline = fib_ns_add(deadline, fib_signal_stop_lasted());
	return fib_self()->io.restart_deadline = deadline;
}

void fib_poll_left(struct timespec *ts, uint64_t deadline)
{
	if (ts && deadline != FIB_NEVER && deadline != 0)
		fib_timespec_put(ts, fib_ns_left(deadline));
}

long fib_sys_ppoll(struct pollfd *fds, unsigned n, struct timespec *ts,
		   const uint64_t *mask, size_t size)
{
	uint64_t deadline;
	long r = fib_poll_deadline(ts, &deadline);

	if (r == 0)
		r = fib_poll_mask(mask, size);
	if (r)
		return r;
	r = do_poll(fds, n, deadline);
	fib_poll_left(ts, fib_poll_goes_on(deadline, r));
	return r;
}
